"""Strategies by the names that they have in tables and sweeps, and which network each of them needs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from nsr.book.spelling import refuse_unknown
from nsr.search.engine import Strategy

HINTS = ("complexity", "symmetry", "positives", "negatives", "all", "none")  # what NSRwH may be given


def _class(name: str) -> Any:
    """A class of nsr.search.strategies, looked up when it is needed: a chapter may run before all strategies
    are written."""
    strategy = getattr(importlib.import_module("nsr.search.strategies"), name, None)
    if strategy is None:
        raise ValueError(f"nsr.search.strategies has no {name} yet.")
    return strategy


def _nsrwh(given: str) -> Callable[[int], Strategy]:
    return lambda b: _class("NSRwH")(given=given, beam_size=b)


# name → the network that the strategy needs, and how it is made from a beam size
MAKERS: dict[str, tuple[str, Callable[[int], Strategy]]] = {
    "beam": ("nesymres", lambda b: _class("BeamSearch")(b)),
    "tpsr": ("nesymres", lambda b: _class("TPSR")(beam_size=b)),
    "gvs": ("gvs", lambda b: _class("GVS")(_class("BeamSearch")(b))),
    "gvs+tpsr": ("gvs", lambda b: _class("GVS")(_class("TPSR")(beam_size=b))),
    **{f"nsrwh-{hint}": ("nsrwh", _nsrwh(hint)) for hint in HINTS},
    "families": ("nesymres", lambda b: _class("Families")(_class("BeamSearch")(b))),
    "families+tpsr": ("nesymres", lambda b: _class("Families")(_class("TPSR")(beam_size=b))),
    "families+gvs": ("gvs", lambda b: _class("Families")(_class("GVS")(_class("BeamSearch")(b)))),
    "last-leaf": ("nesymres", lambda b: _class("LastLeaf")(b)),
    "local": ("nesymres", lambda b: _class("LocalSearch")(b)),
    "local-random": ("nesymres", lambda b: _class("LocalSearch")(b, start="random", guided=False)),
}


def _maker(name: str) -> tuple[str, Callable[[int], Strategy]]:
    refuse_unknown([name], MAKERS, "strategy", ValueError)
    return MAKERS[name]


def by_name(name: str, beam_size: int = 5) -> Strategy:
    """The strategy that a row of a table names, with its usual settings.

    >>> by_name("gvs+tpsr", beam_size=1).predictor.beam_size
    1
    """
    return _maker(name)[1](beam_size)


def kind_of(name: str) -> str:
    """The network that a strategy searches with: laptop/nesymres, laptop/gvs or laptop/nsrwh at the scale of
    a laptop.

    >>> kind_of("tpsr"), kind_of("gvs+tpsr"), kind_of("nsrwh-all")
    ('nesymres', 'gvs', 'nsrwh')
    """
    return _maker(name)[0]
