"""Beam search against brute force: enumeration of a toy language, a plain one-problem beam search, and the
full forward pass."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from fake_network import TOY, FakeNetwork

from nsr.formulas.expressions import CLOSE, END, OPEN, SIMPLIFIED, START, is_valid
from nsr.network.model import Config, Network
from nsr.search import decoding
from nsr.search.decoding import Complete, Job, NextTokens, complete, decoder_input, next_tokens

BODY = ("C", "x1", "x2", "add", "sin")
MEMORY = torch.tensor([0.5, 1.5, 2.5])[:, None, None]


def log_prob(network, value, prefix, written, prompt=(), end=True):
    """Judge: the sum of log-probabilities, one whole input at a time."""
    total, ids = 0.0, TOY.ids
    written = (*written, END) if end else tuple(written)
    start = decoder_input(TOY, prefix, prompt)
    for i, token in enumerate(written):
        logits = network.row_logits(value, start + [ids[t] for t in written[:i]])
        total += logits[ids[token]] - np.log(np.exp(logits).sum())
    return total


def enumerated(network, value, prefix=(), prompt=(), max_len=5, alpha=1.0, body=BODY, valid=is_valid):
    """Judge: every sequence that begins with the prefix, best score first."""
    out = []
    for n in range(max_len - len(prefix) + 1):
        for rest in itertools.product(body, repeat=n):
            if valid(prefix + rest):
                lp = log_prob(network, value, prefix, rest, prompt)
                out.append((prefix + rest, lp, lp / (1 + len(prefix) + n) ** alpha))
    return sorted(out, key=lambda h: -h[2])


def run(request, network=None, memory=0, n_variables=2):
    network = network or FakeNetwork()
    return complete(network, TOY, MEMORY, [Job(request, memory, n_variables)])[0][0]


def same(found, expected):
    assert [h[0] for h in found] == [h[0] for h in expected]
    np.testing.assert_allclose([h[1:] for h in found], [h[1:] for h in expected], atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, -0.5])
@pytest.mark.parametrize(
    "prefix, prompt",
    [((), ()), (("add",), ()), (("add", "sin"), (("x1",), ("sin", "x2"))), (("sin", "x1"), ())],
)
def test_a_beam_as_wide_as_the_space_is_exact(alpha, prefix, prompt):
    network = FakeNetwork()
    everything = enumerated(network, 1.5, prefix, prompt, alpha=alpha)
    for b in (len(everything) + 10, 3000):
        same(run(Complete(prefix, b, prompt, length_penalty=alpha, max_len=5), network, memory=1), everything)


def test_stopping_early_loses_nothing():
    """stop="bound" with b results asked of a beam that holds all live hypotheses: compare with the top of the
    enumeration."""
    network = FakeNetwork(sharpness=4.0)
    for value, memory in ((0.5, 0), (1.5, 1), (2.5, 2)):
        for alpha in (0.0, 1.0):
            everything = enumerated(network, value, alpha=alpha, max_len=6)
            wide = run(Complete((), 200, length_penalty=alpha, max_len=6), network, memory)
            same(wide[:20], everything[:20])


def test_without_a_mask_the_space_is_all_sequences():
    network = FakeNetwork()
    tokens = tuple(t for t in TOY.tokens if t != END)
    everything = enumerated(network, 0.5, max_len=3, body=tokens, valid=lambda prefix: True)
    same(run(Complete((), 20_000, masked=False, max_len=3), network), everything)


def plain_beam_search(network, value, b, alpha, max_len, stop):
    """Judge: the algorithm as one would write it on a blackboard, for one problem."""
    live, done = [((), 0.0)], []
    for n in range(max_len + 1):
        for prefix, _ in live:
            if is_valid(prefix):
                lp = log_prob(network, value, (), prefix)
                done.append((prefix, lp, lp / (1 + n) ** alpha))
        done = sorted(done, key=lambda h: -h[2])[:b]
        worst = done[-1][2] if len(done) == b else -math.inf
        grown = []
        for prefix, _ in live:
            for token in BODY:
                new = (*prefix, token)
                missing = decoding.open_arguments(new)
                if missing >= 0 and len(new) + missing <= max_len:
                    grown.append((new, log_prob(network, value, (), new, end=False)))
        live = sorted(grown, key=lambda h: -h[1])[:b]
        if stop == "enough":
            live = [] if len(done) == b else live
        else:
            live = [h for h in live if h[1] / (1 + max_len) ** alpha > worst]
        if not live:
            break
    return done


@pytest.mark.parametrize("stop", ["bound", "enough"])
@pytest.mark.parametrize("b", [1, 2, 7])
def test_narrow_beams_follow_the_algorithm(b, stop):
    network = FakeNetwork()
    jobs = [Job(Complete((), b, stop=stop, max_len=9), m, 2) for m in range(3)]
    together, cost = complete(network, TOY, MEMORY, jobs)
    for m, value in enumerate((0.5, 1.5, 2.5)):
        same(together[m], plain_beam_search(network, value, b, 1.0, 9, stop))
        assert all(is_valid(h.prefix) and len(h.prefix) <= 9 for h in together[m])
        assert complete(network, TOY, MEMORY, [jobs[m]]) == ([together[m]], [cost[m]])


def published_beam_search(network, value, b, max_len):
    """Judge: the published rule. Continuations come best first; END finishes a hypothesis, any other token
    keeps it alive, until b are alive. Where there is no room left all are finished as they are. It is over
    when b are finished."""
    live, done = [((), 0.0)], []
    while live and len(done) < b:
        if len(live[0][0]) == max_len:
            written = [(prefix, log_prob(network, value, (), prefix), lp) for prefix, lp in live]
            return done, written
        grown = [
            (prefix, token, log_prob(network, value, (), (*prefix, token), end=False))
            for prefix, _ in live
            for token in TOY.tokens
        ]
        live = []
        for prefix, token, lp in sorted(grown, key=lambda h: -h[2]):
            if token == END:
                done.append((prefix, lp, lp / (1 + len(prefix))))
            else:
                live.append(((*prefix, token), lp))
            if len(live) == b:
                break
    return sorted(done, key=lambda h: -h[2])[:b], []


@pytest.mark.parametrize("b", [1, 2, 7])
def test_the_published_decoder_follows_the_published_rule(b):
    """END in second place ends nothing in a beam of one; `stop="enough"` would have counted it."""
    differs = 0
    for sharpness in (0.5, 2.0):
        network = FakeNetwork(sharpness=sharpness)
        for m, value in enumerate((0.5, 1.5, 2.5)):
            request = Complete((), b, masked=False, stop="published", max_len=30)
            expected, cut = published_beam_search(network, value, b, 30)
            assert not cut, "none of these is cut off"
            same(run(request, network, memory=m), expected)
            differs += run(replace(request, stop="enough"), network, memory=m) != run(
                request, network, memory=m
            )
    assert differs


def test_mixed_jobs_equal_single_ones(monkeypatch):
    """Different prefixes, prompts, sizes and lengths in one call, in small chunks."""
    network = FakeNetwork()
    requests = [
        Complete((), 3),
        Complete(("add",), 3),
        Complete(("add", "x1"), 2, (("sin", "x1"),)),
        Complete(("x1",), 3),
        Complete(("add", "sin"), 3, max_len=6),
        Complete((), 3, masked=False, max_len=4),
        Complete((), 1, stop="enough"),
    ]
    jobs = [Job(request, i % 3, 1 + i % 2) for i, request in enumerate(requests)]
    alone = [complete(network, TOY, MEMORY, [job]) for job in jobs]
    monkeypatch.setattr(decoding, "ROWS", 7)
    assert complete(network, TOY, MEMORY, jobs) == ([a[0][0] for a in alone], [a[1][0] for a in alone])


def test_rows_stay_below_the_limit_and_tokens_are_counted(monkeypatch):
    network = FakeNetwork()
    monkeypatch.setattr(decoding, "ROWS", 12)
    _, cost = complete(network, TOY, MEMORY, [Job(Complete((), 5, max_len=8), m, 2) for m in (0, 1, 2, 0, 1)])
    assert max(network.passes) <= 12
    assert sum(network.passes) == sum(cost)  # START alone is read in the prefill, then one token per row


def test_variables_that_the_problem_lacks_are_masked():
    assert all("x2" not in h.prefix for h in run(Complete((), 50), n_variables=1))
    assert any("x2" in h.prefix for h in run(Complete((), 50), n_variables=2))


def test_impossible_requests_have_no_answer():
    assert run(Complete(("x1", "x1"), 5)) == []
    assert run(Complete(("add", "add", "add"), 5, max_len=6)) == []  # four leaves are missing, three fit
    assert len(run(Complete(("add", "add", "add"), 5, max_len=7))) == 5
    assert run(Complete((), 5), FakeNetwork(positions=1)) == []


def test_positions_limit_the_length():
    network = FakeNetwork(positions=8)
    for h in run(Complete((), 20, (("x1",),)), network):  # <tree> x1 </tree> <start> leave four
        assert len(h.prefix) <= 4


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="beam_size is 0"):
        Complete((), 0)
    with pytest.raises(ValueError, match="'bound', 'enough' or 'published'"):
        Complete((), 1, stop="soon")


def test_next_tokens_are_log_probabilities():
    network = FakeNetwork()
    requests = [
        NextTokens(()),
        NextTokens(("sin", "x1")),
        NextTokens(("add",), (("x1",),)),
        NextTokens((), masked=False),
        NextTokens(("add", "x1"), max_len=3),
        NextTokens(("x1", "x1")),
    ]
    answers, cost = next_tokens(network, TOY, MEMORY, [Job(r, 1, 2) for r in requests])
    assert {t for t, _ in answers[0]} == set(BODY)
    assert [t for t, _ in answers[1]] == [END]
    assert {t for t, _ in answers[4]} == {"C", "x1", "x2"}  # only a leaf still fits
    assert answers[5] == [] and cost == [1, 3, 5, 1, 3, 0]
    assert len(answers[3]) == len(TOY) and math.isclose(sum(math.exp(p) for _, p in answers[3]), 1.0)
    for request, answer in zip(requests[:4], answers):
        assert [p for _, p in answer] == sorted((p for _, p in answer), reverse=True)
        for token, p in answer:
            assert math.isclose(
                p, log_prob(network, 1.5, request.prefix, (token,), request.prompt, end=False), abs_tol=1e-9
            )


def test_decoder_input_is_prompt_start_prefix():
    ids = decoder_input(TOY, ("add", "x1"), (("sin", "x2"), ("C",)))
    assert [TOY.tokens[i] for i in ids] == [OPEN, "sin", "x2", CLOSE, OPEN, "C", CLOSE, START, "add", "x1"]


def test_with_a_real_network_the_scores_are_those_of_the_full_pass():
    torch.manual_seed(0)
    network = Network(
        Config(vocabulary=len(SIMPLIFIED), width=32, heads=2, positions=40, embedding_std=1.0)
    ).eval()
    memory = network.encode(torch.randn(3, 20, 6), None).detach()
    jobs = [
        Job(Complete(prefix, 10, prompt, max_len=20), m, 5)
        for m in range(3)
        for prefix, prompt in (((), ()), (("add", "sin"), (("x1",),)))
    ]
    answers, _ = complete(network, SIMPLIFIED, memory, jobs)
    for job, found in zip(jobs, answers):
        assert len(found) == 10 and len({h.prefix for h in found}) == 10
        for h in found:
            start = decoder_input(SIMPLIFIED, job.request.prefix, job.request.prompt)
            ids = decoder_input(SIMPLIFIED, h.prefix, job.request.prompt) + [SIMPLIFIED.ids[END]]
            with torch.no_grad():
                logs = (
                    network.decode(memory[job.memory : job.memory + 1], torch.tensor([ids[:-1]]))[0]
                    .double()
                    .log_softmax(-1)
                )
            expected = sum(float(logs[i - 1, ids[i]]) for i in range(len(start), len(ids)))
            assert math.isclose(h.log_prob, expected, abs_tol=1e-3)
            assert math.isclose(h.score, h.log_prob / (1 + len(h.prefix)))
