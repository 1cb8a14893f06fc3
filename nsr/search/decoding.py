"""Decoding: what comes next after a prefix, and beam search, for many prefixes of many problems at once.

The decoder reads   <tree> t₁ </tree> … <tree> tₙ </tree>  <start>  s₁ s₂ …   (prompt, start, the expression so far).
A hypothesis s of L tokens has   log p(s) = Σ log p(s_j | s_<j) + log p(<end> | s)   and the score   log p(s) / (1 + L)^α,
where the 1 stands for <start> and α is `length_penalty` (1 in the published code).

Letters: N problems, J jobs (requests), b beam size, R rows of the network (live hypotheses), L tokens, V
vocabulary.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from nsr.formulas.expressions import END, Prefix, Token, Vocabulary
from nsr.formulas.grammar import allowed, open_arguments, token_tables
from nsr.network.batches import sequence
from nsr.network.devices import free_memory

Stop = Literal["bound", "enough", "published"]  # when a beam search ends; see `Complete`
MAX_LEN = 40  # tokens of an expression, unless the request says otherwise
# hypotheses that share a pass on a CPU, where a larger key-value cache no longer fits its caches
# (bench_engine.py)
ROWS = 512
# the same after prompts: their lengths differ, and a pass is as long as the longest (bench_strategies.py)
PROMPTED = 256
MOST_ROWS = 32 * 512  # on a GPU, which gains nothing by more


@dataclass(frozen=True)
class NextTokens:
    """Request: the possible next tokens after a prefix with their log-probabilities, most likely first.

    `prompt` holds subtrees for a prompted network, `hints` the hint token ids for a hinted one. With `masked`
    only tokens appear that a complete expression of at most `max_len` tokens can go on with; END appears when
    the prefix is complete.
    """

    prefix: Prefix = ()
    prompt: tuple[Prefix, ...] = ()
    hints: tuple[int, ...] | None = None
    masked: bool = True
    max_len: int = MAX_LEN


@dataclass(frozen=True)
class Complete:
    """Request: the `beam_size` best complete expressions that begin with a prefix, found by beam search, best
    score first.

    `stop="bound"`: go on until no live hypothesis can still enter the b best finished ones (exact for the
    beam); `stop="enough"`: until b are finished. `masked=False` lets the network write what it likes, and END
    ends a hypothesis where it is among the 2b best continuations; with `stop="published"`, which else is
    "enough", only where it comes before the b that go on, as in the published code.
    """

    prefix: Prefix = ()
    beam_size: int = 5
    prompt: tuple[Prefix, ...] = ()
    hints: tuple[int, ...] | None = None
    length_penalty: float = 1.0
    masked: bool = True
    stop: Stop = "bound"
    max_len: int = MAX_LEN

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError(f"beam_size is {self.beam_size}; it must be at least 1")
        if self.stop not in get_args(Stop):
            raise ValueError(f"stop is {self.stop!r}; choose 'bound', 'enough' or 'published'")


class Hypothesis(NamedTuple):
    """A finished expression; `log_prob` is that of the tokens after the given prefix, END included."""

    prefix: Prefix
    log_prob: float
    score: float


class Job(NamedTuple):
    """A request, the row of the encoder's memory it belongs to, how many variables its problem has, and its
    prompt if it was read before."""

    request: NextTokens | Complete
    memory: int
    n_variables: int
    past: Tensor | None = None  # (layers, 2, L, h), see `Network.prefill`

    @property
    def prompt_length(self) -> int:
        """Tokens of the prompt, with the two around each subtree."""
        return sum(len(tree) + 2 for tree in self.request.prompt)


def decoder_input(vocabulary: Vocabulary, prefix: Prefix, prompt: Sequence[Prefix] = ()) -> list[int]:
    """Token ids that the decoder reads before it writes: the prompt's subtrees between partition tokens,
    <start>, the prefix."""
    return vocabulary.encode(sequence(prefix, prompt)[:-1])  # all but END


def row_limit(network) -> int:
    """Hypotheses that may share a pass. A GPU wants many: as many as half of its free memory can hold, the
    other half is for what a pass computes. The environment variable NSR_ROWS says another number."""
    if setting := os.environ.get("NSR_ROWS"):
        if not setting.isdecimal() or not int(setting):
            raise ValueError(f"NSR_ROWS is {setting!r}; it wants how many hypotheses share a pass, like 512")
        return int(setting)
    if network.device.type == "cpu":
        return ROWS
    room = free_memory(network.device) // 2 // network.row_bytes
    # powers of two: a little more or less free memory leaves the passes, and so all rounding, as they are
    return min(MOST_ROWS, 1 << max(0, room.bit_length() - 1))


def passes(jobs: Sequence[Job], members: list[int], network) -> list[list[int]]:
    """Cut jobs into groups that share a pass. Those with prompts are sorted by length before: a pass is
    padded to its longest."""
    size, b = row_limit(network), getattr(jobs[members[0]].request, "beam_size", 1)
    if any(jobs[i].request.prompt for i in members):
        size = min(size, PROMPTED) if network.device.type == "cpu" else size
        members = sorted(members, key=lambda i: jobs[i].prompt_length + len(jobs[i].request.prefix))
        n = -(-len(members) // max(1, size // b))
        cuts = [len(members) * k // n for k in range(n + 1)]  # n groups of equal size
    else:
        cuts = [*range(0, len(members), max(1, size // b)), len(members)]
    return [members[low:high] for low, high in zip(cuts, cuts[1:])]


def _prefill(
    network, vocabulary: Vocabulary, memory: Tensor, jobs: Sequence[Job]
) -> tuple[Tensor, object, Tensor]:
    """Let the network read every job's input: logits (J, V), its state, and the number of tokens read (J,)."""
    prompts = [job.request.prompt if job.past is None else () for job in jobs]
    inputs = [decoder_input(vocabulary, job.request.prefix, prompt) for job, prompt in zip(jobs, prompts)]
    return read(network, memory, inputs, [job.memory for job in jobs], [job.past for job in jobs])


