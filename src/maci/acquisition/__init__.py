"""What to find out next: proposals, what each is worth, plans, and sources that answer (SPEC 11)."""
