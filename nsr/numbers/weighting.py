"""Weights: points that count more or less than others.

    Σ w·(y − f(x))²  =  Σ (√w·y − √w·f(x))²

So a weighted fit is a plain fit of √w·f(x) to √w·y, in which √w is one more column. Only the ratios of weights
matter.
"""

import math

import numpy as np


def roots(weights: np.ndarray | None, P: int) -> np.ndarray:
    """√w (P,), with weights of mean 1; ones if there are none.

    >>> roots(np.array([1.0, 7.0]), 2).tolist(), roots(None, 2).tolist()
    ([0.5, 1.3228756555322954], [1.0, 1.0])
    """
    return np.ones(P) if weights is None else np.sqrt(weights / weights.mean())


def deviation(y: np.ndarray, weights: np.ndarray | None) -> float:
    """Standard deviation of y (P,).

    >>> round(deviation(np.array([0.0, 4.0]), np.array([3.0, 1.0])), 12), np.std([0.0, 0.0, 0.0, 4.0]).round(12).item()
    (1.732050807569, 1.732050807569)
    """
    return float(y.std()) if weights is None else math.sqrt(total(y, weights) / y.size)


def total(y: np.ndarray, weights: np.ndarray | None) -> float:
    """Σ w·(y − mean)² with weights of mean 1; the mean is weighted, too."""
    if weights is None:
        return float(np.sum((y - y.mean()) ** 2))
    return float(np.sum((roots(weights, y.size) * (y - np.average(y, weights=weights))) ** 2))


def weighted_score(y: np.ndarray, y_hat: np.ndarray, weights: np.ndarray) -> float:
    """R² of finite values: 1 − Σ w·(y − ŷ)² / Σ w·(y − mean)²; see `nsr.numbers.evaluation.r2_score`.

    >>> weighted_score(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    0.5
    """
    size = float(np.abs(y).max()) or 1.0
    if (y == y[0]).all():
        return 1.0 if np.abs(y - y_hat).max() <= 1e-12 * size else -math.inf
    with np.errstate(over="ignore"):
        residual = roots(weights, y.size) * ((y - y_hat) / size)
        return 1.0 - float(residual @ residual) / total(y / size, weights)