def read(
    network,
    memory: Tensor,
    inputs: Sequence[list[int]],
    rows: Sequence[int],
    past: Sequence[Tensor | None] = (),
) -> tuple[Tensor, object, Tensor]:
    """Let the network read token ids, each with its row of the memory, and perhaps a past: logits (J, V), its
    state, and lengths (J,)."""
    lengths = torch.tensor([len(ids) for ids in inputs])
    # (J, L); <pad> is 0
    tokens = torch.nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in inputs], batch_first=True)
    more = {"past": past} if any(kept is not None for kept in past) else {}
    return *network.prefill(memory, tokens, lengths, torch.tensor(rows), **more), lengths


def room_for(network, job: Job) -> int:
    """Longest expression that a job may write: its own limit or the network's positions, whichever is
    shorter."""
    return min(job.request.max_len, network.config.positions - 1 - job.prompt_length)


def _possible(network, job: Job) -> bool:
    """Whether any answer exists: the prefix is well formed and can be closed within the limit."""
    needed, prefix = open_arguments(job.request.prefix), job.request.prefix
    return needed >= 0 and len(prefix) + (needed if job.request.masked else 0) <= room_for(network, job)


@torch.inference_mode()
def next_tokens(
    network, vocabulary: Vocabulary, memory: Tensor, jobs: Sequence[Job]
) -> tuple[list[list[tuple[Token, float]]], list[int]]:
    """Answer NextTokens requests in one pass: per job a list of (token, log-probability), and the tokens the
    decoder read."""
    answers: list[list[tuple[Token, float]]] = [[] for _ in jobs]
    cost = [0] * len(jobs)
    todo = [i for i, job in enumerate(jobs) if _possible(network, job)]
    for members in passes(jobs, todo, network) if todo else ():
        batch = [jobs[i] for i in members]
        logits, _, lengths = _prefill(network, vocabulary, memory, batch)
        log_probs = logits.double().log_softmax(-1).cpu()  # (J, V)
        needed = torch.tensor([open_arguments(job.request.prefix) for job in batch])
        room = torch.tensor([room_for(network, job) - len(job.request.prefix) for job in batch])
        fits = allowed(vocabulary, needed, room, torch.tensor([job.n_variables for job in batch]))
        fits |= torch.tensor([not job.request.masked for job in batch])[:, None]
        order = log_probs.masked_fill(~fits, -torch.inf).sort(dim=-1, descending=True, stable=True)
        for row, i in enumerate(members):
            n = int(fits[row].sum())
            pairs = zip(order.indices[row, :n].tolist(), order.values[row, :n].tolist())
            answers[i], cost[i] = [(vocabulary.tokens[v], value) for v, value in pairs], int(lengths[row])
    return answers, cost


