"""The loop: its stream, its optimisers, and what happens when it is killed, split over processes or given a
bad file."""

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from nsr.__main__ import main
from nsr.book.run_records import ROOT
from nsr.data import items
from nsr.data.templates import TreeRecipe, training_draws
from nsr.formulas.equivalence import canonical
from nsr.formulas.expressions import CLOSE, END, OPEN, SIMPLIFIED, START, is_valid, subtrees
from nsr.network import batches, checkpoints, devices, shown, training
from nsr.network.batches import Background, Prompts, Stream, draw_prompt, make_draw, sequence
from nsr.network.checkpoints import CheckpointError
from nsr.network.devices import Learner, Objective, Place
from nsr.network.model import Config, Network
from nsr.network.optimisers import AdamW, Muon, learning_rate, make_optimisers, orthogonalise
from nsr.network.recipes import SettingsError, make_settings, read_settings
from nsr.network.shown import Seen, Shown, sequence_hash
from nsr.search.decoding import Complete, Job, complete

TINY = dict(
    max_operators=3, draws=60, points_min=8, points_max=12, pool=2, width=16, heads=2, encoder_blocks=1, inducing=4, seeds=4,
    decoder_layers=1, feedforward=16, batch=8, steps=12, save_every=5, record_every=3, snapshots=4, threads=1, precision="float32",
)  # fmt: skip


def tiny(**changes):
    return make_settings(TINY | changes)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "weights.safetensors")


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


# ---- settings -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted((ROOT / "params" / "training").glob("*/*.yaml")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_every_recipe_can_be_read(path):
    settings = read_settings(path.stem, path.parent.name)
    assert settings.data.prompted == path.stem.endswith("gvs") and settings.data.hinted == (
        path.stem.startswith("nsrwh")
    )
    assert make_settings(settings.flat()).flat() == settings.flat()


def test_the_papers_recipe_is_the_papers():
    flat = read_settings("nesymres", "paper").flat()
    assert (flat["width"], flat["seeds"], flat["decoder_layers"], flat["batch"], flat["lr"]) == (
        512,
        32,
        5,
        200,
        1e-4,
    )
    assert flat["steps"] * flat["batch"] == 1000 * 100_000  # 1000 epochs of 100K
    assert (flat["schedule"], flat["constant"], flat["points_min"], flat["points_max"]) == (
        "inverse_sqrt",
        4000,
        1,
        1000,
    )


@pytest.mark.parametrize(
    "bad",
    [
        dict(stepps=1),
        dict(steps="many"),
        dict(steps=1.5),
        dict(prompted=1),
        dict(vocabulary="GREEK"),
        dict(lr=True),
        dict(steps=0),
        dict(steps=-5),
        dict(batch=0),
        dict(save_every=0),
        dict(record_every=0),
        dict(pool=0),
        dict(lr="inf"),
        dict(lr=-1e-3),
        dict(muon_lr=float("nan")),
        dict(decay=1.5),
        dict(prompt_empty=-0.1),
        dict(hint_values=2),
        dict(hint_only=1.1),
        dict(hint_std=-1.0),
        dict(optimiser="sgd"),
        dict(schedule="cosine"),
        dict(precision="float64"),
        dict(device="tpu"),
        dict(compile="maybe"),
        dict(norm="none"),
        dict(activation="tanh"),
        dict(encoder="lstm"),
        dict(points_min=50, points_max=40),
        dict(min_operators=6),
        dict(max_operators=99),
        dict(n_variables=10**9),
        dict(decoder_layers=1000),
        dict(seed=-1),
        dict(steps=10**5000),
        dict(vocabulary=["SIMPLIFIED"]),
        dict(label_smoothing=1.5),
        dict(exchanges=-1),
        dict(exchanges=10, items=100),
        dict(reordered=True, hinted=True),
    ],
)
def test_bad_settings_are_refused_by_name(bad):
    with pytest.raises(SettingsError, match=next(iter(bad))) as refused:
        make_settings(bad)
    assert len(str(refused.value)) < 300


