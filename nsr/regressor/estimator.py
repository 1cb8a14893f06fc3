"""NSRegressor: from a table to a formula, by scikit-learn's conventions.

    units ──► bags of rows ──► a strategy searches with the network ──► candidates fitted to all rows ──► the shortest description

Of a long table the candidates are fitted to a sample of its rows, judged on all, and the best of them fitted
to all.
"""

from __future__ import annotations

import math
import numbers
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from nsr.book.spelling import refuse_unknown
from nsr.data.problems import Problem, rounding_floor
from nsr.data.rescaling import Units
from nsr.formulas.equivalence import canonical, template_of
from nsr.formulas.expressions import CONSTANT, VARIABLES, Prefix, Valued
from nsr.formulas.notation import to_infix, to_latex, to_sympy
from nsr.network.checkpoints import Trained, load, load_folder
from nsr.network.devices import best_device
from nsr.numbers.compression import decided_by_few, fair_r2
from nsr.numbers.evaluation import blocks, evaluate, r2_score
from nsr.numbers.simplification import is_strained
from nsr.numbers.weighting import deviation
from nsr.regressor import exports, reports
from nsr.regressor.agreement import Agreement, Rival, chosen_again
from nsr.regressor.judging import (
    AS_WELL,
    CLOSE,
    SAMPLE,
    STRAINED,
    UNTOLD,
    Found,
    beyond,
    digits_for,
    half_widths,
    is_idle,
    is_plain_sized,
    judged,
    plain_one,
    price_of_digits,
    rounded,
    sample_of,
    undisguised,
)
from nsr.regressor.nice_numbers import snapped
from nsr.regressor.own_formulas import read_formula
from nsr.regressor.tables import check_table, default_names, symbols_for, weighted
from nsr.regressor.ticker import Ticker
from nsr.search import plain_forms
from nsr.search.allowance import NAMES, Allowance
from nsr.search.combinations import combination
from nsr.search.deadline import Deadline
from nsr.search.dimensions import Dimensions
from nsr.search.engine import INTERRUPTED, Budget, Strategy
from nsr.search.model_selection import by_length, description_length, pareto, price_of_a_constant, promising
from nsr.search.oracle import NOISE, Candidate, Oracle
from nsr.search.outer import Outer, cancelled
from nsr.search.part_forms import part_forms
from nsr.search.physical_units import unit_text
from nsr.search.product_forms import product_forms
from nsr.search.pruning import plainer, pruned
from nsr.search.separation import separated_forms
from nsr.search.strategies.local import LocalSearch
from nsr.search.subsampling import solve_bagged
from nsr.search.warming import warm_up

if TYPE_CHECKING:
    import pandas as pd
    import sympy
    import torch

DEFAULT_STRATEGY = "local"  # the best in our own comparison at equal candidates (chapters 10 and 11)
# of strategies given by name; 5 for all others, as in that comparison
BEAM_SIZES = {"beam": 50, "tpsr": 1, "gvs+tpsr": 1}
# the first that is there
NETWORKS = {"plain": ("laptop/full", "laptop/nesymres"), "gvs": ("laptop/full-gvs", "laptop/gvs")}
LISTED = 100  # candidates in equations_: so many of the best fits and of the shortest descriptions
RIVALS = 10  # shortest descriptions that `agreement` chooses among, besides the front
PLAINER = 5  # of the latter are tried with fewer constants and functions
EXACT = "a plain form fits exactly"
# a share of the variance: where the shortest description leaves more, cross-validation decides
UNEXPLAINED = 0.02
TRIED = 8  # shortest descriptions that are compared with it by cross-validation
COMBINED = 1000  # rows that a combination is chosen on
# seconds: a fit with less has no combination; so many more are spent on an answer with enormous constants
GRACE = 0.5
SERIES = 8  # constants: a longer plain form does not end the search
SEARCH_SHARE = 0.8  # of max_time; the rest is for what comes after the search


# attributes of a fitted estimator that `to_json` writes besides the formulas
_KEPT = "columns_ symbols_ _indices y_mean_ weights_ search_time_ stopped_ beyond_ half_widths_ nice_ constant_units_ n_features_in_".split()


