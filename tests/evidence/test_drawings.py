"""Pictures of a search: the tree regrown from the log is judged by the search's own walk, the picture by what
is written in it."""

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fake_network import fake_model
from sklearn.metrics import r2_score
from test_engine import problems

from nsr.evidence.drawings import (
    PHASES,
    draw_answer,
    draw_beam,
    draw_fit,
    draw_loop,
    draw_rollout,
    draw_walks,
    layout,
    replay,
)
from nsr.evidence.figures import COPIED, LIGHT, NOVEL
from nsr.formulas.equivalence import template_of
from nsr.search.engine import solve
from nsr.search.oracle import Candidate
from nsr.search.strategies import TPSR
from nsr.search.strategies.gvs import Entry, Iteration, Suggestion
from nsr.search.strategies.tpsr import Node, Rollout


@pytest.fixture(scope="module")
def log() -> list[Rollout]:
    """A real search in which selection has to choose."""
    log = []
    solve(problems(1)[0], TPSR(7, 3, max_len=9, watch=log.append), fake_model())
    return log


def words(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_every_selection_follows_from_the_regrown_tree(log):
    """The log says where each rollout went; that has to be the largest P-UCB among the values regrown from
    the rollouts before it."""
    chosen = 0
    for n, rollout in enumerate(log):
        nodes = replay(log[:n])
        for above, prefix in zip(rollout.path, rollout.path[1:]):
            if prefix in nodes and len(nodes[above].children) > 1:
                scores = {child.prefix: TPSR().p_ucb(nodes[above], child) for child in nodes[above].children}
                assert scores[prefix] == max(scores.values())
                chosen += 1
    assert chosen > 5


def test_the_walk_goes_to_the_largest_value(log):
    """The root moves to the child with the largest Q."""
    for n in range(1, len(log)):
        before, after = log[n - 1].written, log[n].written
        if before != after:
            children = replay(log[:n])[before].children
            assert max(children, key=lambda child: child.value).prefix == after


def test_layout_by_hand():
    """Three leaves side by side; a parent in the middle of its children."""
    left, right = Node(("a", "x")), Node(("a", "y"))
    root = Node((), children=[Node(("a",), children=[left, right]), Node(("b",))])
    across = {prefix: x for prefix, (x, _) in layout(root).items()}
    assert across == {("a", "x"): 0, ("a", "y"): 1, ("a",): 0.5, ("b",): 2, (): 1.25}
    depths = {prefix: y for prefix, (_, y) in layout(root).items()}
    assert depths[()] > depths[("a",)] == depths[("b",)] > depths[("a", "x")] == depths[("a", "y")]


def test_phases_show_what_is_known_by_then(log):
    n = next(n for n, rollout in enumerate(log, 1) if len(rollout.path) > 2)
    said = {}
    for phase in PHASES:
        figure, ax = plt.subplots()
        draw_rollout(ax, log, n, phase)
        said[phase] = words(ax)
        plt.close(figure)
    probability, reward = f"p {log[n - 1].prior:.2f}", f"reward {log[n - 1].reward:.3f}"
    assert probability not in said["selection"] and probability in said["expansion"]
    assert not any(reward in text for text in said["expansion"]) and any(
        reward in text for text in said["simulation"]
    )
    visits = replay(log[:n])[log[n - 1].written].visits
    assert any(text.endswith(f"({visits - 1})") for text in said["simulation"])
    assert not any(text.endswith(f"({visits})") for text in said["simulation"])
    assert any(text.endswith(f"({visits})") for text in said["back-up"])


def test_every_rollout_can_be_drawn(log):
    figure, ax = plt.subplots()
    for n in range(1, len(log) + 1, 3):
        ax.clear()
        draw_rollout(ax, log, n)
        assert all(math.isfinite(limit) for limit in (*ax.get_xlim(), *ax.get_ylim()))
    plt.close(figure)
    with pytest.raises(ValueError, match="no rollout 0"):
        draw_rollout(ax, log, 0)


def test_two_searches_on_one_tree_have_one_layout():
    """Each beginning of each formula has its line, a search's own formulas end in a dot of their kind, and the
    lines are the same whoever's are coloured."""
    a, b = ("sin", "x1"), ("add", "x1", "x2")
    lines = []
    for own in ({a: True}, {b: False}):
        figure, ax = plt.subplots()
        draw_walks(ax, [a, b], own, "blue")
        edges = [line for line in ax.lines if line.get_marker() != "o"]
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        assert [dot.get_color() for dot in dots] == [NOVEL if own.get(a) else COPIED]
        coloured = {line.get_color() for line in edges} - {LIGHT}
        assert len(edges) == len(a) + len(b) and coloured == {"blue"}
        lines.append(sorted(line.get_xydata().tolist() for line in edges))
        plt.close(figure)
    assert lines[0] == lines[1]


def test_a_loop_says_what_an_iteration_did():
    entry, random = Entry(("sin", "x1"), 0.75, 2), Suggestion(("x2",), "random")
    log = [
        Iteration("", 1, 0, (), ("sin", "x1"), 0.9, (entry,)),
        Iteration("", 2, 3, (random, Suggestion(("sin", "x1"), "pool")), (), 0.0, (entry,)),
    ]
    figure, ax = plt.subplots()
    draw_loop(ax, log, 1)
    assert {"(empty)", "sin(x1)"} <= set(words(ax))
    ax.clear()
    draw_loop(ax, log, 2)
    assert {"○ x2\n● sin(x1)", "nothing", "R² 0.000\nbest so far 0.900"} <= set(words(ax))
    assert any("z 0.75, c 2:" in text for text in words(ax))
    plt.close(figure)


def test_a_fit_is_on_the_diagonal_or_says_how_far_off_it_is():
    """The dots of the truth are on the diagonal; those of another candidate are where numpy puts them, with
    the R² that sklearn gives."""
    problem = problems(1)[0]
    x1, x2, y = *problem.X_fresh.T, problem.y_fresh
    for prefix, constants, y_hat in (
        (("add", "mul", "C", "sin", "x1", "x2"), (2.5,), y),
        (("add", "x1", "x2"), (), x1 + x2),
    ):
        figure, ax = plt.subplots()
        draw_fit(ax, problem, Candidate(prefix, constants, r2=0.5))
        dots = ax.lines[-1].get_xydata()
        assert np.allclose(dots, np.stack([y, y_hat], axis=1))
        assert words(ax)[0] == (
            "$R^2$ 1" if y_hat is y else f"$R^2$ {r2_score(y, y_hat):.4f}".replace("-", "−")
        )
        plt.close(figure)


def test_a_fit_far_off_stays_in_the_picture():
    problem = problems(1)[0]
    figure, ax = plt.subplots()
    draw_fit(ax, problem, Candidate(("exp", "exp", "exp", "x1"), r2=0.5))  # infinite for large x1
    heights, room = ax.lines[-1].get_ydata(), np.ptp(problem.y_fresh) / 2
    assert heights.max() == problem.y_fresh.max() + room and np.isfinite(heights).all()
    plt.close(figure)


def test_an_answer_is_drawn_with_the_verdict_and_the_nearest_template():
    problem = replace(problems(1)[0], truth=("add", "x1", "x2"))
    result = solve(problem, TPSR(3, 3, max_len=9), fake_model())
    written = template_of(result.answer.prefix)
    for known, verdict in (({written}, "copied"), ({("sin", "x5")}, "new")):
        figure, axes = plt.subplots(2, 2)
        draw_answer(axes, result, known)
        titles = [ax.get_title() or ax.get_title("left") for ax in axes.ravel()]
        assert verdict in titles[2] and titles[3].endswith("away")
        assert set(words(axes[1, 1])) == {token for template in known for token in template}
        plt.close(figure)


def test_a_beam_grows_with_its_tokens():
    moments = [
        ({("sin",): -0.5, ("x1",): -1.0}, []),
        ({("sin", "x1"): -0.6}, [("x1",)]),
        ({}, [("sin", "x1"), ("x1",)]),
    ]
    figure, ax = plt.subplots()
    draw_beam(ax, moments, 1, {})
    assert words(ax) == ["sin", "x1"] or set(words(ax)) == {"sin", "x1"}
    ax.clear()
    draw_beam(ax, moments, 3, {("x1",): "0.5"})
    assert sorted(words(ax)) == ["sin", "x1", "x1", "■ ", "■ 0.5"]
    plt.close(figure)
