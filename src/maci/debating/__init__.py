"""One debate as input and output: Algorithm 1, its calls, its budget. The only room with the cycle."""
