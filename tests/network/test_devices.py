"""What feeds a network works where the network is on a GPU: on a pretended one (see pretend_device), and on a
real one where there is one. Every chapter is run on both, too (tests/book/test_notebooks.py)."""

import ast
import weakref
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

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
from nsr.network.devices import best_device
from nsr.network.model import PUBLISHED, Config, Network
from nsr.network.recipes import make_settings
from nsr.regressor import estimator
from nsr.search import decoding
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


@pytest.fixture(params=["pretended", pytest.param("cuda", marks=pytest.mark.cuda)])
def gpu(request, monkeypatch):
    """`with gpu():` there is a GPU that everything asks for."""
    monkeypatch.setenv("NSR_DEVICE", "")
    return PretendGPU if request.param == "pretended" else nullcontext


def home(tensor: torch.Tensor) -> torch.Tensor:
    assert tensor.device.type == "cuda", "the answer of a network stays on its device"
    return tensor.cpu()


def same(found: list[torch.Tensor], expected: list[torch.Tensor], gpu) -> bool:
    """Bit by bit where the GPU is pretended: then a CPU has computed it; else up to rounding."""
    if gpu is PretendGPU:
        return all(map(torch.equal, found, expected))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    return True


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
def test_a_network_moves_what_it_is_given_to_its_own_device(kind, gpu):
    """All that a chapter calls, with every input on the CPU; the numbers are those of the CPU."""

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
        with gpu():
            found = [home(tensor) for tensor in answers(make_network(**KINDS[kind]).to("cuda"), home)]
    assert same(found, expected, gpu)


def test_greedy_reads_points_of_the_cpu(gpu):
    network, points = make_network(), torch.randn(1, 7, 6)
    expected = training.greedy(network, SIMPLIFIED, points)
    with gpu():
        assert training.greedy(network.to("cuda"), SIMPLIFIED, points) == expected


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
def test_a_search_writes_the_same_where_the_network_is_on_a_gpu(name, gpu):
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
    with gpu():
        assert written(make_network(**sizes).to("cuda")) == expected
    assert all(tokens > 0 for _, tokens, _ in expected)


def test_as_many_rows_share_a_pass_as_the_free_memory_holds(monkeypatch):
    published = Network(Config(vocabulary=90, **PUBLISHED | dict(encoder_blocks=1)))
    assert published.row_bytes == 5 * 2 * 64 * 512 * 4
    monkeypatch.delenv("NSR_ROWS", raising=False)
    assert decoding.row_limit(published) == decoding.ROWS
    with PretendGPU():
        published.to("cuda")
        for free, rows in ((80, 16384), (24, 8192), (8, 2048), (1e-6, 1)):
            monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (int(free * 2**30), 80 * 2**30))
            assert decoding.row_limit(published) == rows
        monkeypatch.setenv("NSR_ROWS", "700")
        assert decoding.row_limit(published) == 700
    monkeypatch.setenv("NSR_ROWS", "many")
    with pytest.raises(ValueError, match="NSR_ROWS is 'many'"):
        decoding.row_limit(published)


def test_rows_are_exchanged_one_layer_after_another():
    """Whoever copied all layers at once would need twice the memory of the largest pass."""
    network = make_network(decoder_layers=4)
    points, start = torch.randn(1, 7, 6), torch.ones(6, 1, dtype=torch.long)
    _, state = network.prefill(network.encode(points), start, problem=torch.zeros(6, dtype=torch.long))
    kept = [weakref.ref(layer) for layer in state.cache]
    most, copy = [], torch.Tensor.index_select

    def counted(*arguments):
        most.append(sum(one() is not None for one in kept))
        return copy(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "index_select", counted)
        state.select(torch.tensor([0, 0, 1]))
    assert most == [4, 3, 2, 1]  # the old layers that are still there when the next one is copied


# ---- training ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [dict(clip=1.0), dict(hinted=True, optimiser="adamw"), dict(prompted=True)],
    ids=["plain", "hinted", "prompted"],
)
def test_training_on_a_gpu_learns_the_same(kind, gpu, tmp_path, capsys):
    settings = make_settings(
        TINY | dict(steps=4, save_every=2, snapshots=2, precision="float32", compile="off") | kind
    )
    expected = checkpoints.load_folder(
        training.train(replace(settings, training=replace(settings.training, device="cpu")), tmp_path / "cpu")
    )
    with gpu():
        training.train(settings, tmp_path / "gpu", stop_after=2)
        trained = checkpoints.load_folder(training.train(settings, tmp_path / "gpu"), device="cuda")
        assert {p.device.type for p in (*trained.network.parameters(), *trained.at(2).parameters())} == {
            "cuda"
        }
        found = {name: home(tensor) for name, tensor in trained.network.state_dict().items()}
    torch.testing.assert_close(found, dict(expected.network.state_dict()), atol=1e-4, rtol=1e-4)
    assert [row["loss"] for row in trained.history] == pytest.approx(
        [row["loss"] for row in expected.history], rel=1e-4
    )
    assert "probe" in capsys.readouterr().out


@pytest.mark.cuda
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_training_compiles_and_learns_in_bfloat16_on_a_real_gpu(norm, monkeypatch, tmp_path):
    """As the paper's recipes ask for it; what cannot be compiled is an error here."""
    monkeypatch.setenv("NSR_DEVICE", "cuda")
    monkeypatch.setattr(torch._dynamo.config, "suppress_errors", False)
    trained = checkpoints.load_folder(training.train(make_settings(TINY | dict(norm=norm)), tmp_path))
    assert all(tensor.isfinite().all() for tensor in trained.network.state_dict().values())


# ---- chapters ---------------------------------------------------------------------------------------------------------------


def test_every_network_of_a_chapter_and_of_the_regressor_is_on_the_gpu(gpu, monkeypatch, tmp_path):
    """A trained one and the tiny one that takes its place; and nothing but `network_for` loads networks for a
    chapter, and no chapter moves a tensor."""
    folder = training.train(
        make_settings(TINY | dict(steps=2, snapshots=1, device="cpu")), tmp_path / "training" / "tiny" / "own"
    )
    measuring.network_for("")  # trained on the CPU, and kept
    monkeypatch.setattr(checkpoints, "OUTPUTS", tmp_path)
    with gpu():
        for name in ("tiny/own", ""):
            assert measuring.network_for(name).network.device.type == "cuda"
        assert estimator._network(str(folder)).network.device.type == "cuda"
    for path in runner.notebooks().values():
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        called = {call.id for call in calls if isinstance(call, ast.Name)}
        moved = {call.attr for call in calls if isinstance(call, ast.Attribute)}
        assert not called & {"load", "load_folder"} and not moved & {"to", "cpu", "cuda"}, path.name


def test_the_environment_says_where_networks_compute(monkeypatch):
    for said, expected in (("cpu", "cpu"), ("", "cuda")):
        monkeypatch.setenv("NSR_DEVICE", said)
        with PretendGPU():
            assert best_device().type == expected
