"""The network against independent judges: struct's half floats, PyTorch's own decoder layer, a set block
written out, the full forward pass."""

import struct

import pytest
import torch
from torch import nn

from nsr.network.layers import DecoderLayer, InducedBlock, SetAttention, attend
from nsr.network.model import PUBLISHED, Config, Network, half_bits

OPTIONS = dict(heads=4, feedforward=0, activation="relu")


def network(seed=0, **sizes):
    torch.manual_seed(seed)
    return Network(
        Config(vocabulary=20, **(dict(width=32, heads=4, feedforward=48, positions=40) | sizes))
    ).eval()


def points(batch, count, seed=1, columns=6):
    return torch.randn(batch, count, columns, generator=torch.Generator().manual_seed(seed)) * 5


def test_published_sizes_give_the_published_number_of_parameters():
    with torch.device("meta"):
        made = Network(Config(vocabulary=90, **PUBLISHED))
    count = {name: sum(p.numel() for p in part.parameters()) for name, part in made.named_children()}
    assert count["blocks"] + count["pool"] == 13_369_344  # facts.md, section 2.1
    assert count["layers"] == 13_148_160
    assert sum(count.values()) == 26_640_474


def test_bits_are_those_of_half_precision():
    values = [0.0, 1.0, -1.0, 0.1, -3.14159, 65504.0, 6e-8, 1e-5, 2.0**-14, 12345.0, -0.333]
    for value, bits in zip(values, half_bits(torch.tensor(values))):
        code = int.from_bytes(struct.pack(">e", value), "big")
        assert bits.tolist() == [2.0 * (code >> k & 1) - 1 for k in range(15, -1, -1)]


