"""The experiment the paper does not have: small Transformers trained to predict the last token from (s̃, D).

Every formula comes with a twin in which a 0 and a 1 have changed places and which has the opposite value.
Labels are therefore balanced exactly at every depth, and twins have the same tokens, so that nothing that
counts can tell them apart: chance is one half.

`nsr.theory.experiment` puts these parts together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from nsr.theory.boolean import AND, NOT, OR, Symbols, fold, value
from nsr.theory.reduction import POINTS, VALUES, to_tokens

# The network reads these; <answer> is the slot of u.
WORDS = ("<pad>", "add", "sub", "mul", "x1", "x2", "<answer>")
LEAVES = ("x1", "x2", "C")  # what it can answer
IDS = {word: i for i, word in enumerate(WORDS)}
CONNECTIVES = (NOT, AND, OR)


@dataclass(frozen=True)
class Examples:
    """Last-token problems of the reduction as arrays: ids (N, L) padded with 0, length (N,), label (N,) into
    LEAVES, depth (N,)."""

    ids: np.ndarray
    length: np.ndarray
    label: np.ndarray
    depth: np.ndarray

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, rows) -> Examples:
        return Examples(self.ids[rows], self.length[rows], self.label[rows], self.depth[rows])


def random_formula(of_depth: int, rng: np.random.Generator) -> Symbols:
    """A formula of exactly the given depth: one operand of every connective reaches down, the other has any
    smaller depth."""
    if of_depth == 0:
        return (str(rng.integers(2)),)
    connective = CONNECTIVES[rng.integers(3)]
    long = random_formula(of_depth - 1, rng)
    if connective == NOT:
        return (NOT, *long)
    short = random_formula(int(rng.integers(of_depth)), rng)
    return (connective, *long, *short) if rng.integers(2) else (connective, *short, *long)


def twin(symbols: Symbols, rng: np.random.Generator, tries: int = 4) -> Symbols | None:
    """The same formula with a 0 and a 1 exchanged so that its value changes; None if a few random tries find
    no such pair.

    >>> twin(("∧", "¬", "0", "1"), np.random.default_rng(0))
    ('∧', '¬', '1', '0')
    """
    zeros = [i for i, symbol in enumerate(symbols) if symbol == "0"]
    ones = [i for i, symbol in enumerate(symbols) if symbol == "1"]
    for _ in range(tries if zeros and ones else 0):
        i, j = zeros[rng.integers(len(zeros))], ones[rng.integers(len(ones))]
        other = list(symbols)
        other[i], other[j] = "1", "0"
        if value(tuple(other)) != value(symbols):
            return tuple(other)
    return None


def without_or(symbols: Symbols) -> Symbols:
    """The ∨-free form on prefix symbols: ∨ a b becomes ¬ ∧ ¬ a ¬ b."""

    def joined(connective: str, a: Symbols, b: Symbols) -> Symbols:
        return (AND, *a, *b) if connective == AND else (NOT, AND, NOT, *a, NOT, *b)

    return fold(symbols, lambda leaf: (leaf,), lambda a: (NOT, *a), joined)


def make_examples(
    depths: Sequence[int], per_depth: int, rng: np.random.Generator, min_tokens: int = 0, max_tokens: int = 64
) -> Examples:
    """`per_depth` problems of every formula depth (2 or more) whose s̃ has min_tokens … max_tokens tokens, in
    pairs of twins."""
    rows, labels, depths_out = [], [], []
    for of_depth in depths:
        made = tries = 0
        while made < per_depth:
            tries += 1
            if tries > 1000 * (per_depth + 10):
                size = f"{min_tokens} to {max_tokens} tokens"
                raise ValueError(f"Formulae of depth {of_depth} hardly ever have {size}.")
            symbols = random_formula(of_depth, rng)
            if not min_tokens <= 1 + len(to_tokens(without_or(symbols))) <= max_tokens:
                continue
            other = twin(symbols, rng)
            if other is None:
                continue
            for formula in (symbols, other):
                rows.append([IDS[token] for token in ("add", *to_tokens(without_or(formula)), "<answer>")])
                labels.append(value(formula))  # 0 -> x1, 1 -> x2
                depths_out.append(of_depth)
            made += 2
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)  # (N, L)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return Examples(ids, np.array([len(row) for row in rows]), np.array(labels), np.array(depths_out))


def rotation(n: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotary position code for n places and heads of an even width: two (n, width /
    2)."""
    rate = torch.exp(-math.log(10_000.0) * torch.arange(0, width, 2) / width)
    angle = torch.arange(n)[:, None] * rate
    return angle.cos(), angle.sin()


