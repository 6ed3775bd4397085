"""Audits: do the judges (``.judges``) and the behaviour dial (``.contentiousness``) do what a debate relies on?"""