def test_a_network_that_is_too_large_is_refused_before_it_is_built():
    with pytest.raises(SettingsError, match="at least .* parameters; 134,217,728 are the most"):
        make_settings({"width": 4096, "heads": 4, "decoder_layers": 8})


def test_an_unknown_recipe_names_the_known_ones():
    with pytest.raises(SettingsError, match="nesymres"):
        read_settings("nessie", "tiny")


def test_a_numbered_network_is_the_same_recipe_with_seeds_of_its_own():
    plain, second = read_settings("nesymres").flat(), read_settings("nesymres@2").flat()
    assert {key for key in plain if plain[key] != second[key]} == {"seed", "template_seed"} and second[
        "template_seed"
    ] == 2
    assert (
        read_settings("nsrwh@2").training.start_from == "laptop/nesymres@2"
        and read_settings("t4sr-1600@1").data.items == 1600
    )
    for wrong in ("nesymres@x", "nesymres@01", "nesymres@0", "nesymres@-1"):
        with pytest.raises(SettingsError, match="number"):
            read_settings(wrong)


def test_a_recipe_may_be_like_another_and_have_a_size():
    plain, brief = read_settings("nesymres").flat(), read_settings("brief-1000").flat()
    assert {key for key in plain if plain[key] != brief[key]} == {"steps", "draws"}
    assert (brief["draws"], brief["items"]) == (1000, 0)
    assert read_settings("brief-1000@1", "tiny").data.template_seed == 1


# ---- the stream ---------------------------------------------------------------------------------------------------------------


def stream(settings=None, **changes):
    settings = settings or tiny()
    t, d = settings.training, settings.data
    _, draw = training.make_draw(settings)
    return Stream(
        **(
            dict(
                draw=draw,
                vocabulary=settings.vocabulary,
                seed=t.seed,
                batch=t.batch,
                points=(d.points_min, d.points_max),
                pool=d.pool,
            )
            | changes
        )
    )


def test_a_batch_depends_on_seed_and_step_only():
    whole, later = list(stream().from_step(0, 9)), list(stream().from_step(5, 9))
    assert len(whole) == 9
    for one, other in zip(whole[5:], later, strict=True):
        assert (
            torch.equal(one.points, other.points)
            and torch.equal(one.tokens, other.tokens)
            and one.shown == other.shown
        )
    assert not torch.equal(next(stream(seed=1).from_step(0, 1)).points[0, 0], whole[0].points[0, 0])


def test_a_batch_holds_start_expression_end_and_its_points():
    for batch in stream().from_step(0, 4):
        for row, target, prefix in zip(batch.tokens, batch.targets, batch.shown, strict=True):
            spelled = SIMPLIFIED.encode((START, *prefix, END))
            assert row[row > 0].tolist() == spelled[:-1] and target[target > 0].tolist() == spelled[1:]
        assert batch.weight == (batch.targets > 0).sum()
        assert (
            batch.points.dtype == torch.float32
            and 8 <= batch.points.shape[1] <= 12
            and batch.points.isfinite().all()
        )


def test_terms_stand_in_another_order_at_every_exposure():
    """What is shown is what would have been shown, up to the order of terms."""
    plain, other = (stream(tiny(reordered=value)).pool_of(0) for value in (False, True))
    targets = [Counter(map(canonical, (p for batch in pool for p in batch.shown))) for pool in (plain, other)]
    assert targets[0] == targets[1]
    orders = {}
    for batch in stream(tiny(reordered=True, max_constants=1)).from_step(0, 60):
        for prefix in batch.shown:
            orders.setdefault(canonical(prefix), set()).add(prefix)
    assert max(map(len, orders.values())) > 1


def test_exchanged_templates_join_the_training_set():
    few, more = make_draw(tiny())[0], make_draw(tiny(exchanges=40))[0]
    assert list(more)[: len(few)] == list(few) and len(more) == len(few) + 40


def test_processes_share_out_the_same_batch():
    for whole, left, right in zip(
        stream().from_step(0, 4),
        stream(rank=0, world=2).from_step(0, 4),
        stream(rank=1, world=2).from_step(0, 4),
        strict=True,
    ):
        assert torch.equal(whole.points[0::2], left.points) and torch.equal(whole.points[1::2], right.points)
        assert (
            whole.weight
            == left.weight
            == right.weight
            == (left.targets > 0).sum() + (right.targets > 0).sum()
        )


