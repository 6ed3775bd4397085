"""MACI inside other people's tools. Each file needs its own extra, and nothing else imports it."""
