"""A chain of steps: each knows what it needs, whether what it makes is up to date, and how to make it.

    network nesymres ──► table beam of nesymres ──► claims ──► chapter 11_strategies_compared

A step that fails stops only what needs it. What is up to date is skipped, so a chain that was killed goes on
when it is started again. What the steps of this project are: `nsr.replication`.
"""

import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from nsr.book.run_records import clock

DONE, OUT, MISSING, BEGUN = "up to date", "out of date", "missing", "begun"


@dataclass(frozen=True)
class State:
    """Whether a step has anything to do, and why."""

    word: str  # one of the four above
    why: str = ""

    @property
    def done(self) -> bool:
        return self.word == DONE

    def __str__(self) -> str:
        return self.word + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class Cost:
    """What a step takes if nothing of it is there: hours of one processor core, gigabytes of memory,
    megabytes of disk; None where nobody has measured it."""

    hours: float | None = None
    memory: float | None = None
    disk: float | None = None
    note: str = ""


class Step(Protocol):
    """What a chain is made of."""

    name: str  # "table beam of nesymres@1"
    part: str  # "tables"
    needs: tuple[str, ...]  # names of steps
    where: str  # "this process", "a notebook", "torchrun on 8 GPUs"

    def state(self) -> State: ...

    def cost(self) -> Cost: ...

    def make(self) -> None: ...


class StepFailed(Exception):
    """What a step was to make could not be made; the message says why."""


def ordered(steps: Iterable[Step]) -> list[Step]:
    """The steps so that each comes after what it needs, and otherwise in the order given."""
    by_name, out, open_ = {step.name: step for step in steps}, {}, set()

    def take(step: Step) -> None:
        if step.name in out:
            return
        if step.name in open_:
            raise ValueError(f"The step {step.name} needs itself.")
        open_.add(step.name)
        for need in step.needs:
            if need in by_name:
                take(by_name[need])
        out[step.name] = step

    for step in by_name.values():
        take(step)
    return list(out.values())


def chosen(steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    """The steps of these parts or names (or beginnings of names), with all that they need."""
    by_name, wanted = {step.name: step for step in steps}, set()
    named = lambda step: any(step.part == word or step.name.startswith(word) for word in only)
    todo = [step.name for step in steps if not only or named(step)]
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += [need for need in by_name[name].needs if need in by_name]
    return [step for step in steps if step.name in wanted]


def run(
    steps: Sequence[Step],
    tell: Callable[[str], None] = lambda line: print(line, flush=True),
    make: Callable[[Step], None] = lambda step: step.make(),
    workers: int = 1,
) -> int:
    """Make what is not up to date, at most `workers` steps at a time; returns how many failed or had to wait
    for one that did."""
    steps = ordered(steps)
    names, ends = {step.name for step in steps}, {}
    with ThreadPoolExecutor(workers) as pool:
        running: dict[Future, Step] = {}
        while len(ends) < len(steps):
            for step in _ready(steps, names, ends, running):
                missing = [need for need in step.needs if ends.get(need) is False]
                if missing:
                    ends[step.name] = False
                    tell(f"{step.name}: not made, for it needs {missing[0]}")
                elif (state := step.state()).done:
                    ends[step.name] = True
                    tell(f"{step.name}: {state}")
                elif len(running) < workers:
                    tell(f"{step.name}: {state}, so it is made now")
                    running[pool.submit(_timed, make, step)] = step
            if running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    step, (good, words) = running.pop(future), future.result()
                    ends[step.name] = good
                    tell(f"{step.name}: {words}")
    return sum(not good for good in ends.values())


def _ready(
    steps: Sequence[Step], names: set[str], ends: dict[str, bool], running: dict[Future, Step]
) -> Iterator[Step]:
    """Steps that are neither made nor being made, and whose needs are settled; looked up one by one, for each
    may settle another."""
    for step in steps:
        busy = step.name in ends or any(step.name == other.name for other in running.values())
        if not busy and all(need in ends for need in step.needs if need in names):
            yield step


def _timed(make: Callable[[Step], None], step: Step) -> tuple[bool, str]:
    start = time.monotonic()
    try:
        make(step)
        state = step.state()
    except Exception as error:  # whatever it is, the steps that do not need this one go on
        return False, f"failed after {clock(time.monotonic() - start)}: {type(error).__name__}: {error}"
    if not state.done:
        return False, f"was made, and is {state} all the same"
    return True, f"made in {clock(time.monotonic() - start)}"


def call(command: Sequence[str]) -> None:
    """Run a command, and raise what it said last if it failed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise StepFailed(lines[-1] if lines else f"exit code {done.returncode}")


def by_command(command: Sequence[str]) -> Callable[[Step], None]:
    """A way to make a step: by a process of its own, with the step's name at the end of the command."""
    return lambda step: call([*command, step.name])


def plan_text(steps: Sequence[Step]) -> str:
    """The plan as people read it: a line per step, and the sums of what is left to do. A step that is up to
    date now has to be made again if something that it needs is."""
    lines: list[tuple[str, ...]] = []
    left: dict[str, Cost] = {}
    for step in ordered(steps):
        state, again = step.state(), next((need for need in step.needs if need in left), "")
        if state.done and not again:
            lines.append((step.name, str(state), ""))
            continue
        cost = left[step.name] = step.cost()
        words = ["time unknown" if cost.hours is None else _duration(cost.hours)]
        words += [f"{cost.memory:g} GB of memory"] if cost.memory else []
        words += [f"{cost.disk:.0f} MB of disk"] if cost.disk and cost.disk >= 1 else []
        said = f"up to date until {again} is made" if state.done else str(state)
        lines.append((step.name, said, ", ".join(filter(None, [*words, step.where, cost.note]))))
    widths = [max(len(line[k]) for line in lines) for k in range(2)]
    text = [f"{name:{widths[0]}}  {state:{widths[1]}}  {words}".rstrip() for name, state, words in lines]
    unknown = sum(cost.hours is None for cost in left.values())
    hours, disk = (sum(getattr(cost, key) or 0.0 for cost in left.values()) for key in ("hours", "disk"))
    more = f" and {unknown} steps of unknown time" if unknown else ""
    needed = f"{_duration(hours)} of one core{more}, {disk:,.0f} MB of disk"
    return "\n".join([*text, f"{len(left)} of {len(steps)} steps to do: {needed}."])


def _duration(hours: float) -> str:
    return f"{hours:,.1f} h" if hours >= 1 else clock(3600 * hours)
