"""What each command can be told: its options and help. What it does is in the module of ``maci.cli`` that it imports when it runs."""
