"""The table of the last-token experiment: written network by network, read back, and never made twice."""

from pathlib import Path

import pandas as pd
import pytest

from nsr.evidence import reference_tables
from nsr.theory import experiment

SMALL = experiment.Setting(train_depth=2, longer_depth=3, per_depth=40, n_test=10, steps=2, width=8)


def test_a_table_is_written_and_read_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reference_tables, "OWN", tmp_path)
    first = experiment.make("tiny", SMALL, layers=(1,), seeds=(0,))
    assert {0, 1} == set(first.n_layers) and {"familiar", "longer"} == set(first.kind)
    assert (first.right <= first.n).all() and (first.right_unseen <= first.n_unseen).all()
    written, about = experiment.read("tiny")
    pd.testing.assert_frame_equal(written, first, check_dtype=False)
    assert "last_token" in about
    monkeypatch.setattr(experiment, "run_network", lambda *_: pytest.fail("it was trained again"))
    assert len(experiment.make("tiny", SMALL, layers=(1,), seeds=(0,))) == len(first)
