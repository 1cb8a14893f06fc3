"""The second system: every rule and filter of its generator, its encoders, its decoding, its fixed set, and
how novelty is counted."""

import math
from pathlib import Path

import numpy as np
import pytest
import sympy
import torch
from safetensors.torch import load_file

from nsr.data.skeleton_tables import (
    FILTERS,
    MAX_NODES,
    MIN_NODES,
    WEIGHTS,
    distinct,
    exponents,
    levels,
    renumbered,
    skeleton_draws,
    skeleton_of,
    skeleton_stream,
    tables_of,
    training_set,
)
from nsr.evidence import scaling
from nsr.evidence.measuring import measure_all
from nsr.formulas.expressions import (
    ARITY,
    CONSTANT,
    START,
    TRANSFORMER4SR,
    children,
    is_valid,
    subtrees,
    variables,
)
from nsr.formulas.notation import to_sympy
from nsr.formulas.skeletons import Refused, bare, to_skeleton
from nsr.network.checkpoints import load_folder
from nsr.network.model import Config, Network
from nsr.network.optimisers import learning_rate
from nsr.network.recipes import SettingsError, make_settings, read_settings
from nsr.network.training import train
from nsr.numbers.evaluation import evaluate
from nsr.numbers.fitting import fit_constants
from nsr.search.engine import solve_all
from nsr.search.strategies.greedy import Greedy

RAW = skeleton_draws(4000, np.random.default_rng(1000))
SKELETONS = sorted({s for s, _ in map(skeleton_of, RAW) if s})
X = 10 ** np.random.default_rng(7).uniform(-1, 1, (60, 6))  # positive points
ALLOWED = {
    sympy.Rational(p, q) * sign
    for p, q in ((4, 1), (3, 1), (2, 1), (1, 1), (3, 2), (1, 2), (1, 3), (1, 4))
    for sign in (1, -1)
}


def symbols(prefix):
    """sympy's reading with positive variables and constants, as in the published code."""
    expression = to_sympy(prefix)
    return expression.subs({s: sympy.Symbol(s.name, positive=True) for s in expression.free_symbols})


# ---- raw trees ----------------------------------------------------------------------------------------------------------------


def test_raw_trees_obey_the_rules():
    assert len(RAW) > 1000 and all(is_valid(raw) and MIN_NODES <= len(raw) <= MAX_NODES for raw in RAW)
    nested = {"sin": {"sin", "cos"}, "cos": {"sin", "cos"}, "log": {"log", "exp"}, "exp": {"log", "exp"}}
    for raw in RAW:
        for tree in subtrees(raw):
            assert not nested.get(tree[0], set()) & set(tree[1:])
    assert set(WEIGHTS) == {token for raw in RAW for token in raw}


def test_raw_trees_follow_the_weights():
    # A tree of two nodes is an operator of one argument and a leaf: its probability is the product of two
    # weights, up to a factor.
    pairs = [raw for raw in skeleton_draws(60_000, np.random.default_rng(3)) if len(raw) == 2]
    unary = {token: w for token, w in WEIGHTS.items() if ARITY.get(token) == 1}
    leaves = {token: w for token, w in WEIGHTS.items() if token not in ARITY}
    open_weight = {"sin": 60, "cos": 60, "log": 58, "exp": 58}  # what is left of 62 inside them
    expected = {op: w / open_weight.get(op, 62) for op, w in unary.items()}
    for at, table in ((0, expected), (1, leaves)):
        total = sum(table.values())
        for token, w in table.items():
            p = w / total
            assert (
                abs(sum(raw[at] == token for raw in pairs) / len(pairs) - p)
                < 5 * math.sqrt(p / len(pairs)) + 0.003
            )
    sizes = len(skeleton_draws(60_000, np.random.default_rng(4))) / 60_000
    assert 0.39 < sizes < 0.425  # 41 % of the published draws have 2 to 15 nodes


# ---- skeletons ----------------------------------------------------------------------------------------------------------------


def test_every_skeleton_passes_every_filter_as_sympy_sees_it():
    assert len(SKELETONS) > 150
    for skeleton in SKELETONS:
        assert all(passes(skeleton) for passes in FILTERS.values()) and skeleton in TRANSFORMER4SR
        assert skeleton.count(CONSTANT) == 1 and len(skeleton) <= 30 and levels(skeleton) <= 6
        assert variables(skeleton) == tuple(f"x{i + 1}" for i in range(len(variables(skeleton)))) != ()
        expression = symbols(skeleton)
        assert len(expression.free_symbols) == len(variables(skeleton)) + 1
        assert {power.exp for power in expression.atoms(sympy.Pow)} <= ALLOWED | {sympy.Integer(1)}