class Layer(nn.Module):
    """A Transformer layer, normalised first. Positions enter by rotating queries and keys, so only distances
    count."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        B, L, width = x.shape
        heads = self.qkv(self.before_attention(x)).view(B, L, 3, self.n_heads, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each (B, H, L, width/H)
        q, k = self.rotate(q, turn), self.rotate(k, turn)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.mix(y.transpose(1, 2).reshape(B, L, width))
        return x + self.mlp(self.before_mlp(x))

    @staticmethod
    def rotate(x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        (cos, sin), (a, b) = turn, x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class LastTokenTransformer(nn.Module):
    """A Transformer encoder over (D, s̃, <answer>) that reads the answer off the last place.

    The two data points enter as numbers (x1, x2, y) through one linear map, the tokens through an embedding.
    Attention is full in both directions, which can only help.
    """

    def __init__(self, n_layers: int, width: int = 64, n_heads: int = 4) -> None:
        super().__init__()
        self.head_width = width // n_heads
        self.embedding = nn.Embedding(len(WORDS), width, padding_idx=0)
        self.point = nn.Linear(3, width)
        self.layers = nn.ModuleList(Layer(width, n_heads) for _ in range(n_layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(LEAVES))
        data = torch.tensor(np.column_stack([POINTS, VALUES]), dtype=torch.float32)  # (P=2, 3)
        self.register_buffer("data", data, persistent=False)

    def forward(self, ids: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        """ids (B, L), length (B,) -> logits (B, 3)."""
        B, L = ids.shape
        points = self.point(self.data).expand(B, -1, -1)
        x = torch.cat([points, self.embedding(ids)], dim=1)  # (B, 2+L, width)
        there = torch.arange(2 + L)[None, :] < 2 + length[:, None]  # (B, 2+L): not padding
        turn = rotation(2 + L, self.head_width)
        for layer in self.layers:
            x = layer(x, there[:, None, None, :], turn)
        return self.head(self.norm(x[torch.arange(B), length + 1]))  # (B, 3): the place of <answer>


def train(
    examples: Examples,
    n_layers: int,
    steps: int,
    seed: int,
    width: int = 64,
    batch: int = 64,
    rate: float = 1e-3,
    report: Callable[[int, float], None] | None = None,
) -> LastTokenTransformer:
    """Train one network for a number of steps on batches of examples of similar length."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = LastTokenTransformer(n_layers, width)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    warm = max(1, steps // 20)
    shape = lambda step: min(1.0, (step + 1) / warm) * 0.5 * (1 + math.cos(math.pi * step / steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, shape)
    order: list[np.ndarray] = []
    for step in range(steps):
        if not order:  # a new epoch: shuffle, sort within blocks of 32 batches, so that padding costs little
            rows = rng.permutation(len(examples))
            blocks = [rows[i : i + 32 * batch] for i in range(0, len(rows), 32 * batch)]
            blocks = [block[np.argsort(examples.length[block], kind="stable")] for block in blocks]
            order = [block[i : i + batch] for block in blocks for i in range(0, len(block), batch)]
            rng.shuffle(order)
        ids, length, label = _tensors(examples[order.pop()])
        loss = nn.functional.cross_entropy(model(ids, length), label)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if report is not None:
            report(step, float(loss.detach()))
    return model.eval()


def _tensors(examples: Examples) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    longest = int(examples.length.max())
    return tuple(map(torch.from_numpy, (examples.ids[:, :longest], examples.length, examples.label)))


@torch.no_grad()
def correct(model: LastTokenTransformer, examples: Examples, batch: int = 250) -> np.ndarray:
    """Which examples the network answers right: (N,) bool."""
    out = np.zeros(len(examples), dtype=bool)
    order = np.argsort(examples.length, kind="stable")
    for i in range(0, len(order), batch):
        rows = order[i : i + batch]
        ids, length, label = _tensors(examples[rows])
        out[rows] = (model(ids, length).argmax(dim=1) == label).numpy()
    return out


def token_counts(examples: Examples) -> np.ndarray:
    """How often each word occurs, and the length: (N, V + 1), all that the trivial baseline may look at."""
    counts = np.stack([(examples.ids == i).sum(axis=1) for i in range(1, len(WORDS))], axis=1)
    return np.column_stack([counts, examples.length]).astype(float)