class NSRegressor(RegressorMixin, BaseEstimator):
    """Find a formula for y in the columns of X, with a trained network and a test-time strategy.

    weights       a network by name ("laptop/full"), the folder of one, or "auto": the best that is there for
                  the strategy
    strategy      a name ("local", "beam", "tpsr", "gvs", "families" …) or a strategy object such as
                  `TPSR(rollouts=6)`
    beam_size     beam of a strategy that is given by name; None: the size that our comparison gave it
    n_bags        searches on different sub-samples of at most `bag_size` rows; all candidates are judged on
                  all rows
    columns       which columns the network gets to see when X has more than it has variables: "forest"
                  (impurity importance in extremely randomised trees, which sees interactions), "mutual_info"
                  (each column alone), or the columns to use, by name or number. Plain forms
                  (nsr.search.plain_forms) are tried in ten columns
    selection     which candidate is the answer: "short" (the shortest description: the fit weighed against
                  the formula's length; where that leaves more than 2 % of the variance, another candidate or a combination of terms if it
                  predicts better in cross-validation) or "r2" (the best fit, for data without noise)
    nice          set constants of the answer to numbers such as 1/2, √2 or 2π where the data allow
                  (nsr.regressor.nice_numbers); `nice_` then has their names
    start         formulas of your own, such as "a*length/(b + length)": they are fitted and judged like all
                  others, and the local search begins with them, too. Letters that name no column are
                  constants
    operators     the only operators that an answer may use, such as ["add", "mul", "div", "sqrt"]; None: all
                  that there are. A difference is a sum: "add" and "sub" come and go together
    forbid        operators that no answer may use, such as "tan" or "asin". The local search tries nothing with
                  them; what other strategies find with them is left out
    must_use      columns, by name or number, that the answer has to have
    X_units       the units of the columns, in their order or by name, such as {"mass": "kg", "way": "km"}; one
                  that is missing or None may be any. "1" is a number without a unit
    y_units       the unit of y. A formula whose units cannot be right is no answer. Constants may carry any unit, so
                  "c*length + d*time" can be right, and "sin(length)" cannot; a factor of 1 that carries a unit
                  is written down, as in "length + 1*time" (nsr.search.dimensions). `constant_units_` then has the
                  units of the answer's constants
    outer         the outer form of the formula, in the names of the columns and of unknown functions: "f(a) + g(b)",
                  "f(a, b)*g(c)", "exp(f(a, b))/c". Unknown functions are joined by + and -, or by * and /, and
                  what is known stands around all of them (nsr.search.outer); each is searched alone, too
    max_time      seconds for the whole fit, four fifths of them for the search; None: until the strategy ends
                  by itself. What has to be compiled at the first use on a machine is not counted
    random_state  a number makes the fit repeatable (as long as max_time is not what ends it)
    verbose       show a line of progress during the search, with the best formula so far. Ctrl-C ends a search
                  and keeps what it has

    After `fit`: `equations_`, one row per candidate with the answer first (complexity = tokens, constants
    fitted, r2 on the rows given, novel = its template is not in the network's training set, source = "search",
    "yardstick" or "combination"); `pareto_front_`,
    those that no shorter one beats; `formula_`, the answer as text; `columns_`, the columns that were
    searched in, those of the network first; `stopped_`, what ended the search before its own end ("budget of
    8 seconds spent", "interrupted", "a plain form fits exactly"), or nothing; `beyond_`, the columns
    below or above whose data, by a tenth of their range, the answer has no value or an absurd one;
    `half_widths_` of the 95 % intervals of its constants, in their order, if the form is right and the errors
    of y are independent and of one size. Formulas
    are in the units of X and y, with as many digits as they need to have the values of `predict` on the rows given, to a millionth
    of the spread of y (six at least); digits of a constant that are lost in the noise are dropped from both.
    Where a formula has no finite value, `predict` returns the mean of y and warns.

    >>> NSRegressor(strategy="tpsr", max_time=60)
    NSRegressor(max_time=60, strategy='tpsr')
    """

    # what max_time is measured with; a measurement may take seconds of the processor (nsr.regressor.recovery)
    _clock, _budget = staticmethod(time.perf_counter), Budget

    def __init__(
        self,
        weights: str = "auto",
        strategy: str | Strategy = DEFAULT_STRATEGY,
        *,
        beam_size: int | None = None,
        n_bags: int = 3,
        bag_size: int = 200,
        columns: str | Sequence = "forest",
        selection: str = "short",
        nice: bool = False,
        start: Sequence[str] = (),
        operators: Sequence[str] | None = None,
        forbid: Sequence[str] = (),
        must_use: Sequence = (),
        X_units: Mapping[str, str | None] | Sequence[str | None] | None = None,
        y_units: str | None = None,
        outer: str | None = None,
        max_time: float | None = 30.0,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.weights = weights
        self.strategy = strategy
        self.beam_size = beam_size
        self.n_bags = n_bags
        self.bag_size = bag_size
        self.columns = columns
        self.selection = selection
        self.nice = nice
        self.start = start
        self.operators = operators
        self.forbid = forbid
        self.must_use = must_use
        self.X_units = X_units
        self.y_units = y_units
        self.outer = outer
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    # -------------------------------------------------------------------------------------------------------------- fitting

    def fit(self, X, y, sample_weight=None, *, y_error=None) -> NSRegressor:
        """Search for formulas of y (P,) in the columns of X (P, D).

        `sample_weight` (P,) says how much each row counts in every fit, in R² and in the choice; a row of
        weight 0 is left out, and only ratios matter. `y_error` (P,) is the error of each y instead: the
        weight 1/error².
        """
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: fit(X, y) explains y by the columns of X."
            )
        check_table(X, y)
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        X, y, weights = weighted(X, np.asarray(y, np.float64), sample_weight, y_error)
        seed = int(check_random_state(self.random_state).randint(2**31))
        strategy = (
            self.strategy if not isinstance(self.strategy, str) else _by_name(self.strategy, self.beam_size)
        )
        trained = _network(self._weights_for(strategy))
        warm_up(drawing="gvs" in strategy.name or "random" in strategy.name)
        deadline = Deadline(self.max_time, self._clock)
        names = list(getattr(self, "feature_names_in_", default_names(X.shape[1])))
        # √w takes the place of a column (nsr.numbers.weighting)
        most = len(VARIABLES) - (weights is not None)
        room = min(trained.vocabulary.n_variables, most)
        needed = _numbers_of(self.must_use, names, "must_use")
        symbols = symbols_for(names)
        outer = None if self.outer is None else Outer.read(self.outer, symbols)
        if outer is None:
            chosen = self._chosen(X, y, weights, names, needed, room, most, seed)
        else:
            chosen = self._chosen_by(outer, names, needed, most)
        self.columns_ = [names[j] for j in chosen]
        self.symbols_ = [symbols[j] for j in chosen]
        self._indices, self.weights_ = chosen, trained.name
        self.y_mean_ = float(y.mean() if weights is None else np.average(y, weights=weights))
        X = _taken(X, chosen)
        given = [read_formula(text, self.symbols_) for text in self.start]
        used = (VARIABLES[chosen.index(j)] for j in needed if outer is None or j in outer.core)
        dimensions = Dimensions.read(self.X_units, self.y_units, names, chosen)
        allowance = Allowance.of(self.operators, self.forbid, used, dimensions, outer)
        started = time.perf_counter()
        rows = (X, y, weights) if outer is None else outer.goal(X, y, weights)
        candidates, stopped = self._search(*rows, strategy, trained, seed, deadline, given, allowance)
        if outer is not None and not outer.bare:
            around = lambda: _around(outer, candidates, X, y, weights, dimensions, deadline)
            candidates = deadline.unless_interrupted(around, []) or around()
        self.search_time_ = time.perf_counter() - started
        if not candidates:
            raise ValueError(
                "No formula was found that keeps to operators, forbid, must_use, units and outer. Allow more, or give it more time."
            )
        try:
            self._tabulate(candidates, X, y, trained, deadline, weights, allowance)
        except KeyboardInterrupt:
            deadline.interrupt(0.0)
            self._tabulate(candidates, X, y, trained, deadline, weights, allowance)
        self.stopped_ = INTERRUPTED if deadline.interrupted else stopped
        if "seconds" in self.stopped_:
            self._warn_of_a_line(y)
        if self.stopped_ == INTERRUPTED:
            warnings.warn(
                f"The search was interrupted after {self.search_time_:.0f} seconds; the answer is the best formula until then.",
                RuntimeWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        if self.selection not in ("short", "r2"):
            raise ValueError(f"selection is {self.selection!r}; choose 'short' or 'r2'.")
        for name in ("start", "operators", "forbid", "must_use"):
            if isinstance(getattr(self, name), str):
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; give a list: [{getattr(self, name)!r}]."
                )
        operators = [] if self.operators is None else map(str, self.operators)
        refuse_unknown([*self.forbid, *operators], NAMES, "operator", ValueError)
        for name, least in (("beam_size", 1), ("n_bags", 1), ("bag_size", 2)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, numbers.Integral) and value >= least):
                raise ValueError(f"{name} is {value!r}; it must be a whole number, at least {least}.")
        if self.max_time is not None and not (isinstance(self.max_time, numbers.Real) and self.max_time > 0):
            raise ValueError(
                f"max_time is {self.max_time!r}; it must be a number of seconds, or None for no limit."
            )

    def _weights_for(self, strategy: Strategy) -> str:
        return self.weights if self.weights != "auto" else default_weights(strategy)

    def _chosen(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        names: list[str],
        needed: list[int],
        room: int,
        most: int,
        seed: int,
    ) -> list[int]:
        """Numbers of the columns that are searched in: first those that the network gets to see (at most
        `room`), in their order, then those that only plain forms have room for (`most` with the others)."""
        if len(needed) > room:
            raise ValueError(f"must_use: there are {len(needed)} columns, the network has {room} variables.")
        if not isinstance(self.columns, str):
            chosen = _numbers_of(self.columns, names, "columns")
            if not 1 <= len(self.columns) <= room:
                raise ValueError(
                    f"columns: there are {len(self.columns)} columns, the network has {room} variables."
                )
            if set(needed) - set(chosen):
                raise ValueError("must_use: a column that must be used has to be one of columns.")
            return chosen
        if self.columns not in ("forest", "mutual_info"):
            raise ValueError(
                f"columns is {self.columns!r}; choose 'forest', 'mutual_info' or a list of columns."
            )
        if X.shape[1] <= room:
            return list(range(X.shape[1]))
        rows = sample_of(X, y, SAMPLE, seed)
        some = None if weights is None else weights[rows]
        importance = column_importance(X[rows], y[rows], self.columns, seed, some)
        importance[needed] = np.inf
        order = np.argsort(-importance, kind="stable").tolist()
        return sorted(order[:room]) + sorted(order[room:most])

    def _chosen_by(self, outer: Outer, names: list[str], needed: list[int], most: int) -> list[int]:
        """The columns of an outer form, those in unknown functions first."""
        chosen = [*outer.core, *outer.known]
        given = chosen if isinstance(self.columns, str) else _numbers_of(self.columns, names, "columns")
        for option, missing in (
            ("must_use", set(needed) - set(chosen)),
            ("columns", set(chosen) - set(given)),
        ):
            if missing:
                which = "is not in outer" if option == "must_use" else "is in outer, but not one of columns"
                raise ValueError(f"{option}: the column {names[min(missing)]!r} {which}.")
        if not outer.bare and len(self.start):
            raise ValueError("start: with a known function in outer, no formula can be given.")
        if len(chosen) > most:
            raise ValueError(
                f"outer: it has {len(chosen)} columns; with weights at most {most} are possible."
            )
        return chosen

    def _search(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        strategy: Strategy,
        trained: Trained,
        seed: int,
        deadline: Deadline,
        given: list[Valued],
        allowance: Allowance,
    ) -> tuple[list[Found], str]:
        """All candidates, with two yardsticks among them (a constant and a straight line), and why the search
        ended early."""
        units, rows = Units.of(X, y), sample_of(X, y, max(SAMPLE, self.n_bags * self.bag_size), seed)
        floor, given_weights = rounding_floor(y), None if weights is None else weights[rows]
        own = Problem(X[rows], y[rows], "data", floor=floor, weights=given_weights)  # in the user's units
        whole = units.problem(own)
        problem, room = whole, trained.vocabulary.n_variables
        if room < X.shape[1]:  # the network cannot see all columns
            problem = whole.part(n_columns=room)
        plain = deadline.unless_interrupted(
            lambda: [*_fitted_here(given, own), *_plain_forms(own, problem, units, deadline, allowance)], []
        )
        plain = _allowed(plain, allowance, deadline)
        yardsticks = Oracle(whole).verify([("C",), _line(X.shape[1])], note="yardstick")
        exact = _exact(plain, own)
        if exact or deadline.interrupted:
            found = [Found(c, *units.back(c.prefix, c.constants)) for c in yardsticks]
            return [*_allowed(found, allowance, deadline), *plain], EXACT if exact else ""
        if isinstance(strategy, LocalSearch):
            first = dict.fromkeys(template_of(one.candidate.prefix) for one in plain)
            forbidden = (*strategy.forbid, *sorted(allowance.forbidden))
            strategy = replace(
                strategy, first=(*strategy.first, *first), forbid=forbidden, outer=allowance.outer
            )
        budget = (
            None if self.max_time is None else self._budget(seconds=max(1e-9, SEARCH_SHARE * deadline.left))
        )
        ticker = Ticker(
            lambda c: self._named(to_infix(*_printable(units.back(c.prefix, c.constants)), digits=4))
        )
        (result,) = solve_bagged(
            [problem],
            strategy,
            trained,
            n_bags=self.n_bags,
            bag_size=self.bag_size,
            rescale=False,
            budget=budget,
            seed=seed,
            watch=ticker if self.verbose else None,
            deadline=deadline,
        )
        ticker.end()
        bare = allowance.without_units  # a column may be in other units here than the user's
        if allowance.outer is None:
            listed = [c for c in result.candidates if bare.admits(c.prefix)]
        else:
            valid = [c for c in result.candidates if c.valid]
            listed = [c for c in valid if bare.admits(units.back(c.prefix, c.constants)[0])]
        listed = promising(listed, LISTED, len(own.y), problem.floor)
        oracle, shortest = Oracle(problem), by_length(listed, len(own.y), problem.floor)[:PLAINER]
        shorter = deadline.unless_interrupted(lambda: [plainer(c, oracle, deadline) for c in shortest], [])
        candidates = list({c.prefix: c for c in [*yardsticks, *listed, *shorter] if c.valid}.values())
        found = [Found(c, *units.back(c.prefix, c.constants)) for c in candidates]
        shorter = deadline.unless_interrupted(lambda: _in_own_units(units, candidates, own, deadline), [])
        found += [Found(c, c.prefix, c.constants) for c in shorter]
        return [*plain, *_allowed(found, allowance, deadline)], result.stopped

    def _tabulate(
        self,
        found: list[Found],
        X: np.ndarray,
        y: np.ndarray,
        trained: Trained,
        deadline: Deadline,
        weights: np.ndarray | None = None,
        allowance: Allowance = Allowance(),
    ) -> None:
        """Everything about the candidates, in the user's units, the answer first."""
        floor, spread, few = rounding_floor(y), float(np.ptp(y)), decided_by_few(y, weights)
        chosen = sample_of(X, y, SAMPLE, 0)
        some, plain_sized = X[chosen], is_plain_sized(X, y)

        def told(one: Found, r2: float) -> dict:
            (c, prefix, constants) = one
            noise = math.sqrt(max(0.0, 1.0 - r2)) * deviation(y, weights)
            constants = rounded(constants, digits_for(prefix, constants, some, UNTOLD * noise))
            searched, digits = c.note != "yardstick", digits_for(prefix, constants, some, CLOSE * spread)
            price = price_of_digits(prefix, constants, some, spread)
            fair = fair_r2(y, evaluate(prefix, X, constants), weights) if few else r2
            return {
                "complexity": len(prefix),
                "constants": len(c.constants),
                "r2": r2,
                "novel": searched and template_of(c.prefix) not in trained.templates,
                "description_length": price
                + description_length(fair, len(y), len(c.prefix), len(c.constants), floor),
                "equation": self._named(to_infix(prefix, constants or None, digits=digits)),
                "source": "search" if searched else "yardstick",
                "formula": (prefix, constants),
                "digits": digits,
                "same": canonical(c.prefix),
                "left": 1.0 - fair,
                # constants of plain forms are in the user's units, where they may be of any size
                "strained": price > 0
                or is_idle(prefix, constants, some, spread)
                or (c.note != "plain" and is_strained(c.constants, STRAINED))
                or (plain_sized and is_strained(constants, STRAINED)),
            }

        rows = [
            told(*one) for one in judged(found, X, y, self.selection, deadline, weights) if one[1] > -np.inf
        ]
        key = {
            "short": lambda r: (r["description_length"], r["complexity"]),
            "r2": lambda r: (-r["r2"], r["complexity"]),
        }[self.selection]
        different: dict[Prefix, dict] = {}
        for row in sorted(rows, key=key):
            different.setdefault(row.pop("same"), row)
        rows = list(different.values())
        in_a_hurry = self.max_time is not None and self.max_time < GRACE
        if self.selection == "short" and not (in_a_hurry or deadline.interrupted):
            rows = self._plain_or_combined(rows, X, y, weights, allowance, told)
        for row in rows:
            del row["strained"], row["left"]
        self._formulas: list[Valued] = [row.pop("formula") for row in rows]
        self._digits: list[int | None] = [row.pop("digits") for row in rows]
        prefix, constants = self._formulas[0]
        self.beyond_ = [(self.columns_[j], side) for j, side in beyond(prefix, constants, some)]
        some_weights = None if weights is None else weights[chosen]
        residual = y[chosen] - evaluate(prefix, some, constants)
        wide = half_widths(prefix, constants, some, residual, some_weights) * math.sqrt(len(some) / len(y))
        self.nice_ = [""] * len(constants)
        if self.nice:
            table = Problem(some, y[chosen], floor=floor, weights=some_weights)
            constants, self.nice_ = snapped(prefix, constants, wide, table)
            digits = digits_for(prefix, constants, some, CLOSE * spread)
            self._formulas[0], self._digits[0] = (prefix, constants), digits
            rows[0]["r2"] = r2_score(y, evaluate(prefix, X, constants), weights)
            rows[0]["equation"] = self._named(to_infix(prefix, constants or None, digits=digits))
            wide[[bool(name) for name in self.nice_]] = 0.0
        self.half_widths_ = wide.tolist()
        units = [] if allowance.dimensions is None else allowance.dimensions.of_constants(prefix)
        self.constant_units_ = ["" if unit is None else unit_text(unit) for unit in units]
        self._list(rows)

    def _plain_or_combined(
        self,
        rows: list[dict],
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        allowance: Allowance,
        told: Callable[[Found, float], dict],
    ) -> list[dict]:
        """The rows with the answer first, where that is not the shortest description: a plain formula, if its
        constants are strained; where no formula explains the table, the one that predicts best in
        cross-validation, or a combination of several."""
        if allowance.outer is not None and not allowance.outer.bare:
            return rows
        same, part = Units.same(X.shape[1]), sample_of(X, y, COMBINED, 0)
        share = None if weights is None else weights[part]

        def new(formula: Valued, source: str) -> dict | None:
            right = allowance.made_right(same.back(*formula))
            if right is None:
                return None
            prefix, constants = right
            r2 = r2_score(y, evaluate(prefix, X, constants), weights)
            row = told(Found(Candidate(prefix, constants, r2, note="plain"), prefix, constants), r2)
            del row["same"]
            return row | {"source": source} if r2 > -np.inf else None

        if rows[0]["strained"]:
            table = Problem(X[part], y[part], floor=rounding_floor(y), weights=share)
            unmasked = undisguised(rows[0]["formula"], table, Deadline(GRACE, self._clock))
            plainer_one = None if unmasked[0] == rows[0]["formula"][0] else new(unmasked, "search")
            chosen = plain_one(rows if plainer_one is None else [*rows, plainer_one])
            if chosen is None and plainer_one and plainer_one["left"] <= AS_WELL * rows[0]["left"] + NOISE:
                chosen = plainer_one
            if chosen is not None:
                rows = [chosen, *(row for row in rows if row is not chosen)]
        if 1.0 - rows[0]["r2"] > UNEXPLAINED:
            plain = [r for r in rows if not r["strained"]]
            best = max(
                plain, key=lambda r: r["r2"] if r["constants"] <= len(y) // 20 else -np.inf, default=None
            )
            line = [r for r in rows if r["source"] == "yardstick"]
            listed = [rows[0], *([best] if best else []), *line, *plain[:TRIED]]
            listed = list({id(row): row for row in listed}.values())
            formulas = [row["formula"] for row in listed]
            admits = allowance.admits_part if allowance.of_structure else None
            found = combination(X[part], y[part], share, formulas, allowance.forbidden, admits)
            if found:
                chosen = listed[found.best_given]
                rows = [chosen, *(row for row in rows if row is not chosen)]
                row = new(found.formula, "combination") if found.predicts_better else None
                rows = rows if row is None or row["strained"] > chosen["strained"] else [row, *rows]
        return rows

    def _list(self, rows: list[dict]) -> None:
        """The table of candidates, its front, and the answer."""
        import pandas as pd

        self.equations_: pd.DataFrame = pd.DataFrame(rows)
        self.pareto_front_: pd.DataFrame = self.equations_.iloc[
            pareto(self.equations_["complexity"].tolist(), self.equations_["r2"].tolist())
        ]
        self.formula_: str = self.equations_["equation"].iloc[0]

    def _warn_of_a_line(self, y: np.ndarray) -> None:
        """Say so if the time limit ended the search and its answer is a mere line or constant, unless that is
        all there is to find."""
        prefix, r2 = self._formulas[0][0], float(self.equations_["r2"].iloc[0])
        if set(template_of(prefix)) <= {"add", "sub", CONSTANT, *VARIABLES} and 1.0 - r2 > max(
            NOISE, rounding_floor(y)
        ):
            kind = "straight line" if set(prefix) & set(VARIABLES) else "constant"
            warnings.warn(
                f"The time limit (max_time={self.max_time:g}) ended the search before it found anything better than a {kind} "
                f"(R² {abs(r2) if r2 > -5e-5 else r2:.4f}). Give it more time, or less to search: fewer columns (columns=[…]), or one bag of rows (n_bags=1).",
                RuntimeWarning,
                stacklevel=3,
            )

    # --------------------------------------------------------------------------------------------------------------- answers

    def predict(self, X, row: int = 0) -> np.ndarray:
        """Values (P,) of the answer, or of another row of `equations_`, at new rows X (P, D)."""
        check_is_fitted(self)
        check_table(X, None)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values, formula = np.empty(len(X)), self._formula(row)
        for rows in blocks(len(X)):
            values[rows] = evaluate(formula[0], _taken(X[rows], self._indices), formula[1])
        wrong = ~np.isfinite(values)
        if wrong.any():
            warnings.warn(
                f"The formula has no finite value in {int(wrong.sum())} of {len(values)} rows; there the mean of y is returned.",
                RuntimeWarning,
                stacklevel=2,
            )
            values[wrong] = self.y_mean_
        return values

    def _formula(self, row: int) -> Valued:
        """The formula in a row of `equations_`."""
        check_is_fitted(self)
        if not (isinstance(row, numbers.Integral) and 0 <= row < len(self._formulas)):
            raise ValueError(f"row is {row!r}; equations_ has the rows 0 to {len(self._formulas) - 1}.")
        return self._formulas[row]

    def sympy(self, row: int = 0) -> sympy.Expr:
        """The answer (or another row of `equations_`) as a sympy expression in the names of the columns."""
        import sympy

        expression = to_sympy(*self._formula(row))
        return expression.xreplace(
            {
                sympy.Symbol(old, real=True): sympy.Symbol(new, real=True)
                for old, new in zip(VARIABLES, self.symbols_)
            }
        )

    def latex(self, row: int = 0, digits: int | None = None) -> str:
        """The answer (or another row of `equations_`) as LaTeX, with the digits of `equations_` unless told
        otherwise."""
        text = to_latex(*self._formula(row), digits=self._digits[row] if digits is None else digits)
        return re.sub(r"x_\{(\d+)\}", lambda match: _latex_name(self.symbols_[int(match[1]) - 1]), text)

    def text(self, row: int = 0, digits: int | None = None) -> str:
        """The answer (or another row of `equations_`) as infix text, with all digits unless told otherwise."""
        prefix, constants = self._formula(row)
        return self._named(to_infix(prefix, constants or None, digits=digits))

    # --------------------------------------------------------------------------------------------------- how sure, and why

    def agreement(
        self, X, y, sample_weight=None, *, y_error=None, n: int = 10, seconds: float | None = 10.0
    ) -> Agreement:
        """How often the answer's form is chosen again when a third of the rows that it was fitted to is left
        out: in n resamples, or in as many as there are seconds for. Nothing is searched anew: the formulas on
        the front and the ten shortest descriptions are fitted to each resample."""
        return self._agreement(*self._rows(X, y, sample_weight, y_error), n, Deadline(seconds))

    def report(
        self, X, y, sample_weight=None, *, y_error=None, target: str = "", n: int = 10, seconds: float = 10.0
    ) -> reports.Report:
        """What is known about the answer, on the rows that it was fitted to, as a page for a notebook or, by
        `.save("out.html")`, for a browser; n and seconds are those of `agreement`."""
        target = target or str(getattr(y, "name", None) or "y")
        X, y, weights = self._rows(X, y, sample_weight, y_error)
        agreed = self._agreement(X, y, weights, n, Deadline(seconds)) if n else None
        return reports.report_on(self, X, y, target, agreed)

    def _rows(self, X, y, sample_weight, y_error) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The rows that count, in the columns that were searched in, and their weights."""
        check_is_fitted(self)
        check_table(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=False)
        X, y, weights = weighted(X, np.asarray(y, np.float64), sample_weight, y_error)
        return _taken(X, self._indices), y, weights

    def _agreement(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, n: int, deadline: Deadline
    ) -> Agreement:
        table, floor = self.equations_, rounding_floor(y)
        rows = [i for i in {0, *self.pareto_front_.index, *range(RIVALS)} if i < len(table)]
        rivals = []
        for i, row in table.iloc[rows].iterrows():
            fitted_part = description_length(row.r2, len(y), 0, row.constants, floor)
            fixed = row.description_length - fitted_part if math.isfinite(fitted_part) else 0.0
            rivals.append(Rival(self._formulas[i], row.constants, fixed))
        some = sample_of(X, y, SAMPLE, 0)
        part = X[some], y[some], None if weights is None else weights[some]
        chosen = chosen_again(rivals, *part, floor, self.selection, n, deadline)
        return Agreement(self.formula_, Counter(table.equation[rows[i]] for i in chosen))

    def _repr_html_inner(self) -> str:
        return self._with_formula(super()._repr_html_inner())

    def _repr_mimebundle_(self, **options) -> dict[str, str]:
        """scikit-learn's display, below the formula if there is one."""
        shown = super()._repr_mimebundle_(**options)
        return {
            kind: self._with_formula(text) if kind == "text/html" else text for kind, text in shown.items()
        }

    def _with_formula(self, shown: str) -> str:
        return f"{reports.equation(self)}{shown}" if hasattr(self, "formula_") else shown

    # -------------------------------------------------------------------------------------------------------------- exports

    def to_numpy(self, row: int = 0) -> Callable[[np.ndarray], np.ndarray]:
        """The answer (or another row of `equations_`) as a function of arrays X (P, D), NaN where it has no
        value."""
        return exports.as_numpy(*self._formula(row), self._indices)

    def to_torch(self, row: int = 0) -> torch.nn.Module:
        """The answer (or another row of `equations_`) as a torch module, with its constants as parameters."""
        return exports.as_torch(*self._formula(row), self._indices)

    def to_c(self, row: int = 0) -> str:
        """The answer (or another row of `equations_`) as a C function of a row of X."""
        return exports.as_c(*self._formula(row), self._indices, self.symbols_)

    def to_json(self) -> str:
        """The fitted estimator as JSON text: parameters, formulas and what is known about them. A strategy
        that was given as an object is only named."""
        check_is_fitted(self)
        given = self.get_params(deep=False)
        given["strategy"] = getattr(self.strategy, "name", self.strategy)
        given |= {name: list(given[name]) for name in ("start", "forbid", "must_use")}
        if self.X_units is not None:
            by_name = hasattr(self.X_units, "items")
            given["X_units"] = dict(self.X_units.items()) if by_name else list(self.X_units)
        given["operators"] = None if self.operators is None else list(self.operators)
        given["columns"] = self.columns if isinstance(self.columns, str) else list(self.columns)
        given["random_state"] = self.random_state if isinstance(self.random_state, int) else None
        about = {name: getattr(self, name) for name in _KEPT}
        about["half_widths_"] = [exports.finite(half) for half in self.half_widths_]
        names = getattr(self, "feature_names_in_", None)
        about["feature_names_in_"] = None if names is None else list(names)
        rows = [row | {"digits": d} for row, d in zip(self.equations_.to_dict("records"), self._digits)]
        return exports.dumped(self._formulas, rows, {"parameters": given, "fitted": about})

    @classmethod
    def from_json(cls, text: str) -> NSRegressor:
        """The estimator that `to_json` wrote; it predicts as that did."""
        formulas, rows, about = exports.loaded(text)
        model, fitted = cls(**about["parameters"]), about["fitted"]
        names = fitted.pop("feature_names_in_")
        fitted.setdefault("constant_units_", [])  # written before there were units
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        for name in _KEPT:
            setattr(model, name, fitted[name])
        model.half_widths_ = [math.inf if half is None else half for half in model.half_widths_]
        model.beyond_ = [tuple(one) for one in model.beyond_]
        model._formulas, model._digits = formulas, [row.pop("digits") for row in rows]
        model._list(rows)
        return model

    def _named(self, infix: str) -> str:
        return re.sub(r"\bx(\d+)\b", lambda match: self.symbols_[int(match[1]) - 1], infix)


