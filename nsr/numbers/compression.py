"""Compressed values: what a fit explains when no few rows outweigh all others."""

from __future__ import annotations

import numpy as np

from nsr.numbers.evaluation import r2_score
from nsr.numbers.weighting import roots

FEW = 5.0  # rows; where fewer decide R², it says little about a formula


def compressed_r2(y: np.ndarray, f: np.ndarray, weights: np.ndarray | None = None) -> float:
    """R² of arcsinh((y − median) / median deviation): large values count by their logarithms."""
    middle = np.median(y)
    unit = np.median(np.abs(y - middle)) or np.std(y)
    return r2_score(np.arcsinh((y - middle) / unit), np.arcsinh((f - middle) / unit), weights)


def deciding_rows(y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """How many rows make up the (weighted) variance of y: (Σd²)² / Σd⁴.

    >>> round(deciding_rows(np.array([1.0, -1.0] * 50))), round(deciding_rows(np.exp(np.arange(100.0))))
    (100, 1)
    """
    d = (y - np.average(y, weights=weights)) * roots(weights, len(y))
    d = (d / (np.abs(d).max() or 1.0)) ** 2
    return float(np.sum(d)) ** 2 / (float(np.sum(d**2)) or 1.0)


def decided_by_few(y: np.ndarray, weights: np.ndarray | None = None) -> bool:
    """Whether a few rows make up the variance of y.

    >>> decided_by_few(np.arange(100.0)), decided_by_few(np.exp(np.arange(100.0)))
    (False, True)
    """
    return deciding_rows(y, weights) < FEW


def fair_r2(y: np.ndarray, f: np.ndarray, weights: np.ndarray | None = None) -> float:
    """R², of compressed values where a few rows decide it."""
    return (compressed_r2 if decided_by_few(y, weights) else r2_score)(y, f, weights)
