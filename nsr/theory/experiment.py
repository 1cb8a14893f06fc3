"""The last-token experiment from end to end: networks of several depths and seeds, one table of right answers
by formula depth.

`make` writes the table `last_token` one network at a time; what was interrupted goes on where it stopped. The
report A01 calls it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from nsr.book import result_tables, run_records
from nsr.evidence.reference_tables import made, results_path
from nsr.numbers import random_streams
from nsr.theory.last_token import Examples, correct, make_examples, token_counts, train

LAYERS, SEEDS = (1, 2, 3, 4, 5, 6), (0, 1, 2)  # of the networks of the table


@dataclass(frozen=True)
class Setting:
    """What the networks are trained and tested on. Formulae of up to `train_depth` in at most `max_tokens`
    tokens are familiar ground; the longer ones are deeper, longer, and never trained on."""

    train_depth: int = 4
    max_tokens: int = 40
    longer_depth: int = 7
    longer_tokens: int = 80
    per_depth: int = 20_000  # training problems of each depth
    n_test: int = 600  # test problems of each depth and kind
    steps: int = 2_000
    batch: int = 32
    width: int = 64
    rate: float = 1.5e-3


def held_out(setting: Setting) -> dict[str, Examples]:
    """The test problems, the same for every network: "familiar" as in training, and "longer"."""
    rng = np.random.default_rng(random_streams.BOOLEAN_TESTS)
    near, far = range(2, setting.train_depth + 1), range(3, setting.longer_depth + 1)
    most = setting.max_tokens
    familiar = make_examples(near, setting.n_test, rng, max_tokens=most)
    longer = make_examples(far, setting.n_test, rng, min_tokens=most + 1, max_tokens=setting.longer_tokens)
    return {"familiar": familiar, "longer": longer}


def training_set(setting: Setting, seed: int) -> Examples:
    """The training problems of a seed."""
    rng = np.random.default_rng([random_streams.BOOLEAN_TRAINING, seed])
    depths = range(2, setting.train_depth + 1)
    return make_examples(depths, setting.per_depth, rng, max_tokens=setting.max_tokens)


def score(right: np.ndarray, tests: Examples, seen: set[bytes], **about) -> pd.DataFrame:
    """One row per formula depth: problems and right answers, all and unseen in training."""
    fresh = np.array([_key(row) not in seen for row in tests.ids])
    rows = []
    for depth in np.unique(tests.depth):
        here = tests.depth == depth
        row = {"depth": int(depth), "n": int(here.sum()), "right": int(right[here].sum())}
        unseen = {"n_unseen": int((here & fresh).sum()), "right_unseen": int(right[here & fresh].sum())}
        rows.append({**about, **row, **unseen})
    return pd.DataFrame(rows)


def _key(ids: np.ndarray) -> bytes:
    return ids[ids > 0].astype(np.int8).tobytes()


def run_network(
    setting: Setting,
    n_layers: int,
    seed: int,
    training: Examples,
    tests: dict[str, Examples],
    seen: set[bytes],
) -> pd.DataFrame:
    """Train one network and score it on both test sets."""
    start, recent = time.process_time(), []
    how = {"width": setting.width, "batch": setting.batch, "rate": setting.rate}
    report = lambda step, loss: recent.append(loss)
    model = train(training, n_layers, setting.steps, seed, **how, report=report)
    about = {"n_layers": n_layers, "seed": seed, "loss": round(float(np.mean(recent[-100:])), 4)}
    about["cpu_seconds"] = round(time.process_time() - start, 1)
    scored = lambda name, test: score(correct(model, test), test, seen, **about, kind=name)
    return pd.concat([scored(name, test) for name, test in tests.items()])


def run_counts(seed: int, training: Examples, tests: dict[str, Examples], seen: set[bytes]) -> pd.DataFrame:
    """The trivial baseline: boosted trees on token counts alone, which never see the order. Listed as 0
    layers."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    start = time.process_time()
    model = HistGradientBoostingClassifier(random_state=seed).fit(token_counts(training), training.label)
    about = {"n_layers": 0, "seed": seed, "loss": float("nan")}
    about["cpu_seconds"] = round(time.process_time() - start, 1)
    right = {name: model.predict(token_counts(test)) == test.label for name, test in tests.items()}
    return pd.concat([score(right[name], test, seen, **about, kind=name) for name, test in tests.items()])


def run(
    setting: Setting, layers: Sequence[int], seeds: Sequence[int], done: pd.DataFrame | None = None, save=None
) -> pd.DataFrame:
    """All networks of all seeds as one table; `done` rows are kept and not made again, `save(table)` is
    called after each network."""
    table = pd.DataFrame() if done is None else done
    finished = set() if table.empty else set(zip(table.n_layers, table.seed))
    tests = held_out(setting)
    jobs = [(seed, n_layers) for seed in seeds for n_layers in (0, *layers)]
    jobs = [(seed, n_layers) for seed, n_layers in jobs if (n_layers, seed) not in finished]
    training, of_seed = None, None
    for seed, n_layers in run_records.progress(jobs, label="networks"):
        if of_seed != seed:
            training, of_seed = training_set(setting, seed), seed
            seen = {_key(row) for row in training.ids}
        if n_layers == 0:
            made = run_counts(seed, training, tests, seen)
        else:
            made = run_network(setting, n_layers, seed, training, tests, seen)
        table = pd.concat([table, made], ignore_index=True)
        if save is not None:
            save(table)
    return table


def read(scale: str = "laptop") -> tuple[pd.DataFrame, str]:
    """The table of a scale, or the one of the laptop where there is none, and a line that says when it was made."""
    path = results_path("last_token", scale, ending="csv")
    path = path if path.exists() else results_path("last_token", ending="csv")
    table, record = result_tables.read_table_and_record(path)
    return table, f"{run_records.short(path)}, {made(record)}"


def make(
    scale: str, setting: Setting = Setting(), layers: Sequence[int] = LAYERS, seeds: Sequence[int] = SEEDS
) -> pd.DataFrame:
    """Train all networks and write the table of this scale, beside those that were measured here."""
    path = results_path("last_token", scale, write=True, ending="csv")
    parameters = asdict(setting) | {"layers": list(layers), "seeds": list(seeds)}

    def save(table: pd.DataFrame) -> None:
        seconds = float(table.groupby(["n_layers", "seed"]).cpu_seconds.first().sum())
        result_tables.write_table(table, path, run_records.new_record(parameters, seed=0, seconds=seconds))

    return run(setting, layers, seeds, unfinished(path, parameters), save)


def unfinished(path: Path, parameters: dict) -> pd.DataFrame | None:
    """The table at `path`, if it was made with the same parameters; else None, to begin afresh."""
    if not path.exists():
        return None
    table, record = result_tables.read_table_and_record(path)
    return table if record.get("parameters") == parameters else None
