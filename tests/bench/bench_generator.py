"""Templates and items per second on one core, against the published way: sympy parse and simplify, lambdify
per item."""

import time

import numpy as np
import sympy

from nsr.data.items import ItemRecipe, TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, raw_draws, template_from
from nsr.formulas.expressions import FULL, SIMPLIFIED
from nsr.formulas.notation import to_infix

SYMBOLS = sympy.symbols("x1:6", real=True, nonzero=True)
NAMES = {s.name: s for s in SYMBOLS}


def published_templates(raw: list) -> int:
    """The published way: text, sympy's parser (which puts it into canonical form), simplify.  (It sets a
    limit of a second on simplify; none is needed for the draws used here.)"""
    accepted = set()
    for prefix in raw:
        expression = sympy.simplify(sympy.parse_expr(to_infix(prefix), local_dict=NAMES))
        if expression.free_symbols:
            accepted.add(expression)
    return len(accepted)


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
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    print("one core; rates are per second; 'published' is sympy, as in the published code")
    print(f"{'':34}{'ours':>12}{'published':>12}{'ratio':>9}{'bar':>6}")
    for vocabulary in (SIMPLIFIED, FULL):
        recipe = TreeRecipe(vocabulary, 2, 5)
        template_from(raw_draws(1, recipe, np.random.default_rng(9))[0])  # compile
        n, few = 20_000, 60
        ours = n / seconds(lambda: [template_from(p) for p in raw_draws(n, recipe, np.random.default_rng(0))])
        raw = raw_draws(few, recipe, np.random.default_rng(1))
        theirs = few / seconds(lambda: published_templates(raw))
        print(
            f"{vocabulary.name + ' raw draws to templates':34}{ours:12,.0f}{theirs:12,.1f}{ours / theirs:9,.0f}{100:6}"
        )

        accepted = [t for t in map(template_from, raw_draws(4000, recipe, np.random.default_rng(2))) if t]
        bank = TemplateBank(dict.fromkeys(accepted), vocabulary)
        sample_items(bank, np.random.default_rng(0), 2, 100)  # compile
        ours = n / seconds(lambda: sample_items(bank, np.random.default_rng(3), n, 100))
        theirs = few / seconds(lambda: published_items(accepted[:few], np.random.default_rng(4), 100))
        print(
            f"{vocabulary.name + ' items of 100 points':34}{ours:12,.0f}{theirs:12,.1f}{ours / theirs:9,.0f}{50:6}"
        )


if __name__ == "__main__":
    main()
