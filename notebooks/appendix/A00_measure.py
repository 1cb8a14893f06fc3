# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A00 · Measure: a table, or one row of it
#
# **Question.** How good is a strategy with a network on a test set?
#
# **Runtime.** As long as the search takes: from seconds to an hour.
#
# **Knobs.** `table` and `network`: all rows of a table of `params/replicate.yaml` with this network; what is measured already is read.
# Without a table: the one row that `strategy`, `beam_size`, `test_set` and `seed` say. `python -m nsr replicate` and sweeps run this page.

# %% tags=["parameters"]
scale: str = "laptop"  # tiny, laptop or paper: how large everything is
table: str = ""  # measure the rows of this table; empty: one row
plan_file: str = ""  # where the tables are described; empty: params/replicate.yaml
network: str = ""  # of that table, like nesymres@1; empty: the first that the strategy can use
strategy: str = "beam"  # of the one row
beam_size: int = 5  # of the one row
test_set: str = "not_included"  # of the one row
seed: int = 0  # of the one row: each seed draws other problems
n_problems: int = 150  # problems of its test set
n_points: int = 100  # points given per problem; as many fresh ones judge

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from nsr import book
from nsr.evidence import (
    BLUE, ORANGE, Row, flagged, measure_all, measured, network_for, percent, read_plan, save, use_style,
)
from nsr.search import by_name, kind_of

use_style()

# %% [markdown]
# Which rows, and with which network?

# %%
plan = read_plan(Path(plan_file)) if plan_file else read_plan()
name = network or kind_of(strategy)
trained = network_for(f"{scale}/{name}")
if table:
    rows = plan["tables"][table].rows(trained, name.partition("@")[0], plan["sizes"][scale], scale)
else:
    rows = [Row(by_name(strategy, beam_size), test_set, seed, n_problems, n_points)]
print(f"{len(rows)} rows with {trained.name}")

# %% [markdown]
# Search. A row that the table has already is not measured again, and a killed run goes on where it stopped.

# %%
if table:
    lines = measured(table, rows, trained, scale=scale, recompute=True)
else:
    path = (book.run_dir() or Path(tempfile.mkdtemp())) / "table.csv.gz"
    lines = flagged(measure_all(rows, path, trained))

# %% [markdown]
# Of each row: how often the answer is accurate ($R^2 > 0.99$ on fresh points) and how often its template is new, with 95 % intervals
# of Wilson, and what one problem costs.

# %%
ROW = ["strategy", "beam_size", "test_set"]
share = lines.groupby(ROW).agg(
    accurate=("accurate", percent), novel=("novel", percent), problems=("novel", "size"),
    candidates=("candidates", "mean"), tokens=("tokens", "mean"))
share.round(1)

# %%
means = 100 * lines.groupby(ROW)[["accurate", "novel"]].mean()
figure, ax = plt.subplots(figsize=(7, 1 + 0.35 * len(means)))
means.iloc[::-1].plot.barh(ax=ax, color=[BLUE, ORANGE], width=0.7)
ax.set_ylabel("")
ax.set_xlabel("% of the problems")
ax.legend(frameon=False)
save(figure, "shares", alt="Two bars for each row: the share of accurate answers and the share of novel ones.")

# %% [markdown]
# The numbers that a sweep gathers:

# %%
book.record(novel=float(lines.novel.mean()), accurate=float(lines.accurate.mean()),
            problems=len(lines), candidates=float(lines.candidates.mean()))
