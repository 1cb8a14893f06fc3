"""Strategies by the names that they have in tables and sweeps, and which network each of them needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nsr.book.spelling import refuse_unknown
from nsr.search.engine import Strategy
from nsr.search.strategies import GVS, TPSR, BeamSearch, Families, LastLeaf, LocalSearch, NSRwH, OffTree
from nsr.search.strategies.tpsr import PUBLISHED

Maker = Callable[[int, bool], Strategy]
PUBLISHED_DECODER: dict[str, Any] = {"masked": False, "stop": "published"}
HINTS = ("complexity", "symmetry", "positives", "negatives", "all", "none")  # what NSRwH may be given


def _beam(b: int, published: bool) -> Strategy:
    return BeamSearch(b, **PUBLISHED_DECODER if published else {})


def _tpsr(b: int, published: bool) -> Strategy:
    return TPSR(beam_size=b, **PUBLISHED | PUBLISHED_DECODER if published else {})


def _nsrwh(given: str) -> Maker:
    return lambda b, published: NSRwH(b, given=given, **PUBLISHED_DECODER if published else {})


def _ours(strategy: type, **options: Any) -> Maker:
    """A search that completes what it has edited: only the grammar says what may stand there."""

    def make(b: int, published: bool) -> Strategy:
        if published:
            only = "is a strategy of this book: there is no published decoder for it"
            raise ValueError(f"{strategy.__name__} {only}.")
        return strategy(b, **options)

    return make


# name → the network that the strategy needs, and how it is made from a beam size and whether it decodes as
# published
MAKERS: dict[str, tuple[str, Maker]] = {
    "beam": ("nesymres", _beam),
    "tpsr": ("nesymres", _tpsr),
    "gvs": ("gvs", lambda *how: GVS(_beam(*how))),
    "gvs+tpsr": ("gvs", lambda *how: GVS(_tpsr(*how))),
    **{f"nsrwh-{hint}": ("nsrwh", _nsrwh(hint)) for hint in HINTS},
    "families": ("nesymres", lambda *how: Families(_beam(*how))),
    "families+tpsr": ("nesymres", lambda *how: Families(_tpsr(*how))),
    "families+gvs": ("gvs", lambda *how: Families(GVS(_beam(*how)))),
    "off-tree": ("nesymres", _ours(OffTree)),
    "families+off-tree": ("nesymres", lambda *how: Families(_ours(OffTree)(*how))),
    "last-leaf": ("nesymres", _ours(LastLeaf)),
    "local": ("nesymres", _ours(LocalSearch)),
    "local-random": ("nesymres", _ours(LocalSearch, start="random", guided=False)),
}


def _maker(name: str) -> tuple[str, Maker]:
    refuse_unknown([name], MAKERS, "strategy", ValueError)
    return MAKERS[name]


def by_name(name: str, beam_size: int = 5, published: bool = False) -> Strategy:
    """The strategy that a row of a table names, with its usual settings, or as `published`: it, or the one
    inside it, decodes as the published systems do, and TPSR has their reward and answer, too.

    >>> by_name("gvs+tpsr", beam_size=1).predictor.beam_size
    1
    >>> by_name("gvs", published=True).predictor
    BeamSearch(beam_size=5, length_penalty=1.0, masked=False, stop='published', max_len=40, unique=False, starts=4)
    """
    return _maker(name)[1](beam_size, published)


def kind_of(name: str) -> str:
    """The network that a strategy searches with: laptop/nesymres, laptop/gvs or laptop/nsrwh at the scale of
    a laptop.

    >>> kind_of("tpsr"), kind_of("gvs+tpsr"), kind_of("nsrwh-all")
    ('nesymres', 'gvs', 'nsrwh')
    """
    return _maker(name)[0]