@torch.inference_mode()
def complete(
    network, vocabulary: Vocabulary, memory: Tensor, jobs: Sequence[Job]
) -> tuple[list[list[Hypothesis]], list[int]]:
    """Answer Complete requests: per job its finished hypotheses, best first, and how many tokens the decoder
    processed for it.

    Jobs with the same beam size and rules share every pass; at most `row_limit` hypotheses (or one job's
    beam) are live at a time.
    """
    answers: list[list[Hypothesis]] = [[] for _ in jobs]
    cost = [0] * len(jobs)
    groups: dict[tuple, list[int]] = {}
    for i, job in enumerate(jobs):
        if _possible(network, job):
            groups.setdefault(alike(job.request), []).append(i)
    for group in groups.values():
        for members in passes(jobs, group, network):
            results = _beam_search(network, vocabulary, memory, [jobs[i] for i in members])
            for i, (hypotheses, tokens) in zip(members, results):
                answers[i], cost[i] = hypotheses, tokens
    return answers, cost


def alike(request: Complete) -> tuple:
    """What two Complete requests must have in common to be answered in one beam search."""
    return request.beam_size, request.length_penalty, request.masked, request.stop


@dataclass
class _Beams:
    """The hypotheses of J jobs: b live ones each (score −inf: an empty place) and the b best finished ones."""

    job: Tensor  # (J,) index of the job
    room: Tensor  # (J,) tokens an expression may have
    length: Tensor  # (J,) tokens it has now, the same for all live hypotheses of a job
    n_variables: Tensor  # (J,)
    log_prob: Tensor  # (J, b)
    needed: Tensor  # (J, b) open arguments
    tokens: Tensor  # (J, b, T) ids written so far
    done_score: Tensor  # (J, b), best first
    done_log_prob: Tensor  # (J, b)
    done_tokens: Tensor  # (J, b, T), −1 after the last

    @classmethod
    def begin(cls, network, jobs: Sequence[Job], device: torch.device) -> _Beams:
        """One live hypothesis per job, its prefix, and none that is finished."""
        J, b = len(jobs), jobs[0].request.beam_size
        room = torch.tensor([room_for(network, job) for job in jobs], device=device)
        length = torch.tensor([len(job.request.prefix) for job in jobs], device=device)
        nothing = torch.full((J, b), -torch.inf, dtype=torch.float64, device=device)
        unwritten = torch.full((J, b, int((room - length).max())), -1, device=device)
        n_variables = torch.tensor([job.n_variables for job in jobs], device=device)
        log_prob, needed = nothing.clone(), torch.zeros(J, b, dtype=torch.long, device=device)
        log_prob[:, 0] = 0.0
        needed[:, 0] = torch.tensor([open_arguments(job.request.prefix) for job in jobs], device=device)
        live, done = (log_prob, needed, unwritten), (nothing, nothing, unwritten)
        return cls(torch.arange(J, device=device), room, length, n_variables, *live, *done)

    @property
    def live(self) -> Tensor:
        """(J, b) bool; the network's rows are the live hypotheses in this order."""
        return self.log_prob > -torch.inf

    def keep(self, index: Tensor) -> _Beams:
        return _Beams(*(getattr(self, field.name)[index] for field in fields(self)))

    def go_on(self, log_prob: Tensor, parent: Tensor, token: Tensor, arity: Tensor, step: int) -> None:
        """Let the live hypotheses be others (J, b): those of their parents with one more token each."""
        self.tokens = self.tokens.gather(1, parent[..., None].expand_as(self.tokens))
        if step < self.tokens.shape[2]:
            self.tokens[:, :, step] = token
        self.needed = self.needed.gather(1, parent) + arity - 1
        self.log_prob, self.length = log_prob, self.length + 1

    def finish(self, log_prob: Tensor, length_penalty: float) -> None:
        """Let live hypotheses (J, b) that end with this log-probability (−inf: does not end) compete with the
        finished ones."""
        score = log_prob / (1 + self.length[:, None].double()) ** length_penalty
        order = torch.cat([self.done_score, score], 1).sort(dim=1, descending=True, stable=True)
        best = order.indices[:, : log_prob.shape[1]]  # (J, b) of 2b
        self.done_score = order.values[:, : log_prob.shape[1]]
        self.done_log_prob = torch.cat([self.done_log_prob, log_prob], 1).gather(1, best)
        both = torch.cat([self.done_tokens, self.tokens], 1)  # (J, 2b, T)
        self.done_tokens = both.gather(1, best[..., None].expand(-1, -1, both.shape[2]))


