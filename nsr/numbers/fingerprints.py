"""Fingerprints: a short name for a function, made from its values; equal functions have equal ones, whatever
their tokens."""

import hashlib
import math
from functools import lru_cache

import numpy as np

from nsr.formulas.expressions import CONSTANT, VARIABLES, ExpressionError, Prefix, Template
from nsr.numbers import random_streams
from nsr.numbers.evaluation import evaluate

_POINTS = np.random.default_rng(random_streams.FINGERPRINT_POINTS).uniform(-1.0, 1.0, (24, len(VARIABLES)))


@lru_cache(maxsize=65536)
def fingerprint(prefix: Prefix, constants: tuple[float, ...] = ()) -> str:
    """A hash of the function's values, five significant digits at 24 fixed points of (−1, 1)¹⁰.

    Identifies functions that are equal there, whatever the tuple: also through identities that `canonical`
    does not know. Does not identify functions with different domains (log(x1·x2), log x1 + log x2) or
    different free constants.

    >>> fingerprint(("pow2", "x1")) == fingerprint(("mul", "x1", "x1"))
    True
    """
    if CONSTANT in prefix and not constants:
        needed = "a fingerprint needs values for the constants"
        raise ExpressionError(f"{needed}; template_of(prefix) removes them")
    written = lambda v: "-" if not math.isfinite(v) else f"{v:.4e}" if abs(v) > 1e-12 else "0"
    text = " ".join(map(written, evaluate(prefix, _POINTS, constants)))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def function_of(template: Template) -> str:
    """The fingerprint of a template; constants that strip could not remove (a lone C) stand at 1."""
    return fingerprint(template, (1.0,) * template.count(CONSTANT))
