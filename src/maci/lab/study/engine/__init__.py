"""Where answers are computed: in this process, in several, or on a Ray cluster. The rows are the same."""