def test_prompts_are_proper_subtrees_and_nothing_is_learned_on_them():
    prompted = stream(prompts=Prompts(empty=0.3, longest=5, total=12), positions=30)
    tokens, empty = np.array(SIMPLIFIED.tokens), 0
    for batch in prompted.from_step(0, 8):
        for row, target, prefix in zip(batch.tokens, batch.targets, batch.shown, strict=True):
            words = tokens[row[row > 0]].tolist()
            start = words.index(START)
            trees = [tuple(part.split()) for part in " ".join(words[:start]).replace(OPEN, "").split(CLOSE)][
                :-1
            ]
            assert all(tree in subtrees(prefix)[1:] and len(tree) <= 5 for tree in trees) and len(
                set(trees)
            ) == len(trees)
            assert (target[:start] == 0).all() and tuple(tokens[target[target > 0]]) == (*prefix, END)
            assert len(words) <= 30
            empty += not trees
    assert 0 < empty < 64


def test_a_prompt_stops_at_its_limit():
    prefix = ("add", "sin", "x1", "add", "cos", "x2", "exp", "x3")
    for seed in range(50):
        trees = draw_prompt(np.random.default_rng(seed), prefix, Prompts(empty=0.0, longest=3, total=4))
        assert sum(map(len, trees[:-1])) <= 4 and trees
    assert sequence(("x1",), [("sin", "x1")])[:5] == (OPEN, "sin", "x1", CLOSE, START)


def test_an_error_in_the_background_is_raised_in_front():
    def broken():
        yield next(stream().from_step(0, 1))
        raise ZeroDivisionError("in the thread")

    background = Background(broken())
    with pytest.raises(ZeroDivisionError, match="in the thread"):
        list(background)
    background.close()


# ---- optimisers ---------------------------------------------------------------------------------------------------------------


def test_orthogonalise_keeps_singular_vectors_and_evens_out_singular_values():
    matrices = torch.randn(3, 6, 10, generator=torch.Generator().manual_seed(0))
    for stack in (matrices, matrices.mT):
        u, s, vt = torch.linalg.svd(stack, full_matrices=False)
        new = u.mT @ orthogonalise(stack, 10) @ vt.mT
        assert (new - torch.diag_embed(new.diagonal(dim1=1, dim2=2))).abs().max() < 1e-3
        assert 0.5 < new.diagonal(dim1=1, dim2=2).min() and new.diagonal(dim1=1, dim2=2).max() < 1.3


def test_orthogonalise_in_bfloat16_is_the_same_up_to_rounding():
    matrices = torch.randn(3, 6, 10, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalise(matrices, bf16=True))
    assert values.min() > 0.5 and values.max() < 1.3
    # five steps blow a rounding of 2^-8 up, but not beyond a tenth of a singular value
    assert (orthogonalise(matrices, bf16=True) - orthogonalise(matrices)).abs().max() < 0.2


def test_muon_treats_stacked_maps_as_separate_matrices():
    torch.manual_seed(0)
    stacked = torch.nn.Parameter(torch.zeros(12, 4))
    parts = [torch.nn.Parameter(torch.zeros(4, 4)) for _ in range(3)]
    together, apart = Muon([(stacked, 3)], lr=0.1), Muon([(part, 1) for part in parts], lr=0.1)
    for _ in range(3):
        stacked.grad = torch.randn(12, 4)
        for part, gradient in zip(parts, stacked.grad.clone().split(4)):
            part.grad = gradient
        together.step(), apart.step()
    torch.testing.assert_close(stacked.data, torch.cat([part.data for part in parts]))


def test_optimisers_share_out_all_parameters():
    network = Network(Config(vocabulary=20, width=16, heads=2))
    for kind in ("muon", "adamw"):
        groups = [p for optimiser in make_optimisers(network, kind, 1e-3) for p in optimiser.parameters]
        assert sorted(map(id, groups)) == sorted(map(id, network.parameters()))


