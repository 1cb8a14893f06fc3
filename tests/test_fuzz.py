"""Everything that comes from outside, under nonsense: it is read, or refused in a sentence by an error of
ours. Nothing else.

NSR_FUZZ=50 pytest tests/test_fuzz.py tries fifty times as many examples.
"""

import gzip
import json
import os
import random
import shutil
import sys

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nsr.book import runner, sweeps
from nsr.book.result_tables import read_table
from nsr.book.run_records import ROOT
from nsr.data.hints import HintError
from nsr.formulas.equivalence import canonical, family, template_of
from nsr.formulas.expressions import ExpressionError, is_valid
from nsr.formulas.normal_form import strip
from nsr.formulas.notation import to_infix
from nsr.formulas.parsing import MAX_LENGTH, parse
from nsr.network import checkpoints
from nsr.network.recipes import SettingsError, make_settings, read_settings
from nsr.search.strategies import NSRwH

TIMES = int(os.environ.get("NSR_FUZZ", "1"))
PIECES = [
    "x1",
    "x2",
    "x99",
    "sin",
    "exp(",
    "(",
    ")",
    "+",
    "-",
    "*",
    "/",
    "**",
    "^",
    " ",
    "2",
    ".5",
    "1e400",
    "e",
    "C",
    ",",
    "__import__('os')",
    "lambda: 0",
    "\x00",
    "π",
    "\n",
    "inf",
    "nan",
    "if",
    "0x10",
    "=",
    "[",
    "’",
]
formulas = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=40)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
nested = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def fuzz(examples: int):
    return settings(
        max_examples=examples * TIMES, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )


@given(formulas)
@fuzz(400)
def test_formulas(text):
    try:
        prefix, constants = parse(text)
    except ExpressionError as error:
        assert str(error)
    else:
        assert is_valid(prefix) and prefix.count("C") >= len(constants)
        assert parse(to_infix(prefix, constants))[0] is not None


@pytest.mark.parametrize(
    "text",
    ["(" * 5000, "-" * 5000 + "x1", "sin(" * 3000 + "x1" + ")" * 3000, "x1" + "+x1" * 20000, "9" * 5000],
)
def test_huge_formulas_are_read_or_refused(text):
    try:
        assert is_valid(parse(text)[0])
    except ExpressionError as error:
        assert len(str(error)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "x1" + "-x2" * 8_000,
        "x1" + "+x2-x3" * 4_000,
        "x1" + "*x2/x3" * 4_000,
        "(" * 30 + "x1" + ")**999" * 30,  # written out, more tokens than any memory holds
        "+".join([f"{'(' * 4}x1{')**999' * 4}"] * 2000),
    ],
)
def test_a_long_formula_costs_what_its_length_says(text: str):
    """Counted is how often Python enters or leaves a function or a generator; there is no stopwatch."""
    steps = 0

    def count(*_) -> None:
        nonlocal steps
        steps += 1
        assert steps < 20 * (len(text) + MAX_LENGTH)

    sys.setprofile(count)
    try:
        prefix, _ = parse(text)
    except ExpressionError as error:
        prefix = ()
        assert "more than 100000 tokens" in str(error)
    finally:
        sys.setprofile(None)
    assert len(prefix) <= len(text)


@pytest.mark.parametrize("tokens", [("sin",) * 10**5 + ("x1",), ("add", "x1") * 50_000 + ("C",)])
def test_an_expression_that_is_too_long_to_compare_is_refused_at_once(tokens: tuple[str, ...]):
    for compare in (strip, canonical, template_of, family):
        with pytest.raises(ExpressionError, match="10.,... tokens; at most 5,000"):
            compare(tokens)


@given(
    st.lists(
        st.sampled_from(["add", "sub", "mul", "sin", "exp", "C", "x1", "x3", "<start>", "", "pow9"]),
        max_size=12,
    ).map(tuple)
)
@fuzz(200)
def test_token_sequences(tokens):
    try:
        template = template_of(tokens)
    except ExpressionError as error:
        assert str(error) and not is_valid(tokens)
    else:
        assert is_valid(template) or template == ()


