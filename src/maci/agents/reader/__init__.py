"""Readers: debaters that read evidence and reason statistically, without a language model.

They are what they are: counts of words, similarities of meaning and a naive Bayes rule over labelled spans, argued in templated
English. They know nothing beyond the spans they can see. What makes them debaters is that each holds other spans, weighs
them by another rule, and changes its belief only when an admitted argument shows it a span it had not seen.
"""
