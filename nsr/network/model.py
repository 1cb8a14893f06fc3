"""The network: set encoder of the points, decoder of the tokens; one class for the plain, prompted and hinted
variants.

    points (B, P, D+1) ──bits──► ISAB blocks ──PMA──► memory (B, S, h) ──► decoder ──► logits (B, L, V)
                                                  hints ──► + (hinted variant)

*Prompted* (NSR-gvs) needs nothing here but room: its subtrees come first in the token sequence. *Hinted*
(NSRwH) adds the output of a symbolic encoder to the memory. Decoding is incremental: `encode` once per
problem, `prefill` once per prompt, `step` per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from nsr.book.bounds import Amount, Between, Natural, Share, refuse_outside
from nsr.formulas.expressions import VARIABLES
from nsr.network.layers import (
    CellEmbedding,
    DecoderLayer,
    GridPooling,
    InducedBlock,
    MaxBlock,
    MixBlock,
    SeedPooling,
    attend,
)

HALF_MAX = 65504.0  # largest finite half-precision number
LARGEST = 2**27  # parameters: five times the published network
Size = Annotated[int, Between(1, 2**20)]
Layers = Annotated[int, Between(1, 100)]
Variables = Annotated[int, Between(1, len(VARIABLES))]


@dataclass(frozen=True)
class Config:
    """All sizes of a network; the defaults are the laptop scale, `PUBLISHED` the paper's."""

    vocabulary: Size  # V, number of token ids of the decoder
    n_variables: Variables = 5  # D
    width: Size = 128  # h
    heads: Size = 4  # H
    # set: NeSymReS's; mix, mlp: transformer4sr's, a vector per column
    encoder: Literal["set", "mix", "mlp"] = "set"
    encoder_blocks: Layers = 2  # ISAB blocks
    inducing: Size = 16  # m, inducing points per ISAB
    seeds: Size = 16  # S, vectors that leave the encoder
    # hidden units after each set attention; 0 = one layer of `width`, as published
    encoder_feedforward: Natural = 0
    decoder_layers: Layers = 3
    feedforward: Size = 512  # hidden units in the decoder
    positions: Size = 64  # longest token sequence, prompt included
    norm: Literal["pre", "post"] = "pre"  # "post" as published, "pre" trains faster when small
    activation: Literal["relu", "gelu"] = "relu"
    bias: bool = False  # of the hidden layers; true as published
    dropout: Share = 0.0  # in the decoder and in mix; 0.25 in transformer4sr
    embedding_std: Amount = 0.1  # of token and position embeddings before training; 1.0 as published
    hint_vocabulary: Natural = 0  # number of hint token ids; 0 = no symbolic encoder
    hint_layers: Layers = 3
    hint_positions: Size = 128
    # of the hints' words, positions and anchors before training, 1.0 as published; 0 = words and positions as
    # other embeddings, anchors much smaller; the shipped network's 16 vectors of the hints are almost equal
    hint_std: Amount = 0.0

    def __post_init__(self):
        refuse_outside(self)
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}.")
        if (least := self.parameters_at_least) > LARGEST:
            most = f"{LARGEST:,} are the most"
            raise ValueError(f"A network of these sizes has at least {least:,} parameters; {most}.")

    @property
    def parameters_at_least(self) -> int:
        """A bound from below that is known before anything is built: the large matrices and embeddings."""
        decoder = 8 * self.width + 2 * self.feedforward
        rows = self.decoder_layers * decoder + self.encoder_blocks * self.width
        rows += 2 * self.vocabulary + self.positions
        if self.encoder == "set":
            rows += self.encoder_blocks * (self.inducing + 4 * self.encoder_feedforward) + self.seeds
        if self.hint_vocabulary:
            rows += self.hint_layers * decoder + self.hint_vocabulary + self.hint_positions
        return self.width * rows


# 26.6M parameters with V = 90, exactly the published count
PUBLISHED = dict(
    width=512, heads=8, encoder_blocks=6, inducing=100, seeds=32, decoder_layers=5, feedforward=512
)
PUBLISHED |= dict(positions=60, norm="post", bias=True, embedding_std=1.0)


