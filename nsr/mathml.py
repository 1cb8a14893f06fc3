"""LaTeX in a page to MathML, which browsers draw by themselves: the book needs no script and no network."""
from __future__ import annotations

import html
import re

_CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<script.*?</script>|<style.*?</style>|<img[^>]*>)", re.DOTALL)
_MATH = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$(?!\s)([^$]+?)(?<!\s)\$", re.DOTALL)


def with_mathml(body: str) -> str:
    """An HTML body with $…$ and $$…$$ replaced by MathML; code is left alone, and what cannot be read stays as it is.

    >>> with_mathml("<p>half of $x_1$</p>").count("<msub>")
    1
    >>> with_mathml("<code>$x_1$</code>")
    '<code>$x_1$</code>'
    """
    pieces = _CODE.split(body)
    pieces[::2] = [_MATH.sub(_drawn, piece) for piece in pieces[::2]]  # the odd ones are code
    return "".join(pieces)


def _drawn(match: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    block = match.group(1) is not None
    try:
        return convert(html.unescape(match.group(1) if block else match.group(2)), display="block" if block else "inline")
    except Exception:  # the library has a dozen unrelated exceptions; the reader then sees the LaTeX
        return match.group(0)
