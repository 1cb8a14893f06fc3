"""Loading a network: what it costs, and the compact set of its training templates."""

import gzip
import os
import pickle
import subprocess
import sys

import numpy as np
import torch
from conftest import ROOT

from nsr.book.run_records import REFERENCE
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.formulas.expressions import FULL
from nsr.network.checkpoints import TemplateSet, load, read

FULL_NETWORK = REFERENCE / "laptop" / "full"


def test_loading_imports_neither_torchs_compiler_nor_sympy():
    """In a process of its own: here other tests have imported them."""
    program = (
        "import sys; from nsr import load; load('laptop/full').templates; "
        "print([name for name in ('torch._dynamo', 'torch.fx.experimental.symbolic_shapes', 'sympy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_loading_draws_no_random_number_and_gives_the_weights_of_the_file():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    network = load("laptop/full").network
    assert torch.equal(torch.random.get_rng_state(), before)
    tensors, own = read(FULL_NETWORK / "weights.safetensors")[0], network.state_dict()
    assert own.keys() == tensors.keys() and all(torch.equal(own[name], tensors[name]) for name in own)
    assert not network.training and not any(p.requires_grad or p.is_meta for p in network.parameters())


def test_the_compact_set_says_what_a_frozenset_says():
    lines = gzip.decompress((FULL_NETWORK / "templates.txt.gz").read_bytes()).decode().splitlines()
    known, compact = frozenset(tuple(line.split()) for line in lines), load("laptop/full").templates
    members = [tuple(lines[i].split()) for i in np.random.default_rng(0).choice(len(lines), 2000, False)]
    drawn = dict.fromkeys(draw_templates(12_000, TreeRecipe(FULL), seed=11))
    others = [template for template in drawn if template not in known]
    others += [member[:-1] for member in members] + [(*member, "x1") for member in members] + [()]
    assert len(others) > 4000 + 2000
    assert all(member in compact for member in members) and not any(other in compact for other in others)
    assert len(compact) == len(known) == len(lines) and set(compact) == known


def test_compact_sets_are_sets():
    some = [("sin", "x1"), ("add", "x1", "x2"), ("sin", "x1")]
    compact, known = TemplateSet(map(" ".join, some)), frozenset(some)
    assert compact == known and known == compact and compact == TemplateSet(["sin x1", "add x1 x2"])
    assert hash(compact) == hash(known) == hash(pickle.loads(pickle.dumps(compact)))
    assert (
        compact - {("sin", "x1")} == {("add", "x1", "x2")}
        and compact <= known
        and list(compact) == sorted(known)
    )
    assert compact != TemplateSet(["sin x1"]) and compact != known - {("sin", "x1")} and not TemplateSet([])


def test_a_loaded_network_is_shown_in_one_line():
    assert (
        repr(load("laptop/nesymres")).startswith("Trained('laptop/nesymres': ")
        and len(repr(load("laptop/nesymres"))) < 90
    )