@pytest.mark.parametrize("name, bad", [
    ("levels", ("sin", "inv", "add", "x1", "log", "inv", "add", "C", "sqrt", "x1")),
    ("variables from x1", ("mul", "C", "x2")), ("variables from x1", ("exp", "C")),
    ("at most six variables", ("add", "C", "add", "x1", "add", "x2", "add", "x3", "add", "x4", "add", "x5", "add", "x6", "x7")),
    ("exponents", ("mul", "C", "sq", "sq", "sq", "x1")), ("exponents", ("mul", "C", "sqrt", "sqrt", "sqrt", "x1")),
    ("one constant", ("x1",)), ("one constant", ("add", "C", "mul", "C", "x1")), ("tokens", ("exp",) * 30 + ("x1",)),
])  # fmt: skip
def test_every_filter_refuses(name, bad):
    assert not FILTERS[name](bad)
    assert sum(not passes(("mul", "C", "x1")) for passes in FILTERS.values()) == 0


@pytest.mark.parametrize("raw, why", [
    (("sub", "x1", "x1"), "zero"), (("inv", "sub", "x1", "x1"), "a division by zero"), (("sq", "sq", "sq", "mul", "C", "x1"), "exponents"),
    (("mul", "C", "sqrt", "sq", "log", "x1"), "the root of a square is an absolute value"), (("mul", "x1", "x2"), "one constant"),
    (("exp", "C"), "variables from x1"), (("mul", "C", "sqrt", "neg", "x1"), "the root of a negative number"),
    (("log", "sub", "mul", "C", "x1", "mul", "C", "x1"), ""),  # two C's are two numbers
])  # fmt: skip
def test_why_a_draw_is_refused(raw, why):
    assert skeleton_of(raw)[1] == why
    if why in ("zero", "a division by zero"):
        assert symbols(raw) in (0, sympy.zoo)


@pytest.mark.parametrize("raw, skeleton", [
    ("add x1 x1", "mul C x1"), ("sub x2 x1", "add neg x1 x2"), ("mul C mul C x1", "mul C x1"), ("inv inv x1", "x1"),
    ("sqrt sq x1", "x1"), ("sq sqrt log x1", "log x1"), ("sqrt mul C x1", "mul C sqrt x1"), ("mul exp x1 exp x2", "exp add x1 x2"),
    ("sq exp x1", "exp mul C x1"), ("inv exp x1", "exp neg x1"), ("cos sub x2 x1", "cos add x1 neg x2"),
    ("sin sub x2 x1", "neg sin add x1 neg x2"), ("add mul x1 x2 mul x1 x3", "mul x1 add x2 x3"), ("mul x1 inv x1", "C"),
    ("mul x3 sub x2 x1", "neg mul x3 add x1 neg x2"), ("sub C mul C x1", "add C mul C x1"), ("mul sqrt x1 x1", "sqrt cb x1"),
    ("inv mul sq x1 x2", "mul inv sq x1 inv x2"), ("sqrt sqrt x1", "sqrt sqrt x1"), ("neg mul C x1", "mul C x1"),
    ("sqrt neg mul x3 sub x1 x2", "mul sqrt x3 sqrt add neg x1 x2"), ("sqrt neg mul x3 add C mul C x1", "mul sqrt x3 sqrt add C mul C x1"),
    ("add mul C x1 mul x1 x2", "mul x1 add C x2"), ("add mul x1 x2 x1", "add x1 mul x1 x2"), ("log exp x1", "x1"),
])  # fmt: skip
def test_simplification_by_example(raw, skeleton):
    assert to_skeleton(tuple(raw.split())) == tuple(skeleton.split())


def swapped(prefix, rng):
    """The same expression with the arguments of sums and products in random order."""
    parts = [swapped(child, rng) for child in children(prefix)]
    if prefix[0] in ("add", "mul") and rng.random() < 0.5:
        parts.reverse()
    return (prefix[0], *(token for part in parts for token in part))


def test_order_does_not_matter_and_once_is_enough():
    rng, seen = np.random.default_rng(5), 0
    for raw in RAW[:1500]:
        try:
            skeleton = to_skeleton(raw)
        except Refused as error:
            with pytest.raises(Refused, match=str(error).split(" 0.")[0].split(" -")[0]):
                to_skeleton(swapped(raw, rng))
            continue
        seen += 1
        assert to_skeleton(swapped(raw, rng)) == skeleton == to_skeleton(skeleton)
    assert seen > 1000


