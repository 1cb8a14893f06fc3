"""Where networks compute: the device of all that asks for none, its free memory, and where a training step
runs: one CPU, one CUDA device, or several processes under torchrun, compiled or not."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from nsr.network.model import Network


class Objective(nn.Module):
    """Summed cross-entropy of a batch; a module of its own so that it can be compiled and distributed.

    With smoothing ε the target of a token is not 1 at the true token and 0 elsewhere, but 1 − ε + ε/V and ε/V.
    """

    def __init__(self, network: Network, smoothing: float = 0.0):
        super().__init__()
        self.network, self.smoothing = network, smoothing

    def forward(
        self,
        points: Tensor,
        tokens: Tensor,
        targets: Tensor,
        hints: Tensor | None = None,
        hint_only: Tensor | None = None,
    ) -> Tensor:
        logits = self.network(points, None, tokens, hints, hint_only).flatten(0, 1).float()  # (B·L, V)
        how = {"ignore_index": 0, "reduction": "sum", "label_smoothing": self.smoothing}
        return F.cross_entropy(logits, targets.flatten(), **how)


def best_device() -> torch.device:
    """Where a network computes unless somebody says otherwise: a GPU if there is one, or what the environment
    variable NSR_DEVICE says (cpu or cuda)."""
    return torch.device(os.environ.get("NSR_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu"))


def multiplies_bf16(device: torch.device) -> bool:
    """Whether the device has instructions that multiply bfloat16. A CPU without AVX512-BF16 or AMX can compute
    with it as well, but was measured to train three times as slowly as in float32; that it can is all that
    `torch.ops.mkldnn._is_mkldnn_bf16_supported()` says."""
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # a torch that lacks one says no
    return device.type == "cuda" or any(getattr(torch.cpu, name, bool)() for name in asked)


def wants_bf16(precision: str, device: torch.device) -> bool:
    """`auto` is bf16 where the device multiplies it, else float32."""
    return precision == "bf16" or precision == "auto" and multiplies_bf16(device)


def free_memory(device: torch.device) -> int:
    """Bytes of a GPU that a tensor could take now: what no process has, and what PyTorch keeps for later."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


@dataclass(frozen=True)
class Place:
    """Which process this is and where it computes."""

    device: torch.device
    rank: int = 0
    world: int = 1


@contextlib.contextmanager
def joined(device: str) -> Iterator[Place]:
    """The place of this process: alone, or one of several started by torchrun (gloo on CPUs, NCCL on CUDA)."""
    cuda = (best_device().type if device == "auto" else device) == "cuda"
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    local = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local)
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield Place(local, rank, world)
    finally:
        if world > 1:
            dist.destroy_process_group()


def wants_compiling(compile: str, device: torch.device) -> bool:
    """`auto` compiles for CUDA only: on a CPU the compiled step was measured to be a quarter slower than
    PyTorch's own kernels."""
    return compile == "on" or compile == "auto" and device.type == "cuda"


def _distributed(objective: nn.Module, place: Place, compile: str) -> nn.Module:
    """The objective compiled where asked for and possible, and distributed over the processes."""
    if wants_compiling(compile, place.device):
        try:
            if place.device.type == "cpu":
                from torch._inductor.cpp_builder import get_cpp_compiler

                get_cpp_compiler()  # raises where there is none
            # what cannot be compiled at the first call runs as it is
            torch._dynamo.config.suppress_errors = True
            # lengths and numbers of points change from batch to batch
            objective = torch.compile(objective, dynamic=True)
        except Exception as error:  # compilation is only for speed
            print(f"Not compiled, going on without: {str(error).splitlines()[0]}", flush=True)
    if place.world > 1:
        ids = [place.device.index] if place.device.type == "cuda" else None
        objective = nn.parallel.DistributedDataParallel(objective, device_ids=ids)
    return objective


class Learner:
    """Loss and gradients of a batch, wherever it is computed. A CPU with two threads or more learns the two
    halves of a batch side by side:

        ∇ loss(batch) = ∇ loss(first half) + ∇ loss(second half)

    Two threads inside every kernel would wait for each other some thousand times per step, and the small
    kernels use one of them only. A thread per half waits once, at the sum, which is always taken in the same
    order: the same bits every time.
    """

    def __init__(self, objective: Objective, place: Place, compile: str = "off"):
        self.place, self.objective = place, _distributed(objective, place, compile)
        self.parameters = [p for p in objective.parameters() if p.requires_grad]
        self.threads = torch.get_num_threads()
        # Other processes have their halves already, compiling is not safe in threads, and dropout draws from
        # one stream of random numbers.
        alone = place.device.type == "cpu" and place.world == 1 and self.objective is objective
        split = alone and self.threads > 1 and not objective.network.config.dropout
        self.halves = ThreadPoolExecutor(2) if split else None

    def __call__(self, inputs: Sequence[Tensor | None], scale: float, bf16: bool = False) -> Tensor:
        """The summed loss of the objective's `inputs`; the gradients of scale · loss are left in `.grad`,
        which must be empty."""
        if self.halves is None or len(inputs[0]) < 2:
            total = self._loss(inputs, bf16)
            (total * scale).backward()
            return total.detach()
        halves = zip(*((None, None) if x is None else x.chunk(2) for x in inputs))
        half = lambda inputs: self._half(inputs, scale, bf16)
        (first, gradients), (second, others) = self.halves.map(half, halves)
        # what a thread sets holds for itself and for threads that start later
        torch.set_num_threads(self.threads)
        for parameter, gradient, other in zip(self.parameters, gradients, others):
            parameter.grad = None if gradient is None else gradient.add_(other)
        return first + second

    def _half(
        self, inputs: Sequence[Tensor | None], scale: float, bf16: bool
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        torch.set_num_threads(self.threads // 2)
        torch.set_flush_denormal(True)  # as in the thread that trains
        total = self._loss(inputs, bf16)
        return total.detach(), torch.autograd.grad(total * scale, self.parameters, allow_unused=True)

    def _loss(self, inputs: Sequence[Tensor | None], bf16: bool) -> Tensor:
        with torch.autocast(self.place.device.type, torch.bfloat16, enabled=bf16):
            return self.objective(*inputs)