def test_bits_beyond_half_precision_are_clamped_and_zero_has_no_sign():
    low, high = half_bits(torch.tensor([-65504.0, 65504.0]))
    assert (half_bits(torch.tensor([-1e30, -torch.inf])) == low).all()
    assert (half_bits(torch.tensor([1e6, torch.inf])) == high).all()
    assert (half_bits(torch.tensor([0.0, -0.0, 1e-12, -1e-12])) == -1).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_order_of_points_does_not_matter_and_masked_points_do_not_exist(norm):
    net, x = network(norm=norm, bias=True), points(3, 12)
    mask = torch.rand(3, 12, generator=torch.Generator().manual_seed(2)) < 0.6
    mask[:, 4] = True
    memory = net.encode(x, mask)
    shuffled = torch.randperm(12, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(net.encode(x[:, shuffled], mask[:, shuffled]), memory, atol=1e-5, rtol=1e-5)
    for item in range(3):
        torch.testing.assert_close(
            net.encode(x[item, mask[item]][None])[0], memory[item], atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("queries", [3, 9])  # 3·4 ≤ 24 takes the shortcut without keys, 9·4 > 24 does not
def test_set_attention_is_the_one_written_out(norm, bias, queries):
    torch.manual_seed(4)
    width, head = 24, 6
    block = SetAttention(width, 10, width, norm=norm, bias=bias, **OPTIONS)
    query, source = torch.randn(1, queries, width), torch.randn(2, 7, 10)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[0, 5:] = False
    q = block.query(query).expand(2, -1, -1)
    key, value = block.source(source).split(width, -1)
    mixed = torch.zeros(2, queries, width)
    for b in range(2):
        for h in range(4):
            part = slice(h * head, (h + 1) * head)
            score = q[b, :, part] @ key[b, mask[b], part].T / (width if norm == "post" else head) ** 0.5
            mixed[b, :, part] = score.softmax(-1) @ value[b, mask[b], part]
    if norm == "post":
        out = block.norm(q + mixed)
        expected = block.norm_out(out + torch.relu(block.feed[0](out)))
    else:
        out = query + mixed
        expected = out + torch.relu(block.feed[0](block.norm(out)))
    torch.testing.assert_close(block(query, source, mask[:, None, None]), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_layer_is_pytorchs(norm):
    torch.manual_seed(5)
    ours = DecoderLayer(width=16, heads=2, feedforward=24, norm=norm, activation="relu", bias=True)
    judge = nn.TransformerDecoderLayer(16, 2, 24, dropout=0.0, batch_first=True, norm_first=norm == "pre")
    source = {
        "self_attn.in_proj": ours.qkv,
        "self_attn.out_proj": ours.out,
        "multihead_attn.out_proj": ours.cross_out,
    }
    source |= {"linear1": ours.feed[0], "linear2": ours.feed[2]} | {
        f"norm{i + 1}": ours.norms[i] for i in range(3)
    }
    weights = {}
    for name, module in source.items():
        joint = "_" if name.endswith("in_proj") else "."
        weights |= {f"{name}{joint}weight": module.weight, f"{name}{joint}bias": module.bias}
    for kind in ("weight", "bias"):
        weights[f"multihead_attn.in_proj_{kind}"] = torch.cat(
            [getattr(ours.cross_query, kind), getattr(ours.cross_source, kind)]
        )
    judge.load_state_dict(weights)
    x, memory = torch.randn(3, 5, 16), torch.randn(3, 4, 16)
    key, value = ours.memory_keys(memory)
    got = ours(x, lambda q, k, v: attend(q, k, v, 2, causal=True), lambda q: attend(q, key, value, 2))
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    torch.testing.assert_close(
        got, judge(x, memory, tgt_mask=causal, tgt_is_causal=True), atol=1e-5, rtol=1e-5
    )


def test_an_isab_block_is_two_set_attentions():
    torch.manual_seed(6)
    block = InducedBlock(12, 16, 3, norm="post", bias=True, **OPTIONS)
    x = torch.randn(2, 9, 12)
    torch.testing.assert_close(block(x, None), block.spread(x, block.gather(block.inducing, x)))


def test_a_token_does_not_see_the_future():
    net, x = network(), points(2, 8)
    tokens = torch.randint(5, 20, (2, 10), generator=torch.Generator().manual_seed(7))
    changed = tokens.clone()
    changed[:, 6:] = 5
    torch.testing.assert_close(net(x, None, tokens)[:, :6], net(x, None, changed)[:, :6])


@pytest.mark.parametrize("before", [None, (2, 0, 4, 1, 0), (0, 0, 0, 0, 0)])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cached_steps_give_the_logits_of_the_full_forward_pass(norm, before):
    """Prompts of ragged lengths over four problems, some of them read in two parts, then beams that are
    duplicated, dropped and reordered at random."""
    net, random = network(norm=norm), torch.Generator().manual_seed(8)
    with torch.no_grad():
        memory = net.encode(points(4, 10))
        problem, lengths = torch.tensor([2, 0, 0, 3, 2]), torch.tensor([3, 1, 5, 2, 5])
        tokens = torch.randint(5, 20, (5, 5), generator=random)
        rows = [tokens[r, : lengths[r]].tolist() for r in range(5)]

        def full():
            return torch.stack(
                [net.decode(memory[p][None], torch.tensor([row]))[0, -1] for p, row in zip(problem, rows)]
            )

        if before is None:
            logits, state = net.prefill(memory, tokens, lengths, problem)
        else:
            past = net.prefill(memory, tokens, lengths, problem)[1].read(before)
            rest = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(row[n:]) for row, n in zip(rows, before)], batch_first=True
            )
            logits, state = net.prefill(memory, rest, lengths - torch.tensor(before), problem, past)
        torch.testing.assert_close(logits, full(), atol=1e-5, rtol=1e-5)
        for step in range(20):
            new = torch.randint(5, 20, (len(rows),), generator=random)
            logits, state = net.step(new, state)
            rows = [row + [int(token)] for row, token in zip(rows, new)]
            torch.testing.assert_close(logits, full(), atol=1e-5, rtol=1e-5)
            keep = torch.randint(len(rows), (3 + step % 5,), generator=random)
            if step % 3 == 0:
                keep = keep[problem[keep].argsort(stable=True)]
            state, rows, problem = state.select(keep), [rows[int(i)] for i in keep], problem[keep]


def test_equal_beams_per_problem_need_no_table_and_none_at_all_is_no_error():
    net = network()
    with torch.no_grad():
        memory = net.encode(points(3, 10))
        logits, state = net.prefill(memory, torch.ones(3, 1, dtype=torch.long))
        state = state.select(torch.arange(3).repeat_interleave(4))
        assert state.slot is None and state.table == (3, 4)
        logits, state = net.step(torch.full((12,), 7), state)
        torch.testing.assert_close(
            logits[::4], net.decode(memory, torch.tensor([[1, 7]] * 3))[:, -1], atol=1e-5, rtol=1e-5
        )
        logits, state = net.step(
            torch.zeros(0, dtype=torch.long), state.select(torch.zeros(0, dtype=torch.long))
        )
        assert logits.shape == (0, 20)


def test_too_long_is_refused_in_words():
    net = network(positions=4)
    memory = net.encode(points(1, 5))
    with pytest.raises(ValueError, match="4 positions"):
        net.prefill(memory, torch.ones(1, 5, dtype=torch.long))
    _, state = net.prefill(memory, torch.ones(1, 4, dtype=torch.long))
    with pytest.raises(ValueError, match="4 positions"):
        net.step(torch.ones(1, dtype=torch.long), state)


def test_hints_change_the_memory_their_padding_does_not():
    net, x = network(hint_vocabulary=30), points(2, 8)
    hints = torch.tensor([[4, 7, 9], [5, 6, 0]])
    memory = net.encode(x, hints=hints)
    padded = torch.cat([hints, torch.zeros(2, 4, dtype=torch.long)], 1)
    torch.testing.assert_close(net.encode(x, hints=padded), memory, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(net.encode(x, hints=hints.flip(0)), memory, atol=1e-2)
    with pytest.raises(ValueError, match="reads hints"):
        net.encode(x)
    with pytest.raises(ValueError, match="without hints"):
        network().encode(x, hints=hints)


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="multiple of heads"):
        Config(vocabulary=20, width=10, heads=4)
    with pytest.raises(ValueError, match="There is no norm 'before'. There are: pre, post"):
        Config(vocabulary=20, norm="before")


def test_every_hidden_matrix_is_listed_once_with_its_parts():
    net = network(hint_vocabulary=30)
    listed = net.matrices()
    assert len({id(weight) for weight, _ in listed}) == len(listed)
    assert all(weight.shape[0] % parts == 0 for weight, parts in listed)
    rest = {id(p) for p in net.parameters()} - {id(weight) for weight, _ in listed}
    names = {name.split(".")[0] for name, p in net.named_parameters() if id(p) in rest and p.dim() == 2}
    assert names == {"embed", "tokens", "positions", "output", "hint_tokens", "hint_positions"}