def test_adamw_moves_parameters_as_torch_does_and_leaves_those_without_a_gradient():
    torch.manual_seed(0)
    ours, theirs = ([torch.nn.Parameter(torch.ones(3, n)) for n in (1, 2, 4)] for _ in range(2))
    one = AdamW(ours, lr=0.1, beta2=0.99, weight_decay=0.02)
    other = torch.optim.AdamW(theirs, lr=0.1, betas=(0.9, 0.99), weight_decay=0.02, fused=True)
    for step in range(5):
        for a, b in zip(ours[step % 2 :], theirs[step % 2 :]):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        for optimiser in (one, other):
            optimiser.step()
            optimiser.zero_grad()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs))


def test_schedules():
    assert learning_rate(0, "wsd", 100, warmup=10) == 0.1 and learning_rate(50, "wsd", 100, warmup=10) == 1.0
    assert [learning_rate(s, "wsd", 100, decay=0.2) for s in (80, 90, 99)] == pytest.approx([1.0, 0.5, 0.05])
    assert learning_rate(4000 * 9 - 1, "inverse_sqrt", 0, constant=4000) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="inverse_sqrt"):
        learning_rate(0, "cosine", 100)


def test_it_learns_eight_expressions_by_heart(tmp_path):
    settings = tiny(
        width=32,
        draws=8,
        steps=150,
        batch=32,
        lr=3e-3,
        muon_lr=0.02,
        save_every=1000,
        snapshots=0,
        max_constants=0,
    )
    trained = checkpoints.load_folder(training.train(settings, tmp_path))
    assert trained.history[-1]["loss"] < 0.3 < trained.history[0]["loss"]


# ---- what is kept -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    training.train(tiny(), folder)
    return folder


def test_a_finished_network_knows_what_it_was_shown(finished):
    trained = checkpoints.load_folder(finished / "final")
    shown = [prefix for batch in stream().from_step(0, 12) for prefix in batch.shown]
    assert all(trained.seen.count(prefix) == shown.count(prefix) for prefix in shown)
    assert len(trained.seen) == len(set(shown)) and ("sin", "sin", "sin", "sin", "x5") not in trained.seen
    assert trained.templates == set(training.make_draw(tiny())[0])
    assert [row["step"] for row in trained.history] == [3, 6, 9, 12] and trained.about["birth"]["parameters"][
        "steps"
    ] == 12
    assert sorted(trained.snapshots()) == [3, 6, 9, 12]
    last = trained.at(12).state_dict()
    assert all(
        torch.allclose(last[name], tensor, atol=1e-3, rtol=1e-3)
        for name, tensor in trained.network.state_dict().items()
    )
    with pytest.raises(CheckpointError, match="step 5"):
        trained.at(5)


def test_a_network_is_published_without_a_log_that_is_too_large(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(checkpoints, "OUTPUTS", tmp_path)
    monkeypatch.setattr(checkpoints, "REFERENCE", tmp_path / "reference")
    assert main(["publish", "own"]) == 2 and "has not finished" in capsys.readouterr().err
    shutil.copytree(finished / "final", tmp_path / "training" / "laptop" / "own" / "final")
    assert main(["publish", "own"]) == 0 and "seen.safetensors" in capsys.readouterr().out
    assert len(checkpoints.load("laptop/own").seen) > 0
    monkeypatch.setattr(checkpoints, "LARGEST_LOG", 100)
    # the old one went away, too
    assert main(["publish", "own"]) == 0 and "seen.safetensors" not in capsys.readouterr().out
    assert checkpoints.load("laptop/own").folder == tmp_path / "training" / "laptop" / "own" / "final"
    monkeypatch.setenv("NSR_REFERENCE", "1")
    trained = checkpoints.load("laptop/own")
    assert (
        trained.folder == tmp_path / "reference" / "laptop" / "own"
        and trained.templates
        and not trained.has_seen
    )
    with pytest.raises(CheckpointError, match="too large to be shipped.*python -m nsr train own"):
        trained.seen
    # a network can go on from it all the same
    further = training.train(tiny(start_from="laptop/own", seed=1), tmp_path / "further")
    assert (
        checkpoints.load_folder(further).seen.counts.sum()
        == checkpoints.load_folder(finished / "final").seen.counts.sum()
    )
    before = checkpoints.load_folder(further).about["began_with"]  # and says from what
    assert (before["name"], before["steps"], before["birth"]) == (
        "laptop/own",
        trained.about["steps"],
        trained.about["birth"],
    )


def test_stopping_and_going_on_is_the_same_as_never_stopping(finished, tmp_path):
    for part in (4, 3, 100):
        training.train(tiny(), tmp_path, stop_after=part)
    assert same(weights(finished / "final"), weights(tmp_path / "final"))
    one, other = (
        json.loads((folder / "final" / "about.json").read_text())["history"]
        for folder in (finished, tmp_path)
    )
    assert [(r["step"], r["loss"]) for r in one] == [(r["step"], r["loss"]) for r in other]


def command(**changes) -> list[str]:
    pairs = [word for key, value in (TINY | changes).items() for word in ("-p", key, str(value))]
    return [sys.executable, "-m", "nsr", "train", "nesymres", "--scale", "tiny", *pairs]


def environment(outputs: Path, **more) -> dict[str, str]:
    return os.environ | {"NSR_OUTPUTS": str(outputs), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)} | more


