"""Audits: does what a debate rests on deserve it? The judges (:mod:`maci.audit.judges`), the behaviour dial (``.contentiousness``)."""
