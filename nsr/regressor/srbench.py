"""SRBench's entry: an estimator `est`, and `model(est, X)`, its formula as text that sympy reads, in the
names of the columns."""

from __future__ import annotations

from typing import Any

from nsr.regressor.estimator import NSRegressor

MAX_TIME = 3600.0  # SRBench's limit for data of up to 1000 rows

est = NSRegressor(max_time=MAX_TIME, random_state=0)
hyper_params: list[dict[str, Any]] = []
eval_kwargs = {"test_params": {"max_time": 10.0, "n_bags": 1}}  # SRBench's quick check


def model(est: NSRegressor, X: Any = None) -> str:
    """The formula of a fitted estimator; with X given its columns' own names, as SRBench wants them."""
    text = est.text()
    columns = getattr(X, "columns", None)
    if columns is None:
        return text
    import re

    own = {
        symbol: str(column)
        for symbol, column in zip(est.symbols_, est.columns_)
        if column in [str(c) for c in columns]
    }
    return re.sub(r"[^\W\d]\w*", lambda word: own.get(word[0], word[0]), text)


def complexity(est: NSRegressor) -> int:
    """Number of tokens of the formula."""
    return int(est.equations_["complexity"].iloc[0])
