"""Optimisers and schedules: AdamW as in the paper, Muon for the hidden matrices at the laptop scale.

Muon (Jordan, 2024) replaces the momentum M of a weight matrix by the nearest orthogonal matrix U Vᵀ (M = U Σ
Vᵀ), found by a few Newton–Schulz steps, so that every direction of the matrix learns at the same pace. It
works on whole stacks of equal shape at once.
"""

import math

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from nsr.network.model import Network

# quintic with the steepest slope at zero: singular values land in about [0.7, 1.2]
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrices: Tensor, iterations: int = 5, bf16: bool = False) -> Tensor:
    """Push all singular values of each matrix of a stack (N, r, c) towards 1 by X ← aX + (bA + cA²)X with A =
    XXᵀ.

    `bf16` multiplies in bfloat16, as Muon's author does; it is slow on CPUs without instructions for it.

    >>> torch.linalg.svdvals(orthogonalise(torch.randn(1, 4, 8))).sub(1).abs().max() < 0.5
    tensor(True)
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices  # the short side first: A is smallest
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    # A few matrices at a time stay in a core's cache through all iterations, which is half of the time on a
    # CPU.
    few = max(1, 2**17 // (x.shape[1] * x.shape[2])) if x.device.type == "cpu" else max(1, len(x))
    narrow = torch.bfloat16 if bf16 else x.dtype
    x = torch.cat([_newton_schulz(part.to(narrow), iterations).to(x.dtype) for part in x.split(few)])
    return x.mT if tall else x


def _newton_schulz(x: Tensor, iterations: int) -> Tensor:
    a, b, c = NEWTON_SCHULZ
    for _ in range(iterations):
        gram = torch.bmm(x, x.mT)  # (N, r, r)
        poly = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)  # bA + cA²
        poly.diagonal(dim1=1, dim2=2).add_(a)
        x = torch.bmm(poly, x)  # (aI + bA + cA²)X
    return x


class Optimiser:
    """What the optimisers here share. torch.optim has the same, but whoever makes one of its optimisers waits for
    torch's compiler to be imported: more than a second, for nothing."""

    def __init__(self, parameters: list[nn.Parameter], lr: float):
        self.parameters, self.lr, self.base_lr = parameters, lr, lr

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None


