"""The judges, audited (SPEC 5): do they agree, does a swap change the winner, and what besides the argument moves a score?

Running it                ``items`` (what is asked, and how again) · ``asking`` (whom) · ``audit`` · ``convarg`` (a public set)
Statistics (pure, NumPy)  ``agreement`` (with each other, and with people who score blind) · ``swaps``
Saying it                 ``report`` (findings, verdict, tables)
"""
