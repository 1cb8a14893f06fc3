"""A file of measurements: read by whatever separates its columns (pandas judges), refused in a sentence, and
its formula printed."""

import io
import math
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsr.__main__ import main
from nsr.regressor.measurements import LARGEST, read_measurements, split
from nsr.regressor.tables import TableError, symbols_for

names = st.lists(
    st.text("abcxyz_", min_size=1, max_size=5).filter(lambda n: n not in ("nan", "na")),
    min_size=2,
    max_size=4,
    unique=True,
)


@settings(max_examples=60, deadline=None)
@given(names, st.sampled_from(",;\t|"), st.data())
def test_it_reads_what_pandas_reads_when_told_the_separator(tmp_path_factory, columns, separator, data):
    entry = st.one_of(st.floats(-1e9, 1e9).map(repr), st.integers(-99, 99).map(str), st.just(""))
    rows = data.draw(
        st.lists(st.lists(entry, min_size=len(columns), max_size=len(columns)), min_size=2, max_size=6)
    )
    text = "\n".join(separator.join(row) for row in [columns, *rows]) + "\n"
    file = tmp_path_factory.mktemp("csv") / "some.csv"
    file.write_text(text)
    judge = pd.read_csv(io.StringIO(text), sep=separator, dtype=float, skip_blank_lines=False)
    found = read_measurements(file)
    assert list(found) == list(judge)
    for name in columns:
        if judge[name].notna().any():
            np.testing.assert_array_equal(found[name].to_numpy(float), judge[name].to_numpy())


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "has 0 rows"),
        (b"a,b\n", r"has 1 row\."),
        (b"a,b\n1,2\n3\n", "Line 3 of some.csv has 1 entry, the first has 2"),
        (b"a,a\n1,2\n", "two columns named 'a'"),
        (
            b"1.5,2\n2.5,3\n",
            "has no names of columns: its first line is 1.5,2. Write a line of names .* x1,x2",
        ),
        (b"1,5;2;3\n2,5;3;4\n", "has no names of columns"),
        (b"\xff\xfe\x00", "is no text"),
        (b"PK\x03\x04\x9c\x9c", "is no text"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, content, sentence):
    file = tmp_path / "some.csv"
    file.write_bytes(content)
    with pytest.raises(TableError, match=sentence):
        read_measurements(file)


def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")  # whoever opens it waits for a writer
    for place in (tmp_path, tmp_path / "pipe.csv", Path("/dev/zero")):
        with pytest.raises(TableError, match="a folder, a pipe or a device"):
            read_measurements(place)


def test_a_file_that_is_too_large_is_refused_before_it_is_read_whole(tmp_path):
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(LARGEST + 1)  # all holes: it takes no room on the disk
    with pytest.raises(TableError, match="more than 200 MB"):
        read_measurements(tmp_path / "large.csv")


def test_a_row_ends_where_the_line_ends_and_nowhere_else(tmp_path):
    file = tmp_path / "odd.csv"
    file.write_bytes('who,a\r\none\u2028two,1\r\n"three\x85\x1cfour\n",2\r\n'.encode())
    table = read_measurements(file)
    assert table["who"].tolist() == ["one\u2028two", "three\x85\x1cfour\n"] and table["a"].tolist() == [
        1.0,
        2.0,
    ]


def test_ten_thousand_columns_are_looked_at_once_each(tmp_path):
    """Each entry is read a few times at most, which is counted, and a message stays one that can be read."""
    names, steps = [f"column {i}" for i in range(10_000)], 0
    file = tmp_path / "wide.csv"
    file.write_text("\n".join(",".join(row) for row in [names, ["1"] * 10_000, ["2"] * 10_000]))

    def count(*_) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        table = read_measurements(file)
    finally:
        sys.setprofile(None)
    assert table.shape == (2, 10_000) and steps < 100 * table.size
    assert len(set(symbols_for([*names, *(name.replace(" ", "_") for name in names)]))) == 20_000
    with pytest.raises(TableError) as refused:
        split(table, "ψ")
    assert len(str(refused.value)) < 5000
    with pytest.raises(TableError, match="two columns named 'column 7'"):
        file.write_text(f"{','.join([*names, 'column 7'])}\n{','.join(['1'] * 10_001)}")
        read_measurements(file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    (tmp_path / "some.csv").write_bytes(f"{mark}Länge,Zeit\n1,2\n3,4\n".encode(encoding))
    assert read_measurements(tmp_path / "some.csv").to_dict("list") == {
        "Länge": [1.0, 3.0],
        "Zeit": [2.0, 4.0],
    }


def test_decimal_commas_are_read_where_no_comma_separates(tmp_path):
    file = tmp_path / "european.csv"
    file.write_text("Länge;who;Zeit\n0,5;a;1,419\n-1,25e-1;b;3\n;c;2,0\n")
    table = read_measurements(file)
    assert (
        table["Länge"].tolist()[:2] == [0.5, -0.125]
        and table["Zeit"].tolist() == [1.419, 3.0, 2.0]
        and table["who"].tolist() == ["a", "b", "c"]
    )
    file.write_text("a;b\n1.5;2\n1,000,000;3\n")  # neither can be told for sure
    with pytest.raises(TableError, match="no numbers, such as '1,000,000'"):
        split(read_measurements(file), "a")


def test_columns_are_chosen_by_name():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "who": ["x", "y"], "y": [5.0, math.nan]})
    X, y, notes = split(table, "y")
    assert list(X) == ["a", "b"] and len(y) == 1 and len(notes) == 2
    assert list(split(table, "a", ["b"])[0]) == ["b"] and split(table, "a", ["b"])[2] == []
    for target, columns, sentence in (
        ("z", (), "no column 'z'"),
        ("who", (), "'who' has entries that are no numbers"),
        ("a", ("who",), "'who' has"),
        ("a", ("a", "b"), "cannot explain itself"),
        ("a", ("bb",), "Did you mean 'b'"),
    ):
        with pytest.raises(TableError, match=sentence):
            split(table, target, columns)
    with pytest.raises(TableError, match="there are none with numbers"):
        split(table[["a", "who"]], "a")


def test_from_a_file_to_a_formula(tmp_path, capsys):
    rng = np.random.default_rng(0)
    length, mass = rng.uniform(0.1, 2, 40), rng.uniform(1, 2, 40)
    file = tmp_path / "pendulum.csv"
    pd.DataFrame({"length": length, "mass": mass, "area": length * mass}).to_csv(file, index=False)
    assert main(["fit", str(file), "area", "--seconds", "20"]) == 0
    said = capsys.readouterr().out
    assert "area = length*mass\n" in said and "R² 1.000000 on 40 rows" in said
    assert sum(line.startswith("▶") for line in said.splitlines()) == 1
    assert main(["fit", str(file), "aera"]) == 2 and "Did you mean 'area'?" in capsys.readouterr().err
    assert main(["fit", str(file), "area", "--seconds", "-1"]) == 2
    assert (
        main(["fit", str(tmp_path / "gone.csv"), "area"]) == 2
        and "gone.csv cannot be read" in capsys.readouterr().err
    )