def test_a_skeleton_without_numbers_is_the_same_function_for_sympy():
    judged = 0
    for raw in RAW:
        if CONSTANT in raw or not 4 <= len(raw) <= 8:
            continue
        try:
            skeleton = to_skeleton(raw)
        except Refused:
            continue
        if CONSTANT not in skeleton and skeleton != raw:
            ours, theirs = symbols(skeleton), symbols(raw)
            assert ours == theirs or sympy.simplify(ours - theirs) == 0
            judged += 1
        if judged == 40:
            break
    assert judged == 40


def test_a_skeleton_with_a_constant_fits_what_it_came_from():
    rng, fitted, n = np.random.default_rng(11), 0, 0
    for raw in RAW:
        skeleton, _ = skeleton_of(raw)
        if skeleton is None or raw.count(CONSTANT) > 1 or renumbered(raw) != raw or n == 150:
            continue
        y = evaluate(raw, X, tuple(rng.uniform(0.5, 3.0, raw.count(CONSTANT))))
        good = np.isfinite(y)
        first = to_skeleton(raw)  # before other names for the variables
        if good.sum() > 20 and np.ptp(y[good]) > 1e-6 * np.abs(y[good]).max():
            n += 1
            fitted += fit_constants(first, X[good], y[good], starts=8).r2 > 1 - 1e-6
    assert n > 70 and fitted >= 0.97 * n


def test_small_helpers_by_hand():
    assert exponents(("mul", "inv", "sqrt", "x1", "sq", "sq", "x2")) == [-0.5, 4.0]
    assert levels(("mul", "C", "mul", "x1", "inv", "sq", "add", "x1", "x2")) == 4  # ·, power, +, leaf
    assert bare(("mul", "x1", "add", "C", "x2")) == ("mul", "x1", "x2")
    assert bare(("add", "mul", "C", "x1", "x1")) == ("x1",) and bare(("exp", "C")) == ("C",)


# ---- tables -------------------------------------------------------------------------------------------------------------------


def test_a_table_holds_what_its_skeleton_says():
    for k, skeleton in enumerate(SKELETONS[::8]):
        constants, points = tables_of(skeleton, np.random.default_rng([k]), 3)
        assert points.shape == (len(constants), 50, 7)
        for c, table in zip(constants, points):
            assert np.allclose(evaluate(skeleton, table[:, :6], (c,)), table[:, 6], rtol=1e-9)
            used = [int(v[1:]) - 1 for v in variables(skeleton)]
            assert (table[:, used] >= 0.1).all() and (table[:, used] <= 10).all()
            assert not np.delete(table[:, :6], used, axis=1).any()
            assert abs(c) <= 100 and round(c, 2) == c and np.abs(table[:, 6]).max() <= 1e9
    logs = np.log10(tables_of(("mul", "C", "x1"), np.random.default_rng(0), 40)[1][:, :, 0]).ravel()
    assert abs(logs.mean()) < 0.05 and abs(logs.std() - 2 / math.sqrt(12)) < 0.03  # uniform in the logarithm


def test_a_smaller_set_begins_a_larger_one():
    small, large = training_set(20, 4, seed=5).tables, training_set(48, 4, seed=5).tables
    assert large.skeletons[:5] == small.skeletons and len(set(large.skeletons)) == 12
    assert np.array_equal(large.points[:20], small.points) and large.points.dtype == np.float32
    assert not np.array_equal(training_set(20, 4, seed=6).tables.points, small.points)


def test_every_epoch_shows_every_table_once_in_another_order():
    fixed = training_set(24, 4)
    # six epochs in pools that do not fit
    rows = np.concatenate([fixed.pool(number, 9)[1] for number in range(16)])[:, 0]
    order = [
        [
            int(np.flatnonzero((fixed.tables.points[:, 0] == row).all(1))[0])
            for row in rows[24 * e : 24 * (e + 1)]
        ]
        for e in range(6)
    ]
    assert (
        all(sorted(epoch) == list(range(24)) for epoch in order)
        and len({tuple(epoch) for epoch in order}) == 6
    )
    prefixes, points = fixed.pool(3, 9)
    assert np.array_equal(points, fixed.pool(3, 9)[1]) and len(prefixes) == 9


# ---- network ------------------------------------------------------------------------------------------------------------------

PUBLISHED = dict(
    vocabulary=20,
    n_variables=6,
    width=256,
    heads=4,
    encoder_blocks=4,
    decoder_layers=8,
    feedforward=512,
    norm="post",
    bias=True,
)


