"""Simulations: what the rules do on trajectories whose end is known."""
