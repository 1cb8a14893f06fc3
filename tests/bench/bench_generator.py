"""Templates and items per second of processor, against the published way.

A template is a drawn tree in its canonical form, with the places of its constants. The published programs make
it with sympy: text, parser, root-level constants dropped, a factor and a summand put at each place by `subs`,
tokens. NSRwH also calls `simplify` on each expression, NeSymReS does not, and is several times faster for it.
Items are made by both in the same way: constants into the text, `lambdify`, points.

    python tests/bench/bench_generator.py
"""

import time

import numpy as np
import sympy

from nsr.data.items import ItemRecipe, TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, raw_draws, template_from
from nsr.formulas.constant_places import saturate
from nsr.formulas.expressions import FULL, SIMPLIFIED, Prefix
from nsr.formulas.notation import to_infix

SYMBOLS = sympy.symbols("x1:6", real=True, nonzero=True)
NAMES = {s.name: s for s in SYMBOLS}
CONSTANTS = sympy.symbols("cm ca", real=True, nonzero=True)  # a factor and a summand


def published_template(prefix: Prefix, simplify: bool) -> list[str] | None:
    """One draw in the published way; None if it is rejected. (There is a limit of a second on simplify there;
    none is needed for the draws used here.)"""
    expression = sympy.parse_expr(to_infix(prefix), local_dict=NAMES)
    if simplify:
        expression = sympy.simplify(expression)
    used = expression.free_symbols
    if not used or used != set(SYMBOLS[: len(used)]) or expression.has(sympy.I, sympy.AccumBounds):
        return None
    for joined in (sympy.Add, sympy.Mul):
        if isinstance(expression, joined):
            expression = joined(*(part for part in expression.args if part.free_symbols))
    for constant, joined in zip(CONSTANTS, (sympy.Mul, sympy.Add)):
        numbers = expression.atoms(sympy.Rational) - {sympy.S.NegativeOne}
        for part in (*(s for s in SYMBOLS if s in used), *expression.atoms(sympy.Function), *numbers):
            expression = expression.subs(part, joined(constant, part))
    return [node.func.__name__ if node.args else str(node) for node in sympy.preorder_traversal(expression)]


def our_template(prefix: Prefix) -> object:
    template = template_from(prefix)
    return None if template is None else saturate(template)


def published_items(templates: list, rng: np.random.Generator, n_points: int) -> int:
    """The published way: put constants into the text, sympify, lambdify, evaluate."""
    recipe, made = ItemRecipe(), 0
    for template in templates:
        text = to_infix(template)
        for symbol in SYMBOLS:
            scale, shift = np.round(10 ** rng.uniform(-1.3, 1), 3), np.round(rng.uniform(-10, 10), 3)
            if rng.random() < 0.3:
                text = text.replace(symbol.name, f"({scale}*{symbol.name} + {shift})")
        function = sympy.lambdify(SYMBOLS, sympy.parse_expr(text, local_dict=NAMES), "numpy")
        for _ in range(recipe.attempts):
            low = rng.uniform(-10, 9, 5)
            X = rng.uniform(low, rng.uniform(low + 1, 10), (5 * n_points, 5))
            with np.errstate(all="ignore"):
                y = function(*X.T) + np.zeros(len(X))
            if (np.isfinite(y) & (np.abs(y) < recipe.y_limit)).sum() >= n_points:
                made += 1
                break
    return made


def seconds(work) -> float:
    """Processor seconds: other work on the machine should not change a ratio."""
    start = time.process_time()
    work()
    return time.process_time() - start


def show(label: str, ours: float, theirs: float, bar: int | None = None) -> None:
    print(f"{label:40}{ours:12,.0f}{theirs:12,.1f}{ours / theirs:9,.0f}{bar or '':>6}", flush=True)


def main() -> None:
    print("rates are per second of processor; 'published' is sympy, as in the published code")
    print(f"{'':40}{'ours':>12}{'published':>12}{'ratio':>9}{'bar':>6}")
    for vocabulary in (SIMPLIFIED, FULL):
        recipe = TreeRecipe(vocabulary, 2, 5)
        our_template(raw_draws(1, recipe, np.random.default_rng(9))[0])  # compile
        n, few = 20_000, 200
        ours = n / seconds(lambda: [our_template(p) for p in raw_draws(n, recipe, np.random.default_rng(0))])
        raw = raw_draws(few, recipe, np.random.default_rng(1))
        for program, simplify, bar in (("NeSymReS", False, None), ("NSRwH", True, 100)):
            sympy.core.cache.clear_cache()  # what one program has computed is of no use to the next
            theirs = few / seconds(lambda: [published_template(prefix, simplify) for prefix in raw])
            show(f"{vocabulary.name} draws to templates, {program}", ours, theirs, bar)

        accepted = [t for t in map(template_from, raw_draws(4000, recipe, np.random.default_rng(2))) if t]
        bank = TemplateBank(dict.fromkeys(accepted), vocabulary)
        sample_items(bank, np.random.default_rng(0), 2, 100)  # compile
        ours = n / seconds(lambda: sample_items(bank, np.random.default_rng(3), n, 100))
        theirs = few / seconds(lambda: published_items(accepted[:few], np.random.default_rng(4), 100))
        show(f"{vocabulary.name} items of 100 points, both", ours, theirs, 50)


if __name__ == "__main__":
    main()
