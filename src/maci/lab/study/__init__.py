"""Studies: cases × methods × seeds, kept in a store, read off as tables with intervals and tests (SPEC 12)."""
