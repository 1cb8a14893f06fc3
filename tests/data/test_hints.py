"""Hints: their words go there and back, symmetry is what sympy says, and what is drawn is true."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from second_reading import split

from nsr.data.hint_draws import HintRecipe, draw_hints, fitted, random_templates
from nsr.data.hints import (
    BEGIN,
    FINISH,
    LONGEST,
    ROOM,
    VALUES,
    Complexity,
    HintError,
    Negative,
    Positive,
    Symmetry,
    decode,
    encode,
    hint_words,
    in_order,
    rounded,
)
from nsr.data.items import TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, training_draws
from nsr.formulas.equivalence import strip
from nsr.formulas.expressions import ARITY, FULL, SIMPLIFIED, VARIABLES, VOCABULARIES, is_valid, n_constants
from nsr.formulas.notation import to_sympy
from nsr.formulas.parsing import parse
from nsr.network import checkpoints, training
from nsr.network.batches import Stream, make_draw, make_hints
from nsr.network.checkpoints import CheckpointError
from nsr.network.model import Network
from nsr.network.recipes import make_settings, read_settings
from nsr.numbers.symmetry import symmetries

TINY = dict(
    max_operators=3, draws=60, points_min=8, points_max=12, pool=2, width=16, heads=2, encoder_blocks=1, inducing=4, seeds=4,
    decoder_layers=1, feedforward=16, batch=8, steps=12, save_every=5, record_every=3, snapshots=4, threads=1, precision="float32", hinted=True, hint_layers=1,
)  # fmt: skip


@pytest.fixture(scope="module")
def items():
    """Training expressions with constants."""
    bank = TemplateBank(training_draws(300, TreeRecipe(), 1000))
    drawn = sample_items(bank, np.random.default_rng(1000), 400, 2)
    return [(drawn.prefix(i), drawn.values(i)) for i in range(len(drawn))]


OTHERS = random_templates(TreeRecipe())
EVERYTHING = HintRecipe(1.0, 1.0, 1.0, 1.0, values=0.5)


# ------------------------------------------------------------------------------------------------------------------ the words


def trees(constants: bool):
    leaves = st.sampled_from([*SIMPLIFIED.variables, *(["C"] if constants else [])]).map(lambda leaf: (leaf,))
    unary, binary = ([op for op in SIMPLIFIED.operators if ARITY[op] == n] for n in (1, 2))
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.tuples(st.sampled_from(unary), below).map(lambda t: (t[0], *t[1])),
            st.tuples(st.sampled_from(binary), below, below).map(lambda t: (t[0], *t[1], *t[2])),
        ),
        max_leaves=6,
    )


def positives():
    def with_values(tree):
        n = n_constants(tree)
        return st.one_of(st.just(()), st.tuples(*[st.none() | st.floats(-100, 100)] * n)).map(
            lambda values: Positive(tree, values)
        )

    return trees(True).flatmap(with_values)


def symmetry_hints():
    pairs = st.sampled_from(list(itertools.permutations(SIMPLIFIED.variables, 2)))
    return st.tuples(pairs, st.booleans()).map(lambda t: Symmetry(*t[0], t[1]))


HINTS = st.lists(
    st.one_of(st.integers(1, 60).map(Complexity), symmetry_hints(), positives(), trees(False).map(Negative)),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(HINTS, st.randoms())
def test_hints_go_to_ids_and_back(hints, random):
    ids = encode(hints, SIMPLIFIED)
    assert decode(ids, SIMPLIFIED) == in_order(hints) and set(decode(ids, SIMPLIFIED)) == set(hints)
    assert all(0 < i < len(hint_words(SIMPLIFIED)) for i in ids)
    shuffled = random.sample(hints, len(hints))
    assert encode(shuffled, SIMPLIFIED) == ids == encode(decode(ids, SIMPLIFIED), SIMPLIFIED)
    assert decode((*ids, 0, 0), SIMPLIFIED) == decode(ids, SIMPLIFIED)
    assert all(str(hint) for hint in hints)


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=lambda v: v.name)
def test_words_are_numbered_without_repetition_and_padding_is_zero(vocabulary):
    words = hint_words(vocabulary)
    assert len(set(words)) == len(words) and words[0] == "<pad>"
    assert set(vocabulary.operators) | set(vocabulary.variables) <= set(words)


def test_no_hints_are_two_markers():
    words = hint_words(SIMPLIFIED)
    assert (
        encode([], SIMPLIFIED) == (words.index(BEGIN), words.index(FINISH))
        and decode(encode([], SIMPLIFIED), SIMPLIFIED) == ()
    )


def test_a_value_moves_to_the_nearest_known_one():
    assert {rounded(v) for v in VALUES} == set(VALUES)
    for value in np.random.default_rng(0).uniform(-70, 70, 200):
        assert (
            math.copysign(1, rounded(value)) == math.copysign(1, value)
            and 1 / 1.3 < rounded(value) / value < 1.3
        )
    assert Positive(("mul", "C", "x1"), (None,)) == Positive(("mul", "C", "x1"))
    with pytest.raises(HintError, match="finite"):
        rounded(math.nan)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Complexity(0), "at least 1 token"),
        (lambda: Symmetry("x1", "x1"), "two different variables"),
        (lambda: Symmetry("x1", "y"), "two different variables"),
        (lambda: Positive(("add", "x1")), "must be an expression: 1 argument missing"),
        (lambda: Positive(("mul", "C", "x1"), (1.0, 2.0)), "1 constants, but 2 values"),
        (lambda: Negative(("mul", "C", "x1")), "structure only"),
        (lambda: encode([Positive(("log", "x1"))], SIMPLIFIED), "'log' in the hint"),
        (
            lambda: encode([Symmetry("x1", "x6")], SIMPLIFIED),
            "no word of a network for SIMPLIFIED with 5 variables",
        ),
        (lambda: decode([], SIMPLIFIED), "stand between"),
        (lambda: decode([1, 10_000, 2], SIMPLIFIED), "begins no hint"),
        (lambda: decode([1, 3, 2], SIMPLIFIED), "must be an expression"),
    ],
)
def test_what_is_no_hint_is_refused_in_words(make, message):
    with pytest.raises(HintError, match=message):
        make()


# ------------------------------------------------------------------------------------------------------------------- symmetry


def judged(prefix, constants=()):
    """What sympy says: the difference after the exchange expands to zero."""
    f = to_sympy(prefix, constants) if constants else to_sympy(prefix)
    names = sorted(f.free_symbols, key=str)
    return {
        (str(a), str(b)): sympy.expand(f - f.subs({a: b, b: a}, simultaneous=True)) == 0
        for a, b in itertools.combinations(names, 2)
    }


@pytest.mark.parametrize(
    "text",
    [
        "x1 + x2",
        "x1 - x2",
        "cos(x1 - x2)",
        "sin(x1 - x2)",
        "x1 + x2 + x3 - x4",
        "exp(x1) + exp(x2)",
        "exp(x1) + sin(x2)",
        "x1*x2 + x3",
        "x1/x2",
        "sin(x1 + x2 + x3)",
        "tan(x1 + cos(x2))",
        "log(x1*x2)",
        "log(x1) + log(x2)",
        "sqrt(x1 + x2)",
        "asin(x1*x2)",
        "sqrt(x1) - sqrt(x2)",
        "exp(x1)*exp(x2)*exp(x3)",
        "(x1 + x2)^2 - x1^2 - x2^2 + x3",
        "exp(exp(exp(x3))) + x1 - x2",
        "exp(exp(exp(x3))) + x1 + x2",
        "x1",
        "x1 + exp(x1)",
    ],
)
def test_symmetry_is_what_sympy_says(text):
    prefix, _ = parse(text)
    assert symmetries(prefix) == judged(prefix)


def test_symmetry_of_drawn_templates_is_what_sympy_says():
    chosen = sorted(set(training_draws(400, TreeRecipe(), 1001)))[::9]
    assert any(True in symmetries(template).values() for template in chosen)
    for template in chosen:
        assert symmetries(template) == judged(template), template


def test_constants_count():
    line = ("add", "mul", "C", "x1", "x2")
    assert symmetries(line) == {("x1", "x2"): False} == symmetries(line, (2.0,))
    assert symmetries(line, (1.0,)) == {("x1", "x2"): True}
    # an additive constant breaks nothing
    assert symmetries(("add", "C", "add", "x1", "x2")) == {("x1", "x2"): True}


def test_a_symmetry_that_is_drawn_is_the_one_of_generic_constants(items):
    for prefix, constants in items:
        assert symmetries(prefix, constants) == symmetries(prefix), prefix


def test_values_that_do_not_exist_or_explode_decide_nothing():
    assert symmetries(parse("log(sin(x1) - 2) + x2")[0]) == {}  # nowhere defined
    assert symmetries(parse("log(x1 - 20) + log(x2 - 20)")[0], (20.0, 20.0)) == {("x1", "x2"): True}
    assert symmetries(parse("sin(exp(exp(exp(x1 + x2 + x3))))")[0]) == dict.fromkeys(
        itertools.combinations(("x1", "x2", "x3"), 2), True
    )


# -------------------------------------------------------------------------------------------------------------------- drawing


def test_all_that_is_drawn_is_true(items):
    rng, kinds = np.random.default_rng(0), {Complexity: 0, Symmetry: 0, Positive: 0, Negative: 0}
    for prefix, constants in items:
        inside, bare, k = split(prefix), split(strip(prefix)), prefix.count("C")
        for hint in draw_hints(rng, prefix, EVERYTHING, OTHERS, constants):
            kinds[type(hint)] += 1
            assert hint.true_of(prefix, constants)
            if isinstance(hint, Complexity):
                assert hint.length == len(prefix) <= LONGEST
            if isinstance(hint, Positive):
                assert hint.tree in inside[1:] and len(hint.tree) > 1
                first = next(i for i in range(len(prefix)) if prefix[i : i + len(hint.tree)] == hint.tree)
                own = constants[prefix[:first].count("C") :][: hint.tree.count("C")]
                assert all(told is None or told == rounded(v) for told, v in zip(hint.values, own)) and (
                    k or not hint.values
                )
            if isinstance(hint, Negative):
                assert hint.tree not in bare and set(hint.tree) & set(VARIABLES) <= set(prefix)
    assert min(kinds.values()) > 100


def test_nothing_that_is_said_follows_from_something_else_that_is_said(items):
    rng = np.random.default_rng(1)
    for prefix, constants in items[:200]:
        hints = draw_hints(rng, prefix, EVERYTHING, OTHERS, constants)
        for kind in (Positive, Negative):
            said = [hint.tree for hint in hints if isinstance(hint, kind)]
            assert not any(b in split(a) for a, b in itertools.permutations(said, 2))


def test_the_budget_is_a_share_of_the_length(items):
    rng = np.random.default_rng(2)
    for share in (0.0, 0.5, 1.0):
        for prefix, _ in items[:100]:
            for kind in (HintRecipe(0, 0, 1, 0, share=share), HintRecipe(0, 0, 0, 1, share=share)):
                trees = [hint.tree for hint in draw_hints(rng, prefix, kind, OTHERS)]
                assert sum(map(len, trees)) <= int(share * len(prefix))
                if (
                    share == 1.0
                    and kind.positives
                    and len(split(prefix)) > 2
                    and any(len(t) > 1 for t in split(prefix)[1:])
                ):
                    assert trees  # something always fits


def test_each_kind_comes_with_its_own_probability(items):
    rng, recipe = (
        np.random.default_rng(3),
        HintRecipe(complexity=0.1, symmetry=0.2, positives=0.5, negatives=0.8, share=1.0),
    )
    prefix = parse("x1 + x2 + sin(x1 + exp(x2))")[0]
    drawn = [{type(hint) for hint in draw_hints(rng, prefix, recipe, OTHERS)} for _ in range(1000)]
    for kind, p in zip((Complexity, Symmetry, Positive, Negative), (0.1, 0.2, 0.5, 0.8)):
        assert abs(np.mean([kind in kinds for kinds in drawn]) - p) < 0.06
    assert {len(kinds) for kinds in drawn} >= {0, 1, 2, 3}


def test_negatives_follow_the_published_weights():
    """Of several short trees a longer one is drawn less often, in proportion to 1/length²."""
    rng, others = np.random.default_rng(4), [("sub", "x1", "x2"), ("sin", "x1")]
    prefix, recipe = ("add", "x1", "x2"), HintRecipe(0, 0, 0, 1, share=1.0, sources=20)
    drawn = [draw_hints(rng, prefix, recipe, others)[0].tree for _ in range(2000)]
    assert abs(np.mean([tree == ("sin", "x1") for tree in drawn]) - (1 / 4) / (1 / 4 + 1 / 9)) < 0.04


def test_hints_that_do_not_fit_lose_the_longest():
    hints = [Complexity(9), Negative(("sin", "x1")), Positive(("add", "x1", "add", "x2", "x3"))]
    assert fitted(hints, 14) == in_order(hints) and len(encode(fitted(hints, 14), SIMPLIFIED)) == 14
    assert fitted(hints, 13) == in_order(hints[:2]) and fitted(hints, 2) == ()


def test_full_expressions_can_be_hinted_too():
    rng, recipe = np.random.default_rng(5), TreeRecipe(FULL)
    for prefix in training_draws(100, recipe, 1002):
        hints = draw_hints(rng, prefix, EVERYTHING, random_templates(recipe))
        assert decode(encode(hints, FULL), FULL) == hints and all(hint.true_of(prefix) for hint in hints)


# ------------------------------------------------------------------------------------------------------------------- training


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hinted")
    training.train(make_settings(TINY), folder)
    return folder


def test_a_recipe_knows_the_size_of_its_hint_vocabulary():
    for scale in ("tiny", "laptop", "paper"):
        found = read_settings("nsrwh", scale)
        assert (
            found.config().hint_vocabulary == len(hint_words(found.vocabulary))
            and found.config().hint_positions >= ROOM
        )
    plain, hinted = (read_settings(name, "laptop").flat() for name in ("nesymres", "nsrwh"))
    assert (
        hinted["steps"] * 4 == plain["steps"]
        and hinted["freeze_encoder"]
        and hinted["start_from"] == "laptop/nesymres"
    )
    same = (
        "width",
        "heads",
        "decoder_layers",
        "draws",
        "template_seed",
        "min_operators",
        "max_operators",
        "batch",
        "bias",
    )
    assert [plain[key] for key in same] == [hinted[key] for key in same]
    assert read_settings("nesymres", "laptop").config().hint_vocabulary == 0


def test_batches_carry_true_hints():
    chosen = make_settings(TINY | dict(hint_complexity=1.0, hint_positives=1.0, hint_values=1.0))
    templates, draw = make_draw(chosen)
    stream = Stream(draw, chosen.vocabulary, 0, 8, (8, 12), 2, 64, None, make_hints(chosen))
    for batch in stream.from_step(0, 4):
        assert batch.hints.shape[0] == len(batch.shown) and batch.hints.dtype == torch.int64
        for row, prefix in zip(batch.hints.tolist(), batch.shown):
            hints = decode(row, chosen.vocabulary)
            assert all(hint.true_of(prefix) for hint in hints) and Complexity(len(prefix)) in hints
            assert all(len(h.values) == h.tree.count("C") for h in hints if isinstance(h, Positive))


def test_some_items_of_a_batch_show_their_hints_only():
    """Their points do not matter; those of the others do."""
    chosen = make_settings(TINY | dict(hint_only=0.5, hint_complexity=1.0, hint_std=1.0))
    templates, draw = make_draw(chosen)
    stream = Stream(
        draw, chosen.vocabulary, 0, 64, (8, 12), 2, 64, None, make_hints(chosen), chosen.data.hint_only
    )
    batch = stream.pool_of(0)[0]
    alone = batch.hint_only
    assert alone.dtype == torch.bool and 0.3 < alone.float().mean() < 0.7
    torch.manual_seed(0)
    network = Network(chosen.config())
    assert 0.8 < network.anchors.std() < 1.2 and 0.8 < network.hint_tokens.weight.std() < 1.2
    inputs = batch.tokens, batch.hints, alone
    one, other = (network(points, None, *inputs) for points in (batch.points, batch.points + 1))
    torch.testing.assert_close(one[alone], other[alone])
    assert not torch.allclose(one[~alone], other[~alone], atol=1e-3)
    ranks = [dataclasses.replace(stream, rank=rank, world=2).pool_of(0)[0].hint_only for rank in (0, 1)]
    assert torch.equal(ranks[0], alone[::2]) and torch.equal(ranks[1], alone[1::2])


def split_at(words, start, end):
    parts = " ".join(words).removeprefix(start + " ").removesuffix(" " + end).split(f" {end} {start} ")
    return [part.split() for part in parts]


def test_some_items_are_told_tokens_in_no_order_of_an_expression():
    """They are what is to be written, and no expression that the network was shown."""
    chosen = make_settings(TINY | dict(hint_copy=0.5, hint_positives=0.0))
    copies, vocabulary = chosen.data.hint_copy, chosen.vocabulary
    stream = Stream(
        make_draw(chosen)[1], vocabulary, 0, 64, (8, 12), 2, 64, None, make_hints(chosen), 0.0, copies
    )
    words, seen = hint_words(vocabulary), 0
    for batch in stream.from_step(0, 4):
        told = [[words[i] for i in row if i] for row in batch.hints.tolist()]
        targets = [[vocabulary.tokens[i] for i in row if i][:-1] for row in batch.targets.tolist()]
        copied = [row[1] == "<includes>" for row in told]
        for row, target in zip(
            [t for t, c in zip(told, copied) if c], [t for t, c in zip(targets, copied) if c]
        ):
            parts = split_at(row[1:-1], "<includes>", "</includes>")
            orders = [sum(some, []) for some in itertools.permutations(parts)]
            assert 1 <= len(parts) <= 3 and target in orders
            assert len(target) == 1 or not is_valid(tuple(target))
        assert [list(p) for p in batch.shown] == [t for t, c in zip(targets, copied) if not c]
        seen += sum(copied)
    assert 80 < seen < 176


def test_a_hinted_network_is_published_and_loaded_as_it_was(finished, monkeypatch, tmp_path):
    trained = checkpoints.load_folder(finished / "final", "tiny/nsrwh")
    assert (
        trained.config.hint_vocabulary
        == len(trained.about["hint_words"])
        == len(hint_words(trained.vocabulary))
    )
    monkeypatch.setattr(checkpoints, "OUTPUTS", tmp_path)
    monkeypatch.setattr(checkpoints, "REFERENCE", tmp_path / "reference")
    monkeypatch.setenv("NSR_REFERENCE", "1")
    (tmp_path / "training" / "tiny").mkdir(parents=True)
    (tmp_path / "training" / "tiny" / "nsrwh").symlink_to(finished)
    checkpoints.publish("tiny/nsrwh")
    again = checkpoints.load("tiny/nsrwh")
    assert again.folder == tmp_path / "reference" / "tiny" / "nsrwh" and again.config == trained.config
    hints = torch.tensor([encode([Complexity(4)], SIMPLIFIED)])
    points = torch.randn(1, 8, 6)
    assert torch.equal(trained.network.encode(points, None, hints), again.network.encode(points, None, hints))
    about = (again.folder / "about.json").read_text()
    (again.folder / "about.json").write_text(about.replace('"length=3"', '"length=three"'))
    with pytest.raises(CheckpointError, match="other words for hints"):
        checkpoints.load("tiny/nsrwh")


def test_a_hinted_run_goes_on_where_it_stopped(finished, tmp_path):
    assert training.train(make_settings(TINY), tmp_path, stop_after=5) is None
    resumed = training.train(make_settings(TINY), tmp_path)
    straight = checkpoints.load_folder(finished / "final").network.state_dict()
    for name, tensor in checkpoints.load_folder(resumed).network.state_dict().items():
        assert torch.equal(tensor, straight[name]), name


def test_a_run_from_before_hints_existed_goes_on(tmp_path):
    plain = make_settings({key: value for key, value in TINY.items() if not key.startswith("hint")})
    training.train(plain, tmp_path, stop_after=5)
    tensors, about = checkpoints.read(tmp_path / checkpoints.LATEST)
    sizes = {"hint_vocabulary", "hint_layers", "hint_positions"}  # of the network: they existed before
    about["settings"] = {
        key: value for key, value in about["settings"].items() if not key.startswith("hint") or key in sizes
    }
    checkpoints.write(tmp_path / checkpoints.LATEST, tensors, about)
    assert training.train(plain, tmp_path) is not None


def test_a_frozen_encoder_learns_nothing_costs_no_backward_pass_and_remembers_what_was_shown(
    finished, monkeypatch, tmp_path
):
    plain = make_settings({key: value for key, value in TINY.items() if not key.startswith("hint")})
    base = checkpoints.load_folder(training.train(plain, tmp_path / "plain"))
    monkeypatch.setattr(checkpoints, "load", lambda name: base)
    tuned = checkpoints.load_folder(
        training.train(
            make_settings(TINY | dict(start_from="tiny/nesymres", freeze_encoder=True)), tmp_path / "tuned"
        )
    )
    for name, tensor in base.network.state_dict().items():
        assert torch.equal(tensor, tuned.network.state_dict()[name]) == name.startswith(
            ("embed", "blocks", "pool")
        ), name
    assert tuned.seen.counts.sum() == 2 * base.seen.counts.sum() and set(base.seen.hashes) <= set(
        tuned.seen.hashes
    )
    network = Network(plain.config())
    for part in (network.embed, network.blocks, network.pool):
        part.requires_grad_(False)
    assert not network.encode(torch.randn(1, 8, 6)).requires_grad
