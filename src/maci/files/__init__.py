"""Files on this disk: those that people hand in, read within bounds, and SQLite files of ours."""
