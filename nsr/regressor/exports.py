"""Exports: a found formula as a function of NumPy arrays, as a torch module and as C, none of which needs this
project's code for formulas, and a fitted estimator as JSON.

Functions take a table with all columns that the estimator was fitted to, X (P, D); `columns` are those that
x1, x2 … of the formula stand for.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.foreign_files import Kind, parse_json
from nsr.formulas.expressions import (
    CONSTANT,
    EXPONENT,
    FUNCTIONS,
    VARIABLES,
    Constants,
    Prefix,
    check,
    constants_at,
    fold,
)

if TYPE_CHECKING:
    import torch

_ARITHMETIC = {name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")}
_ARITHMETIC |= {"div": operator.truediv, **{name: (lambda a, n=n: a**n) for name, n in EXPONENT.items()}}
_C_SIGN = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def composed(
    prefix: Prefix, constants: Sequence, functions: Mapping[str, Callable]
) -> Callable[[Sequence], Any]:
    """The formula as a function of its columns, whatever kind of arrays these are."""
    at = dict(zip(constants_at(prefix), constants))
    operate = {**_ARITHMETIC, **functions}

    def visit(token: str, i: int, *args: Callable) -> Callable:
        if token == CONSTANT:
            return lambda columns: at[i]
        if not args:
            return lambda columns: columns[VARIABLES.index(token)]
        return lambda columns: operate[token](*(argument(columns) for argument in args))

    return fold(prefix, visit)


def as_numpy(
    prefix: Prefix, constants: Constants, columns: Sequence[int]
) -> Callable[[np.ndarray], np.ndarray]:
    """A function from X (P, D) to values (P,).

    >>> as_numpy(("add", "C", "pow2", "x1"), (0.5,), [1])(np.array([[9.0, 1.0], [9.0, 2.0]]))
    array([1.5, 4.5])
    """
    functions = {name: getattr(np, {"asin": "arcsin"}.get(name, name)) for name in (*FUNCTIONS, "sqrt")}
    inner = composed(prefix, [np.float64(c) for c in constants], functions)

    def formula(X: np.ndarray) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        with np.errstate(all="ignore"):
            return np.broadcast_to(inner([X[:, j] for j in columns]), len(X)).copy()

    return formula


def as_torch(prefix: Prefix, constants: Constants, columns: Sequence[int]) -> torch.nn.Module:
    """A module from X (P, D) to values (P,), whose parameters are the constants."""
    import torch

    class Formula(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            values = [torch.tensor(c, dtype=torch.float64) for c in constants]
            self.constants = torch.nn.ParameterList(map(torch.nn.Parameter, values))
            functions = {name: getattr(torch, name) for name in (*FUNCTIONS, "sqrt")}
            self.inner = composed(prefix, self.constants, functions)

        def forward(self, X: torch.Tensor) -> torch.Tensor:
            values = self.inner([X[:, j] for j in columns])
            return torch.as_tensor(values, dtype=X.dtype).expand(len(X))

    return Formula()


def as_c(prefix: Prefix, constants: Constants, columns: Sequence[int], names: Sequence[str]) -> str:
    """A C function of one row of the table.

    >>> print(as_c(("mul", "C", "sqrt", "x1"), (2.0,), [1], ["length"]))
    #include <math.h>
    <BLANKLINE>
    /* x[1] is length */
    double formula(const double *x) {
        return 2.0 * sqrt(x[1]);
    }
    <BLANKLINE>
    """
    at = dict(zip(constants_at(prefix), constants))

    def visit(token: str, i: int, *args: str) -> str:
        if token == CONSTANT:
            return f"({float(at[i])!r})" if at[i] < 0 else repr(float(at[i]))
        if not args:
            return f"x[{columns[VARIABLES.index(token)]}]"
        if token in _C_SIGN:
            return f"({args[0]} {_C_SIGN[token]} {args[1]})"
        if token in EXPONENT:
            return f"pow({args[0]}, {EXPONENT[token]})"
        return f"(-{args[0]})" if token == "neg" else f"{token}({args[0]})"

    used = [j for j, name in enumerate(VARIABLES[: len(columns)]) if name in prefix]
    # a name is anything that a table has at its top, and must not end the comment
    plain = [re.sub(r"[^\w .,()\[\]-]", "_", name) for name in names]
    said = ", ".join(f"x[{columns[j]}] is {plain[j]}" for j in used) or "no column matters"
    text = fold(prefix, visit)
    text = text[1:-1] if prefix[0] in (*_C_SIGN, "neg") else text
    return f"#include <math.h>\n\n/* {said} */\ndouble formula(const double *x) {{\n    return {text};\n}}\n"


# ------------------------------------------------------------------------------------------------------------------ JSON


def dumped(formulas: Sequence[tuple[Prefix, Constants]], rows: list[dict], about: dict[str, Any]) -> str:
    """Formulas, what is known about each, and about the estimator, as JSON text without NaN and infinity."""
    equations = []
    for (prefix, constants), row in zip(formulas, rows):
        known = {key: finite(value) for key, value in row.items()}
        equations.append({"tokens": list(prefix), "values": list(constants), **known})
    return json.dumps({**about, "equations": equations}, ensure_ascii=False, allow_nan=False, indent=1)


def loaded(text: str) -> tuple[list[tuple[Prefix, Constants]], list[dict], dict[str, Any]]:
    """What was dumped; a ValueError for what is no formula."""
    with Kind("a saved estimator", ValueError).of("The text"):
        about = parse_json(text)
    rows = about.pop("equations")
    formulas = []
    for row in rows:
        prefix, constants = check(row.pop("tokens")), tuple(map(float, row.pop("values")))
        if prefix.count(CONSTANT) != len(constants):
            raise ValueError(f"the formula {' '.join(prefix)} has {len(constants)} constants")
        formulas.append((prefix, constants))
        if row["description_length"] is None:
            row["description_length"] = math.inf
    return formulas, rows, about


def finite(value: Any) -> Any:
    """A plain number, text or truth value; None for one that JSON has no word for."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
