"""What feeds a network works where the network is on a GPU. There is none here, so one is pretended (see
pretend_device)."""

import ast
from contextlib import contextmanager
from types import SimpleNamespace

import jupytext
import numpy as np
import pytest
import torch
from pretend_device import GPU, PretendGPU, on_gpu
from test_training import TINY

from nsr.book import runner
from nsr.data.hints import hint_words
from nsr.data.problems import Problem
from nsr.evidence import measuring
from nsr.formulas.expressions import SIMPLIFIED
from nsr.network import checkpoints, training
from nsr.network.devices import Place
from nsr.network.model import Config, Network
from nsr.network.recipes import make_settings
from nsr.search.engine import Budget, solve_all
from nsr.search.strategies import GVS, TPSR, BeamSearch, Families, LocalSearch, NSRwH
from nsr.search.strategies.greedy import Greedy

KINDS = {
    "pre": {},
    "post": dict(norm="post", bias=True),
    "mix": dict(encoder="mix"),
    "hinted": dict(hint_vocabulary=len(hint_words(SIMPLIFIED))),
}


@pytest.fixture(autouse=True)
def one_thread():
    """Networks as small as these are slower with two threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_network(seed: int = 0, **sizes) -> Network:
    torch.manual_seed(seed)
    sizes = (
        dict(
            vocabulary=len(SIMPLIFIED),
            width=16,
            heads=2,
            encoder_blocks=1,
            inducing=4,
            seeds=4,
            decoder_layers=2,
            feedforward=16,
        )
        | sizes
    )
    return Network(Config(**sizes)).eval().requires_grad_(False)


def home(tensor: torch.Tensor) -> torch.Tensor:
    assert on_gpu(tensor), "the answer of a network stays on its device"
    return tensor.cpu()


# ---- the pretended GPU itself -----------------------------------------------------------------------------------------------


def test_the_pretended_gpu_refuses_what_cuda_refuses():
    with PretendGPU():
        here, there = torch.ones(3), torch.ones(3, device="cuda")
        assert there.device == GPU and here.device.type == "cpu" and (there + 1).to(torch.long).device == GPU
        mixtures = [
            lambda: here + there,
            lambda: torch.stack([here, there]),
            lambda: torch.equal(here, there),
            lambda: here[there.long()],
            lambda: torch.nn.Linear(3, 3).to(GPU)(here),
        ]
        for mixture in mixtures:
            with pytest.raises(RuntimeError, match="same device"):
                mixture()
        for array in (there.numpy, lambda: np.asarray(there)):
            with pytest.raises(TypeError, match="numpy"):
                array()


def test_the_pretended_gpu_allows_what_cuda_allows():
    with PretendGPU():
        here, there = torch.ones(3), torch.zeros(3).to("cuda")
        assert (there + torch.tensor(2.0)).sum().item() == 6.0 and there.tolist() == [0, 0, 0]
        assert (
            not on_gpu(there.cpu() + here)
            and on_gpu(here.to(there))
            and on_gpu(torch.zeros_like(there))
            and not on_gpu(here)
        )
        there.copy_(here)
        layer = torch.nn.Linear(3, 3).cuda()
        layer(there).sum().backward()
        assert on_gpu(layer.weight.grad) and on_gpu(layer.weight - layer.weight.grad)
        assert not on_gpu(layer.cpu().weight)


# ---- the network ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_moves_what_it_is_given_to_its_own_device(kind):
    """All that a chapter calls, with every input on the CPU; the numbers are those of the CPU, bit by bit."""

    def answers(network, bring):
        rng = torch.Generator().manual_seed(0)
        points, mask = torch.randn(3, 7, 6, generator=rng), torch.arange(7) < torch.tensor([7, 5, 6])[:, None]
        tokens = torch.randint(1, len(SIMPLIFIED), (3, 4), generator=rng)
        hints = torch.randint(0, 9, (3, 5), generator=rng) if kind == "hinted" else None
        found = [
            network(points, mask, tokens, hints),
            memory := network.encode(points, mask, hints),
            network.decode(memory, tokens),
        ]
        found.append(network.decode(bring(memory), tokens))
        logits, state = network.prefill(memory, tokens, torch.tensor([4, 2, 3]), torch.tensor([0, 1, 1]))
        found.append(logits)
        past = [None, *state.read([4, 2, 3])[1:]]
        logits, state = network.prefill(
            bring(memory),
            tokens,
            torch.tensor([4, 1, 4]),
            torch.tensor([0, 2, 1]),
            [kept if kept is None else bring(kept) for kept in past],
        )
        found.append(logits)
        for rows in ([0, 1, 2], [1, 0, 2], [2, 2, 0, 1]):  # as they are, exchanged, and others
            logits, state = network.step(torch.arange(1, 1 + len(rows)), state.select(torch.tensor(rows)))
            found.append(logits)
        return found

    with torch.no_grad():
        expected = answers(make_network(**KINDS[kind]), lambda tensor: tensor)
        with PretendGPU():
            found = [home(tensor) for tensor in answers(make_network(**KINDS[kind]).to(GPU), home)]
    assert all(map(torch.equal, found, expected))


def test_greedy_reads_points_of_the_cpu():
    network, points = make_network(), torch.randn(1, 7, 6)
    expected = training.greedy(network, SIMPLIFIED, points)
    with PretendGPU():
        assert training.greedy(network.to(GPU), SIMPLIFIED, points) == expected


# ---- searches ---------------------------------------------------------------------------------------------------------------

SEARCHES = {
    "beam": (BeamSearch(3), {}), "published beam": (BeamSearch(3, masked=False, stop="enough", max_len=12), {}),
    "tpsr": (TPSR(rollouts=2, beam_size=2, max_len=8), {}), "gvs": (GVS(BeamSearch(3), iterations=3), dict(positions=96)),
    "gvs+tpsr": (GVS(TPSR(rollouts=1, max_len=6), iterations=2), dict(positions=96)), "nsrwh": (NSRwH(3, given="all"), KINDS["hinted"]),
    "families": (Families(BeamSearch(2)), {}), "local": (LocalSearch(2), {}), "greedy": (Greedy(), KINDS["mix"]),
}  # fmt: skip


def two_problems() -> list[Problem]:
    """Two problems with other numbers of points and of variables, so that masks and padding are needed."""
    X = np.random.default_rng(0).uniform(1, 3, (20, 2))
    sine = Problem(
        X,
        2 * np.sin(X[:, 0]) + X[:, 1],
        name="sine",
        truth=("add", "x2", "mul", "C", "sin", "x1"),
        truth_constants=(2.0,),
    )
    return [sine, Problem(X[:12, :1], np.exp(np.sin(X[:12, 0])), name="wave", truth=("exp", "sin", "x1"))]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_writes_the_same_where_the_network_is_on_a_gpu(name):
    strategy, sizes = SEARCHES[name]

    def written(network: Network) -> list:
        results = solve_all(
            two_problems(),
            strategy,
            SimpleNamespace(network=network, vocabulary=SIMPLIFIED),
            budget=Budget(candidates=25),
        )
        return [
            (result.generated, result.n_tokens, result.answer and result.answer.prefix) for result in results
        ]

    expected = written(make_network(**sizes))
    with PretendGPU():
        assert written(make_network(**sizes).to(GPU)) == expected
    assert all(tokens > 0 for _, tokens, _ in expected)


# ---- training ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [dict(clip=1.0), dict(hinted=True, optimiser="adamw"), dict(prompted=True)],
    ids=["plain", "hinted", "prompted"],
)
def test_training_on_a_gpu_learns_the_same(kind, tmp_path, monkeypatch, capsys):
    settings = make_settings(
        TINY | dict(steps=4, save_every=2, snapshots=2, precision="float32", compile="off") | kind
    )
    expected = checkpoints.load_folder(training.train(settings, tmp_path / "cpu"))

    @contextmanager
    def joined(device):
        yield Place(GPU)

    monkeypatch.setattr(training, "joined", joined)
    with PretendGPU():
        training.train(settings, tmp_path / "gpu", stop_after=2)
        trained = checkpoints.load_folder(training.train(settings, tmp_path / "gpu"), device="cuda")
        assert all(map(on_gpu, trained.network.parameters())) and all(map(on_gpu, trained.at(2).parameters()))
        found = {name: home(tensor) for name, tensor in trained.network.state_dict().items()}
    torch.testing.assert_close(found, dict(expected.network.state_dict()))
    assert [row["loss"] for row in trained.history] == pytest.approx(
        [row["loss"] for row in expected.history], rel=1e-5
    )
    assert "probe" in capsys.readouterr().out


# ---- chapters ---------------------------------------------------------------------------------------------------------------


def test_every_network_of_a_chapter_is_on_the_gpu(monkeypatch, tmp_path):
    """A trained one and the tiny one that takes its place; and nothing but `network_for` loads networks for a
    chapter."""
    training.train(make_settings(TINY | dict(steps=2, snapshots=1)), tmp_path / "training" / "tiny" / "own")
    measuring.network_for("")  # trained on the CPU, and kept
    monkeypatch.setattr(checkpoints, "OUTPUTS", tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with PretendGPU():
        for name in ("tiny/own", ""):
            assert measuring.network_for(name).network.device == GPU
    for path in runner.notebooks().values():
        called = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"load", "load_folder"}, path.name


def test_chapter_03_reads_fresh_points_with_a_network_on_the_gpu(tmp_path):
    """Its own cells: parameters, imports, and the one that lets the book's network write."""
    folder = training.train(make_settings(TINY), tmp_path)
    cells = [
        cell.source
        for cell in jupytext.read(runner.notebooks()["03_training"]).cells
        if cell.cell_type == "code"
    ]
    (writes,) = [source for source in cells if "greedy(trained.network" in source]
    names: dict = {}
    with PretendGPU():
        exec(cells[0], names)
        exec(cells[1], names)
        names["trained"] = checkpoints.load_folder(folder, device=GPU)
        exec(writes, names)
    assert len(names["rows"]) == names["n_probes"]
