"""Compressed values: what a fit explains when no few rows outweigh all others."""

from __future__ import annotations

import numpy as np

from nsr.numbers.evaluation import r2_score

FEW = 5.0  # rows; where fewer decide R², it says little about a formula


def compressed_r2(y: np.ndarray, f: np.ndarray, weights: np.ndarray | None = None) -> float:
    """R² of arcsinh((y − median) / median deviation): large values count by their logarithms."""
    middle = np.median(y)
    unit = np.median(np.abs(y - middle)) or np.std(y)
    return r2_score(np.arcsinh((y - middle) / unit), np.arcsinh((f - middle) / unit), weights)


def decided_by_few(y: np.ndarray) -> bool:
    """Whether the squares of y's deviations are those of a few rows: (Σd²)² / Σd⁴ counts them.

    >>> decided_by_few(np.arange(100.0)), decided_by_few(np.exp(np.arange(100.0)))
    (False, True)
    """
    d = y - y.mean()
    d = d / (np.abs(d).max() or 1.0)
    return float(np.sum(d**2)) ** 2 < FEW * float(np.sum(d**4))


def fair_r2(y: np.ndarray, f: np.ndarray, weights: np.ndarray | None = None) -> float:
    """R², of compressed values where a few rows decide it."""
    return (compressed_r2 if decided_by_few(y) else r2_score)(y, f, weights)
