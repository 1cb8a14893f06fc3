"""Files of every noun with hostile content: each is read, or refused in a sentence by the error of its noun,
before it takes much time or memory."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from nsr.__main__ import main
from nsr.book import foreign_files, runner, sweeps
from nsr.book.result_tables import ResultError, read_table, write_table
from nsr.book.run_records import REFERENCE
from nsr.data.practical_sets import black_box_data, practical_set
from nsr.data.problems import ProblemError
from nsr.evidence.claims import ClaimError, read_claims
from nsr.evidence.reference_tables import read_records, weights_digest
from nsr.network import checkpoints, recipes
from nsr.network.checkpoints import CheckpointError, load_folder, tensors_digest
from nsr.network.recipes import SettingsError, read_settings

Read = Callable[[], object]
ANCHORS = "a: &a [1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi")
)
HOSTILE = {
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and whole": b"[" * 500 + b"]" * 500,
    "anchors": ANCHORS.encode(),
    "a list": b"[]",
    "a list of lists": b"[[1], [2]]",
    "a number": b"3",
    "many digits": b"9" * 5000,
    "many digits of a base": b"steps: 0x" + b"f" * 5000,
    "a key with many digits": b'{"' + b"9" * 5000 + b'": 1}',
    "nothing": b"",
    "null": b"null",
    "no text": b"\xff\xfe\x00\x80",
    "empty parts": b'{"config": 1, "parameters": [], "rows": [1], "grid": 1, "notebook": "x", "00_good": 3}',
    "rows of nothing": b'{"parameters": {}, "rows": {"a": {}}, "date": 3}',
    "a large text": b"x1\n" * (30 * 2**20 // 3),
    "very many columns": b"," * 10**6,
    "a length": (2**62).to_bytes(8, "little") + b"{}",
    "a header": (60).to_bytes(8, "little") + b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}  ',
}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("network")
    return Path(shutil.copytree(REFERENCE / "laptop" / "t4sr", folder, dirs_exist_ok=True))


def reader(noun: str, folder: Path, network: Path, patch: pytest.MonkeyPatch) -> tuple[Path, Read, type]:
    """The file of a noun, how it is read, and the error that may be raised."""
    if noun in ("about.json", "weights.safetensors", "seen.safetensors", "templates.txt.gz"):
        for part in network.iterdir():
            (folder / part.name).hardlink_to(part)
        (folder / noun).unlink()

        def read() -> object:
            found = load_folder(folder)
            return found.seen, found.templates

        return folder / noun, read, CheckpointError
    if noun == "recipe":
        patch.setattr(recipes, "ROOT", folder)
        (home := folder / "params" / "training" / "tiny").mkdir(parents=True)
        return home / "mine.yaml", lambda: read_settings("mine@2", "tiny"), SettingsError
    if noun == "parameters":
        patch.setattr(runner, "PARAMS", folder)
        return folder / "tiny.yaml", lambda: runner.params("tiny"), runner.LabError
    if noun == "sweep":
        return folder / "s.yaml", lambda: sweeps.read_sweep(folder / "s.yaml", "tiny"), runner.LabError
    if noun == "claims":
        return folder / "c.yaml", lambda: read_claims(folder / "c.yaml"), ClaimError
    if noun == "formulas":
        path = folder / "five.csv"
        return path, lambda: practical_set("only_five_variables_nc", path=path, limit=1), ProblemError
    if noun == "measurements":
        (folder / "a").mkdir()
        return folder / "a" / "a.tsv.gz", lambda: black_box_data("a", folder), ProblemError
    table = write_table(pd.DataFrame({"run": ["a"]}), folder / "t.csv.gz", {})
    if noun == "table":
        (folder / "t.json").unlink()
        return table, lambda: read_table(table), ResultError
    assert noun == "record"
    return folder / "t.json", lambda: read_records(table), ResultError


NOUNS = "recipe parameters sweep claims formulas measurements table record about.json weights.safetensors seen.safetensors templates.txt.gz"


@pytest.mark.parametrize("noun", NOUNS.split())
def test_hostile_files_are_read_or_refused_in_a_sentence(
    noun: str, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file, read, error = reader(noun, tmp_path, network, monkeypatch)
    for name, content in HOSTILE.items():
        file.write_bytes(gzip.compress(content, 9) if file.suffix == ".gz" else content)
        try:
            read()
        except error as problem:
            assert 20 < len(str(problem)) < 500 and "\n" not in str(problem), (name, problem)
    file.unlink()
    os.mkfifo(file)  # whoever opened it would wait for ever
    with pytest.raises(error):
        read()


def test_what_is_packed_is_unpacked_up_to_a_limit(tmp_path: Path):
    bomb = tmp_path / "t.csv.gz"
    bomb.write_bytes(gzip.compress(b"0\n" * 2**24, 9))
    with pytest.raises(ResultError, match="more than 16,777,216 bytes"):
        read_table(bomb)


@pytest.mark.parametrize(
    "words",
    [
        ("train", "nesymres", "--scale", "tiny", "-p", "steps", "["),
        ("train", "nesymres", "--scale", "tiny", "-p", "steps", "*a"),
        ("train", "nesymres", "--scale", "tiny", "-p", "steps", "9" * 5000),
        ("train", "t4sr-²", "--scale", "tiny"),
        ("train", "t4sr-" + "9" * 5000, "--scale", "tiny"),
        ("run", "9" * 5000, "--scale", "tiny"),
        ("run", "00", "--scale", "tiny", "-p", "seed", "9" * 5000),
        ("student", "9" * 5000),
    ],
)
def test_a_command_that_makes_no_sense_is_a_sentence(words, capsys: pytest.CaptureFixture):
    try:
        assert main(words) == 2
        said = capsys.readouterr().err
    except SystemExit as error:  # of a training
        said = str(error.code)
    assert 20 < len(said) < 500


# ---- weights ------------------------------------------------------------------------------------------------------------------


def in_reverse(file: Path) -> bytes:
    """The same tensors as a safetensors file, in another order."""
    tensors = foreign_files.read_tensor_file(file, checkpoints.CHECKPOINT)
    raw, parts, header = file.read_bytes(), [], {"__metadata__": tensors.about}
    for name, (dtype, shape, first, last) in reversed(sorted(tensors.tensors.items())):
        at = sum(map(len, parts))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + last - first]}
        parts.append(raw[first:last])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def test_a_digest_is_of_the_tensors_and_not_of_their_order(network: Path, tmp_path: Path):
    file = network / "weights.safetensors"
    other = tmp_path / "other.safetensors"
    other.write_bytes(in_reverse(file))
    before, after = load_file(file), load_file(other)
    assert all(torch.equal(before[name], after[name]) for name in before) and before.keys() == after.keys()
    assert file.read_bytes() != other.read_bytes() and tensors_digest(file) == tensors_digest(other)
    raw = bytearray(other.read_bytes())
    raw[-1] ^= 1
    other.write_bytes(raw)
    assert tensors_digest(file) != tensors_digest(other)
    known = {tensors_digest(file)}
    for change in (
        lambda name, tensor: (name, tensor.flatten()),
        lambda name, tensor: (name, tensor.view(torch.int32)),
        lambda name, tensor: (f"{name}'", tensor),
    ):
        changed = dict(change(name, tensor) for name, tensor in before.items())
        known.add(tensors_digest(checkpoints.write(other, changed, {})))
    assert len(known) == 4


def test_a_network_is_known_however_its_files_were_packed(network: Path, tmp_path: Path):
    folder = Path(shutil.copytree(network, tmp_path / "network"))
    (folder / "weights.safetensors").write_bytes(in_reverse(network / "weights.safetensors"))
    lines = gzip.decompress((network / "templates.txt.gz").read_bytes())
    (folder / "templates.txt.gz").write_bytes(gzip.compress(lines, 1))
    assert weights_digest(load_folder(folder)) == weights_digest(load_folder(network))
    (folder / "templates.txt.gz").write_bytes(gzip.compress(lines + b"sin x1\n"))
    assert weights_digest(load_folder(folder)) != weights_digest(load_folder(network))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(wrong: float, network: Path, tmp_path: Path):
    folder = Path(shutil.copytree(network, tmp_path / "network"))
    tensors = load_file(folder / "weights.safetensors")
    tensors["output.bias"][0] = wrong
    checkpoints.write(folder / "weights.safetensors", tensors, {})
    with pytest.raises(CheckpointError, match="'output.bias' holds numbers that are not finite"):
        load_folder(folder)


@pytest.mark.parametrize(
    "sizes",
    [
        dict(decoder_layers=1000),
        dict(decoder_layers=100),
        dict(width=2**20),
        dict(positions=2**20),
        dict(vocabulary=10**12),
        dict(n_variables=10**9),
    ],
)
def test_a_network_that_is_too_large_is_refused_before_it_is_built(
    sizes: dict, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = Path(shutil.copytree(network, tmp_path / "network"))
    about = json.loads((folder / "about.json").read_text())
    about["config"] |= sizes
    (folder / "about.json").write_text(json.dumps(about))
    monkeypatch.setattr(checkpoints, "Network", None)
    with pytest.raises(CheckpointError):
        load_folder(folder)


def test_no_network_has_fewer_parameters_than_its_sizes_say():
    for path in sorted((REFERENCE / "laptop").glob("*/about.json")):
        found = load_folder(path.parent)
        count = sum(parameter.numel() for parameter in found.network.parameters())
        assert 0.5 * count < found.config.parameters_at_least <= count


# ---- tables and records -------------------------------------------------------------------------------------------------------


def test_a_table_with_the_record_of_another_is_refused(tmp_path: Path):
    one = write_table(pd.DataFrame({"a": [1]}), tmp_path / "one.csv", {"n": 1})
    write_table(pd.DataFrame({"a": [2]}), tmp_path / "two.csv", {"n": 2})
    shutil.copy(tmp_path / "two.json", tmp_path / "one.json")
    with pytest.raises(ResultError, match="one.csv and one.json do not belong together"):
        read_table(one)
    (tmp_path / "one.json").unlink()
    assert read_table(one)["a"].tolist() == [1]  # without any record it is a table all the same


def test_a_record_that_lacks_something_is_a_sentence(tmp_path: Path):
    path = write_table(pd.DataFrame({"run": ["a"]}), tmp_path / "t.csv", {"rows": {"a": {"parameters": {}}}})
    with pytest.raises(ResultError, match="it has no date, or a wrong one"):
        read_records(path)
