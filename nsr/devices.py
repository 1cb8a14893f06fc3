"""Where a training step runs: one CPU, one CUDA device, or several processes under torchrun, compiled or not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from .model import Network


class Objective(nn.Module):
    """Summed cross-entropy of a batch; a module of its own so that it can be compiled and distributed."""

    def __init__(self, network: Network):
        super().__init__()
        self.network = network

    def forward(self, points: Tensor, tokens: Tensor, targets: Tensor, hints: Tensor | None = None) -> Tensor:
        logits = self.network(points, None, tokens, hints)  # (B, L, V)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=0, reduction="sum")


@dataclass(frozen=True)
class Place:
    """Which process this is and where it computes."""

    device: torch.device
    rank: int = 0
    world: int = 1


@contextlib.contextmanager
def joined(device: str) -> Iterator[Place]:
    """The place of this process: alone, or one of several started by torchrun (gloo on CPUs, NCCL on CUDA)."""
    cuda = torch.cuda.is_available() if device == "auto" else device == "cuda"
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
    """`auto` compiles for CUDA only: on a CPU the compiled step was measured to be a quarter slower than PyTorch's own kernels."""
    return compile == "on" or compile == "auto" and device.type == "cuda"


def learner(objective: nn.Module, place: Place, compile: str) -> nn.Module:
    """The objective compiled where asked for and possible, and distributed over the processes."""
    if wants_compiling(compile, place.device):
        try:
            if place.device.type == "cpu":
                from torch._inductor.cpp_builder import get_cpp_compiler

                get_cpp_compiler()  # raises where there is none
            torch._dynamo.config.suppress_errors = True  # what cannot be compiled at the first call runs as it is
            objective = torch.compile(objective, dynamic=True)  # lengths and numbers of points change from batch to batch
        except Exception as error:  # compilation is only for speed
            print(f"Not compiled, going on without: {str(error).splitlines()[0]}", flush=True)
    if place.world > 1:
        ids = [place.device.index] if place.device.type == "cuda" else None
        objective = nn.parallel.DistributedDataParallel(objective, device_ids=ids)
    return objective
