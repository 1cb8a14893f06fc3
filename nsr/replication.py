"""`python -m nsr replicate`: the chain from nothing to the book, as params/replicate.yaml says it.

    networks ──► tables ──► claims ──► chapters

Each step looks at what is there, with its record: a network at the recipe it was trained by, a table at the
very weights its rows were measured with, the claims at the rows they judge, a chapter at all it has read.
How a chain runs: `nsr.book.chain`.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from nsr.book import chain, runner, sweeps
from nsr.book.chain import BEGUN, DONE, MISSING, OUT, Cost, State, StepFailed
from nsr.book.run_records import code_digest, git_state
from nsr.evidence import claims
from nsr.evidence.comparison import TABLES
from nsr.evidence.improvement import improve, round_name
from nsr.evidence.measuring import jobs_of
from nsr.evidence.planned_rows import PlanError, TablePlan, read_plan
from nsr.evidence.reference_tables import MEASURED_BY, read_records, recorded, results_path, tables_of
from nsr.network import checkpoints
from nsr.network.checkpoints import weights_digest
from nsr.network.recipes import Settings, SettingsError, read_settings
from nsr.network.training import TRAINED_BY, train

PARTS = ("networks", "tables", "claims", "chapters")
# settings that do not change what is learned
_HOW = {"save_every", "record_every", "snapshots", "device", "precision", "compile", "threads"}
PAPER_HOURS = "the paper says 24 hours of an A100"


@dataclass(frozen=True)
class Order:
    """What somebody asked for."""

    scale: str = "laptop"
    networks: int | None = None  # of each kind that the plan has several of
    strict: bool = False  # make again what a dirty tree or older code has made
    dirty: bool = False  # measure with files that differ from the commit, and say so in the records
    file: Path | None = None  # another plan than params/replicate.yaml

    @cached_property
    def plan(self) -> dict[str, Any]:
        return read_plan(self.file.resolve()) if self.file else read_plan()

    @property
    def sizes(self) -> dict[str, int]:
        return self.plan["sizes"][self.scale]

    def names(self, kind: str) -> list[str]:
        """The networks of a kind: nesymres, nesymres@1, …"""
        most = self.plan["networks"][kind]
        count = self.networks if self.networks and most > 1 else min(most, self.sizes.get("networks", most))
        return [kind, *(f"{kind}@{number}" for number in range(1, count))]

    def full(self, name: str) -> str:
        return f"{self.scale}/{name}"


@cache
def _present(name: str) -> checkpoints.Trained:
    return checkpoints.load(name)


def _doubts(records: Iterable[dict[str, Any]], rooms: Sequence[str], strict: bool) -> State:
    """Of something that is there: up to date, with a word on a dirty tree or older code. With `strict` these
    make it out of date."""
    records = list(records)
    dirty = sum(record.get("commit") is None or bool(record.get("dirty")) for record in records)
    older = sum("code" in record and record["code"] != code_digest(rooms) for record in records)
    words = [f"{dirty} of {len(records)} from a tree that was no commit"] * bool(dirty)
    words += [f"{older} of {len(records)} by older code"] * bool(older)
    return State(OUT if strict and words else DONE, ", ".join(words))


@dataclass(frozen=True)
class NetworkStep:
    """Train a network by its recipe."""

    order: Order
    short_name: str
    needs: tuple[str, ...] = ()
    part: str = "networks"

    @property
    def name(self) -> str:
        return f"network {self.short_name}"

    @property
    def full_name(self) -> str:
        return self.order.full(self.short_name)

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.short_name, self.order.scale)

    def state(self) -> State:
        _present.cache_clear()
        places = checkpoints.places_of(self.full_name)
        if not places:
            latest = checkpoints.training_folder(self.full_name) / checkpoints.LATEST
            if not latest.exists():
                return State(MISSING)
            step = checkpoints.read(latest)[1]["step"]
            return State(BEGUN, f"step {step:,} of {self.settings.training.steps:,}")
        about = _present(self.full_name).about
        now, before = self.settings.flat(), Settings().flat() | about["settings"]
        other = [key for key in now if key not in _HOW and before.get(key) != now[key]]
        if other:
            words = (f"{key} was {before.get(key)!r} and is {now[key]!r} in the recipe" for key in other)
            return State(OUT, ", ".join(words))
        start, began = self.settings.training.start_from, about.get("began_with") or {}
        if start and began.get("weights") not in (None, weights_digest(_present(start))):
            return State(OUT, f"{start} has changed since")
        return _doubts([about["birth"]], TRAINED_BY, self.order.strict)

    def cost(self) -> Cost:
        known, kind = self.order.plan["cost"].get(self.order.scale, {}), self.short_name.partition("@")[0]
        seconds, t = known.get(kind, known.get(kind.partition("-")[0])), self.settings.training
        hours = None if seconds is None else seconds * t.steps / 3600
        size = sum(p.numel() for p in _meta_network(self.settings).parameters())
        note = f"{size / 1e6:.1f} M parameters, {t.steps:,} steps of {t.batch}"
        note += f"; {PAPER_HOURS}" * (self.order.scale == "paper")
        copies = 4 + 2 * t.snapshots + 12  # weights, snapshots, the checkpoint
        return Cost(hours, known.get("memory"), size * copies / 1e6, note)

    @property
    def where(self) -> str:
        devices = _cuda_devices()
        return f"torchrun on {devices} GPUs" if devices > 1 else "one GPU" if devices else "this process"

    def make(self) -> None:
        folder = checkpoints.training_folder(self.full_name)
        if self.state().word == OUT and folder.exists():  # what is there was made in another way
            os.replace(folder, folder.with_name(f"{folder.name}.replaced-{os.getpid()}"))
        if (devices := _cuda_devices()) > 1:
            torchrun = f"-m torch.distributed.run --nproc-per-node={devices} -m nsr train".split()
            command = [sys.executable, *torchrun, self.short_name, "--scale", self.order.scale]
            if (done := subprocess.run(command)).returncode:
                raise StepFailed(f"torchrun ended with {done.returncode}")
            return
        if train(self.settings, folder) is None:
            raise StepFailed("the training did not finish")


@dataclass(frozen=True)
class ImproveStep:
    """Go on with a network for some rounds (`nsr.evidence.improvement`)."""

    order: Order
    base: str
    by: str
    rounds: int
    needs: tuple[str, ...] = ()
    part: str = "networks"
    where: str = "this process"

    @property
    def name(self) -> str:
        return f"network {round_name(self.base, self.by, self.rounds)}"

    def _names(self) -> list[str]:
        return [self.order.full(round_name(self.base, self.by, number)) for number in range(self.rounds + 1)]

    def state(self) -> State:
        _present.cache_clear()
        base, *rounds = self._names()
        made = [_present(name) for name in rounds if checkpoints.places_of(name)]
        if not made or not checkpoints.places_of(base):
            return State(MISSING)
        if made[0].about["began_with"]["weights"] != weights_digest(_present(base)):
            return State(OUT, f"{base} has changed since")
        if len(made) < self.rounds:
            return State(BEGUN, f"{len(made)} of {self.rounds} rounds")
        return _doubts([one.about["birth"] for one in made], TRAINED_BY, self.order.strict)

    def cost(self) -> Cost:
        known, steps = self.order.plan["cost"].get(self.order.scale, {}), self.order.sizes["more_steps"]
        seconds = known.get(self.base.partition("-")[0])
        hours = None if seconds is None else seconds * steps * self.rounds / 3600
        return Cost(
            hours, known.get("memory"), None, f"{self.rounds} rounds of {steps:,} steps, and the searches"
        )

    def make(self) -> None:
        if self.state().word == OUT:
            for name in self._names()[1:]:
                if (folder := checkpoints.training_folder(name)).exists():
                    os.replace(folder, folder.with_name(f"{folder.name}.replaced-{os.getpid()}"))
        size = {"problems": self.order.sizes["unlabelled"], "steps": self.order.sizes["more_steps"]}
        improve(self.order.full(self.base), self.rounds, self.by, **size)


def _cuda_devices() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _meta_network(settings: Settings) -> Any:
    import torch

    from nsr.network.model import Network

    with torch.device("meta"):
        return Network(settings.config())


@dataclass(frozen=True)
class TableStep:
    """Measure the rows of a table that one network has, by the notebook that measures."""

    order: Order
    table: TablePlan
    kind: str
    network: str
    needs: tuple[str, ...] = ()
    part: str = "tables"
    where: str = "a notebook of its own"

    @property
    def name(self) -> str:
        return f"table {self.table.name} of {self.network}"

    def _jobs(self, network: checkpoints.Trained) -> list[Any]:
        rows = self.table.rows(network, self.kind, self.order.sizes, self.order.scale)
        return jobs_of(rows, {"": network})

    def _records(self) -> dict[str, Any]:
        return read_records(*tables_of(results_path(self.table.name, self.order.scale)))[1]

    def state(self) -> State:
        name = self.order.full(self.network)
        if not checkpoints.places_of(name):
            return State(MISSING)
        jobs, records = self._jobs(_present(name)), self._records()
        found = recorded(jobs, records)
        here = [found[job.run] for job in jobs if found[job.run]]
        if len(here) < len(jobs):
            return State(BEGUN if here else MISSING, f"{len(here)} of {len(jobs)} rows")
        return _doubts((records[run] for run in here), MEASURED_BY, self.order.strict)

    def cost(self) -> Cost:
        """What the same rows took with another network."""
        records, first = self._records().values(), self.order.full(self.kind)
        took = [record["seconds"] for record in records if record["parameters"]["weights"] == first]
        hours = sum(took) / 3600 if took else None
        return Cost(hours, 1.5, 0.5, "as long as the first network took" * bool(took))

    def make(self) -> None:
        plan = {"plan_file": str(self.order.file.resolve())} if self.order.file else {}
        given = {"table": self.table.name, "network": self.network}
        _run_notebook(runner.MEASURE, self.order.scale, given | plan)


@dataclass(frozen=True)
class ChapterTablesStep:
    """Make the tables that only a chapter knows how to make, by running it with `recompute`."""

    order: Order
    chapter: str
    tables: tuple[str, ...]
    needs: tuple[str, ...] = ()
    part: str = "tables"
    where: str = "its chapter"

    @property
    def name(self) -> str:
        return f"tables of {self.chapter}"

    def _made(self) -> dict[str, list[dict[str, Any]]]:
        """The records of each table."""
        found = {}
        for table in self.tables:
            rows = list(read_records(*tables_of(results_path(table, self.order.scale)))[1].values())
            at_once = results_path(table, self.order.scale, ending="csv")
            found[table] = rows or ([claims.record_of(at_once)] if at_once.exists() else [])
        return found

    def state(self) -> State:
        made = self._made()
        missing = [table for table, records in made.items() if not records]
        if missing:
            return State(MISSING, ", ".join(missing))
        records = [record for some in made.values() for record in some]
        parameters = [record["parameters"] for record in records]
        whole = {(p.get("weights"), p.get("weights_digest")) for p in parameters if not p.get("step")}
        for weights, digest in whole:
            name = weights and (weights if "/" in weights else self.order.full(weights))
            if name and checkpoints.places_of(name) and weights_digest(_present(name)) != digest:
                return State(OUT, f"{name} has changed since")
        return _doubts(records, MEASURED_BY, self.order.strict)

    def cost(self) -> Cost:
        took = [record.get("seconds") or 0.0 for some in self._made().values() for record in some]
        return Cost(sum(took) / 3600 if took else None, 2, 2)

    def make(self) -> None:
        _run_notebook(self.chapter, self.order.scale, {"recompute": True})


@dataclass(frozen=True)
class ClaimsStep:
    """Judge the paper's statements on the tables."""

    order: Order
    needs: tuple[str, ...] = ()
    name: str = "claims"
    part: str = "claims"
    where: str = "this process"

    def state(self) -> State:
        known = claims.record_of(claims.judged_path(self.order.scale))
        if not known:
            return State(MISSING)
        if known.get("inputs") != claims.inputs_digest(self.order.scale):
            return State(OUT, "the tables or params/claims.yaml have changed since")
        return _doubts([known], ("evidence",), self.order.strict)

    def cost(self) -> Cost:
        return Cost(0.01, 1, 0.1)

    def make(self) -> None:
        claims.write_judgement(self.order.scale)


