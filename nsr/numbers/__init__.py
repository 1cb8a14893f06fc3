"""Numbers: values of an expression at points, its derivatives, and the constants that fit best.

An expression and points (P, D) come in; values, gradients, fitted constants and R² go out. One compiled
interpreter does all of it.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    evaluation="evaluate gradient r2_score",
    fitting="fit_constants fit_many",
    fingerprints="fingerprint",
    simplification="simplify",
)
