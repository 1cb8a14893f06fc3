"""LaTeX in a page to MathML, which browsers draw by themselves: the book needs no script and no network.

A formula may come from a table, and so from anybody: it becomes mathematics and text, and never a link, a
style or a script.
"""

import html
import re
from xml.etree.ElementTree import Element, tostring

_TAG = r"""</?[a-zA-Z](?:[^>"']++|"[^"]*+"|'[^']*+')*+>"""
_KEPT = "|".join(f"<{name}.*?</{name}>" for name in ("pre", "code", "script", "style"))
_CODE = re.compile(f"({_KEPT}|{_TAG})", re.DOTALL)
_UNWANTED = {"href", "style", "class"}  # what \href, \style and \class would set
_SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
_TWO = {"mfrac", "mroot"}  # they have exactly two parts, and no room for a space
_MATH = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$(?!\s)([^$]+?)(?<!\s)\$", re.DOTALL)


def with_mathml(body: str) -> str:
    """An HTML body with $…$ and $$…$$ replaced by MathML; code and tags are left alone, and what cannot be
    read stays as it is.

    >>> with_mathml("<p>half of $x_1$</p>").count("<msub>")
    1
    >>> with_mathml(r"$N \\ln N$").count("<mspace")
    2
    >>> with_mathml(r"$x_{\\min}$").count("<mi>min</mi>")
    1
    >>> with_mathml("<code>$x_1$</code>")
    '<code>$x_1$</code>'
    """
    pieces = _CODE.split(body)
    pieces[::2] = [_MATH.sub(_drawn, piece) for piece in pieces[::2]]  # the odd ones are code and tags
    return "".join(pieces)


def _drawn(match: re.Match[str]) -> str:
    from latex2mathml.converter import convert_to_element

    display = "block" if match[1] is not None else "inline"
    try:
        formula = convert_to_element(html.unescape(match[1] or match[2]), display=display)
        for part in formula.iter():
            # The library writes its symbols as &#x3B1; and expects nobody to escape them.
            part.text = html.unescape(part.text or "")
            if part.tag == "mo" and len(part.text) > 1 and part.text.isalpha():
                part.tag = "mi"  # min is a name like ln; as an operator it would have room on both sides
            for name in _UNWANTED & set(part.attrib):
                del part.attrib[name]
        _space_functions(formula)
        return tostring(formula, encoding="unicode")
    except Exception:  # the library has a dozen unrelated exceptions; the reader then sees the LaTeX
        return match.group(0)


def _space_functions(formula: Element) -> None:
    """A thin space between the name of a function and what stands beside it, as in N ln N, unless that is an
    operator or a bracket."""
    for row in list(formula.iter()):
        if row.tag in _SCRIPTED | _TWO:
            continue
        for child in [part for part in row if _is_function(part)]:
            place = list(row).index(child)
            if place + 1 < len(row) and row[place + 1].tag != "mo":
                row.insert(place + 1, Element("mspace", width="0.17em"))
            if place and row[place - 1].tag not in ("mo", "mspace"):
                row.insert(place, Element("mspace", width="0.17em"))


def _is_function(part: Element) -> bool:
    """Whether this is a name of several letters, with or without an index."""
    name = part[0] if part.tag in _SCRIPTED and len(part) else part
    return name.tag == "mi" and len(name.text or "") > 1 and (name.text or "").isalpha()