@dataclass(frozen=True)
class ChapterStep:
    """Execute a chapter and make its page."""

    order: Order
    chapter: str
    needs: tuple[str, ...] = ()
    part: str = "chapters"
    where: str = "a notebook of its own"

    @property
    def name(self) -> str:
        return f"chapter {self.chapter}"

    def state(self) -> State:
        notebook = runner.find(self.chapter)
        parameters = runner.settle(notebook, self.order.scale)
        folder = runner.folder_of(notebook, self.order.scale, parameters)
        if not folder.exists():
            return State(MISSING)
        good = runner.up_to_date(folder, runner.fingerprint(notebook, parameters))
        return State(DONE) if good else State(OUT, "it, the module, the weights or its tables have changed")

    def cost(self) -> Cost:
        return Cost(0.01, 1, 3)

    def make(self) -> None:
        _run_notebook(self.chapter, self.order.scale, {})


def _run_notebook(name: str, scale: str, parameters: dict[str, Any]) -> None:
    metrics = runner.run(name, scale, parameters, tell=runner.teller(name))
    if metrics["status"] != "ok":
        raise StepFailed(metrics["error"].strip().splitlines()[-1])


# ---- the whole ----------------------------------------------------------------------------------------------------------------


def steps_of(order: Order) -> list[Any]:
    """Every step of the plan at a scale."""
    plan = order.plan
    steps: list[Any] = []
    for kind in plan["networks"]:
        for name in order.names(kind):
            start = read_settings(name, order.scale).training.start_from.partition("/")[2]
            steps.append(NetworkStep(order, name, (f"network {start}",) if start else ()))
    networks = {step.short_name for step in steps}
    for base, how in plan["improved"].items():
        found = f"network {round_name(base, 'found', how['rounds'])}"
        for by in how["by"]:
            need = f"network {base}" if by == "found" else found
            steps.append(ImproveStep(order, base, by, how["rounds"], (need,)))
    made_by: dict[str, list[str]] = {}  # table → steps
    chapters: dict[str, list[str]] = {}
    for table in plan["tables"].values():
        if table.chapter:
            chapters.setdefault(table.chapter, []).append(table.name)
        for kind in table.kinds():
            for name in order.names(kind)[: table.networks]:
                step = TableStep(order, table, kind, name, (f"network {name}",))
                made_by.setdefault(table.name, []).append(step.name)
                steps.append(step)
    for chapter, tables in chapters.items():
        step = ChapterTablesStep(order, chapter, tuple(tables), _networks_of(chapter, order, networks))
        made_by |= {table: [step.name] for table in tables}
        steps.append(step)
    judged = [name for table in TABLES for name in made_by.get(table, ())]
    steps.append(ClaimsStep(order, tuple(judged)))
    for chapter in runner.the_book():
        tables = [name for table in plan["chapters"].get(chapter, ()) for name in made_by[table]]
        of_networks = _networks_of(chapter, order, networks)
        judging = ("claims",) * (chapter == plan["judged_in"])
        steps.append(ChapterStep(order, chapter, (*of_networks, *tables, *judging)))
    return steps