@pytest.mark.parametrize("encoder, count", [("mix", 9_622_548), ("mlp", 6_863_892)])
def test_the_published_sizes_give_the_published_number_of_parameters(encoder, count):
    with torch.device("meta"):
        network = Network(Config(encoder=encoder, **PUBLISHED))
    learned_positions = network.positions.weight.numel()  # theirs are sines
    assert sum(p.numel() for p in network.parameters()) - learned_positions == count


def grid(encoder, norm="pre"):
    torch.manual_seed(0)
    return Network(
        Config(vocabulary=23, n_variables=6, width=16, heads=2, encoder=encoder, norm=norm, positions=32)
    ).eval()


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("encoder", ["mix", "mlp"])
@torch.no_grad()
def test_what_the_encoders_can_and_cannot_see(encoder, norm):
    network, generator = grid(encoder, norm), torch.Generator().manual_seed(1)
    points = torch.randn(3, 11, 7, generator=generator) * 3
    memory = network.encode(points)
    assert memory.shape == (3, 7, 16)  # one vector per column
    assert torch.allclose(
        network.encode(points[:, torch.randperm(11, generator=generator)]), memory, atol=1e-5
    )  # points have no order
    padded, mask = torch.cat([points, torch.full((3, 4, 7), 50.0)], 1), torch.arange(15).expand(3, -1) < 11
    assert torch.allclose(network.encode(padded, mask), memory, atol=1e-5)
    # Columns: "mlp" treats all alike, so its decoder cannot know which one is y; "mix" lays them side by side
    # and can.
    turned, tokens = points[:, :, [6, 1, 2, 3, 4, 5, 0]], torch.tensor([[1, 5, 8]] * 3)
    same = torch.allclose(network(points, None, tokens), network(turned, None, tokens), atol=1e-5)
    assert same == (encoder == "mlp")


def test_dropout_only_while_learning():
    torch.manual_seed(0)
    network = Network(Config(vocabulary=23, n_variables=6, width=16, heads=2, encoder="mix", dropout=0.5))
    points, tokens = torch.randn(2, 5, 7), torch.tensor([[1, 5]] * 2)
    assert not torch.equal(network(points, None, tokens), network(points, None, tokens))
    network.eval()
    assert torch.equal(network(points, None, tokens), network(points, None, tokens))
    with pytest.raises(ValueError, match="There are: set, mix, mlp"):
        Config(vocabulary=9, encoder="att")


@torch.no_grad()
def test_greedy_stops_when_the_tree_closes():
    network = grid("mix")
    network.output.bias[TRANSFORMER4SR.ids["<end>"]] = -1e9  # never wants to stop
    model = type("Model", (), {"network": network, "vocabulary": TRANSFORMER4SR})
    problems = scaling.problems_of("new_tables", SKELETONS, 6)
    results = solve_all(problems, Greedy(max_len=30), model)
    body = torch.tensor(
        [token in ARITY or token == CONSTANT or token[0] == "x" for token in TRANSFORMER4SR.tokens]
    )
    for problem, result in zip(problems, results):
        points = torch.from_numpy(np.column_stack([problem.X, problem.y]).astype(np.float32))[None]
        memory, written = network.encode(points), [TRANSFORMER4SR.ids[START]]
        needed = 1
        while needed and len(written) < 24:  # far from the limit the mask does nothing else
            logits = network.decode(memory, torch.tensor([written]))[0, -1].masked_fill(~body, -torch.inf)
            written.append(int(logits.argmax()))
            needed += ARITY.get(TRANSFORMER4SR.tokens[written[-1]], 0) - 1
        (prefix,) = result.generated
        own = TRANSFORMER4SR.decode(written)
        assert is_valid(prefix) and len(prefix) <= 30 and result.n_candidates == 1
        assert prefix == own if not needed else prefix[: len(own) - 8] == own[:-8]


# ---- learning -----------------------------------------------------------------------------------------------------------------


def test_noam_rises_to_its_warmup_and_falls_like_a_root():
    rate = [256**-0.5 * learning_rate(step, "noam", 0, warmup=4000) for step in range(20_000)]
    assert int(np.argmax(rate)) == 3999
    for s in (1, 100, 4000, 16_000):
        assert math.isclose(rate[s - 1], 256**-0.5 * min(s**-0.5, s * 4000**-1.5))
    assert math.isclose(rate[15_999], rate[3999] / 2)