def _beam_search(
    network, vocabulary: Vocabulary, memory: Tensor, jobs: Sequence[Job]
) -> list[tuple[list[Hypothesis], int]]:
    """Beam search for jobs that are `alike`, in lockstep; a job leaves the batch when its search is over."""
    rules, device = jobs[0].request, memory.device
    beams, arities = _Beams.begin(network, jobs, device), token_tables(vocabulary)[0].to(device)
    results: list[tuple[list[Hypothesis], int]] = [([], 0)] * len(jobs)
    logits, state, lengths = _prefill(network, vocabulary, memory, jobs)
    cost = lengths.to(device, copy=True)  # the state may hold on to lengths
    for step in range(beams.tokens.shape[2] + 1):
        total = _continuations(vocabulary, beams, logits, rules)
        beams.finish(_take_endings(vocabulary, beams, total, rules), rules.length_penalty)
        log_prob, parent, token = _survivors(beams, total, rules)
        row_of = beams.live.flatten().cumsum(0).sub(1).view_as(parent)  # (J, b), of the network
        n_rows, goes_on = len(logits), log_prob > -torch.inf
        rows, words = row_of.gather(1, parent)[goes_on], token[goes_on]  # (R,)
        beams.go_on(log_prob, parent, token, arities[token], step)

        going = goes_on.any(1)
        if not going.all():
            _collect(beams.keep(~going), jobs, vocabulary, cost, results)
            beams = beams.keep(going)
        if not len(words):
            break
        cost.index_add_(0, beams.job, beams.live.sum(1))
        same = len(rows) == n_rows and bool((rows == torch.arange(n_rows, device=device)).all())
        logits, state = network.step(words, state if same else state.select(rows))  # select copies the cache
    return results


def _continuations(vocabulary: Vocabulary, beams: _Beams, logits: Tensor, rules: Complete) -> Tensor:
    """Log-probabilities (J, b, V) of every live hypothesis with every token after it, −inf where none may
    stand."""
    live = beams.live
    total = torch.full((*live.shape, len(vocabulary)), -torch.inf, dtype=torch.float64, device=live.device)
    total[live] = beams.log_prob[live][:, None] + logits.double().log_softmax(-1)  # (R, V)
    if rules.masked:
        left = (beams.room - beams.length)[:, None].expand_as(live)
        n_variables = beams.n_variables[:, None].expand_as(live)
        total.masked_fill_(~allowed(vocabulary, beams.needed, left, n_variables), -torch.inf)
    return total


