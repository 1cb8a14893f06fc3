"""Fitting constants: solved problems and candidates per second on one core, against scipy's BFGS with numeric
gradients.

Problems are items of the generator with at least one constant, 100 points, and the true skeleton as the
candidate. BFGS starts from exactly the vectors that our descents start from (so it profits from our search,
whose time is counted as ours only), with its default tolerances. Its objective calls our own compiled
interpreter with everything prepared, which is far faster than the lambdified sympy of the published code: the
ratio is one of methods, not of interpreters. Times are processor seconds of one thread, so a busy machine does
not distort them. Ours stops at the first start that solves a problem; `all starts` is the same without this.

    python tests/bench/bench_fitting.py [--problems 500] [--starts 4]
"""

import argparse
import time

import numpy as np
from scipy.optimize import minimize

from nsr.data.items import TemplateBank, sample_items
from nsr.data.templates import sample_templates
from nsr.formulas.expressions import FULL, SIMPLIFIED
from nsr.numbers.evaluation import r2_score
from nsr.numbers.fitting import ENOUGH, SEARCHED, fit_program, measures
from nsr.numbers.interpreter import as_columns, prepare_program, run, stack_size

WALL = 1e100  # what BFGS sees where the candidate is undefined


def problems(vocabulary, n: int, seed: int = 0) -> list[tuple]:
    """n drawn items with constants: program, K, X (D, P), y (P,)."""
    bank = TemplateBank(sample_templates(4 * n, vocabulary, seed), vocabulary)
    items = sample_items(bank, np.random.default_rng(seed), 4 * n, n_points=100)
    drawn = []
    for i in range(len(items)):
        if items.values(i):
            columns = as_columns(items.X[i])
            drawn.append((*prepare_program(items.prefix(i), len(columns)), columns, items.y[i].copy()))
    return drawn[:n]


def ours(program, K, X, y, starts: int, enough: float) -> tuple[float, np.ndarray]:
    """R² of our fit and the starts it used (starts, K)."""
    begun = np.empty((starts, K))
    _, undefined, r2, _, used, _ = fit_program(
        program, K, X, y, measures(y), 0, np.empty((0, K)), SEARCHED, enough, begun
    )
    return -np.inf if undefined else r2, begun[:used]


def bfgs(program, K, X, y, begun: np.ndarray) -> float:
    """The best R² of scipy's BFGS from the given starts."""
    stack = np.empty((stack_size(program), X.shape[1]))

    def mse(c: np.ndarray) -> float:
        run(program, c, X, stack)
        error = stack[0] - y
        value = error @ error / y.size
        return value if value < WALL else WALL

    best = -np.inf
    with np.errstate(all="ignore"):
        for start in begun:
            c = minimize(mse, start, method="BFGS").x
            run(program, c, X, stack)
            best = max(best, r2_score(y, stack[0]))
    return best


def measure(label: str, work, n: int) -> tuple[np.ndarray, float]:
    """Run `work` on every problem; print and return R² (n,) and candidates per CPU second."""
    begin = time.process_time()
    r2 = np.array([work(i) for i in range(n)])
    rate = n / (time.process_time() - begin)
    print(
        f"  {label:28}{np.mean(r2 > 0.99):>9.1%}{np.mean(r2 > 0.999999):>12.1%}{rate:>14.1f}{1000 / rate:>10.3f}",
        flush=True,
    )
    return r2, rate


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--starts", type=int, default=4)
    options = parser.parse_args()
    for vocabulary in (SIMPLIFIED, FULL):
        drawn = problems(vocabulary, options.problems)
        starts = [ours(*problem, options.starts, -1.0)[1] for problem in drawn]  # also compiles
        print(
            f"{vocabulary.name}: {len(drawn)} problems, {options.starts} starts, up to {max(K for _, K, _, _ in drawn)} constants"
        )
        print(f"  {'':28}{'R²>0.99':>9}{'R²>0.999999':>12}{'per second':>14}{'ms each':>10}")
        r2, rate = measure("ours", lambda i: ours(*drawn[i], options.starts, ENOUGH)[0], len(drawn))
        _, rate_all = measure(
            "ours, all starts", lambda i: ours(*drawn[i], options.starts, -1.0)[0], len(drawn)
        )
        r2_bfgs, rate_bfgs = measure(
            "BFGS, the same starts", lambda i: bfgs(*drawn[i], starts[i]), len(drawn)
        )
        rng = np.random.default_rng(1)
        measure(
            "BFGS, N(0, 1) starts",
            lambda i: bfgs(*drawn[i], rng.normal(size=(options.starts, drawn[i][1]))),
            len(drawn),
        )
        more = [int(np.sum(r2 > t) - np.sum(r2_bfgs > t)) for t in (0.99, 0.999999)]
        print(
            f"  bar: at least as many solved: {more[0]:+d} and {more[1]:+d}; at least 50 times the rate: {rate / rate_bfgs:.0f}, "
            f"without stopping early {rate_all / rate_bfgs:.0f}"
        )


if __name__ == "__main__":
    main()