@given(st.sampled_from(["positives", "negatives", "complexity", "symmetric"]), formulas, nested)
@fuzz(200)
def test_hints_of_a_user(kind, text, value):
    for given_hint in ([text], value):
        try:
            NSRwH(**{kind: given_hint})
        except HintError as error:
            assert str(error)


@given(
    st.dictionaries(
        st.sampled_from(sorted(read_settings("nesymres").flat())) | st.text(max_size=6), plain, max_size=4
    )
)
@fuzz(200)
def test_recipes(values):
    try:
        make_settings(values)
    except SettingsError as error:
        assert str(error)


@given(
    nested
    | st.fixed_dictionaries(
        {"notebook": plain, "grid": nested}, optional={"fixed": nested, "points": nested}
    ),
    st.booleans(),
)
@fuzz(150)
def test_sweep_files(tmp_path, content, broken):
    file = tmp_path / "sweep.yaml"
    text = yaml.safe_dump(content, allow_unicode=True)
    file.write_text(text[: len(text) // 2] + ": [" if broken else text)
    try:
        sweeps.read_sweep(file, "tiny")
    except runner.LabError as error:
        assert str(error)


# ---- files with some bytes changed --------------------------------------------------------------------------------------------


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """A file as a bad disk, a broken download or a person with an editor leaves it."""
    raw = bytearray(raw)
    match rng.randrange(4):
        case 0:
            return bytes(raw[: rng.randrange(len(raw))])
        case 1:
            at = rng.randrange(len(raw))
            return bytes(raw[:at] + bytes(rng.randrange(256) for _ in range(20)) + raw[at:])
        case 2:
            for _ in range(5):
                raw[rng.randrange(min(len(raw), 2000))] = rng.randrange(256)  # headers stand at the beginning
            return bytes(raw)
        case _:
            return rng.choice(
                [
                    b"",
                    b"{}",
                    b"null",
                    b"\x80\x04\x95 this could be a pickle",
                    b"PK\x03\x04",
                    b"<html>404</html>",
                ]
            )


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    from nsr.network.training import train

    return train(
        read_settings("nesymres", "tiny", {"steps": 2, "snapshots": 0}), tmp_path_factory.mktemp("fuzzed")
    )


@given(st.sampled_from(["about.json", "weights.safetensors"]), st.integers(0, 10**9))
@fuzz(80)
def test_damaged_weights(weights, tmp_path, name, seed):
    folder = tmp_path / "network"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(weights, folder)
    (folder / name).write_bytes(damaged((weights / name).read_bytes(), random.Random(seed)))
    try:
        checkpoints.load_folder(folder)
    except checkpoints.CheckpointError as error:
        assert str(error)


@given(st.sampled_from(["width", "decoder_layers", "positions", "heads", "norm"]), nested)
@fuzz(80)
def test_sizes_that_no_network_has(weights, tmp_path, name, value):
    folder = tmp_path / "network"
    shutil.copytree(weights, folder, dirs_exist_ok=True)
    about = json.loads((weights / "about.json").read_text())
    about["config"][name] = value
    (folder / "about.json").write_text(json.dumps(about))
    try:
        checkpoints.load_folder(folder)
    except checkpoints.CheckpointError as error:
        assert str(error)


@given(st.integers(0, 10**9))
@fuzz(80)
def test_damaged_tables(tmp_path, seed):
    table = tmp_path / "table.csv.gz"
    table.write_bytes(
        damaged(gzip.compress(b"strategy,r2\nbeam,0.5\n=cmd|' /C calc'!A0,1\n" * 20), random.Random(seed))
    )
    try:
        read_table(table)
    except ValueError as error:
        assert "cannot be read as a table" in str(error)


def test_the_reference_tables_hold_no_formulas_of_a_spreadsheet():
    for path in sorted((ROOT / "outputs" / "reference").rglob("*.csv*")):
        table = read_table(path)
        for column in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
            assert not table[column].astype(str).str.startswith(("=", "@", "+")).any(), (path.name, column)