def half_bits(x: Tensor) -> Tensor:
    """The 16 bits of each number in half precision as ±1: sign, 5 exponent, 10 mantissa, (...,) → (..., 16).

    Rounded to nearest. Numbers beyond ±65504 (also ±inf) become ±65504 instead of wrapping around as in the
    published code; the smallest ones are subnormal, then zero, whose bits are all −1. The sign of −0.0 is
    dropped. NaN has no meaning here: mask such points.

    >>> half_bits(torch.tensor([1.0, -2.0])).int().tolist()[1][:6]
    [1, 1, -1, -1, -1, -1]
    """
    code = (x.clamp(-HALF_MAX, HALF_MAX).half() + 0.0).view(torch.int16).to(torch.int32)  # −0.0 + 0.0 = 0.0
    shifts = torch.arange(15, -1, -1, dtype=torch.int32, device=x.device)
    return ((code.unsqueeze(-1) >> shifts) & 1).to(torch.float32).mul_(2).sub_(1)


@dataclass(frozen=True)
class State:
    """What the decoder remembers between two steps for R rows (beams) over N problems. Made by `prefill`,
    consumed by `step`."""

    # per layer, keys and values of the memory (N, S, h), shared by a problem's rows
    memory: tuple[tuple[Tensor, Tensor], ...]
    # per layer, keys and values of past tokens (2, R, capacity, h); rows are exchanged and columns added in
    # one layer after another, so that never two copies of all of them are there
    cache: list[Tensor]
    column: int  # columns of the cache in use, the same for all rows
    position: Tensor  # (R,) position of the next token of each row
    visible: Tensor | None  # (R, capacity) which columns are real tokens; None if all in use are
    problem: Tensor  # (R,) row → index into memory
    # (R,) place of each row in the (N, width) table of rows by problem; None if row order is that table
    slot: Tensor | None
    table: tuple[int, int]  # its shape (N, rows of the largest problem)

    def select(self, index: Tensor) -> State:
        """Rows `index` (R',) in this order: reorders, duplicates or drops beams. The old state is used up."""
        index = index.to(self.problem.device)
        if len(index) == len(self.problem) and torch.equal(self.problem[index], self.problem):
            return self._exchange(index)
        used = self.column + 1
        # no need to copy columns far beyond the next token
        capacity = min(self.cache[0].shape[2], -(-used // 8) * 8)
        visible = None if self.visible is None else self.visible[index]
        for i, kept in enumerate(self.cache):
            self.cache[i] = kept[:, :, :capacity].index_select(1, index)
        rows = {"position": self.position[index], "problem": self.problem[index]}
        return _grouped(replace(self, visible=visible, **rows))

    def read(self, lengths: Sequence[int]) -> list[Tensor]:
        """What each row has read, its first `lengths` tokens: (layers, 2, L, h), to go on from more than once
        (`prefill`'s `past`)."""
        layers = lambda row, length: torch.stack([kept[:, row, :length] for kept in self.cache])
        return [layers(row, length) for row, length in enumerate(lengths)]

    def _exchange(self, index: Tensor) -> State:
        """`select` when every row stays with its problem: only the rows that change are written, in place."""
        changed = (index != torch.arange(len(index), device=index.device)).nonzero()[:, 0]
        source = index[changed]
        for kept in self.cache:
            kept[:, changed, : self.column] = kept[:, source, : self.column]
        if self.visible is not None:
            self.visible[changed] = self.visible[source]
        return replace(self, position=self.position[index])


def _grouped(state: State) -> State:
    """Lay the rows out by problem, so that attention to the memory is one batched product over (problem, its
    rows)."""
    kept, problem, counts = torch.unique(state.problem, return_inverse=True, return_counts=True)
    memory = state.memory
    if len(kept) < len(memory[0][0]):  # problems without a row left are dropped
        memory = tuple((key[kept], value[kept]) for key, value in memory)
    rows, widest = len(problem), int(counts.max()) if len(counts) else 0
    order = torch.argsort(problem, stable=True)
    rank = torch.arange(rows, device=problem.device) - (counts.cumsum(0) - counts)[problem[order]]
    slot = torch.empty_like(problem)
    slot[order] = problem[order] * widest + rank
    in_order = rows == len(kept) * widest and bool((order == torch.arange(rows, device=order.device)).all())
    layout = {"slot": None if in_order else slot, "table": (len(kept), widest)}
    return replace(state, memory=memory, problem=problem, **layout)


class Network(nn.Module):
    """p(tokens | points): a set transformer encoder and a transformer decoder.

    >>> network = Network(Config(vocabulary=20, width=16, heads=2))
    >>> network(torch.randn(3, 10, 6), None, torch.ones(3, 7, dtype=torch.long)).shape
    torch.Size([3, 7, 20])
    """

    def __init__(self, config: Config):
        super().__init__()
        c = self.config = config
        same = dict(heads=c.heads, norm=c.norm, activation=c.activation, bias=c.bias)
        layer = dict(width=c.width, feedforward=c.feedforward, dropout=c.dropout, **same)
        options = dict(feedforward=c.encoder_feedforward, **same)
        bits, post = 16 * (c.n_variables + 1), c.norm == "post"
        if c.encoder == "set":
            # The published encoder has no embedding layer: its first block maps the bits to the width.
            self.embed = nn.Identity() if post else nn.Linear(bits, c.width)
            widths = [bits if post else c.width] + [c.width] * (c.encoder_blocks - 1)
            self.blocks = nn.ModuleList(InducedBlock(w, c.width, c.inducing, **options) for w in widths)
            self.pool = SeedPooling(c.width, c.seeds, **options)
        else:
            mix = lambda: MixBlock(c.n_variables + 1, c.width, c.heads, c.norm, c.bias, c.dropout)
            block = mix if c.encoder == "mix" else lambda: MaxBlock(c.width, c.bias)
            self.embed, self.pool = CellEmbedding(c.width), GridPooling(c.width, c.norm, c.bias)
            self.blocks = nn.ModuleList(block() for _ in range(c.encoder_blocks))
        self.tokens, self.positions = nn.Embedding(c.vocabulary, c.width), nn.Embedding(c.positions, c.width)
        self.layers = nn.ModuleList(DecoderLayer(**layer) for _ in range(c.decoder_layers))
        self.norm = nn.Identity() if post else nn.LayerNorm(c.width)
        self.output = nn.Linear(c.width, c.vocabulary)
        embeddings = [self.tokens, self.positions]
        if c.hint_vocabulary:
            self.hint_tokens = nn.Embedding(c.hint_vocabulary, c.width)
            self.hint_positions = nn.Embedding(c.hint_positions, c.width)
            self.anchors = nn.Parameter(torch.empty(1, c.seeds, c.width))
            nn.init.xavier_uniform_(self.anchors)
            self.hint_layers = nn.ModuleList(DecoderLayer(**layer) for _ in range(c.hint_layers))
        for table in embeddings:
            nn.init.normal_(table.weight, std=c.embedding_std)
        if c.hint_vocabulary:
            for weight in (self.hint_tokens.weight, self.hint_positions.weight):
                nn.init.normal_(weight, std=c.hint_std or c.embedding_std)
            if c.hint_std:
                nn.init.normal_(self.anchors, std=c.hint_std)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.tokens.weight.device

    @property
    def row_bytes(self) -> int:
        """What a row of the decoder's state takes when all positions are written: keys and values of every
        layer."""
        columns = -(-(self.config.positions + 1) // 8) * 8
        return len(self.layers) * 2 * columns * self.config.width * self.tokens.weight.element_size()

    def _here(self, *given: Tensor | None) -> list[Tensor | None]:
        """What a network is given, moved to its own device, where its answers stay: nobody else has to know
        where it computes."""
        return [None if tensor is None else tensor.to(self.device) for tensor in given]

    def encode(
        self,
        points: Tensor,
        mask: Tensor | None = None,
        hints: Tensor | None = None,
        hint_only: Tensor | None = None,
    ) -> Tensor:
        """Points (B, P, D+1) with y in the last column, mask (B, P) true where a point is real (None: all) →
        memory (B, S, h).

        `hints` (B, Lh) are hint token ids, 0 = padding, for the hinted variant only. Where `hint_only` (B,) is
        true, nothing is shown of the points.
        """
        points, mask, hints, hint_only = self._here(points, mask, hints, hint_only)
        if mask is not None:
            mask = mask[:, None, None, :]  # (B, 1, 1, P)
        # (B, P, h); in the post variant (B, P, 16(D+1)); of transformer4sr (B, P, D+1, h)
        x = self.embed(half_bits(points).flatten(-2) if self.config.encoder == "set" else points)
        for block in self.blocks:
            x = block(x, mask)
        memory = self.pool(x, mask)  # (B, S, h)
        if self.config.hint_vocabulary and hints is None:
            raise ValueError("This network reads hints: pass their token ids.")
        if hints is not None and not self.config.hint_vocabulary:
            raise ValueError("This network was made without hints.")
        if hints is None:
            return memory
        if hint_only is not None:
            memory = memory.masked_fill(hint_only[:, None, None], 0.0)
        return memory + self.encode_hints(hints)

    def encode_hints(self, hints: Tensor) -> Tensor:
        """S learned anchors look at the hint tokens, (B, Lh) → (B, S, h)."""
        (hints,) = self._here(hints)
        mask = (hints != 0)[:, None, None, :]  # (B, 1, 1, Lh)
        source = self.hint_tokens(hints) + self.hint_positions.weight[: hints.shape[1]]  # (B, Lh, h)
        x = self.anchors.expand(len(hints), -1, -1)
        for layer in self.hint_layers:
            x = layer.over(x, source, mask)
        return x

    def decode(self, memory: Tensor, tokens: Tensor) -> Tensor:
        """Logits of every next token, (B, S, h) and (B, L) → (B, L, V), all positions at once."""
        memory, tokens = self._here(memory, tokens)
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]  # (B, L, h)
        for layer in self.layers:
            x = layer.over(x, memory, causal=True)
        return self.output(self.norm(x))

    def forward(
        self,
        points: Tensor,
        mask: Tensor | None,
        tokens: Tensor,
        hints: Tensor | None = None,
        hint_only: Tensor | None = None,
    ) -> Tensor:
        """Teacher forcing: points (B, P, D+1), mask (B, P) or None, tokens (B, L) → logits (B, L, V)."""
        return self.decode(self.encode(points, mask, hints, hint_only), tokens)

    @torch.no_grad()
    def prefill(
        self,
        memory: Tensor,
        tokens: Tensor,
        lengths: Tensor | None = None,
        problem: Tensor | None = None,
        past: Sequence[Tensor | None] = (),
    ) -> tuple[Tensor, State]:
        """Read R whole prompts in one pass: memory (N, S, h), tokens (R, L) padded at the right → logits (R,
        V) after each last real token.

        `lengths` (R,) real tokens per row, None: all L. `problem` (R,) row of `memory` each prompt belongs
        to, None: row r to problem r. `past` holds what each row has read already, (layers, 2, L_past, h) as
        `State.read` returns it, or None.
        """
        memory, tokens, lengths, problem, *past = self._here(memory, tokens, lengths, problem, *past)
        rows, longest = tokens.shape
        kept = {row: read for row, read in enumerate(past) if read is not None}
        read_before = [kept[row].shape[2] if row in kept else 0 for row in range(rows)]
        before = torch.tensor(read_before, dtype=torch.long, device=tokens.device)  # (R,)
        first = int(before.max()) if rows else 0  # the column of the cache where the new tokens begin
        lengths = torch.full((rows,), longest, device=tokens.device) if lengths is None else lengths
        positions = self.config.positions
        if rows and (most := int((before + lengths).max())) > positions:
            raise ValueError(f"A prompt of {most} tokens: this network has {positions} positions.")
        problem = torch.arange(rows, device=tokens.device) if problem is None else problem
        capacity = -(-(first + longest + 1) // 8) * 8
        cache = [memory.new_empty(2, rows, capacity, self.config.width) for _ in self.layers]
        for i, layer in enumerate(cache):
            layer[:, :, :first] = 0  # what is hidden must be finite all the same
            for row, read in kept.items():
                layer[:, row, : read.shape[2]] = read[i]
        visible, column = None, torch.arange(capacity, device=tokens.device)
        if bool((lengths < longest).any() or (before < first).any()):
            new = (column >= first) & (column < first + lengths[:, None])
            visible = (column < before[:, None]) | new  # (R, capacity)
        keys = tuple(layer.memory_keys(memory) for layer in self.layers)
        state = _grouped(State(keys, cache, first, before + lengths, visible, problem, None, (0, 0)))
        place = before[:, None] + torch.arange(longest, device=tokens.device)  # (R, L)
        # (R, L, h); only padding lies beyond
        x = self.tokens(tokens) + self.positions(place.clamp(max=positions - 1))
        x = self._advance(x, state)
        last = x[torch.arange(rows, device=x.device), lengths - 1]  # (R, h)
        return self.output(self.norm(last)), replace(state, column=first + longest)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Append one token per row, (R,) → logits (R, V) of the next one. The cache is written in place: the
        old state is used up."""
        column, capacity = state.column, state.cache[0].shape[2]
        if bool((state.position >= (most := self.config.positions)).any()):
            raise ValueError(f"The decoder has {most} positions and a row is longer than that.")
        if column == capacity:  # grow by eight columns at a time
            for i, kept in enumerate(state.cache):
                state.cache[i] = nn.functional.pad(kept, (0, 0, 0, 8))
            if state.visible is not None:
                state = replace(state, visible=nn.functional.pad(state.visible, (0, 8)))
        if state.visible is not None:
            state.visible[:, column] = True
        x = (self.tokens(*self._here(tokens)) + self.positions(state.position))[:, None]  # (R, 1, h)
        x = self._advance(x, state)
        return self.output(self.norm(x[:, 0])), replace(state, column=column + 1, position=state.position + 1)

    def _advance(self, x: Tensor, state: State) -> Tensor:
        """The decoder layers over new tokens x (R, L, h), whose keys and values are written into the cache."""
        length, (n_problems, width) = x.shape[1], state.table
        end = state.column + length
        mask = None if state.visible is None else state.visible[:, None, None, :end]  # (R, 1, 1, end)
        alone = length > 1 and not state.column  # padding stands at the right, where the causal mask hides it
        if alone:
            mask = None
        elif length > 1:  # after a past: what is there of it, and the new tokens up to each query
            causal = torch.ones(length, end, dtype=torch.bool, device=x.device).tril(state.column)
            mask = causal if mask is None else causal & mask  # (R, 1, L, end)

        for layer, (memory_key, memory_value), (keys, values) in zip(self.layers, state.memory, state.cache):

            def look_back(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                keys[:, state.column : end], values[:, state.column : end] = k, v
                return attend(q, keys[:, :end], values[:, :end], layer.heads, mask, causal=alone)

            def look_at_memory(q: Tensor) -> Tensor:
                by_row, table = (n_problems * width, length, q.shape[2]), q  # (R, L, h)
                if state.slot is not None:
                    table = q.new_zeros(by_row)
                    table[state.slot] = q
                table = table.reshape(n_problems, width * length, q.shape[2])
                mixed = attend(table, memory_key, memory_value, layer.heads).reshape(by_row)
                return mixed if state.slot is None else mixed[state.slot]  # (R, L, h)

            x = layer(x, look_back, look_at_memory)
        return x

    def matrices(self) -> list[tuple[nn.Parameter, int]]:
        """Weight matrices between hidden layers with the number of maps stacked in each (3 for q, k, v): what
        Muon may orthogonalise."""
        stacked = {"qkv": 3, "source": 2, "cross_source": 2}
        hidden = [*self.blocks, self.pool, *self.layers, *getattr(self, "hint_layers", [])]
        named = [item for part in hidden for item in part.named_modules() if isinstance(item[1], nn.Linear)]
        return [(module.weight, stacked.get(name.split(".")[-1], 1)) for name, module in named]