def _taken(X: np.ndarray, columns: list[int]) -> np.ndarray:
    """Some columns of X (P, D); X itself, not a copy, if these are all."""
    return X if columns == list(range(X.shape[1])) else X[:, columns]


def _numbers_of(columns: Sequence, names: list[str], option: str) -> list[int]:
    """Columns given by name or number, as numbers in their order."""
    for c in columns:
        if c not in names and not (isinstance(c, int) and 0 <= c < len(names)):
            if isinstance(c, str):
                refuse_unknown([c], names, "column", ValueError, f"in {option}")
            raise ValueError(f"{option}: X has no column {c!r}.")
    return sorted({names.index(c) if c in names else c for c in columns})


def _printable(formula: Valued) -> tuple[Prefix, tuple[float, ...] | None]:
    """A formula and its constants, or None for them where one is not finite."""
    prefix, constants = formula
    return prefix, constants if constants and np.isfinite(constants).all() else None


def _plain_forms(
    own: Problem, problem: Problem, units: Units, deadline: Deadline, allowance: Allowance = Allowance()
) -> list[Found]:
    """The best plain forms: in the user's units, and if none of them is exact, with inner constants in those
    of the search."""
    found: list[Found] = []
    same = Units.same(own.n_variables)
    limited, outer = allowance.of_structure, allowance.outer
    admits = allowance.admits_part if limited else None

    def admitted(forms: list[Valued]) -> list[Valued]:
        return [form for form in forms if allowance.without_units.admits(form[0])] if limited else forms

    if outer is not None and outer.joins:
        parts = part_forms(own, outer.groups, "mul" in outer.joins, deadline)
        found += [
            Found(c, *same.back(c.prefix, c.constants))
            for c in plain_forms.fitted(own, lambda *bag: admitted(parts), deadline)
        ]
    for i, (given, measured_in, forms) in enumerate(
        (
            (own, same, lambda *bag: admitted(product_forms(*bag))),
            (own, same, lambda *bag: admitted(plain_forms.linear_forms(*bag, admits))),
            (own, same, lambda *bag: admitted(separated_forms(own.X, own.y, own.weights, deadline))),
            (problem, units, plain_forms.curved_forms),
        )
    ):
        if i < 2 and outer is None or not _exact(found, own):
            fitted = plain_forms.fitted(given, forms, deadline)
            # of two forms that say the same the later one is kept: a sum is easier to read than a product
            found = [*(Found(c, *measured_in.back(c.prefix, c.constants)) for c in fitted), *found]
    return found


