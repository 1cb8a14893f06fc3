"""Tiny networks: trained once, equal to a training on the spot, trained anew when the recipe or the code
changes, whole after a kill."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nsr.evidence import measuring
from nsr.network import checkpoints, tiny_networks, training
from nsr.network.recipes import read_settings

SHORT = {"steps": 4, "snapshots": 2, "draws": 40}


@pytest.fixture
def trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """An empty place for networks, short recipes, and the folders in which something was trained."""
    folders: list[Path] = []

    def train(settings, folder):
        folders.append(folder)
        return training.train(settings, folder)

    monkeypatch.setenv("NSR_NETWORKS", str(tmp_path / "networks"))
    monkeypatch.setattr(tiny_networks, "train", train)
    monkeypatch.setattr(
        tiny_networks,
        "read_settings",
        lambda kind, scale, changes: read_settings(kind, scale, changes | SHORT),
    )
    return folders


def test_a_tiny_network_is_trained_once_and_is_the_one_trained_on_the_spot(
    trainings: list[Path], tmp_path: Path
):
    first, second = measuring.network_for("", "gvs"), measuring.network_for("", "gvs")
    assert len(trainings) == 1 and first.folder == second.folder and first.name == "tiny/gvs"
    here = checkpoints.load_folder(
        training.train(read_settings("gvs", "tiny", SHORT), tmp_path / "here"), "tiny/gvs"
    )
    for found in (first, second):
        assert all(
            torch.equal(found.network.state_dict()[name], tensor)
            for name, tensor in here.network.state_dict().items()
        )
        assert found.templates == here.templates and list(found.snapshots()) == list(here.snapshots()) == [
            2,
            4,
        ]
        assert (found.seen.hashes == here.seen.hashes).all() and (found.seen.counts == here.seen.counts).all()
    assert measuring.network_for("", "nesymres").name == "tiny/nesymres" and len(trainings) == 2


def test_another_recipe_source_or_version_is_another_network(
    trainings: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tiny_networks.tiny_network("nesymres")
    monkeypatch.setattr(
        tiny_networks,
        "read_settings",
        lambda kind, scale, changes: read_settings(kind, scale, changes | SHORT | {"seed": 5}),
    )
    assert tiny_networks.tiny_network("nesymres").settings["seed"] == 5 and len(trainings) == 2
    known = {tiny_networks.recipe_digest(settings := read_settings("nesymres", "tiny"))}
    (tmp_path / "package").mkdir()
    for text in ("a = 1", "a = 2"):
        (tmp_path / "package" / "a.py").write_text(text)
        monkeypatch.setattr(tiny_networks, "PACKAGE", tmp_path / "package")
        known.add(tiny_networks.recipe_digest(settings))
    monkeypatch.setattr(tiny_networks, "versions", lambda: {"torch": "0"})
    assert len(known | {tiny_networks.recipe_digest(settings)}) == 4


def test_a_training_that_fails_leaves_nothing_that_is_taken_for_a_network(
    trainings: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(settings, folder):
        training.train(settings, folder, stop_after=2)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tiny_networks, "train", interrupted)
        tiny_networks.tiny_network("nesymres")
    assert [path for path in (tmp_path / "networks").iterdir() if path.suffix != ".lock"] == []
    assert tiny_networks.tiny_network("nesymres").history[-1]["step"] == 4


def test_where_nothing_can_be_written_it_is_trained_for_this_once(trainings: list[Path], tmp_path: Path):
    (tmp_path / "networks").write_text("a file where a folder should be")
    assert tiny_networks.tiny_network("nesymres").history[-1]["step"] == 4 and len(trainings) == 1


def test_two_processes_train_one_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NSR_NETWORKS", str(tmp_path))
    code = (
        "from nsr.network import recipes, tiny_networks, training\n"
        "def train(recipe, folder):\n    print('training', flush=True)\n    return training.train(recipe, folder)\n"
        "tiny_networks.train = train\n"
        f"tiny_networks.read_settings = lambda kind, scale, changes: recipes.read_settings(kind, scale, {SHORT})\n"
        "print(tiny_networks.tiny_network('nesymres').folder)\n"
    )
    pair = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate(timeout=300)[0].splitlines() for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    assert said[0][-1] == said[1][-1] and sum(lines.count("training") for lines in said) == 1
