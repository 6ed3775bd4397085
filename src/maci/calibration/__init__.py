"""What cases with known answers teach: temperature, bins, weights, triage rates, learned schedules."""