def test_kill_9_and_the_same_command_goes_on_to_the_same_bits(tmp_path):
    run = Path("training") / "tiny" / "nesymres"
    long = dict(steps=150, save_every=10, warmup=10)
    subprocess.run(command(**long), env=environment(tmp_path / "whole"), check=True, capture_output=True)
    kills = 0
    while not (tmp_path / "killed" / run / "final" / "about.json").exists():
        process = subprocess.Popen(
            command(**long), env=environment(tmp_path / "killed"), stdout=subprocess.DEVNULL
        )
        before = (tmp_path / "killed" / run / "latest.safetensors").stat().st_mtime_ns if kills else 0
        while process.poll() is None and kills < 2:
            latest = tmp_path / "killed" / run / "latest.safetensors"
            # it trains: kill it somewhere within the next steps
            if latest.exists() and latest.stat().st_mtime_ns != before:
                time.sleep(0.05 + 0.1 * kills)
                process.send_signal(signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
        assert process.wait() in (0, -signal.SIGKILL)
    assert kills == 2
    whole, killed = (tmp_path / name / run / "final" for name in ("whole", "killed"))
    assert same(weights(whole), weights(killed))
    assert same(load_file(whole / "seen.safetensors"), load_file(killed / "seen.safetensors"))
    one, other = (json.loads((folder / "about.json").read_text())["history"] for folder in (whole, killed))
    assert [(r["step"], r["loss"]) for r in one] == [(r["step"], r["loss"]) for r in other]


def test_two_processes_learn_what_one_learns(tmp_path):
    """Real gloo processes, as torchrun starts them. AdamW: Muon's orthogonal matrices amplify the last bits
    of a sum."""
    changes = dict(optimiser="adamw", lr=1e-4, steps=6)
    subprocess.run(command(**changes), env=environment(tmp_path / "one"), check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    world = dict(WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    started = [
        subprocess.Popen(
            command(**changes),
            env=environment(tmp_path / "two", RANK=str(rank), LOCAL_RANK=str(rank), **world),
        )
        for rank in (0, 1)
    ]
    assert [process.wait(timeout=300) for process in started] == [0, 0]
    one, two = (tmp_path / name / "training" / "tiny" / "nesymres" / "final" for name in ("one", "two"))
    for key, value in weights(one).items():
        torch.testing.assert_close(weights(two)[key], value, atol=2e-6, rtol=0)
    first, second = (json.loads((folder / "about.json").read_text())["history"] for folder in (one, two))
    assert [r["loss"] for r in first] == pytest.approx([r["loss"] for r in second], abs=1e-5)
    assert same(load_file(one / "seen.safetensors"), load_file(two / "seen.safetensors"))


# ---- bad files, other devices -------------------------------------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path):
    training.train(tiny(), tmp_path, stop_after=5)
    return tmp_path


def test_a_truncated_checkpoint_is_refused(begun):
    latest = begun / "latest.safetensors"
    latest.write_bytes(latest.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="truncated"):
        training.train(tiny(), begun)


def test_a_foreign_checkpoint_is_refused(begun):
    save_file({"a": torch.zeros(3)}, begun / "latest.safetensors")
    with pytest.raises(CheckpointError, match="not written by this project"):
        training.train(tiny(), begun)
    (begun / "latest.safetensors").write_bytes(b"\x80\x04\x95 this could be a pickle")
    with pytest.raises(CheckpointError, match="cannot be read"):
        training.train(tiny(), begun)


def test_a_checkpoint_of_other_settings_is_refused_by_name_but_more_steps_are_welcome(begun):
    with pytest.raises(CheckpointError, match="lr = 0.001, not 0.5"):
        training.train(tiny(lr=0.5), begun)
    assert training.train(tiny(steps=14), begun) == begun / "final"


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    with pytest.raises(FloatingPointError, match="smaller lr"):
        training.train(tiny(lr=1e30, muon_lr=1e30), tmp_path)


def test_missing_weights_name_the_command():
    with pytest.raises(
        FileNotFoundError,
        match="No weights for 'tiny/unicorn' in outputs/reference. Run: python -m nsr train unicorn --scale tiny",
    ):
        checkpoints.load("tiny/unicorn")


def test_weights_of_another_size_are_refused(finished, tmp_path):
    about = json.loads((finished / "final" / "about.json").read_text())
    for part in ("weights.safetensors", "seen.safetensors", "templates.txt.gz"):
        (tmp_path / part).write_bytes((finished / "final" / part).read_bytes())
    about["config"]["width"] = 32
    (tmp_path / "about.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match="another network"):
        checkpoints.load_folder(tmp_path)
    about["config"]["wings"] = 2
    (tmp_path / "about.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match="wings"):
        checkpoints.load_folder(tmp_path)


def test_publishing_copies_a_finished_network_only(finished, monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoints, "OUTPUTS", tmp_path)
    monkeypatch.setattr(checkpoints, "REFERENCE", tmp_path / "reference")
    with pytest.raises(CheckpointError, match="not finished"):
        checkpoints.publish("tiny/nesymres")
    training.train(tiny(), tmp_path / "training" / "tiny" / "nesymres")
    assert sorted(p.name for p in checkpoints.publish("tiny/nesymres").iterdir()) == [
        "about.json",
        "seen.safetensors",
        "templates.txt.gz",
        "weights.safetensors",
    ]
    assert same(weights(checkpoints.load("tiny/nesymres").folder), weights(finished / "final"))


def test_small_numbers_are_numbers_again_however_a_training_ends(tmp_path):
    training.train(tiny(), tmp_path, stop_after=1)
    with pytest.raises(CheckpointError):
        training.train(tiny(lr=0.5), tmp_path)
    assert torch.tensor([1e-40]).mul(1.0).item() > 0


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_the_path_of_a_cuda_device_runs_here_in_bfloat16(tmp_path, norm, optimiser):
    settings = tiny(precision="bf16", optimiser=optimiser, norm=norm)
    trained = checkpoints.load_folder(training.train(settings, tmp_path))
    assert all(
        tensor.dtype == torch.float32 and tensor.isfinite().all()
        for tensor in trained.network.state_dict().values()
    )


@pytest.mark.parametrize("has", [None, "_is_avx512_bf16_supported", "_is_amx_tile_supported"])
def test_auto_computes_in_bfloat16_where_the_processor_multiplies_it(tmp_path, monkeypatch, has):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda name=name: name == has)
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    for precision, wanted in (("auto", has is not None), ("bf16", True), ("float32", False)):
        assert devices.wants_bf16(precision, cpu) == wanted
        assert devices.wants_bf16(precision, cuda) == (precision != "float32")
    trained = checkpoints.load_folder(training.train(tiny(precision="auto", steps=2), tmp_path))
    assert trained.about["birth"]["precision"] == ("bf16" if has else "float32")
    assert trained.settings["precision"] == "auto"


def test_a_torch_that_cannot_say_computes_in_float32(monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch.cpu, name)
    assert not devices.wants_bf16("auto", torch.device("cpu"))


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def small(**changes):
    return Network(Config(vocabulary=12, width=16, heads=2, decoder_layers=1, **changes))


@pytest.mark.parametrize(
    "change",
    [{}, dict(norm="post", bias=True), dict(encoder="mix"), dict(hint_vocabulary=9)],
    ids=["pre", "post", "mix", "hinted"],
)
def test_two_threads_learn_half_a_batch_each_and_get_the_gradients_of_the_whole(change, two_threads):
    """Against one plain backward pass; and the same bits again, with as many threads afterwards as before."""
    # an odd batch: the halves differ
    network, points, ids = (small(**change), torch.randn(7, 5, 6), torch.randint(1, 12, (7, 9)))
    inputs = (
        points,
        ids[:, :-1],
        ids[:, 1:],
        torch.randint(0, 9, (7, 4)) if "hint_vocabulary" in change else None,
    )
    objective = Objective(network)
    whole = objective(*inputs)
    expected = torch.autograd.grad(0.1 * whole, list(network.parameters()))
    learn, found = Learner(objective, Place(torch.device("cpu"))), []
    for _ in range(2):
        network.zero_grad()
        torch.testing.assert_close(learn(inputs, 0.1), whole.detach())
        found.append([p.grad for p in network.parameters()])
    assert learn.halves is not None and torch.get_num_threads() == 2
    torch.testing.assert_close(found[0], list(expected))
    assert all(map(torch.equal, *found))


def test_smoothed_labels_by_the_definition():
    """A target is 1 − ε at the true token and ε/V everywhere, and padding does not count."""
    torch.manual_seed(3)
    network, smoothing = Network(tiny().config()).eval(), 0.3
    with torch.no_grad():  # fresh weights find all tokens about as likely, and then smoothing changes nothing
        for weight in network.parameters():
            weight.mul_(3)
    batch = next(stream().from_step(0, 1))
    inputs = batch.points, batch.tokens, batch.targets
    logs = network(batch.points, None, batch.tokens).double().log_softmax(-1).detach().numpy()  # (B, L, V)
    expected = 0.0
    for row, targets in zip(logs, batch.targets.numpy()):
        for log, target in zip(row, targets):
            if target:
                expected -= (1 - smoothing) * log[target] + smoothing * log.mean()
    smoothed, plain = (Objective(network, share)(*inputs).item() for share in (smoothing, 0.0))
    assert smoothed == pytest.approx(expected, rel=1e-5) and plain != pytest.approx(expected, rel=1e-2)


def test_dropout_is_drawn_by_one_thread(two_threads):
    """Two would share the stream of random numbers out differently every time."""
    halves = [Learner(Objective(small(dropout=p)), Place(torch.device("cpu"))).halves for p in (0.0, 0.1)]
    assert halves[0] is not None and halves[1] is None


LONG = pytest.mark.skipif("NSR_FUZZ" not in os.environ, reason="takes two minutes; NSR_FUZZ=1 chooses it")


@pytest.mark.parametrize(
    "backend, norm, bf16",
    [
        ("eager", "pre", False),
        pytest.param("inductor", "pre", True, marks=LONG),
        pytest.param("inductor", "post", True, marks=LONG),
        pytest.param("inductor", "post", False, marks=LONG),
    ],
)
def test_the_objective_compiles_as_one_graph_for_every_length(backend, norm, bf16):
    torch._dynamo.reset()
    objective = Objective(Network(tiny(norm=norm).config()))
    compiled = torch.compile(objective, backend=backend, fullgraph=True, dynamic=True)
    parameters = list(objective.parameters())
    for batch in stream().from_step(0, 4):
        given = (batch.points, batch.tokens, batch.targets)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            found, expected = compiled(*given), objective(*given)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-2 if bf16 else 1e-5)
        one, other = (nn.utils.get_total_norm(torch.autograd.grad(x, parameters)) for x in (found, expected))
        torch.testing.assert_close(one, other, atol=1e-4, rtol=5e-2 if bf16 else 1e-5)


def test_the_papers_sizes_learn_and_write(tmp_path):
    """26.6 million parameters, one step on four items, a beam that writes until the positions are full."""
    settings = read_settings(
        "nesymres", "paper", dict(draws=50, batch=4, pool=1, points_max=30, device="cpu")
    )
    run = training.Run(settings, tmp_path, make_draw(settings), Place(torch.device("cpu")))
    assert sum(p.numel() for p in run.network.parameters()) == 26_566_674
    (batch,) = run.stream.from_step(0, 1)
    run.step(batch)
    run.collect_loss()
    assert math.isfinite(run.progress.loss_sum) and len(run.progress.shown.seen()) == len(set(batch.shown))
    memory = run.network.eval().encode(batch.points[:1])
    beam = Complete((), beam_size=3, max_len=59)
    (found,), _ = complete(run.network, settings.vocabulary, memory, [Job(beam, 0, 5)])
    assert len(found) == 3 and all(is_valid(one.prefix) for one in found)


def test_no_compiler_is_no_obstacle(monkeypatch, tmp_path, capsys):
    def broken(*_, **__):
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(torch, "compile", broken)
    assert training.train(tiny(compile="on"), tmp_path) is not None
    assert "no compiler here" in capsys.readouterr().out


def test_hints_reach_the_network_and_a_frozen_encoder_stays(finished, monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoints, "load", lambda name: checkpoints.load_folder(finished / "final"))
    settings = tiny(hint_vocabulary=9, hint_layers=1, start_from="tiny/nesymres", freeze_encoder=True)
    trained = checkpoints.load_folder(
        training.train(settings, tmp_path, hints=lambda rng, prefix: [1, 2 + len(prefix) % 7])
    )
    before = weights(finished / "final")
    for name, tensor in trained.network.state_dict().items():
        if name in before:
            assert torch.equal(tensor, before[name]) == name.startswith(("embed", "blocks", "pool")), name


def test_seen_answers_for_sequences_never_shown():
    seen = Seen.of([sequence_hash(("sin", "x1"))] * 3)
    assert seen.count(("sin", "x1")) == 3 and ("cos", "x1") not in seen and ("sin",) not in seen
    assert ("x1",) not in Seen.of([])


def test_the_log_counts_as_a_dictionary_does(monkeypatch):
    """In blocks of seven, with a log asked for on the way, and one that goes on from another."""
    monkeypatch.setattr(shown, "FRESH", 7)
    rng, log, expected = np.random.default_rng(0), Shown(), Counter()
    for step in range(200):
        batch = [("x1",) * int(n) for n in rng.integers(1, 400, size=rng.integers(0, 9))]
        log.add(batch)
        expected.update(map(sequence_hash, batch))
        if step % 60 == 0:
            log = Shown(log.seen())
        # few blocks, each twice as large as the next
        assert all(len(one) >= 2 * len(next) for one, next in zip(log.blocks, log.blocks[1:]))
    seen = log.seen()
    assert dict(zip(seen.hashes.tolist(), seen.counts.tolist())) == expected
    assert (np.diff(seen.hashes) > 0).all() and seen.counts.dtype == np.int32


def test_a_large_bank_of_templates_is_drawn_once_and_shared(monkeypatch, tmp_path):
    settings = tiny()
    expected, draw = make_draw(settings)
    monkeypatch.setattr(batches, "SHARED", 50)
    monkeypatch.setattr(items, "BLOCK", 16)
    training.train(settings, tmp_path / "run")
    monkeypatch.setattr(batches, "training_stream", None)  # nobody draws again
    (place,) = tmp_path.glob("templates-*")
    bank, mapped = make_draw(settings, tmp_path)
    assert list(bank) == list(expected) == training_draws(60, TreeRecipe(SIMPLIFIED, 2, 3))
    assert bank[-1] == expected[59] and training.checkpoint_digest(bank) == training.checkpoint_digest(
        expected
    )
    assert all(isinstance(array.base, np.memmap) for array in bank.programs if array.size)
    one, other = (function(np.random.default_rng(0), 40, 9) for function in (draw, mapped))
    assert one[0] == other[0] and np.array_equal(one[1], other[1])
    with pytest.raises(TypeError):
        make_draw(tiny(template_seed=1), tmp_path)  # others would have to be drawn
