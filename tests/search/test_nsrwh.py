"""NSRwH: what a user may say, what is drawn from the truth, and that the network really reads it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_engine import summary
from test_hints import split

from nsr.book.run_records import to_json
from nsr.data.hints import ROOM, Complexity, HintError, Negative, Positive, Symmetry, encode, hint_words
from nsr.data.problems import Problem
from nsr.data.templates import TreeRecipe, training_draws
from nsr.data.test_sets import test_set
from nsr.evidence.rows import Row
from nsr.formulas.equivalence import strip
from nsr.formulas.expressions import SIMPLIFIED
from nsr.network.model import Config, Network
from nsr.search.engine import solve, solve_all
from nsr.search.strategies import BeamSearch, NSRwH
from nsr.search.strategies.nsrwh import GIVEN, KINDS

FUNCTIONS = ("sin", "cos", "exp")


class Model:
    """A hinted network without training: its answers are odd, but they depend on all it reads."""

    def __init__(self, hinted=True):
        torch.manual_seed(0)
        sizes = dict(
            width=32,
            heads=2,
            encoder_blocks=1,
            inducing=4,
            seeds=4,
            decoder_layers=1,
            feedforward=32,
            embedding_std=1.0,
            hint_layers=1,
        )
        words = len(hint_words(SIMPLIFIED)) if hinted else 0
        self.vocabulary, self.network = (
            SIMPLIFIED,
            Network(Config(len(SIMPLIFIED), hint_vocabulary=words, **sizes)).eval(),
        )


@pytest.fixture(scope="module")
def model():
    return Model()


@pytest.fixture(scope="module")
def problems():
    return test_set("baseline", set(training_draws(50, TreeRecipe(), 1003)), 30, 1003, 20, 20)


def told(strategy, problem, seed=0):
    return strategy.hints(problem, SIMPLIFIED, problem.stream(seed))


# ------------------------------------------------------------------------------------------------------------- a user's hints


def test_a_user_who_knows_something():
    strategy = NSRwH(
        complexity=9,
        positives=["sin(x1)", "exp(2*x2)"],
        negatives=["exp(x2)"],
        symmetric=[("x1", "x2")],
        asymmetric=[("x3", "x1")],
    )
    assert set(strategy.known()) == {
        Complexity(9),
        Positive(("sin", "x1")),
        Positive(("exp", "mul", "C", "x2"), (2.0,)),
        Negative(("exp", "x2")),
        Symmetry("x1", "x2"),
        Symmetry("x1", "x3", False),
    }
    assert strategy.name == "nsrwh" and NSRwH().known() == () and hash(strategy) == hash(replace(strategy))
    assert to_json(Row(strategy, "baseline").strategy.__dict__)


def test_trees_are_brought_into_the_layout_of_the_training_targets():
    assert NSRwH(positives=["sin(x2) + x1"], negatives=["x2 + x1"]).known() == (
        Positive(("add", "x1", "sin", "x2")),
        Negative(("add", "x1", "x2")),
    )
    assert NSRwH(positives=["x1*2 + 3"]).known() == (Positive(("add", "C", "mul", "C", "x1"), (3.0, 2.0)),)
    assert NSRwH(positives=["C*x1 + C"]).known() == (Positive(("add", "C", "mul", "C", "x1")),)
    assert NSRwH(positives=["2*3*x1"]).known() == (
        Positive(("mul", "C", "x1")),
    )  # joined: no longer one of the user's values
    assert NSRwH(positives=[("sin", "x1")]).known() == NSRwH(positives=["sin(x1)"]).known()


def test_a_group_of_variables_is_all_its_pairs():
    assert NSRwH(symmetric=[("x1", "x2", "x3")]).known() == (
        Symmetry("x1", "x2"),
        Symmetry("x1", "x3"),
        Symmetry("x2", "x3"),
    )


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(positives=["sin(x1"]), r"the positive 'sin\(x1' cannot be read"),
        (dict(positives=["sin(y)"]), "unknown name 'y'"),
        (dict(positives="sin(x1)"), r"it wants a list: positives=\['sin\(x1\)'\]"),
        (dict(positives=["x1"]), "single variable"),
        (dict(positives=["2"]), "single number"),
        (dict(positives=[("sin", "x1", "x2")]), "complete before"),
        (dict(positives=[3]), "cannot be read"),
        (dict(negatives=["exp(2*x2)"]), "structure only"),
        (dict(negatives=["x1 + "]), "the negative 'x1 \\+ ' cannot be read"),
        (dict(complexity=0), "at least 1 token"),
        (dict(complexity="nine"), "a number of tokens, like 9"),
        (dict(complexity=9.5), "a number of tokens, like 9"),
        (dict(symmetric=[("x1", "x1")]), "two different variables"),
        (dict(symmetric=["x1"]), "pairs of variables"),
        (dict(symmetric=[("x1",)]), "pairs of variables"),
        (dict(symmetric=[("x1", "z")]), "two different variables"),
        (dict(symmetric=[("x1", "x2")], asymmetric=[("x2", "x1")]), "to hold and not to hold"),
        (
            dict(positives=[f"{f}({g}({h}(x1)))" for f in FUNCTIONS for g in FUNCTIONS for h in FUNCTIONS]),
            f"at most {ROOM}",
        ),
        (dict(given="everything"), "choose one of complexity"),
        (dict(given="all", complexity=9), "either yours or drawn"),
    ],
)
def test_a_hint_that_cannot_be_read_is_refused_in_words(wrong, message):
    with pytest.raises(HintError, match=message):
        NSRwH(**wrong)


def test_words_that_this_network_does_not_know(model, problems):
    with pytest.raises(HintError, match="'log' in the hint"):
        solve(problems[0], NSRwH(positives=["log(x1)"]), model)
    with pytest.raises(HintError, match="with 5 variables"):
        solve(problems[0], NSRwH(symmetric=[("x1", "x7")]), model)


# ----------------------------------------------------------------------------------------------------------- drawn from the truth


@pytest.mark.parametrize("given", GIVEN)
def test_what_is_given_is_true_of_the_kind_and_repeatable(given, problems):
    strategy, kinds = (
        NSRwH(given=given),
        {"complexity": Complexity, "symmetry": Symmetry, "positives": Positive, "negatives": Negative},
    )
    wanted = tuple(kinds[k] for k in KINDS if given in (k, "all"))
    found = [told(strategy, problem) for problem in problems]
    for problem, hints in zip(problems, found):
        assert hints == told(strategy, problem) and all(isinstance(hint, wanted) for hint in hints)
        for hint in hints:
            assert hint.true_of(problem.truth, problem.truth_constants)
            if isinstance(hint, Positive):
                assert hint.tree in split(problem.truth)[1:] and (given == "all" or not hint.values)
            if isinstance(hint, Negative):
                assert hint.tree not in split(strip(problem.truth))
    assert {type(hint) for hints in found for hint in hints} == set(wanted)
    assert strategy.name == f"nsrwh-{given}"
    if given in ("positives", "negatives"):
        assert found != [told(strategy, problem, seed=1) for problem in problems]
        assert all(
            sum(len(hint.tree) for hint in hints) <= len(problem.truth) / 2
            for problem, hints in zip(problems, found)
        )


def test_all_is_the_sum_of_its_parts(problems):
    for problem in problems:
        parts = {hint for kind in KINDS for hint in told(NSRwH(given=kind), problem)}
        assert set(told(NSRwH(given="all", values=0.0), problem)) == parts


@pytest.mark.parametrize(
    "given, name",
    [
        ("positives+symmetry", "symmetry+positives"),
        (("negatives",), "negatives"),
        (KINDS, "all"),
        ((), "none"),
    ],
)
def test_several_kinds_have_one_name_and_are_the_sum_of_theirs(given, name, problems):
    strategy = NSRwH(given=given, values=0.0)
    assert strategy == NSRwH(given=name, values=0.0) and strategy.name == f"nsrwh-{name}"
    kinds = KINDS if name == "all" else [k for k in name.split("+") if k != "none"]
    for problem in problems[:5]:
        assert set(told(strategy, problem)) == {
            hint for kind in kinds for hint in told(NSRwH(given=kind), problem)
        }


@pytest.mark.parametrize("given", ["symmetry+luck", "all+none", ("all", "positives"), 3])
def test_kinds_that_there_are_not_are_refused(given):
    with pytest.raises(HintError, match="choose one of complexity"):
        NSRwH(given=given)


def test_a_problem_without_a_truth_has_nothing_to_give(model):
    X = np.linspace(0, 1, 10)[:, None]
    problem = Problem(X, X[:, 0] ** 2, "mystery")
    with pytest.raises(HintError, match="'mystery'.*this problem has none"):
        solve(problem, NSRwH(given="all"), model)
    assert solve(problem, NSRwH(2, complexity=3, max_len=8), model).n_candidates > 0


# ------------------------------------------------------------------------------------------------------------------ the search


@pytest.mark.parametrize(
    "strategy",
    [
        NSRwH(3, given="all", max_len=10),
        NSRwH(3, given="none", max_len=10),
        NSRwH(3, complexity=5, max_len=10),
    ],
)
def test_together_is_alone(strategy, model, problems):
    together = solve_all(problems[:6], strategy, model, seed=1)
    assert [summary(result) for result in together] == [
        summary(solve(problem, strategy, model, seed=1)) for problem in problems[:6]
    ]


def test_the_network_reads_the_hints(model, problems):
    def written(**hints):
        return [result.generated for result in solve_all(problems[:6], NSRwH(3, max_len=10, **hints), model)]

    plain = written()
    assert plain == written(given="none")
    assert all(
        plain != written(**hints)
        for hints in (
            dict(complexity=4),
            dict(positives=["sin(x1)"]),
            dict(negatives=["sin(x1)"]),
            dict(symmetric=[("x1", "x2")]),
            dict(asymmetric=[("x1", "x2")]),
            dict(given="all"),
        )
    )


def test_without_a_symbolic_encoder_it_is_beam_search(problems):
    """With the symbolic encoder's output set to zero the same weights answer like a plain network."""
    hinted, plain = Model(), Model(hinted=False)
    plain.network.load_state_dict(
        {k: v for k, v in hinted.network.state_dict().items() if not k.startswith(("hint_", "anchors"))}
    )
    hinted.network.encode_hints = lambda hints: torch.zeros(len(hints), 4, 32)
    both = [
        solve_all(problems[:4], s, m)
        for s, m in ((NSRwH(3, given="all", max_len=10), hinted), (BeamSearch(3, max_len=10), plain))
    ]
    assert [summary(r) for r in both[0]] == [summary(r) for r in both[1]]


def test_a_network_without_hints_says_so(problems):
    with pytest.raises(ValueError, match="made without hints"):
        solve(problems[0], NSRwH(), Model(hinted=False))


def test_hints_reach_the_request_as_tokens(model, problems):
    strategy, problem = NSRwH(given="all"), problems[0]
    view = type("View", (), {"problem": problem, "vocabulary": SIMPLIFIED})
    request = next(strategy.search(view, problem.stream(0)))
    assert request.hints == encode(told(strategy, problem), SIMPLIFIED) and request.beam_size == 5