def _networks_of(chapter: str, order: Order, known: Iterable[str]) -> tuple[str, ...]:
    """The networks that a chapter's parameters name."""
    settled = runner.settle(runner.find(chapter), order.scale)
    names = [value.partition("/")[2] for key, value in settled.items() if key.endswith("weights") and value]
    return tuple(f"network {name}" for name in names if name in known)


def replicate(
    order: Order, only: Sequence[str], plan: bool, step: str, workers: int | None, scheduler: str | None
) -> int:
    """Make what is not up to date of the parts or steps asked for, or print the plan; 1 if a step failed."""
    try:
        every = steps_of(order)
        names = [one.name for one in every]
        if unknown := [w for w in only if w not in PARTS and not any(n.startswith(w) for n in names)]:
            known = f"{', '.join(PARTS)}, and steps like 'network nesymres', 'table beam' or 'chapter 05'"
            raise runner.LabError(f"Nothing in the plan is called {unknown[0]!r}. It has the parts {known}.")
        if step:
            (alone,) = [one for one in every if one.name == step]
            alone.make()
            return 0
        wanted = chain.chosen(every, only)
        if plan:
            print(chain.plan_text(wanted))
            return 0
        if git_state()[1] is not False and not order.dirty:
            raise runner.LabError(
                "Files differ from the last commit, or there is none, so no record could say what made a result. "
                "Commit first; or say --dirty, and the records will say so."
            )
        with _elsewhere(order, workers, scheduler) as (make, at_once):
            failed = chain.run(wanted, make=make, workers=at_once)
    except (PlanError, SettingsError) as error:
        raise runner.LabError(str(error)) from error
    others = f", {failed} are not" * bool(failed)
    print(f"{len(wanted) - failed} of {len(wanted)} steps are up to date{others}", flush=True)
    return 1 if failed else 0


def _elsewhere(order: Order, workers: int | None, scheduler: str | None) -> Any:
    """How steps are made, and how many at once: here, by processes of this machine, or by Dask's workers."""
    command = [sys.executable, "-m", "nsr", "replicate", "--scale", order.scale, "--dirty"]
    command += [*(["--file", str(order.file)] if order.file else []), "--step"]
    if scheduler:
        return sweeps.commands_on(scheduler, command)
    if workers and workers > 1:
        return nullcontext((chain.by_command(command), workers))
    return nullcontext((lambda step: step.make(), 1))
