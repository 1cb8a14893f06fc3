"""What a page holds: mathematics as MathML and nothing else, and a policy that lets only the page's own
script run."""

import base64
import hashlib
import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsr.book import pages, search_box
from nsr.book.mathml import with_mathml

MATHML = set(
    "math mrow mi mn mo mtext mspace mstyle msub msup msubsup mfrac msqrt mroot mover munder munderover mtable mtr mtd mpadded mphantom "
    "menclose merror mmultiscripts mprescripts none semantics ms mlabeledtr".split()
)


class Reader(HTMLParser):
    """Every element with its attributes, and all text, as a browser would see them."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</math><script>",
    '" onload="x',
    "&lt;script&gt;",
    "&#x3c;script&#x3e;",
    "]]>",
    "-->",
]
words = st.sampled_from(
    [
        *HOSTILE,
        r"\text{",
        r"\mbox{",
        r"\textbf{",
        r"\href{javascript:alert(1)}{",
        r"\href{",
        r"\style{color:red}{",
        r"\class{bad}{",
        r"\color{red}",
        r"\colorbox{<b>}{",
        r"\unicode{x3c}",
        r"\verb|",
        r"\operatorname{",
        "|",
        "}",
        "{",
        "x",
        "_",
        "^",
        " ",
        r"\frac",
        r"\left<",
        r"\right>",
        "<",
        ">",
        "&",
        r"\\",
    ]
)


@given(st.lists(words, max_size=9).map("".join))
def test_no_formula_becomes_anything_but_mathematics(latex: str):
    for dollars in ("$", "$$"):
        for page in (
            f"<td>{dollars}{html.escape(latex)}{dollars}</td>",
            f'<td title="{dollars}{html.escape(latex)}{dollars}">1</td>',
        ):
            for tag, attributes in Reader(with_mathml(page)).elements:
                assert tag in MATHML | {"td"}, (tag, latex)
                assert not [
                    name
                    for name in attributes
                    if name in ("href", "style", "class", "src") or name.startswith("on")
                ], (attributes, latex)


@pytest.mark.parametrize("text", HOSTILE[:5])
def test_text_in_a_formula_is_shown_as_it_is(text: str):
    seen = Reader(with_mathml(f"<td>$\\text{{{html.escape(text)}}}$</td>"))
    assert [tag for tag, _ in seen.elements][:2] == ["td", "math"]
    assert seen.text.replace("\u00a0", " ") == html.unescape(text)


def test_symbols_are_drawn_and_attributes_are_left_alone():
    assert (
        Reader(with_mathml(r"$\alpha + x_1 \le \frac{1}{2} < 3 \cdot \infty$".replace("<", "&lt;"))).text
        == "α+x1≤12<3·∞"
    )
    assert with_mathml('<img alt="$x$"><a title="a > $x$">b</a>') == '<img alt="$x$"><a title="a > $x$">b</a>'


def test_a_link_in_a_formula_leads_nowhere_but_its_text_stays():
    seen = Reader(with_mathml(r"$\href{javascript:alert(1)}{x}$"))
    assert seen.text == "x" and not [attributes for _, attributes in seen.elements if "href" in attributes]


def test_the_policy_allows_exactly_what_the_page_holds():
    for search in ("", f"<script>{search_box.SCRIPT}</script>"):
        page = pages.document("A & B", f"<main>{search}</main>", [search_box.SCRIPT] if search else [])
        policy = html.unescape(
            re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page).group(1)
        )
        rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
        assert page.index("Content-Security-Policy") < page.index("<style>") and rules["default-src"] == [
            "'none'"
        ]
        for element, rule in (("script", "script-src"), ("style", "style-src")):
            held = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
            hashes = [
                f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
                for text in held
            ]
            assert rules[rule] == (hashes or ["'none'"])
        assert "http" not in policy and "*" not in policy and "unsafe-eval" not in policy
