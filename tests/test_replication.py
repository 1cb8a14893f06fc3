"""`python -m nsr replicate`: the plan as data, the whole chain at the tiny scale, and once killed in the middle."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml

from nsr.__main__ import main
from nsr.book import runner
from nsr.book.run_records import REFERENCE, ROOT
from nsr.evidence.measuring import jobs_of
from nsr.evidence.planned_rows import PlanError, read_plan
from nsr.evidence.reference_tables import read_records, recorded, results_path
from nsr.network.checkpoints import load
from nsr.replication import Order, steps_of

PLAN = yaml.safe_load((ROOT / "params" / "replicate.yaml").read_text())


def test_the_plan_has_the_rows_of_every_committed_table():
    plan = read_plan()
    committed = {path.name.split(".")[0] for path in (REFERENCE / "laptop" / "results").glob("*.csv*")}
    trials = {"training_trials", "nsrwh_trials"}  # of a chapter and a report, made once
    assert committed - trials <= plan["tables"].keys()
    for name, table in plan["tables"].items():
        if table.chapter:
            continue
        records = read_records(REFERENCE / "laptop" / "results" / f"{name}.csv.gz")[1]
        planned = set()
        for kind in table.kinds():
            for weights in {record["parameters"]["weights"] for record in records.values()}:
                if weights.partition("/")[2].partition("@")[0] == kind:
                    trained = load(weights)
                    found = recorded(
                        jobs_of(table.rows(trained, kind, plan["sizes"]["laptop"]), {"": trained}), records
                    )
                    planned |= set(found.values()) - {None}
        assert planned == records.keys(), name


def test_the_plan_knows_which_tables_a_chapter_reads():
    for name, path in runner.the_book().items():
        asked = set(re.findall(r'measured\(\s*"(\w+)"', path.read_text()))
        assert asked <= set(PLAN["chapters"].get(name, ())), name
    assert PLAN["chapters"].keys() <= runner.the_book().keys() and PLAN["judged_in"] in runner.notebooks()


@pytest.mark.parametrize(
    "change, words",
    [
        ({"rows": [{"strategy": "beem", "test_set": "baseline"}]}, "beem"),
        ({"rows": [{"strategy": "beam", "test_set": "baseline", "masc": True}]}, "Did you mean 'masked'"),
        ({"rows": [{"strategy": "beam"}]}, "has no test_set"),
        ({"row": []}, "Did you mean 'rows'"),
        ({}, "either rows or a chapter"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(tmp_path: Path, change, words):
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(PLAN | {"tables": {"beam": change}}))
    with pytest.raises((PlanError, ValueError), match=words):
        read_plan(path)


def test_several_networks_have_their_own_steps_and_tables():
    names = {step.name for step in steps_of(Order("laptop", networks=2))}
    assert {"network nesymres@1", "network gvs@1", "table beam of nesymres@1"} <= names
    assert not {"network nesymres@2", "network full@1", "table beam_options of nesymres@1"} & names
    needs = {step.name: step.needs for step in steps_of(Order("laptop"))}
    assert needs["network nsrwh@2"] == ("network nesymres@2",)
    assert "table gvs of gvs@2" in needs["claims"] and "claims" in needs["chapter 11_strategies_compared"]


def test_the_command_line_refuses_what_is_not_in_the_plan(capsys):
    assert main(["replicate", "--only", "tabels", "--plan"]) == 2
    assert "networks, tables, claims, chapters" in capsys.readouterr().err


@pytest.fixture
def small(tmp_path: Path, monkeypatch) -> tuple[list[str], Path]:
    """A command that replicates a small plan into a folder of its own."""
    plan = PLAN | {
        "networks": {"nesymres": 1},
        "tables": {
            "beam": {
                "rows": [{"strategy": "beam", "beam_size": [1, 5], "test_set": ["not_included", "baseline"]}]
            }
        },
        "sizes": {"tiny": PLAN["sizes"]["tiny"]},
        "chapters": {},
    }
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    monkeypatch.setenv("NSR_OUTPUTS", str(tmp_path / "outputs"))
    command = [sys.executable, "-m", "nsr", "replicate", "--scale", "tiny", "--dirty"]
    return [
        *command,
        "--file",
        str(tmp_path / "plan.yaml"),
        "--only",
        "claims",
        "chapter 08",
    ], tmp_path / "outputs"


def replicated(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": " in line and "cell" not in line]


def test_the_whole_chain_from_nothing_to_claims_and_a_page_once_killed_and_then_twice(small):
    command, outputs = small
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wanted = outputs / "training" / "tiny" / "nesymres" / "final" / "about.json"
    for _ in range(3000):
        if wanted.exists() or first.poll() is not None:
            break
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    born = json.loads(wanted.read_text())["birth"]["date"]

    lines = replicated(command)
    assert "network nesymres: up to date (1 of 1 from a tree that was no commit)" in lines or (
        "network nesymres: up to date" in lines
    )
    assert json.loads(wanted.read_text())["birth"]["date"] == born, "a finished network is not trained again"
    table = pd.read_csv(outputs / "own" / "tiny" / "results" / "beam.csv.gz")
    assert len(table) == 2 * 2 * PLAN["sizes"]["tiny"]["n_problems"]
    judged = pd.read_csv(outputs / "own" / "tiny" / "claims.csv")
    assert judged.problems.max() > 0 and "not measured yet" in set(judged.verdict)
    assert (outputs / "tiny" / "08_pac_guarantee" / "08_pac_guarantee.html").exists()

    files = {path: path.stat().st_mtime_ns for path in outputs.rglob("*") if path.is_file()}
    again = replicated(command)
    assert all("up to date" in line for line in again), again
    assert files == {path: path.stat().st_mtime_ns for path in outputs.rglob("*") if path.is_file()}


def test_nothing_is_measured_with_files_that_are_no_commit(monkeypatch, capsys):
    monkeypatch.setattr("nsr.replication.git_state", lambda: ("abc", True))
    assert main(["replicate", "--scale", "tiny", "--only", "claims"]) == 2
    assert "Commit first" in capsys.readouterr().err


def test_tables_of_the_reference_are_found_where_nothing_was_measured():
    assert results_path("beam") == REFERENCE / "laptop" / "results" / "beam.csv.gz"