def _allowed(found: list[Found], allowance: Allowance, deadline: Deadline) -> list[Found]:
    """Those that may be answers; as long as there is time, some of them with factors 1 that carry a unit."""
    allowed = []
    for one in found:
        formula: Valued | None = one.prefix, one.constants
        if not allowance.admits(one.prefix):
            formula = None if deadline.passed else allowance.made_right(formula)
        if formula is not None and formula[0] != one.prefix:
            one = Found(replace(one.candidate, prefix=formula[0], constants=formula[1]), *formula)
        allowed += [one] if formula is not None else []
    return allowed


def _around(
    outer: Outer,
    found: list[Found],
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    dimensions: Dimensions | None,
    deadline: Deadline,
) -> list[Found]:
    """Whole formulas from their cores; as long as there is time fitted to y once more, but for those with numbers of the
    user's in them."""
    known_numbers = bool(outer.before[1] or outer.after[1])
    rows, whole = sample_of(X, y, SAMPLE, 0), [outer.around((one.prefix, one.constants)) for one in found]
    table = Problem(
        X[rows], y[rows], floor=rounding_floor(y), weights=None if weights is None else weights[rows]
    )
    oracle, same, around = Oracle(table), Units.same(X.shape[1]), []
    for one, (prefix, constants) in zip(found, whole):
        r2 = r2_score(table.y, evaluate(prefix, table.X, constants), table.weights)
        best, note = Candidate(prefix, constants, r2), one.candidate.note
        if (
            constants
            and not known_numbers
            and 1.0 - r2 > NOISE
            and not (deadline.passed or deadline.interrupted)
        ):
            again = oracle.verify([prefix], initial=(constants,), starts=0)[0]
            best = again if again.valid and again.r2 > r2 else best
        if best.valid:
            tidy = cancelled(same.back(best.prefix, best.constants))
            if dimensions is not None and not dimensions.admits(tidy[0]):  # a factor of 1 has a unit
                tidy = best.prefix, best.constants
            around.append(Found(replace(best, note=note), *tidy))
    return around


