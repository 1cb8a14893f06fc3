"""Attention blocks of the network: the set encoder's (Lee et al., 2019) and the decoder's.

Every block exists in two arrangements. `post` is the published one (normalise after adding, softmax over the
full width in the set blocks), `pre` normalises before each product and trains faster at a small scale.
Letters: B batch, P points, L tokens, H heads, S seeds, h width; R rows (beams) when decoding.
"""

from collections.abc import Callable
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    heads: int,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(q kᵀ · scale) v per head: (B, Lq, h), (B, Lk, h), (B, Lk, h) → (B, Lq, h).

    `mask` (broadcast to B, H, Lq, Lk) is true where a query may look. The head axis is split off and joined
    again as views, no copies.
    """
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value))  # (B, H, L, h/H)
    # PyTorch's gradient of this product takes seven times as long in bfloat16 as in float32 on a CPU
    slow = q.dtype is torch.bfloat16 and q.device.type == "cpu"
    with torch.autocast("cpu", enabled=False) if slow else nullcontext():
        q, k, v = (x.float() if slow else x for x in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)
    return mixed.transpose(1, 2).flatten(-2)  # (B, Lq, h)


class SetAttention(nn.Module):
    """MAB(Q, Y) of the set transformer: queries look at a source, then one small feed-forward layer, both
    with a residual.

    post (as published): O = LN(W_q Q + attention),  out = LN(O + ReLU(W O))   — the residual is the *projected* query
    pre:                 O = Q + attention,          out = O + ReLU(W LN(O))
    `feedforward` > 0 replaces W by two layers with that many hidden units.
    """

    def __init__(
        self,
        query_width: int,
        source_width: int,
        width: int,
        heads: int,
        norm: str,
        feedforward: int,
        activation: str,
        bias: bool,
    ):
        super().__init__()
        self.heads, self.post = heads, norm == "post"
        # the published softmax divides by √h, not by √(h/H)
        self.scale = (width if self.post else width // heads) ** -0.5
        self.query = nn.Linear(query_width, width, bias)
        self.source = nn.Linear(source_width, 2 * width, bias)  # keys and values in one product
        self.feed = nn.Sequential(nn.Linear(width, feedforward or width, bias), ACTIVATIONS[activation]())
        if feedforward:
            self.feed.append(nn.Linear(feedforward, width, bias))
        self.norm = nn.LayerNorm(width)
        if self.post:
            self.norm_out = nn.LayerNorm(width)

    def forward(
        self, query: Tensor, source: Tensor, mask: Tensor | None = None, residual: Tensor | None = None
    ) -> Tensor:
        q = self.query(query)  # (B or 1, Lq, h)
        if len(q) == 1 and self.heads * q.shape[1] <= q.shape[2]:
            mixed = self.shared(q[0], source, mask)
        else:
            key, value = self.source(source).chunk(2, -1)  # (B, Lk, h) each
            mixed = attend(q.expand(len(source), -1, -1), key, value, self.heads, mask, scale=self.scale)
        if self.post:
            out = self.norm(q + mixed)
            return self.norm_out(out + self.feed(out))
        out = (query if residual is None else residual) + mixed
        return out + self.feed(self.norm(out))

    def shared(self, q: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
        """The same attention for few queries (m, h) that all sets share, without keys or values of the
        points, (B, P, c) → (B, m, h).

        q·(W_k x) = (W_kᵀ q)·x and Σ a_p W_v x_p = W_v Σ a_p x_p: the points meet one (c, mH) matrix before
        the softmax and none after it, which saves half of the products and all of the small ones. The bias of
        the keys drops out of the softmax.
        """
        (m, _), (batch, _, width) = q.shape, source.shape
        key, value = self.source.weight.unflatten(0, (2, self.heads, -1))  # (H, d, c) each, d = h/H
        look = torch.einsum("mhd,hdc->mhc", q.unflatten(-1, (self.heads, -1)), key).flatten(0, 1)  # (mH, c)
        scores = F.linear(source, look * self.scale)  # (B, P, mH)
        if mask is not None:
            scores = scores.masked_fill(~mask.view(batch, -1, 1), -torch.inf)
        mixed = torch.bmm(scores.softmax(1).mT, source)  # (B, mH, c)
        mixed = torch.bmm(mixed.view(batch * m, self.heads, width).transpose(0, 1), value.mT)  # (H, Bm, d)
        mixed = mixed.transpose(0, 1).reshape(batch, m, -1)  # (B, m, h)
        return mixed if self.source.bias is None else mixed + self.source.bias.chunk(2)[1]


class InducedBlock(nn.Module):
    """ISAB(X) = MAB(X, MAB(I, X)): a set attends to itself through m inducing points, at cost O(P m) instead
    of O(P²)."""

    def __init__(self, in_width: int, width: int, inducing: int, **options):
        super().__init__()
        self.inducing = nn.Parameter(torch.empty(1, inducing, width))
        nn.init.xavier_uniform_(self.inducing)
        self.gather = SetAttention(width, in_width, width, **options)
        self.spread = SetAttention(in_width, width, width, **options)
        self.post = self.gather.post
        if not self.post:
            self.norm_points, self.norm_inducing = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if self.post:
            return self.spread(x, self.gather(self.inducing, x, mask))
        normed = self.norm_points(x)  # (B, P, h)
        summary = self.gather(self.inducing, normed, mask)  # (B, m, h)
        return self.spread(normed, self.norm_inducing(summary), residual=x)


class SeedPooling(nn.Module):
    """PMA: s learned seed vectors look at the set once, (B, P, h) → (B, s, h)."""

    def __init__(self, width: int, seeds: int, **options):
        super().__init__()
        self.seeds = nn.Parameter(torch.empty(1, seeds, width))
        nn.init.xavier_uniform_(self.seeds)
        self.block = SetAttention(width, width, width, **options)
        if not self.block.post:
            self.norm_points, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if self.block.post:
            return self.block(self.seeds, x, mask)
        return self.norm_out(self.block(self.seeds, self.norm_points(x), mask))


# ---- transformer4sr's encoders: a grid of cells (point, column) instead of a set of points; C columns -----------------------------------


def _two_layers(in_width: int, width: int, bias: bool) -> nn.Sequential:
    """Every small network of transformer4sr ends with a ReLU, its last layer too."""
    return nn.Sequential(
        nn.Linear(in_width, width, bias), nn.ReLU(), nn.Linear(width, width, bias), nn.ReLU()
    )


class CellEmbedding(nn.Module):
    """Each number on its own becomes a vector, (B, P, C) → (B, P, C, h). It enters as asinh v, for v reaches
    10⁹; as it is when published."""

    def __init__(self, width: int):
        super().__init__()
        self.feed = _two_layers(1, width, bias=True)

    def forward(self, points: Tensor) -> Tensor:
        return self.feed(torch.asinh(points).unsqueeze(-1))


class MixBlock(nn.Module):
    """The variant "mix": a point's columns laid side by side, two layers, attention over the points, added to
    all columns alike.

    post (as published): X + broadcast A, normalised,  A = attention(MLP(X));    pre: A = attention(LN(MLP(X))), nothing on the grid
    """

    def __init__(self, columns: int, width: int, heads: int, norm: str, bias: bool, dropout: float):
        super().__init__()
        self.heads, self.post, self.dropout = heads, norm == "post", dropout
        self.mix = _two_layers(columns * width, width, bias)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        y = self.mix(x.flatten(-2))  # (B, P, h)
        y = self.out(attend(*self.qkv(y if self.post else self.norm(y)).chunk(3, -1), self.heads, mask))
        # (B, P, C, h)
        x = x + (F.dropout(y, self.dropout, self.training) if self.dropout else y).unsqueeze(2)
        return self.norm(x) if self.post else x


class MaxBlock(nn.Module):
    """The variant "mlp": two layers on each cell, the largest over the points beside them; the same once more
    over the columns."""

    def __init__(self, width: int, bias: bool):
        super().__init__()
        self.points, self.columns = (_two_layers(width, width // 2, bias) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for feed, axis in ((self.points, 1), (self.columns, 2)):
            y = feed(x)  # (B, P, C, h/2), at least 0
            seen = y if mask is None or axis == 2 else y * mask.view(len(x), -1, 1, 1)
            x = torch.cat([y, seen.amax(axis, keepdim=True).expand_as(y)], -1)  # (B, P, C, h)
        return x


class GridPooling(nn.Module):
    """One more layer, then the largest over the points: one vector per column, (B, P, C, h) → (B, C, h)."""

    def __init__(self, width: int, norm: str, bias: bool):
        super().__init__()
        self.feed = nn.Sequential(nn.Linear(width, width, bias), nn.ReLU())
        self.norm = nn.Identity() if norm == "post" else nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.feed(x)
        return self.norm((x if mask is None else x * mask.view(len(x), -1, 1, 1)).amax(1))


# queries, keys, values of the new tokens → mixed values
SelfAttention = Callable[[Tensor, Tensor, Tensor], Tensor]
CrossAttention = Callable[[Tensor], Tensor]  # queries → mixed values of the memory


class DecoderLayer(nn.Module):
    """Self-attention, attention to the memory, feed-forward, each with a residual and a LayerNorm.

    Training, prefill and a single cached step differ only in which keys the queries see, so the caller passes
    these two products.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        feedforward: int,
        norm: str,
        activation: str,
        bias: bool,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.heads, self.post, self.dropout = heads, norm == "post", dropout
        maps = (nn.Linear(width, k * width, bias) for k in (3, 1, 1, 2, 1))
        self.qkv, self.out, self.cross_query, self.cross_source, self.cross_out = maps
        wide, back = nn.Linear(width, feedforward, bias), nn.Linear(feedforward, width, bias)
        self.feed = nn.Sequential(wide, ACTIVATIONS[activation](), back)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

    def memory_keys(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the memory, (B, S, h) each: the same for every step, so computed once per
        problem."""
        return self.cross_source(memory).chunk(2, -1)

    def over(self, x: Tensor, memory: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """The layer over whole sequences (B, L, h) with a memory (B, S, h), whose `mask` is true where a query
        may look; if `causal`, no token looks at a later one."""
        key, value = self.memory_keys(memory)
        own = lambda q, k, v: attend(q, k, v, self.heads, causal=causal)
        return self(x, own, lambda q: attend(q, key, value, self.heads, mask))

    def forward(self, x: Tensor, self_attention: SelfAttention, cross_attention: CrossAttention) -> Tensor:
        parts = (
            lambda y: self.out(self_attention(*self.qkv(y).chunk(3, -1))),
            lambda y: self.cross_out(cross_attention(self.cross_query(y))),
            self.feed,
        )
        for part, norm in zip(parts, self.norms):
            y = part(x if self.post else norm(x))
            y = x + (F.dropout(y, self.dropout, self.training) if self.dropout else y)
            x = norm(y) if self.post else y
        return x  # (B, L, h)
