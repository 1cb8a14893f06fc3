"""Warming up: what is compiled, drawn or loaded at its first use is there before any clock runs."""

import sys
import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numba.core import event

from nsr.data.items import TemplateBank, sample_items
from nsr.data.problems import Problem
from nsr.data.templates import TreeRecipe, raw_draws
from nsr.numbers.evaluation import evaluate, gradient, r2_score
from nsr.numbers.fitting import Method, fit_many
from nsr.numbers.initial_guesses import analyse
from nsr.numbers.interpreter import prepare_program
from nsr.search.engine import Budget, Model, Strategy, solve_all

_PREFIX, _VALUES = ("add", "C", "sin", "mul", "C", "x1"), (0.0, 2.0)
_rehearsed: set[tuple[str, str]] = set()


class _Teller(event.Listener):
    """Says so when the first compilation begins; nothing is said where the cache has everything."""

    begun: float | None = None

    def on_start(self, event) -> None:
        if self.begun is None:
            self.begun = time.perf_counter()
            how_long = "about 20 seconds, not counted as time of the search"
            said = f"Compiling the numerical code for this machine, once: {how_long}."
            print(said, file=sys.stderr, flush=True)

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
        fit_many([(_PREFIX, X, y)], starts=2, initial=[_VALUES])
        r2_score(y, evaluate(_PREFIX, X, _VALUES))
        gradient(_PREFIX, X, _VALUES)
        if drawing:
            recipe, rng = TreeRecipe(), np.random.default_rng(0)
            raw_draws(1, recipe, rng)
            bank = TemplateBank([("sin", "x1"), ("add", "x1", "x2")], recipe.vocabulary)
            sample_items(bank, rng, 2, n_points=2)
    if teller.begun is not None:
        print(f"Compiled in {time.perf_counter() - teller.begun:.0f} seconds.", file=sys.stderr, flush=True)


def rehearse(problems: Callable[[], list[Problem]], strategy: Strategy, model: Model, fit: Method) -> None:
    """A small search with each strategy and fit, once per process, before their costs are measured; `problems`
    is asked for what to search."""
    if (strategy.name, fit) not in _rehearsed:
        _rehearsed.add((strategy.name, fit))
        solve_all(problems(), strategy, model, budget=Budget(candidates=20), fit=fit)
