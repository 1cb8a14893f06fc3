"""A chain of steps: order, what is skipped, what a failure stops, and what is said."""

import threading
from dataclasses import dataclass, field

import pytest

from nsr.book import chain
from nsr.book.chain import DONE, MISSING, Cost, State, StepFailed


@dataclass
class Toy:
    """A step that puts its name into a set."""

    name: str
    needs: tuple[str, ...] = ()
    part: str = "toys"
    where: str = "here"
    made: set[str] = field(default_factory=set)
    fails: bool = False
    calls: list[str] = field(default_factory=list)

    def state(self) -> State:
        return State(DONE) if self.name in self.made else State(MISSING)

    def cost(self) -> Cost:
        return Cost(0.5, 1.0, 2.0)

    def make(self) -> None:
        self.calls.append(self.name)
        if self.fails:
            raise StepFailed("out of clay")
        self.made.add(self.name)


def toys(*pairs: tuple[str, tuple[str, ...]], fails: str = "") -> tuple[list[Toy], set[str], list[str]]:
    made, calls = set(), []
    steps = [Toy(name, needs, made=made, calls=calls, fails=name == fails) for name, needs in pairs]
    return steps, made, calls


DIAMOND = (("d", ("b", "c")), ("a", ()), ("b", ("a",)), ("c", ("a",)), ("e", ()))


def test_each_step_comes_after_what_it_needs_and_nothing_is_made_twice():
    steps, made, calls = toys(*DIAMOND)
    lines: list[str] = []
    assert chain.run(steps, lines.append) == 0 and calls == ["a", "b", "c", "d", "e"]
    assert chain.run(steps, lines.append) == 0 and len(calls) == 5
    assert lines[-5:] == [f"{name}: up to date" for name in "abcde"]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_failure_stops_only_what_needs_it(workers):
    steps, made, calls = toys(*DIAMOND, fails="b")
    lines: list[str] = []
    assert chain.run(steps, lines.append, workers=workers) == 2
    assert made == {"a", "c", "e"} and "d" not in calls
    assert any("failed" in line and "out of clay" in line for line in lines)
    assert "d: not made, for it needs b" in lines


def test_several_steps_are_made_at_once_but_no_more_than_asked_for():
    steps, made, _ = toys(*((name, ()) for name in "abcd"))
    both, most, now = threading.Barrier(2, timeout=10), [0], [0]

    def make(step: Toy) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        both.wait()  # passes only if two are here together
        now[0] -= 1
        step.make()

    assert chain.run(steps, lambda line: None, make, workers=2) == 0 and most[0] == 2 and len(made) == 4


def test_a_part_is_chosen_with_what_it_needs():
    steps, _, _ = toys(*DIAMOND)
    assert [step.name for step in chain.chosen(steps, ["b"])] == ["a", "b"]
    assert len(chain.chosen(steps, ["toys"])) == len(chain.chosen(steps, [])) == 5
    with pytest.raises(ValueError, match="needs itself"):
        chain.ordered(toys(("a", ("b",)), ("b", ("a",)))[0])


def test_the_plan_says_what_has_to_be_made_again_and_starts_nothing():
    steps, made, calls = toys(*DIAMOND)
    made |= {"b", "c", "e"}
    lines = chain.plan_text(steps).splitlines()
    assert lines[0].split("  ")[:2] == ["a", "missing"] or lines[0].startswith("a  missing")
    assert "up to date until a is made" in lines[1] and lines[4].endswith("up to date")
    assert lines[-1] == "4 of 5 steps to do: 2.0 h of one core, 8 MB of disk." and not calls


def test_a_step_that_was_made_and_is_not_up_to_date_has_failed():
    step = Toy("a")
    step.make = lambda: None  # type: ignore[method-assign]
    lines: list[str] = []
    assert chain.run([step], lines.append) == 1 and "missing all the same" in lines[-1]