def _exact(found: list[Found], own: Problem) -> bool:
    """Whether one of the formulas leaves nothing to explain, also where a few rows decide R². One with many constants
    may be a series of the law, and the search goes on."""
    return any(
        len(one.constants) <= SERIES
        and 1.0 - one.candidate.r2 <= NOISE
        and 1.0 - fair_r2(own.y, evaluate(one.prefix, own.X, one.constants), own.weights) <= NOISE
        for one in found
    )


def _fitted_here(given: list[Valued], own: Problem) -> list[Found]:
    """The user's own formulas fitted in the user's units, as they are and pruned."""
    if not given:
        return []
    oracle = Oracle(own)
    fitted = oracle.verify(
        [prefix for prefix, _ in given], initial=tuple(c or None for _, c in given), note="start"
    )
    fitted += [pruned(c, oracle, price_of_a_constant(len(own.y))) for c in fitted]
    same = Units.same(own.n_variables)
    return [Found(c, *same.back(c.prefix, c.constants)) for c in fitted if c.valid]


def _line(n_columns: int) -> Prefix:
    """The straight line in all columns."""
    line: Prefix = ("C",)
    for name in VARIABLES[:n_columns]:
        line = ("add", "mul", "C", name, *line)
    return line


def _in_own_units(
    units: Units, candidates: list[Candidate], own: Problem, deadline: Deadline
) -> list[Candidate]:
    """The shortest descriptions pruned once more in the user's units: what was 100 in those of the search may
    be 1 there."""
    if units.trivial:
        return []
    oracle, price, found = Oracle(own), price_of_a_constant(len(own.y)), []
    for c in by_length([c for c in candidates if c.note != "yardstick"], len(own.y), own.floor)[:PLAINER]:
        prefix, constants = units.back(c.prefix, c.constants)
        if np.isfinite(constants).all() and not deadline.passed:
            found.append(
                pruned(
                    oracle.verify([prefix], initial=(constants or None,), starts=1)[0],
                    oracle,
                    price,
                    deadline,
                )
            )
    return [c for c in found if c.valid]


