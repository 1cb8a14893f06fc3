"""Families and pruning: judged by brute force over placements of constants, by scipy, and by evaluating both
sides."""

import itertools
import json
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from fake_network import fake_model
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from strategies import valued_prefixes
from test_engine import problems, summary

from nsr.data.items import TemplateBank, sample_items
from nsr.data.problems import Problem
from nsr.data.templates import draw_templates, sample_templates
from nsr.evidence.rows import Row
from nsr.formulas.constant_places import ALWAYS, saturate
from nsr.formulas.equivalence import canonical, family, template_of
from nsr.formulas.expressions import FULL, SIMPLIFIED, TRANSFORMER4SR, is_valid
from nsr.numbers.evaluation import evaluate, gradient
from nsr.numbers.fitting import fit_constants
from nsr.numbers.simplification import simplify
from nsr.search.engine import Budget, solve, solve_all
from nsr.search.oracle import Candidate, Oracle, Verify
from nsr.search.pruning import cost, plan, prune, shortened, targets
from nsr.search.strategies import GVS, TPSR, BeamSearch, Families
from nsr.search.strategies.families import Book, alike, family_of, starts_of

BEAM = BeamSearch(4, max_len=12)


def model(**options):
    return fake_model(vocabulary=SIMPLIFIED.with_variables(2), **options)


def drawn(template, seed=0, n=60, noise=0.0):
    """A problem of a template, made the way training items are."""
    rng = np.random.default_rng(seed)
    item = sample_items(TemplateBank([template]), rng, n_points=2 * n, templates=[0], tries=100)
    y = item.y[0, :n] + noise * item.y[0, :n].std() * rng.standard_normal(n)
    return Problem(item.X[0, :n], y, "drawn", item.prefix(0), item.values(0), item.X[0, n:], item.y[0, n:])


def family_fit(template, problem, starts=2):
    whole = family_of(template)
    return Oracle(problem).verify([whole], starts=starts, initial=(starts_of(whole) or None,))[0]


def pruned(candidate, problem, price=2.0):
    """Run the pruning against an oracle: the answer, and how many verifications it took."""
    oracle, steps, answer = Oracle(problem), prune(candidate, problem, price), None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration as end:
            return end.value, oracle.n_candidates
        answer = oracle.verify(request.prefixes, initial=request.initial, starts=request.starts)


# -------------------------------------------------------------------------------------------------------------- the family


def placements(template):
    """Every expression with constants at some of the places, by brute force over the guards."""
    whole = saturate(template)
    groups = [g for g, places in enumerate(whole.groups) if places]
    for n in range(len(groups) + 1):
        for used in itertools.combinations(groups, n):
            yield tuple(t for t, guard in zip(whole.tokens, whole.guards) if guard == ALWAYS or guard in used)


@pytest.mark.parametrize(
    "template",
    [("add", "x1", "exp", "x2"), ("sub", "x1", "cos", "x2"), ("add", "x1", "tan", "x1")],
    ids=" ".join,
)
def test_a_family_is_as_good_as_any_placement_of_constants(template):
    for seed in range(3):
        problem = drawn(template, seed)
        best = max(
            fit_constants(prefix, problem.X, problem.y, starts=4).r2 for prefix in placements(template)
        )
        assert family_fit(template, problem, starts=4).r2 >= best - 1e-6


@pytest.mark.parametrize("vocabulary", [SIMPLIFIED, FULL, TRANSFORMER4SR], ids=lambda v: v.name)
def test_families_of_any_vocabulary(vocabulary):
    for template in sample_templates(60, vocabulary, seed=3):
        whole = family_of(template)
        assert is_valid(whole) and template_of(whole) == template_of(template)
        K = whole.count("C")
        assert len(starts_of(whole)) % max(K, 1) == 0 and all(map(math.isfinite, starts_of(whole)))


