"""What a network remembers while problems are searched: of each problem what its encoder says, of each prompt
what its decoder has read.

Both are computed once, at the first request: a tree search asks hundreds of things about one problem, and
after one prompt.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nsr.data.problems import Problem
from nsr.formulas.expressions import Prefix, Vocabulary
from nsr.network.batches import sequence
from nsr.search.decoding import PROMPTED, Complete, NextTokens, read

ENCODED = 32  # problems that the encoder reads in one pass
MAX_POINTS = 1000  # the encoder never saw more points than this in training; fitting uses all of them


class Memories:
    """The memories of one network for one batch of searches."""

    def __init__(self, network, vocabulary: Vocabulary) -> None:
        self.network, self.vocabulary = network, vocabulary
        # (identity of the problem, hints) → (S, h)
        self.encoded: dict[tuple[int, Any], Tensor] = {}
        # (identity of the problem, hints, prompt) → (layers, 2, L, h)
        self.prompts: dict[tuple[int, Any, tuple[Prefix, ...]], Tensor] = {}

    def rows(self, wanted: list[tuple[Problem, tuple[int, ...] | None]]) -> tuple[Tensor, list[int]]:
        """A memory (N, S, h) with one row per different problem and hints, and the row of each that was
        wanted."""
        different = {(id(problem), hints): (problem, hints) for problem, hints in wanted}
        missing = [item for key, item in different.items() if key not in self.encoded]
        for start in range(0, len(missing), ENCODED):
            batch = missing[start : start + ENCODED]
            for (problem, hints), memory in zip(batch, self.encode(batch)):
                self.encoded[id(problem), hints] = memory
        place = {key: row for row, key in enumerate(different)}
        memory = torch.stack([self.encoded[key] for key in different])
        return memory, [place[id(problem), hints] for problem, hints in wanted]

    @torch.inference_mode()
    def encode(self, items: list[tuple[Problem, tuple[int, ...] | None]]) -> Tensor:
        """(B, S, h) for B problems with their hints; variables that a problem does not have are zero, as in
        training."""
        shown = [np.linspace(0, len(p.y) - 1, min(len(p.y), MAX_POINTS)).astype(int) for p, _ in items]
        longest = max(map(len, shown))
        # (B, P, D+1)
        points = np.zeros((len(items), longest, self.vocabulary.n_variables + 1), dtype=np.float32)
        mask = np.zeros((len(items), longest), dtype=bool)
        for i, ((problem, _), index) in enumerate(zip(items, shown)):
            points[i, : len(index), : problem.n_variables] = problem.X[index]
            points[i, : len(index), -1] = problem.y[index]
            mask[i, : len(index)] = True
        tensors = [torch.from_numpy(points), None if mask.all() else torch.from_numpy(mask)]
        hints = [hint for _, hint in items]
        if any(hint is not None for hint in hints):
            rows = [torch.tensor(hint or (), dtype=torch.long) for hint in hints]
            tensors.append(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True))  # (B, Lh)
        return self.network.encode(*tensors)

    @torch.inference_mode()
    def pasts(
        self, asked: Sequence[tuple[Problem, NextTokens | Complete]], memory: Tensor, rows: Sequence[int]
    ) -> tuple[list[Tensor | None], list[int]]:
        """What the decoder remembers of the prompt of each request, and how many tokens it had to read for
        that now.

        Nothing, where there are no prompts, or where beams begin with them: a beam search reads its prompt on
        the way, and once.
        """
        read_now = [0] * len(asked)
        begun = lambda request: request.prefix or isinstance(request, NextTokens)
        if not any(request.prompt and begun(request) for _, request in asked):
            return [None] * len(asked), read_now
        keys = [(id(problem), request.hints, request.prompt) for problem, request in asked]
        first = {key: i for i, key in reversed(list(enumerate(keys)))}  # who asks first pays for all
        kept = {key: self.prompts[key] for key in first if key in self.prompts}
        # the prompt alone, without START and END
        spelled = {key: self.vocabulary.encode(sequence((), key[2])[:-2]) for key in first if key not in kept}
        # After a prompt that fills all positions nothing can be written, so nothing will be asked.
        room = self.network.config.positions - 1
        missing = [key for key, ids in spelled.items() if 0 < len(ids) <= room]
        missing.sort(key=lambda key: len(spelled[key]))
        for start in range(0, len(missing), PROMPTED):
            batch = missing[start : start + PROMPTED]
            inputs = [spelled[key] for key in batch]
            _, state, lengths = read(self.network, memory, inputs, [rows[first[key]] for key in batch])
            kept |= zip(batch, state.read(lengths.tolist()))
            for key, ids in zip(batch, inputs):
                read_now[first[key]] = len(ids)
        owners = {key[:2] for key in keys}  # a search seldom comes back to an earlier prompt
        self.prompts = {key: past for key, past in self.prompts.items() if key[:2] not in owners} | kept
        return [kept.get(key) for key in keys], read_now
