"""Test sets: the paper's `not_included` and `baseline`, and `not_included_matched`, which separates novelty
from length."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator

import numpy as np

from nsr.book.spelling import refuse_unknown
from nsr.data.items import ItemRecipe, TemplateBank, sample_items
from nsr.data.problems import Problem
from nsr.data.templates import TreeRecipe, distinct, is_held_out, template_stream
from nsr.formulas.expressions import Template, variables
from nsr.numbers import random_streams

TEST_SETS = ("not_included", "baseline", "not_included_matched")
_SEARCHED = 200_000  # draws looked through for templates of the right size


def size(template: Template) -> tuple[int, int]:
    """What the matched set matches: number of tokens and number of variables.

    >>> size(("add", "x1", "sin", "x2"))
    (4, 2)
    """
    return len(template), len(variables(template))


def test_templates(
    name: str, training: Collection[Template], n: int = 150, seed: int = 0, recipe: TreeRecipe = TreeRecipe()
) -> list[Template]:
    """The templates of a test set.

    baseline              draws from p_E, unfiltered
    not_included          different draws from p_E that are not training templates: longer than baseline,
                          because the short ones are all known
    not_included_matched  held-out templates whose (tokens, variables) are those of baseline, one for one;
                          where no held-out template has that size, the nearest
    """
    refuse_unknown([name], TEST_SETS, "test set", ValueError)
    seen = set(training)

    def fresh() -> Iterator[Template]:
        return template_stream(recipe, random_streams.TEST_SETS + seed)

    baseline = list(itertools.islice(fresh(), n))
    if name == "baseline":
        return baseline
    if name == "not_included":
        unseen = (t for t in itertools.islice(fresh(), _SEARCHED) if t not in seen and not is_held_out(t))
        chosen = list(itertools.islice(distinct(unseen), n))
    else:
        chosen = _matched(baseline, itertools.islice(fresh(), _SEARCHED // 4), seen)
    if len(chosen) < n:
        found = f"only {len(chosen)} of {n} templates for {name!r} in {_SEARCHED} draws"
        raise ValueError(f"{found}: the training set covers p_E")
    return chosen


def _matched(targets: list[Template], draws: Iterator[Template], seen: set[Template]) -> list[Template]:
    by_size: dict[tuple[int, int], list[Template]] = defaultdict(list)
    for template in draws:
        if is_held_out(template) and template not in seen:
            by_size[size(template)].append(template)
    if not by_size:
        return []
    chosen = []
    for target in targets:
        length, count = size(target)
        nearest = min(by_size, key=lambda s: (abs(s[0] - length) + abs(s[1] - count), s))
        chosen.append(by_size[nearest][0])
        by_size[nearest].append(by_size[nearest].pop(0))  # every draw once before any twice
    return chosen


def test_set(
    name: str,
    training: Collection[Template],
    n: int = 150,
    seed: int = 0,
    n_points: int = 100,
    n_fresh: int = 100,
    recipe: TreeRecipe = TreeRecipe(),
    items: ItemRecipe = ItemRecipe(),
    replace: bool = False,
) -> list[Problem]:
    """n problems of a test set, made the way training items are: constants, supports, n_points given and
    n_fresh to report on. With `replace`, a template that has values almost nowhere gives way to another of the
    set."""
    bank = TemplateBank(test_templates(name, training, n, seed, recipe), recipe.vocabulary)
    rng = np.random.default_rng([random_streams.TEST_SETS, seed, TEST_SETS.index(name)])
    drawn = sample_items(bank, rng, None, n_points + n_fresh, items, range(n), tries=200, replace=replace)
    problems = []
    for i in range(n):
        given, fresh = ((drawn.X[i, part], drawn.y[i, part]) for part in np.s_[:n_points, n_points:])
        truth = drawn.prefix(i), drawn.values(i)
        problems.append(Problem(*given, f"{name}-{seed}-{i}", *truth, *fresh))
    return problems


test_templates.__test__ = test_set.__test__ = False  # pytest collects functions by this prefix