def _latex_name(symbol: str) -> str:
    numbered = re.fullmatch(r"([A-Za-z])_?(\d+)", symbol)
    if numbered:
        return f"{numbered[1]}_{{{numbered[2]}}}"
    return symbol if len(symbol) == 1 else r"\mathrm{" + symbol.replace("_", r"\_") + "}"


def column_importance(
    X: np.ndarray, y: np.ndarray, criterion: str, seed: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """How much each column of X (P, D) says about y: (D,), see `NSRegressor`'s `columns`. Mutual information
    knows no weights."""
    if criterion == "mutual_info":
        from sklearn.feature_selection import mutual_info_regression

        return mutual_info_regression(X, y, random_state=seed)
    from sklearn.ensemble import ExtraTreesRegressor

    largest = np.abs(X).max(0)
    X = X / np.where(largest > 1e30, largest, 1.0)  # trees compute in 32 bits
    return (
        ExtraTreesRegressor(100, min_samples_leaf=max(1, len(y) // 100), random_state=seed)
        .fit(X, y, weights)
        .feature_importances_
    )


def default_weights(strategy: Strategy) -> str:
    """The network for a strategy: prompted for NSR-gvs, plain for the others; all operators if it is there."""
    kind = "gvs" if "gvs" in strategy.name else "plain"
    for name in NETWORKS[kind]:
        try:
            _network(name)
            return name
        except FileNotFoundError:
            continue
    return NETWORKS[kind][-1]  # loading it will say what to do


@lru_cache(maxsize=4)
def _network(weights: str) -> Trained:
    folder, device = Path(weights), best_device()
    return load_folder(folder, device=device) if (folder / "about.json").exists() else load(weights, device)


def _by_name(name: str, beam_size: int | None) -> Strategy:
    from nsr.search.strategies.names import by_name

    return by_name(name, beam_size or BEAM_SIZES.get(name, 5))
