"""Agreement by scipy's count, and a report in which no name of a table can do anything."""

import base64
import io
import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from scipy.optimize import curve_fit
from sklearn.metrics import r2_score as their_r2
from test_estimator import Knows, small

from nsr.__main__ import main
from nsr.regressor.agreement import Rival, chosen_again, resample
from nsr.regressor.judging import SAMPLE
from nsr.regressor.reports import Report
from nsr.search.deadline import Deadline
from nsr.search.model_selection import SYMBOLS, description_length

# ---- agreement ------------------------------------------------------------------------------------------------------------------

RIVALS = [  # tokens, the same in Python, where the fit begins
    ("mul C sqrt x1", lambda x, a: a * np.sqrt(x), (1.0,)),
    ("div mul C x1 add C x1", lambda x, a, b: a * x / (b + x), (4.0, 2.0)),
    ("add C mul C x1", lambda x, a, b: a + b * x, (0.5, 0.5)),
]


@pytest.mark.parametrize("selection", ["short", "r2"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.001, 0.3, 1.5])
def test_scipy_chooses_the_same_formula_in_every_resample(noise, weighted, selection):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.2, 4, 45)
    sigma = rng.uniform(0.2, 2.0, 45) if weighted else np.ones(45)
    y = 2 * np.sqrt(x) + noise * sigma * rng.standard_normal(45)
    rivals = [Rival((tuple(t.split()), c), len(c), len(t.split()) * math.log(SYMBOLS)) for t, _, c in RIVALS]
    weights = 1 / sigma**2 if weighted else None
    found = chosen_again(rivals, x[:, None], y, weights, 0.0, selection, 20, Deadline(None))
    again, judged = np.random.default_rng(0), []
    for _ in range(20):
        rows, costs = resample(y, again), []
        for tokens, f, begin in RIVALS:
            c, _ = curve_fit(f, x[rows], y[rows], p0=begin, sigma=sigma[rows], maxfev=10_000)
            r2 = their_r2(y[rows], f(x[rows], *c), sample_weight=1 / sigma[rows] ** 2)
            P, K = len(rows), len(c)
            length = P / 2 * math.log((1 - r2) * P / (P - K)) + K / 2 * math.log(P)
            costs.append(length + len(tokens.split()) * math.log(20) if selection == "short" else -r2)
        judged.append(int(np.argmin(costs)))
    assert found == judged
    assert noise > 0.001 or selection == "r2" or set(found) == {0}


def test_on_all_rows_the_answer_is_the_answer_and_clear_data_agree():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"length": rng.uniform(0.1, 2, 60), "mass": rng.uniform(1, 2, 60)})
    y = 2 * np.sqrt(X.length) + 0.02 * rng.standard_normal(60)
    model = small(strategy=Knows("mul C sqrt x1")).fit(X, y)
    agreed = model.agreement(X, y, n=12)
    assert agreed.of == 12 and agreed.times >= 11 and str(agreed).startswith("this form in 1")
    e = model.equations_
    fixed = [
        row.description_length - description_length(row.r2, 60, 0, row.constants) for row in e.itertuples()
    ]
    # by hand: tokens at ln 20 each, and some for digits
    assert all(f >= 0.9 * row.complexity for f, row in zip(fixed, e.itertuples()) if math.isfinite(f))
    assert model.agreement(X, y, n=50, seconds=0.0).of == 1
    loud = y + 3 * rng.standard_normal(60)  # three times the signal: nothing to agree on
    assert small().fit(X, loud).agreement(X, loud, n=12).times < 12


def test_agreement_with_weights_on_a_long_table():
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 5, (SAMPLE + 2000, 1))
    error = np.where(rng.random(len(X)) < 0.3, 30.0, 0.1)
    y = 2.5 * np.sqrt(X[:, 0]) + error * rng.standard_normal(len(X))
    model = small(strategy=Knows("mul C sqrt x1")).fit(X, y, y_error=error)
    assert model.agreement(X, y, y_error=error, n=5).times == 5


# ---- reports --------------------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Every tag of a page with its attributes, without mathematics, and what is in the mathematics."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.math, self.words, self.inside = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside |= tag == "math"
        (self.math if self.inside else self.tags).append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self.inside &= tag != "math"

    def handle_data(self, data):
        self.words.append(data)


EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    r"$\href{javascript:alert(1)}{x}$",
    "</pre></style></title><iframe src=//evil>",
    "a & b",
    "x}\\style{color:red}{",
    "Länge $x^2$",
]


def made(name: str, target: str) -> Report:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({name: rng.uniform(0.1, 2, 30), "mass": rng.uniform(1, 2, 30)})
    y = pd.Series(2 * X[name] * X.mass + 0.02 * rng.standard_normal(30), name=target)
    model = small(strategy=Knows("mul C mul x1 x2"), must_use=[name]).fit(X, y)
    return model.report(X, y, n=3)


@pytest.fixture(scope="module")
def harmless() -> Report:
    return made("length", "area")


@pytest.mark.parametrize("name", EVIL)
def test_a_name_is_text_whatever_it_says(name, harmless):
    report = made(name, name)
    page, plain = Reader(report.html), Reader(harmless.html)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(a) for _, a in page.tags] == [sorted(a) for _, a in plain.tags]
    for tag, attributes in page.math:
        assert re.fullmatch("math|semantics|m[a-z]+", tag) and tag != "maction"
        assert not {"href", "style", "class", "onclick"} & set(attributes), (tag, attributes)
    assert any(name in words for words in page.words)  # and a reader sees it as it is
    assert [tag for tag, _ in Reader(report._repr_html_()).tags][:2] == ["article", "h1"]


def test_the_page_needs_nothing_and_says_everything(harmless):
    page = Reader(harmless.html)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("img") == 2 and not {"script", "link", "iframe", "object"} & set(tags)
    for tag, attributes in page.tags:
        if tag == "img":
            kind, data = attributes["src"].split(",")
            picture = imread(io.BytesIO(base64.b64decode(data)), format="png")
            assert kind == "data:image/png;base64" and picture[..., :3].std() > 0.05
            assert "area" in attributes["alt"]
    policies = [a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1 and "default-src 'none'" in policies[0] and "script-src 'none'" in policies[0]
    assert not re.findall(r"(?:src|href|url)\W{1,3}https?:", harmless.html)
    text = " ".join(page.words)
    for wanted in (
        "area = ",
        "▶",
        "R² ",
        "of 3 resamples",
        "95 % interval",
        "LaTeX",
        "must_use",
        "30",
        "seed",
    ):
        assert wanted in text, wanted


def test_one_column_is_drawn_along_the_axis_and_exact_fits_have_no_intervals():
    X = pd.DataFrame({"length": np.linspace(0.1, 2, 30)})
    model = small().fit(X, 3 * X.length**2)
    report = model.report(X, 3 * X.length**2, n=0)
    assert "y against length: points are rows" in report.html or "length against" in report.html
    assert "interval" not in report.html and "resamples" not in report.html


def test_the_display_of_an_estimator_begins_with_its_formula():
    X = np.linspace(0.1, 2, 30)[:, None]
    model = small()
    before = model._repr_mimebundle_()["text/html"]
    model.fit(X, 3 * X[:, 0] ** 2)
    after = model._repr_mimebundle_()["text/html"]
    assert "<math" not in before and re.match(r"<div><math.*?<mn>3</mn>.*?</math></div>", after)
    assert model._repr_html_().startswith("<div><math")


def test_a_page_from_a_file(tmp_path, capsys):
    rng = np.random.default_rng(0)
    length = rng.uniform(0.1, 2, 40)
    file, page = tmp_path / "some.csv", tmp_path / "out.html"
    pd.DataFrame({"length": length, "area": length**2}).to_csv(file, index=False)
    assert main(["fit", str(file), "area", "--seconds", "20", "--html", str(page)]) == 0
    assert f"Written: {page}" in capsys.readouterr().out
    assert "area = length**2" in " ".join(Reader(page.read_text()).words)
    assert [path.name for path in tmp_path.iterdir()] in (["some.csv", "out.html"], ["out.html", "some.csv"])
    assert main(["fit", str(file), "area", "--seconds", "20", "--html", str(file / "out.html")]) == 2
