"""Warming up: all machine code that a search uses is compiled, or read from the cache, before any clock runs."""

from __future__ import annotations

import sys
import time
from functools import lru_cache

import numpy as np
from numba.core import event

from nsr.numbers.evaluation import evaluate, fit_many, gradient, prepare_program, r2_score
from nsr.numbers.initial_guesses import analyse

_PREFIX = ("add", "C", "sin", "mul", "C", "x1")


class _Teller(event.Listener):
    """Says so when the first compilation begins; nothing is said where the cache has everything."""

    def __init__(self) -> None:
        self.begun: float | None = None

    def on_start(self, event) -> None:
        if self.begun is None:
            self.begun = time.perf_counter()
            print(
                "Compiling the numerical code for this machine, once: about 20 seconds, not counted as time of the search.",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event) -> None:
        pass


@lru_cache(maxsize=2)
def warm_up(drawing: bool = False) -> None:
    """Call each compiled function that Python calls during a search, with the types that a search gives it;
    once per process.

    `drawing`: also those that draw random expressions, which some strategies do.
    """
    X, teller = np.linspace(0.0, 1.0, 40)[:, None], _Teller()
    y = np.sin(3.0 * X[:, 0])
    with event.install_listener("numba:compile", teller):
        analyse(*prepare_program(_PREFIX, 1))
        fit_many([(_PREFIX, X, y)], starts=2, initial=[(0.0, 2.0)])
        r2_score(y, evaluate(_PREFIX, X, (0.0, 2.0)))
        gradient(_PREFIX, X, (0.0, 2.0))
        if drawing:
            from nsr.data.items import TemplateBank, sample_items
            from nsr.data.templates import TreeRecipe, raw_draws

            recipe, rng = TreeRecipe(), np.random.default_rng(0)
            raw_draws(1, recipe, rng)
            sample_items(
                TemplateBank([("sin", "x1"), ("add", "x1", "x2")], recipe.vocabulary), rng, 2, n_points=2
            )
    if teller.begun is not None:
        print(f"Compiled in {time.perf_counter() - teller.begun:.0f} seconds.", file=sys.stderr, flush=True)
