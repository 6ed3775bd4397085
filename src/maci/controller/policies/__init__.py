"""Schedules: how the dials move from round to round, by rule or learnt."""
