"""Self-training in small: what is kept is new, verified and not held out; the controls add as many; and what was done is
not done again."""

import json

import pytest

from nsr.__main__ import main
from nsr.book import run_records
from nsr.data.templates import is_held_out, template_from
from nsr.evidence import improvement
from nsr.evidence.improvement import BY, improve, round_name, rounds_table
from nsr.formulas.equivalence import template_of
from nsr.network import checkpoints
from nsr.network.recipes import read_settings
from nsr.network.training import train
from nsr.replication import ImproveStep, Order

SIZE = {"problems": 6, "steps": 4}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny network in a folder of outputs of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "OUTPUTS", tmp_path_factory.mktemp("outputs"))
        patch.setattr(improvement, "CANDIDATES", 20)
        settings = read_settings("brief-60", "tiny", {"steps": 8})
        train(settings, checkpoints.training_folder("tiny/brief-60"))
        improve("tiny/brief-60", 2, **SIZE)
        yield checkpoints.load("tiny/brief-60")


def test_what_is_added_is_new_and_could_be_drawn_and_the_next_round_has_all_of_it(base):
    known = set(base.templates)
    for number in (1, 2):
        made = checkpoints.load(round_name(base.name, "found", number))
        added = set(made.templates) - known
        offered = improvement._kept(base.name, number)
        assert added == set(offered["templates"]["found"]) and known <= set(made.templates)
        assert len(added) <= offered["solved"] <= offered["problems"] == SIZE["problems"]
        for template in added:
            assert template_from(template) == template and not is_held_out(template)
        assert made.about["steps"] == SIZE["steps"]
        known |= added
    assert len(known) > len(base.templates), "two rounds found something"


def test_what_is_kept_explains_fresh_points(base, monkeypatch):
    """The search is asked again, and every template that is kept is judged by R² of an answer."""
    seen = []
    plain = improvement.solve_all
    monkeypatch.setattr(improvement, "solve_all", lambda *a, **k: seen.extend(plain(*a, **k)) or seen)
    offered = improvement.search(base, 1, SIZE["problems"])
    assert offered["templates"]["found"] == improvement._kept(base.name, 1)["templates"]["found"], (
        "the same searches again"
    )
    good = {template_of(r.answer.prefix) for r in seen if r.answer and r.r2 > 0.99}
    assert set(offered["templates"]["found"]) <= good and len(seen) == SIZE["problems"]
    assert {template_of(result.problem.truth) for result in seen}.isdisjoint(base.templates)


@pytest.mark.parametrize("by", [by for by in BY if by != "found"])
def test_a_control_adds_as_many_and_trains_as_long(base, by):
    made = improve(base.name, 1, by, **SIZE)
    found = checkpoints.load(round_name(base.name, "found", 1))
    wanted = 0 if by == "nothing" else len(found.templates) - len(base.templates)
    assert len(made.templates) - len(base.templates) == wanted
    assert made.about["steps"] == found.about["steps"] and not any(map(is_held_out, made.templates))


def test_what_was_done_is_not_done_again_and_a_lost_round_is_the_same_again(base):
    last = checkpoints.training_folder(round_name(base.name, "found", 2))
    before = {path: path.read_bytes() for path in last.rglob("*") if path.is_file()}
    weights = last / "final" / "weights.safetensors"
    digest = checkpoints.tensors_digest(weights)
    improve(base.name, 2, **SIZE)
    assert {path: path.read_bytes() for path in last.rglob("*") if path.is_file()} == before
    (last / "final" / "about.json").unlink()  # killed before the last file was written
    weights.unlink()
    improve(base.name, 2, **SIZE)
    assert checkpoints.tensors_digest(weights) == digest


def test_the_table_and_the_chain_know_the_rounds(base):
    table = rounds_table(base.name, 2)
    assert set(table.columns) >= {"by", "round", "templates", "solved", "searched", "trained"}
    assert (table[table.by == "found"]["round"] == [1, 2]).all()
    step = ImproveStep(Order("tiny"), "brief-60", "found", 2)
    assert step.state().done and step.name == "network brief-60+found-2"
    assert ImproveStep(Order("tiny"), "brief-60", "found", 3).state().word == "begun"
    assert ImproveStep(Order("tiny"), "brief-61", "found", 1).state().word == "missing"


def test_the_command_refuses_what_makes_no_sense(base, capsys):
    assert main(["improve", "brief-60", "--scale", "tiny", "--by", "luck"]) == 2
    assert "unverified" in capsys.readouterr().err
    assert main(["improve", "brief-61", "--scale", "tiny"]) == 2
    assert "python -m nsr train brief-61 --scale tiny" in capsys.readouterr().err


def test_a_broken_record_is_refused(base):
    path = improvement._path(base.name, 9)
    run_records.atomic_write(path, json.dumps({"templates": 3}))
    with pytest.raises(checkpoints.CheckpointError, match="offered.json"):
        improvement._kept(base.name, 9)