class Muon(Optimiser):
    """Orthogonalised Nesterov momentum. `matrices` lists (weight, number of maps stacked in it): each map is
    orthogonalised on its own.

    Update: M ← μM + G,  W ← (1 − η·decay) W − η √max(1, rows/columns) · orth(G + μM).

    Momentum lives in one buffer per shape, (N, rows, columns), so that a step is a handful of batched products.
    """

    def __init__(
        self,
        matrices: list[tuple[nn.Parameter, int]],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        iterations: int = 5,
        bf16: bool = False,
    ):
        super().__init__([weight for weight, _ in matrices], lr)
        self.momentum, self.weight_decay, self.iterations, self.bf16 = (
            momentum,
            weight_decay,
            iterations,
            bf16,
        )
        shapes: dict[tuple[int, int], list[tuple[nn.Parameter, int]]] = {}
        for weight, parts in matrices:
            shapes.setdefault((weight.shape[0] // parts, weight.shape[1]), []).append((weight, parts))
        self.stacks = list(shapes.items())
        self.buffers = []
        for shape, members in self.stacks:
            n, device = sum(parts for _, parts in members), members[0][0].device
            self.buffers.append(torch.zeros(n, *shape, device=device))

    @torch.no_grad()
    def step(self) -> None:
        for (shape, members), momentum in zip(self.stacks, self.buffers):
            # (N, rows, columns)
            gradient = torch.cat([weight.grad.view(parts, *shape) for weight, parts in members])
            momentum.mul_(self.momentum).add_(gradient)
            gradient.add_(momentum, alpha=self.momentum)
            update = orthogonalise(gradient, self.iterations, self.bf16)
            rate = self.lr * math.sqrt(max(1.0, shape[0] / shape[1]))
            at = 0
            for weight, parts in members:
                if self.weight_decay:
                    weight.mul_(1 - self.lr * self.weight_decay)
                weight.view(parts, *shape).add_(update[at : at + parts], alpha=-rate)
                at += parts

    def tensors(self) -> dict[str, Tensor]:
        """The momentum buffers by name, to be saved; they are loaded by copying into them."""
        return {f"muon.{i}": buffer for i, buffer in enumerate(self.buffers)}


class AdamW(Optimiser):
    """AdamW by torch's fused kernel, with a state that exists from the start, so that it can be saved and loaded like
    any tensor. A parameter without a gradient stays as it is."""

    def __init__(self, parameters: list[nn.Parameter], lr: float, beta2: float, weight_decay: float):
        super().__init__(parameters, lr)
        self.beta2, self.weight_decay = beta2, weight_decay
        self.state = [
            {
                "step": torch.zeros((), device=parameter.device),
                "exp_avg": torch.zeros_like(parameter, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(parameter, requires_grad=False),
            }
            for parameter in parameters
        ]

    @torch.no_grad()
    def step(self) -> None:
        moved = [(p, state) for p, state in zip(self.parameters, self.state) if p.grad is not None]
        steps, mean, square = (
            [state[key] for _, state in moved] for key in ("step", "exp_avg", "exp_avg_sq")
        )
        adamw(
            [p for p, _ in moved],
            [p.grad for p, _ in moved],
            mean,
            square,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=self.beta2,
            lr=self.lr,
            weight_decay=self.weight_decay,
            eps=1e-8,
            maximize=False,
        )

    def tensors(self) -> dict[str, Tensor]:
        return {f"adamw.{i}.{key}": value for i, one in enumerate(self.state) for key, value in one.items()}


def make_optimisers(
    network: Network,
    optimiser: str,
    lr: float,
    weight_decay: float = 0.01,
    muon_lr: float = 3e-3,
    muon_momentum: float = 0.95,
    muon_weight_decay: float = 0.0,
    muon_iterations: int = 5,
    beta2: float = 0.999,
    bf16: bool = False,
) -> list[Optimiser]:
    """`adamw`: AdamW on everything. `muon`: Muon on the matrices between hidden layers, AdamW on embeddings,
    biases and norms."""
    trainable = [p for p in network.parameters() if p.requires_grad]
    if optimiser == "adamw":
        return [AdamW(trainable, lr, beta2, weight_decay)]
    if optimiser == "muon":
        matrices = [(weight, parts) for weight, parts in network.matrices() if weight.requires_grad]
        hidden = {id(weight) for weight, _ in matrices}
        rest = [p for p in trainable if id(p) not in hidden]
        muon = Muon(matrices, muon_lr, muon_momentum, muon_weight_decay, muon_iterations, bf16)
        return [muon, AdamW(rest, lr, beta2, weight_decay)]
    raise ValueError(f"optimiser is {optimiser!r}; choose 'adamw' or 'muon'.")


def learning_rate(
    step: int, schedule: str, steps: int, warmup: int = 0, constant: int = 4000, decay: float = 0.2
) -> float:
    """Factor on the base learning rate at `step` (0, 1, ..), after a linear warm-up over `warmup` steps.

    constant      1
    inverse_sqrt  1 up to step `constant`, then √(constant/step): the paper's
    wsd           1, then linearly to zero over the last fraction `decay` of `steps`: best when the budget is
                  known
    noam          min(s^−½, s · warmup^−3/2) with s = step + 1: transformer4sr's, whose base rate is h^−½

    >>> [learning_rate(s, "inverse_sqrt", 0, constant=4000) for s in (0, 3999, 15999)]
    [1.0, 1.0, 0.5]
    """
    if schedule == "noam":
        return min((step + 1) ** -0.5, (step + 1) * max(1, warmup) ** -1.5)
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    if schedule == "constant":
        return rise
    if schedule == "inverse_sqrt":
        return rise * min(1.0, math.sqrt(constant / (step + 1)))
    if schedule == "wsd":
        return rise * min(1.0, (steps - step) / max(1.0, decay * steps))
    raise ValueError(f"schedule is {schedule!r}; choose 'constant', 'inverse_sqrt', 'wsd' or 'noam'.")
