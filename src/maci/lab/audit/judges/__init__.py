"""The judges, audited (SPEC 5): do they agree, does a swap change the winner, and what besides the argument moves a score?

Statistics (pure, NumPy)  ``correlation`` · ``agreement`` · ``swaps`` · ``bias`` · ``people`` · ``findings``
Running it                ``items`` (what) · ``probes`` (how, and how again) · ``asking`` · ``human`` (blind audit by people)
Saying it                 ``report`` · ``page``
"""
