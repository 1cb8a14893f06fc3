"""Which rows the reference tables have: params/replicate.yaml, under `tables`.

A line there is a grid: every value may be a list, and stands for each of its entries.

    {strategy: tpsr, beam_size: [1, 3], test_set: not_included, lam: 0.1}     two rows, each with every seed
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.run_records import ROOT, short
from nsr.book.spelling import refuse_unknown
from nsr.evidence.measuring import snapshot_steps
from nsr.evidence.rows import Row
from nsr.network.checkpoints import Trained
from nsr.search.protocol import Protocol
from nsr.search.strategies.names import kind_of

OF_ROW = (
    "test_set",
    "seed",
    "step",
    "limit",
    "noise",
    "protocol",
)  # the other keys of a line belong to the strategy
KEYS = {"rows", "show", "networks", "chapter"}


class PlanError(ValueError):
    """A plan that cannot be understood; the message says where, and what can be."""


PLAN = Kind("a plan", PlanError)


@dataclass(frozen=True)
class TablePlan:
    """A table of the plan: lines of strategies, or the chapter that makes it."""

    name: str
    lines: tuple[Mapping[str, Any], ...] = ()
    show: tuple[str, ...] = ()
    networks: int | None = None  # of each kind at most so many; None: all there are
    chapter: str = ""

    def kinds(self) -> list[str]:
        """The recipes of the networks that are searched with."""
        return list(dict.fromkeys(kind for kind, _ in self._points({})))

    def rows(self, trained: Trained, kind: str, sizes: Mapping[str, int], scale: str = "laptop") -> list[Row]:
        """The rows of this table for one network of a kind; `sizes` are those of the scale."""
        size = {key: sizes[key] for key in ("n_problems", "n_points")}
        made = []
        for its_kind, point in self._points(sizes):
            if its_kind != kind:
                continue
            every = point.get("step") == "every"
            steps = snapshot_steps(self.name, trained, scale=scale) if every else [point.get("step")]
            seeds = [point["seed"]] if "seed" in point else range(sizes["n_seeds"])
            own = {key: point[key] for key in ("limit", "noise") if key in point}
            strategy, fit = self._strategy(point, sizes), _protocol(point).fit
            made += [
                Row(strategy, point["test_set"], seed, step=step, show=self.show, fit=fit, **size, **own)
                for step in steps
                for seed in seeds
            ]
        return list({row.label + str(row.parameters(trained)): row for row in made}.values())

    def _points(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each combination of the values of each line, with the kind of its network. A beam that is larger
        than the scale's largest is left out."""
        for line in self.lines:
            lists = {key: value if isinstance(value, list) else [value] for key, value in line.items()}
            for values in itertools.product(*lists.values()):
                point = dict(zip(lists, values))
                kind = point.pop("network", None) or kind_of(point["strategy"])
                if point.get("beam_size", 5) <= sizes.get("beam_size", 10**9):
                    yield kind, point

    def _strategy(self, point: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
        strategy = _protocol(point).strategy(point["strategy"], point.get("beam_size", 5))
        options = {
            key: value
            for key, value in point.items()
            if key not in (*OF_ROW, "strategy", "beam_size", "network")
        }
        known = {field.name for field in dataclasses.fields(strategy)}
        refuse_unknown(
            options, known, "option", PlanError, f"of {point['strategy']} in the table {self.name}"
        )
        for key in ("candidates", "iterations"):
            if key in known & sizes.keys():
                options[key] = min(options.get(key, getattr(strategy, key)), sizes[key])
        return dataclasses.replace(strategy, **options) if options else strategy


def _protocol(point: Mapping[str, Any]) -> Protocol:
    return Protocol.named(point.get("protocol", "ours"))


@lru_cache(maxsize=4)
def read_plan(path: Path = ROOT / "params" / "replicate.yaml") -> dict[str, Any]:
    """The whole plan; its tables are `TablePlan`s by name."""
    content = read_yaml(path, PLAN)
    try:
        tables = {name: _table(name, given or {}) for name, given in content["tables"].items()}
        plan = {key: dict(content[key]) for key in ("networks", "sizes", "chapters", "cost")}
        plan["improved"] = dict(content.get("improved", {}))
        plan["judged_in"] = content["judged_in"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"{short(path)} is no plan: {error!r}.") from None
    refuse_unknown(content, [*plan, "tables"], "part of the plan", PlanError)
    return plan | {"tables": tables}


def _table(name: str, given: Mapping[str, Any]) -> TablePlan:
    refuse_unknown(given, KEYS, "key", PlanError, f"of a table ({name})")
    lines = tuple(given.get("rows", ()))
    if bool(lines) == bool(given.get("chapter")):
        raise PlanError(f"The table {name} needs either rows or a chapter that makes it.")
    table = TablePlan(
        name, lines, tuple(given.get("show", ())), given.get("networks"), given.get("chapter", "")
    )
    for _, point in table._points({}):
        if "test_set" not in point:
            raise PlanError(f"A row of the table {name} has no test_set.")
        table._strategy(point, {})
    return table