def _take_endings(vocabulary: Vocabulary, beams: _Beams, total: Tensor, rules: Complete) -> Tensor:
    """Take END out of the continuations: log-probabilities (J, b) of the hypotheses that end here, −inf for
    others.

    The mask says where END may stand. Without it END counts if it is among the 2b best continuations of a
    job, or as published before the b best others, and what has no room for another token ends as it is.
    """
    end = vocabulary.ids[END]
    ending = total[..., end].clone()
    if not rules.masked:
        if rules.stop == "published":
            total[..., end] = -torch.inf
        n = rules.beam_size if rules.stop == "published" else 2 * rules.beam_size
        best = total.flatten(1).topk(min(n, total[0].numel())).values  # (J, n)
        ending[ending < best[:, -1:]] = -torch.inf
        full = (beams.length == beams.room)[:, None]
        ending = torch.where(full & (ending == -torch.inf), beams.log_prob, ending)
        total.masked_fill_(full[..., None], -torch.inf)
    total[..., end] = -torch.inf
    return ending


def _survivors(beams: _Beams, total: Tensor, rules: Complete) -> tuple[Tensor, Tensor, Tensor]:
    """The b best continuations of each job: their log-probabilities, parents and tokens, (J, b) each.

    One that cannot beat the worst of b finished hypotheses however it ends is given up (−inf): its
    log-probability can only fall, so its score is at most that of the longest expression with what it has
    now.
    """
    alpha, V = rules.length_penalty, total.shape[2]
    log_prob, index = total.flatten(1).topk(rules.beam_size)  # (J, b) of b·V
    parent, token = index // V, index % V
    worst = beams.done_score[:, -1:]  # −inf until b are finished
    longest = torch.maximum((1 + beams.room.double()) ** alpha, (2 + beams.length.double()) ** alpha)
    best_score = log_prob / longest[:, None]
    hopeless = best_score <= worst if rules.stop == "bound" else worst > -torch.inf
    log_prob = log_prob.masked_fill(hopeless, -torch.inf)
    order = _in_place(parent, log_prob > -torch.inf)
    return log_prob.gather(1, order), parent.gather(1, order), token.gather(1, order)


def _in_place(parent: Tensor, live: Tensor) -> Tensor:
    """An order (J, b) of the new hypotheses in which each parent's first child keeps its place, so that
    little has to be copied."""
    b = parent.shape[1]
    groups = torch.where(live, parent, b).sort(dim=1, stable=True)
    first = groups.values < b
    first[:, 1:] &= groups.values[:, 1:] != groups.values[:, :-1]
    stays = torch.zeros_like(live).scatter(1, groups.indices, first)
    taken = torch.zeros(len(parent), b + 1, dtype=torch.long, device=parent.device)
    taken.scatter_(1, torch.where(stays, parent, b), 1)
    free = taken[:, :b].argsort(dim=1, stable=True)  # places without an heir come first
    place = torch.where(stays, parent, free.gather(1, (~stays).cumsum(1).sub(1).clamp(min=0)))
    return place.argsort(dim=1)


def _collect(beams: _Beams, jobs: Sequence[Job], vocabulary: Vocabulary, cost: Tensor, results: list) -> None:
    """Write down the finished hypotheses of jobs whose search is over."""
    done = beams.job, beams.done_score, beams.done_log_prob, beams.done_tokens
    for j, scores, log_probs, rows in zip(*(tensor.tolist() for tensor in done)):
        finished = []
        for score, log_prob, ids in zip(scores, log_probs, rows):
            if score > float("-inf"):
                written = tuple(vocabulary.tokens[i] for i in ids if i >= 0)
                finished.append(Hypothesis(jobs[j].request.prefix + written, log_prob, score))
        results[j] = finished, int(cost[j])