def test_the_summand_in_exp_is_idle():
    assert family_of(("exp", "sub", "x1", "x2")) == (
        "mul",
        "C",
        "exp",
        "sub",
        "mul",
        "C",
        "x1",
        "mul",
        "C",
        "x2",
    )
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 5))
    for template in draw_templates(100, seed=4):
        full, thin = saturate(template).prefix(), family_of(template)
        values, kept = rng.uniform(0.3, 0.9, full.count("C")).tolist(), []
        # c·exp(b + u) = (c·e^b)·exp(u)
        for k, place in enumerate(p for p, token in enumerate(full) if token == "C"):
            before = [t for t in full[:place] if t != "sub"]
            if before[-2:] == ["exp", "add"]:
                kept[-1] *= math.exp(values[k])
            else:
                kept.append(values[k])
        assert len(kept) == thin.count("C")
        a, b = evaluate(full, X, values), evaluate(thin, X, kept)
        assert "tan" in template or np.allclose(a, b, rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize("vocabulary", [SIMPLIFIED, FULL], ids=lambda v: v.name)
def test_a_family_loses_no_function_of_the_saturated_template(vocabulary):
    """Linear algebra judges: with the spare constants at 1 and 0 the values are the same, and so is the
    number of ways to move away from them."""
    rng, judged, fewer = np.random.default_rng(0), 0, 0
    for template in sample_templates(150, vocabulary, seed=8):
        whole, X = saturate(template), rng.uniform(0.5, 1.5, (120, 5))
        groups = [g for g, token in zip(whole.guards, whole.tokens) if token == "C"]
        values = rng.uniform(0.5, 1.5, len(groups))
        identity = [float(g >= 0 and not whole.additive[whole.groups[g][0][0]]) for g in groups]
        all_of_them = [e if g in whole.spare else v for g, v, e in zip(groups, values, identity)]
        (f, J), (f_, J_) = (
            gradient(p, X, c)
            for p, c in (
                (whole.prefix(), all_of_them),
                (family_of(template), [v for g, v in zip(groups, values) if g not in whole.spare]),
            )
        )
        fine = np.isfinite(f) & np.isfinite(J).all(1) & (np.abs(J).max(1, initial=0) < 1e6)
        if fine.sum() > 40:
            assert np.allclose(f[fine], f_[fine])
            ranks = [
                np.linalg.matrix_rank(A[fine] / np.maximum(np.linalg.norm(A[fine], axis=0), 1e-300), tol=1e-7)
                for A in (J, J_)
            ]
            assert ranks[0] == ranks[1], template
            judged, fewer = judged + 1, fewer + (J_.shape[1] < J.shape[1])
    assert judged > 100 and fewer > (20 if vocabulary is SIMPLIFIED else 80)


def test_a_shifted_family_has_one_summand_before_the_whole():
    for template in sample_templates(100, FULL, seed=9):
        plain, shifted = family_of(template), family_of(template, shifted=True)
        assert is_valid(shifted) and template_of(shifted) == template_of(template)
        X, rng = np.random.default_rng(0).uniform(0.5, 1.5, (90, 5)), np.random.default_rng(1)
        values = rng.uniform(0.5, 1.5, shifted.count("C"))
        f, J = gradient(shifted, X, values)
        fine = np.isfinite(f) & np.isfinite(J).all(1) & (np.abs(J).max(1) < 1e5)
        if fine.sum() > 40:  # a constant is among the ways to move: it can be shifted
            coefficients, *_ = np.linalg.lstsq(J[fine], np.ones(fine.sum()), rcond=None)
            assert np.allclose(J[fine] @ coefficients, 1.0, atol=1e-6), template
        assert shifted == plain or shifted == ("add", "C", *plain)


def test_alike_means_the_same_family():
    """Two templates with one key fit each other's data, whatever the constants."""
    pairs = [
        (("sub", "x1", "cos", "x2"), ("add", "x1", "sin", "x2")),
        (("exp", "sub", "x1", "x2"), ("exp", "add", "x1", "x2")),
        (("sin", "add", "x1", "cos", "x2"), ("cos", "sub", "x1", "sin", "x2")),
    ]
    for a, b in pairs:
        assert alike(a) == alike(b)
        values = tuple(np.random.default_rng(1).uniform(0.5, 1.5, family_of(a).count("C")))
        X = np.random.default_rng(0).uniform(-2, 2, (60, 5))
        problem = Problem(X, evaluate(family_of(a), X, values))
        assert family_fit(b, problem, starts=8).r2 > 1 - 1e-9
    assert alike(("cos", "exp", "x1")) != alike(("sin", "exp", "x1"))
    keys = {}
    for template in draw_templates(400, seed=5):
        keys.setdefault(alike(template), set()).add(family(template))
    # finer than the family of nsr.formulas.equivalence, never coarser
    assert all(len(families) == 1 for families in keys.values())


# ---------------------------------------------------------------------------------------------------------------- simplify


@given(valued_prefixes(SIMPLIFIED, max_leaves=6), st.data())
@settings(max_examples=150, deadline=None)
def test_simplify_keeps_the_function(valued, data):
    prefix, constants = valued
    constants = tuple(math.remainder(c, 7.0) for c in constants)
    fixed = {
        k: data.draw(st.sampled_from([0.0, 1.0, -1.0, math.pi / 2, -math.pi]))
        for k in range(len(constants))
        if data.draw(st.booleans())
    }
    full = tuple(fixed.get(k, c) for k, c in enumerate(constants))
    short, values = simplify(prefix, constants, fixed)
    X = np.random.default_rng(0).uniform(-2, 2, (20, 3))
    with np.errstate(all="ignore"):
        a, b = evaluate(prefix, X, full), evaluate(short, X, values)
    if np.isfinite(a).all() and np.abs(a).max() < 1e3 and "tan" not in prefix and prefix.count("exp") < 2:
        assert np.allclose(a, b, rtol=1e-6, atol=1e-6)
    assert is_valid(short) and len(values) == short.count("C")


@given(valued_prefixes(FULL, max_leaves=6))
@settings(max_examples=100, deadline=None)
def test_simplify_over_all_operators(valued):
    prefix, constants = valued
    constants = tuple(0.5 + abs(math.remainder(c, 3.0)) for c in constants)
    short, values = simplify(prefix, constants)
    X = np.random.default_rng(0).uniform(0.5, 1.5, (20, 3))
    with np.errstate(all="ignore"):
        a, b = evaluate(prefix, X, constants), evaluate(short, X, values)
    fine = np.isfinite(a) & np.isfinite(b) & (np.abs(a) < 1e3)
    assert "tan" in prefix or np.allclose(a[fine], b[fine], rtol=1e-5, atol=1e-6)
    assert is_valid(short) and len(values) == short.count("C") <= prefix.count("C") + (
        "sub" in prefix or "neg" in prefix
    )  # −u wants one


EXTREME = (0.0, 1.0, -1.0, -2.5, 1e300, -1e300, 1e-300, 1.7e308, math.pi / 2, 1e17)


@given(valued_prefixes(FULL, max_leaves=6), st.data())
@settings(max_examples=300, deadline=None)
def test_simplify_gives_finite_constants_whatever_it_is_given(valued, data):
    prefix, constants = valued
    constants = tuple(data.draw(st.sampled_from(EXTREME)) for _ in constants)
    fixed = {k: c for k, c in enumerate(constants) if data.draw(st.booleans())}
    short, values = simplify(prefix, constants, fixed)
    assert is_valid(short) and len(values) == short.count("C") and all(map(math.isfinite, values))


def test_factors_that_meet_are_one():
    assert simplify(("mul", "mul", "C", "x1", "mul", "C", "x2"), (4.0, -0.5)) == (
        ("mul", "C", "mul", "x1", "x2"),
        (-2.0,),
    )
    assert simplify(("mul", "C", "pow3", "mul", "C", "x1"), (4.0, -0.5)) == (
        ("mul", "C", "pow3", "x1"),
        (-0.5,),
    )
    assert simplify(("div", "C", "mul", "C", "x1"), (4.0, -0.5)) == (("div", "C", "x1"), (-8.0,))
    assert simplify(("mul", "sqrt", "C", "x1"), (4.0,)) == (("mul", "C", "x1"), (2.0,))
    for overflows in (
        ("mul", "mul", "C", "x1", "mul", "C", "x2"),
        ("pow5", "mul", "C", "x1"),
        ("div", "x1", "mul", "C", "x2"),
    ):
        values = (1e300,) * overflows.count("C") if overflows[0] != "div" else (0.0,)
        short, kept = simplify(overflows, values)
        assert is_valid(short) and all(map(math.isfinite, kept))


def test_simplify_by_hand():
    assert simplify(("add", "mul", "C", "x1", "mul", "C", "sin", "x2"), (2.0, -1.0), {1: -1.0}) == (
        ("sub", "mul", "C", "x1", "sin", "x2"),
        (2.0,),
    )
    assert simplify(("mul", "C", "sin", "add", "C", "x1"), (1.0, 9.0), {0: 1.0, 1: math.pi / 2}) == (
        ("cos", "x1"),
        (),
    )
    assert simplify(("add", "x1", "mul", "C", "exp", "x2"), (0.1,), {0: 0.0}) == (("x1",), ())
    assert simplify(("exp", "mul", "C", "x1"), (-1.0,), {0: -1.0}) == (("exp", "mul", "C", "x1"), (-1.0,))
    assert simplify(("sin", "sub", "mul", "C", "x1", "x2"), (-2.0,)) == (
        ("mul", "C", "sin", "add", "mul", "C", "x1", "x2"),
        (-1.0, 2.0),
    )


def test_the_layout_is_canonical():
    rng = np.random.default_rng(0)
    for template in draw_templates(150, seed=6):
        whole = family_of(template)
        values = tuple(rng.uniform(0.2, 3, whole.count("C")) * rng.choice([-1, 1], whole.count("C")))
        short, _ = simplify(whole, values)
        assert canonical(short) == short and family(short) == family(template), (
            template,
            short,
            canonical(short),
        )


# -------------------------------------------------------------------------------------------------------------------- plan


def test_the_plan_of_a_linear_model_is_exact():
    """c0 + c1·x1 + c2·x2: what the plan expects of the rest is what constrained least squares gives."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    y = 1.02 * X[:, 0] + 3.0 * X[:, 1] + 0.5 * rng.normal(size=80)
    problem, prefix = Problem(X, y), ("add", "C", "add", "mul", "C", "x1", "mul", "C", "x2")
    candidate = Oracle(problem).verify([prefix])[0]
    steps = plan(candidate, problem)
    assert [(step.k, step.value) for step in steps] == [(0, 0.0), (1, 1.0)] or [
        (step.k, step.value) for step in steps
    ] == [(1, 1.0), (0, 0.0)]
    judge = lsq_linear(X[:, 1:], y - X[:, 0]).x
    assert steps[-1].constants == pytest.approx([0.0, 1.0, judge[0]], abs=1e-8)
    assert shortened(candidate, problem)[0] == ("add", "x1", "mul", "C", "x2")


def test_targets():
    prefix = ("add", "C", "add", "mul", "C", "x1", "mul", "C", "sin", "add", "C", "mul", "C", "x2")
    found = {(t.k, round(t.value, 3)): t for t in targets(prefix, (5.0, 2.0, 2.0, 1.5, 2.0))}
    assert set(found) == {
        (0, 0.0),
        (1, 1.0),
        (1, -1.0),
        (1, 0.0),
        (2, 1.0),
        (2, -1.0),
        (2, 0.0),
        (3, 1.571),
        (4, 1.0),
        (4, -1.0),
        (4, 0.0),
    }
    assert found[2, 0.0].inside == (3, 4)


# ------------------------------------------------------------------------------------------------------------------- prune

TRUTHS = [
    ("add x1 sin x2", ()),
    ("sub x1 mul C sin x2", (2.5,)),
    ("exp sub x1 x2", ()),
    ("mul C exp mul C x1", (0.3, 0.7)),
    ("add C add x1 cos mul C x1", (-3.0, 2.0)),
    ("sub add x1 tan x2 cos add x1 x2", ()),
    ("sin sub x2 mul C x1", (1.4,)),
]


@pytest.mark.parametrize("text, values", TRUTHS, ids=[t for t, _ in TRUTHS])
def test_without_noise_the_truth_comes_back(text, values):
    truth = tuple(text.split())
    problem = Problem.from_expression(
        truth, values, rng=np.random.default_rng(0), support=[(-1.2, 1.4)] * (2 if "x2" in truth else 1)
    )
    whole = family_fit(template_of(truth), problem, starts=8)
    short, n = pruned(whole, problem)
    assert (
        whole.r2 > 1 - 1e-9
        and short.prefix == canonical(truth)
        and short.constants == pytest.approx(values, rel=1e-4)
    )
    assert short.r2 > 1 - 1e-9 and n <= 4
    full, cut = (evaluate(c.prefix, problem.X_fresh, c.constants) for c in (whole, short))
    assert np.allclose(full, cut, atol=1e-4 * np.std(full))


def test_terms_that_do_nothing_are_dropped():
    problem = Problem.from_expression(
        ("add", "x1", "sin", "x2"), rng=np.random.default_rng(1), support=[(-2, 2)] * 2
    )
    whole = family_fit(("add", "x1", "add", "sin", "x2", "exp", "x1"), problem)
    assert pruned(whole, problem)[0].prefix == ("add", "x1", "sin", "x2")


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_noise_buys_no_constants(noise):
    kept, r2 = 0, []
    for seed in range(12):
        problem = Problem.from_expression(
            ("sub", "x1", "mul", "C", "sin", "x2"),
            (2.5,),
            rng=np.random.default_rng(seed),
            support=[(-3, 3)] * 2,
            noise=noise,
        )
        whole = family_fit(("sub", "x1", "sin", "x2"), problem)
        short, _ = pruned(whole, problem)
        kept += short.prefix.count("C") - 1
        errors = [
            np.mean((problem.y_fresh - evaluate(c.prefix, problem.X_fresh, c.constants)) ** 2)
            for c in (whole, short)
        ]
        r2.append(errors[1] < errors[0])
    assert 0 <= kept <= 2 and np.mean(r2) > 0.7  # the short one is nearer to the truth


def test_cost_of_a_failure_and_of_rounding():
    a, b = Candidate(("x1",), r2=1.0), Candidate(("x1",), r2=1 - 1e-13)
    assert (
        cost(a, 100)
        == cost(b, 100)
        < cost(Candidate(("sin", "x1"), r2=1.0), 100)
        < cost(Candidate(("mul", "C", "x1"), r2=1.0), 100)
    )
    assert cost(Candidate(("x1",)), 100) == math.inf


# ---------------------------------------------------------------------------------------------------------------- wrapping


@dataclass(frozen=True)
class Asks:
    """A strategy that verifies fixed expressions one after the other and writes down what it is told."""

    prefixes: tuple
    told: list = field(default_factory=list)
    name: str = "asks"

    def search(self, view, rng):
        for prefix in self.prefixes:
            self.told.extend((yield Verify((prefix,), log_probs=(-1.0,), note="asked")))
        return self.told[0]


def test_the_inner_strategy_is_told_the_fit_of_the_family():
    problem = problems(1)[0]  # 2.5 sin(x1) + x2
    inner = Asks(
        (
            ("add", "x2", "sin", "x1"),
            ("add", "C", "add", "x2", "sin", "x1"),
            ("x1",),
            ("add", "x1"),
            ("sub", "x2", "cos", "x1"),
        )
    )
    result = solve(problem, Families(inner), model())
    assert [c.prefix for c in inner.told] == list(inner.prefixes)
    expected = family_fit(("add", "x2", "sin", "x1"), problem).r2
    assert inner.told[0].r2 == inner.told[1].r2 == inner.told[4].r2 == expected > 1 - 1e-9
    assert not inner.told[3].valid and inner.told[2].r2 < 0.9
    assert (
        result.answer.prefix == ("add", "x2", "mul", "C", "sin", "x1") and result.strategy == "families+asks"
    )
    asked = [c for c in result.candidates if c.note == "asked"]
    # one family was asked for three times
    assert len(asked) == 3 and result.n_candidates == sum(result.generated.values())
    assert all(n == 1 for n in result.generated.values())


STRATEGIES = [Families(BEAM), Families(TPSR(max_len=8)), Families(GVS(BEAM, iterations=5))]
IDS = ["families", "families+tpsr", "families+gvs"]


@pytest.mark.parametrize("strategy, name", list(zip(STRATEGIES, IDS)), ids=IDS)
def test_together_equals_alone(strategy, name):
    together = solve_all(problems(4), strategy, model(), seed=5)
    assert strategy.name == name and [r.answer is not None for r in together] == [True] * 4
    assert [summary(r) for r in together] == [
        summary(solve(p, strategy, model(), seed=5)) for p in problems(4)
    ]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_stopped_at_any_candidate(strategy):
    free = solve(problems()[1], strategy, model())
    for n in range(1, free.n_candidates, 3):
        result, then = (
            solve(problems()[1], strategy, model(), budget=Budget(candidates=n)),
            free.best_at(candidates=n),
        )
        assert result.n_candidates == n and result.stopped
        assert (result.answer.prefix, result.answer.constants) == (then.prefix, then.constants)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_better_than_the_strategy_itself(strategy):
    plain = solve_all(problems(), strategy.inner, model())
    wrapped = solve_all(problems(), strategy, model())
    assert np.mean([b.answer.r2 - a.answer.r2 for a, b in zip(plain, wrapped) if a.answer]) > 0
    assert all(
        a.n_tokens == b.n_tokens or not isinstance(strategy.inner, BeamSearch) for a, b in zip(plain, wrapped)
    )
    for result in wrapped:
        assert (
            result.answer.note in ("pruned", "", *(f"iteration {t}" for t in range(1, 6)))
            or "iteration" in result.answer.note
        )
        assert len(result.trace) and result.trace[-1].best is result.answer


def test_an_answer_never_has_what_the_data_do_not_ask_for():
    for result in solve_all(problems(), Families(BEAM), model()):
        assert (
            not [
                s
                for s in plan(result.answer, result.problem)
                if simplify(result.answer.prefix, result.answer.constants, {s.k: s.value})[0]
                != result.answer.prefix
            ]
            or result.answer.r2 < 1 - 1e-6
        )


@pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)
def test_a_row_of_a_grid(strategy):
    from types import SimpleNamespace
    from unittest.mock import patch

    with patch("nsr.evidence.rows.weights_digest", lambda *a: "0"):
        parameters = Row(strategy, "baseline").parameters(SimpleNamespace(name="fake"))
    assert json.loads(json.dumps(parameters))["options"]["price"] == 2.0


def test_the_book_keeps_the_best_pruned_answer():
    problem = problems(1)[0]
    from nsr.search.engine import View

    book = Book(View(problem, SIMPLIFIED, 60, Oracle(problem)))
    assert book.best is None and not book.solved
    request, keys = book.request([("x1",), ("mul", "C", "x1"), ("sin", "x1")], None, "")
    assert len(request.prefixes) == 2 == len(keys)


def test_a_constant_that_comes_last_has_targets_too():
    assert [t.value for t in targets(("mul", "C", "C"), (2.0, 3.0))] == [1.0, 1.0]