def test_a_recipe_by_size_and_by_epochs():
    large, small = read_settings("t4sr", "laptop"), read_settings("t4sr-1600", "laptop")
    assert (
        large.data.items == 30 * small.data.items == 48_000 and large.training.epochs == small.training.epochs
    )
    assert small.training.steps == small.training.epochs * 1600 // small.training.batch
    assert [read_settings(f"t4sr-{n}", "laptop").data.items for n in scaling.sizes(48_000)] == scaling.sizes(
        48_000
    )
    paper = read_settings("t4sr", "paper").flat()
    assert (paper["schedule"], paper["warmup"], paper["lr"], paper["epochs"], paper["tables"]) == (
        "noam",
        4000,
        256**-0.5,
        100,
        25,
    )
    with pytest.raises(SettingsError, match="no recipe"):
        read_settings("t5sr-100", "laptop")


TINY = dict(vocabulary="TRANSFORMER4SR", n_variables=6, items=48, tables=4, encoder="mix", width=16, heads=2, encoder_blocks=1,
            decoder_layers=1, feedforward=16, positions=32, points_min=50, points_max=50, pool=2, batch=8, epochs=2, dropout=0.2, save_every=5,
            record_every=3, snapshots=4, threads=1)  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load_folder(train(make_settings(TINY), tmp_path_factory.mktemp("t4sr")), "tiny/t4sr")


def test_it_trains_and_goes_on_where_it_stopped_bit_for_bit(tiny, tmp_path: Path):
    settings = make_settings(TINY)
    assert train(settings, tmp_path, stop_after=7) is None
    again = train(settings, tmp_path)
    one, other = load_file(tiny.folder / "weights.safetensors"), load_file(again / "weights.safetensors")
    assert all(torch.equal(one[name], other[name]) for name in one) and tiny.about["steps"] == 12
    assert tiny.templates == frozenset(training_set(48, 4).tables.skeletons)
    assert sum(tiny.seen.count(s) for s in tiny.templates) == 96  # two epochs of 48
    assert sorted(tiny.snapshots()) == [3, 6, 9, 12]


# ---- the experiment -----------------------------------------------------------------------------------------------------------


def test_novelty_in_every_sense_is_nested():
    training = scaling.skeleton_set(SKELETONS[::2])
    counts = dict.fromkeys(scaling.SENSES, 0)
    for skeleton in SKELETONS:
        new = training.novelty(skeleton)
        assert new["novel_constants"] or skeleton in SKELETONS[::2]
        assert new["novel_constants"] >= new["novel"] >= new["novel_functional"]
        assert new["novel_constants"] >= new["novel_functional_constants"]
        for sense in counts:
            counts[sense] += new[sense]
    assert counts["novel_constants"] > counts["novel"] > 0
    assert not any(training.novelty(None).values()) and not any(training.novelty(("add", "x1")).values())
    respelled = ("mul", "mul", "x1", "C", "x1")
    assert not scaling.skeleton_set([("mul", "C", "sq", "x1")]).novelty(respelled)["novel_constants"]


def test_new_skeletons_are_new_and_new_tables_are_not(tiny):
    known = frozenset(SKELETONS)
    new, old = (scaling.problems_of(name, known, 40, seed=1000) for name in scaling.TEST_SETS)
    assert (
        not known & {p.truth for p in new}
        and {p.truth for p in old} <= known
        and len({p.truth for p in new}) == len(new) == len(old) == 40
    )
    for problem in (*new, *old):
        assert problem.X.shape == problem.X_fresh.shape == (50, 6)
        assert np.allclose(
            evaluate(problem.truth, problem.X_fresh, problem.truth_constants), problem.y_fresh, rtol=1e-9
        )
    first = next(distinct(skeleton_stream(0)))
    assert first in training_set(4, 4).tables.skeletons


def test_the_experiment_is_written_once_and_read_again(tiny, tmp_path):
    path = tmp_path / "t4sr_scaling.csv.gz"
    networks, known, few = {tiny.name: tiny}, tiny.templates, {"n_problems": 6}
    rows = scaling.size_rows(networks, known, **few) + scaling.epoch_rows(tiny.name, [3], known, **few)
    table = measure_all(rows[:2], path, networks)
    before = path.read_bytes()
    assert len(table) == 12 and set(table.test_set) == set(scaling.TEST_SETS) and set(table["items"]) == {48}
    assert len(measure_all(rows[:2], path, networks)) == 12 and path.read_bytes() == before
    table = measure_all(rows, path, networks)
    assert len(table) == 18 and set(table.epoch) == {0.5, 2.0}
    leak = table[table.test_set == "new_tables"]
    assert not leak.truth_novel.any()
    shares = scaling.shares(table, ["test_set", "epoch"])
    assert ((shares.low <= shares.share) & (shares.share <= shares.high)).all()
    assert scaling.saturates(
        scaling.steps_between(table[table.test_set == "new_skeletons"], "epoch", "novel")
    )
