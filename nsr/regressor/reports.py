"""A report: what is known about a found formula as one page that needs no network, for a notebook or a file.

Names of columns and of y are anybody's: they are escaped wherever they stand, also in pictures and mathematics.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.mathml import with_mathml
from nsr.book.pages import document
from nsr.book.run_records import atomic_write
from nsr.formulas.expressions import VARIABLES
from nsr.numbers.evaluation import evaluate
from nsr.regressor.agreement import Agreement
from nsr.regressor.judging import SAMPLE, sample_of
from nsr.search.oracle import NOISE
from nsr.search.result import ARROW, r2_text

if TYPE_CHECKING:
    from nsr.regressor.estimator import NSRegressor

SHOWN = 20  # rows of the front


@dataclass(frozen=True)
class Report:
    """The page about a fitted estimator: its text in a notebook, and a file by `save`."""

    title: str
    body: str

    def _repr_html_(self) -> str:
        return self.body

    @property
    def html(self) -> str:
        """The whole page, in which a browser runs nothing and asks nobody."""
        return document("report.html", scripted=False, title=self.title, body=self.body)

    def save(self, path: Path | str) -> Path:
        """Write the page, whole or not at all."""
        return atomic_write(path, self.html)


def report_on(
    model: NSRegressor, X: np.ndarray, y: np.ndarray, target: str, agreement: Agreement | None
) -> Report:
    """The report on the rows X (P, D), y (P,); X has the columns that were searched in."""
    prefix, constants = model._formula(0)
    rows = sample_of(X, y, SAMPLE, 0)
    pictures = _pictures(model, X[rows], y[rows], target)
    sections = [
        ("", equation(model, target) + f"<pre>{html.escape(f'{target} = {model.formula_}')}</pre>"),
        ("How sure it is", _certainty(model, constants, agreement)),
        ("Shorter and longer formulas", _front(model)),
        ("The fit", "".join(pictures)),
        ("LaTeX", f"<pre>{html.escape(model.latex())}</pre>"),
        ("How it was made", _table((), _made(model, len(y)))),
    ]
    body = "".join(f"<h2>{title}</h2>{text}" if title else text for title, text in sections)
    heading = f"A formula for {target}"
    return Report(heading, f"<article><h1>{html.escape(heading)}</h1>{body}</article>")


def equation(model: NSRegressor, target: str = "y") -> str:
    """The answer as mathematics that browsers draw by themselves."""
    from nsr.regressor.estimator import _latex_name  # late: the estimator uses reports
    from nsr.regressor.tables import symbols_for

    left = _latex_name(symbols_for([target])[0])
    return with_mathml(f"<div>$${html.escape(f'{left} = {model.latex()}')}$$</div>")


def _certainty(model: NSRegressor, constants: Sequence[float], agreement: Agreement | None) -> str:
    r2 = float(model.equations_.r2.iloc[0])
    said = [f"R² {r2_text(r2)} on the rows given."]
    if agreement is not None:
        said.append(f"With a third of the rows left out: {agreement}.")
    for column, side in model.beyond_:
        end = "smallest" if side == "below" else "largest"
        said.append(f"Not to be used {side} the {end} {column}: it has no value there, or an absurd one.")
    if model.stopped_:
        said.append(f"The search ended early: {model.stopped_}.")
    text = "".join(f"<p>{html.escape(line)}</p>" for line in said)
    if constants and 1.0 - r2 > NOISE:
        known = zip(constants, model.half_widths_, model.nice_)
        units = model.constant_units_ or [""] * len(constants)
        told = lambda c, half, name: f"set to {name}" if name else f"{c - half:.6g} to {c + half:.6g}"
        intervals = [(f"{one[0]:.6g}", told(*one), unit) for one, unit in zip(known, units)]
        shown = 3 if any(units) else 2
        rows = [row[:shown] for row in intervals]
        text += _table(("constant", "95 % interval", "unit")[:shown], rows)
        text += "<p>Intervals hold if the form is right and the errors are independent, of one size or as the weights say.</p>"
    return text


def _front(model: NSRegressor) -> str:
    front, line = model.pareto_front_, lambda row: (row.complexity, r2_text(row.r2), row.equation)
    rows = [(ARROW if index == 0 else "", *line(row)) for index, row in front.head(SHOWN).iterrows()]
    if 0 not in front.index:  # the answer is not always on the front: digits have a price, too
        rows.append((ARROW, *line(model.equations_.iloc[0])))
    return _table(("", "tokens", "R²", "formula"), rows)


def _made(model: NSRegressor, n_rows: int) -> list[tuple[str, Any]]:
    from nsr import __version__

    options = model.get_params(deep=False)
    strategy = getattr(model.strategy, "name", model.strategy)
    listed = {name: options[name] for name in ("start", "operators", "forbid", "must_use") if options[name]}
    if model.X_units is not None:
        by_name = hasattr(model.X_units, "items")
        listed["X_units"] = [f"{k}: {u}" for k, u in model.X_units.items()] if by_name else model.X_units
    listed |= {name: [options[name]] for name in ("y_units", "outer") if options[name]}
    return [
        ("rows", f"{n_rows:,}"),
        ("columns searched in", ", ".join(model.columns_)),
        ("search", f"{strategy}, {model.search_time_:.1f} seconds (limit: {model.max_time})"),
        ("network", model.weights_),
        ("seed", model.random_state),
        *((name, ", ".join(map(str, value))) for name, value in listed.items()),
        ("nsr", __version__),
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def line(cells: Sequence[Any], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    top = f"<thead>{line(head, 'th')}</thead>" if head else ""
    return f"<table>{top}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


# ------------------------------------------------------------------------------------------------------------------ pictures


def _pictures(model: NSRegressor, X: np.ndarray, y: np.ndarray, target: str) -> list[str]:
    """The fit, as y against the only column of the formula or as predicted against measured, and the
    residuals."""
    prefix, constants = model._formula(0)
    values = evaluate(prefix, X, constants)
    used = [j for j, name in enumerate(VARIABLES[: X.shape[1]]) if name in prefix]
    if len(used) == 1:
        j, name = used[0], model.columns_[used[0]]
        grid = np.repeat(X[:1], 300, axis=0)
        grid[:, j] = np.linspace(X[:, j].min(), X[:, j].max(), 300)
        x, across, curve = X[:, j], name, (grid[:, j], evaluate(prefix, grid, constants))
        alt = f"{target} against {name}: points are rows, the line is the formula."
        fit = _picture(x, y, (name, target), curve, alt)
    else:
        x, across, ends = values, f"{target} by the formula", (values.min(), values.max())
        alt = f"{across} against {target} measured: on the line both are equal."
        fit = _picture(y, values, (f"{target} measured", across), (ends, ends), alt)
    residual, flat = y - values, ((x.min(), x.max()), (0.0, 0.0))
    alt = f"Residuals of {target} against {across}: rows above the line are larger than the formula says."
    return [fit, _picture(x, residual, (across, "measured minus formula"), flat, alt)]


def _picture(x, y, labels: tuple[str, str], line: tuple[Sequence, Sequence], alt: str) -> str:
    """Points and a line as an inlined PNG; labels are no mathematics, whatever dollars they have."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot(x, y, "o", markersize=4, alpha=0.6, color="#0072b2")
    axes.plot(*line, color="#222222", linewidth=1)
    axes.set_xlabel(labels[0], parse_math=False)
    axes.set_ylabel(labels[1], parse_math=False)
    file = io.BytesIO()  # not by nsr.evidence.figures, which would bring pyplot and the style of the book
    figure.savefig(file, format="png", dpi=120)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<p><img src="data:image/png;base64,{data}" alt="{html.escape(alt)}"></p>'
