"""A laboratory for neural symbolic regression.  What the notebooks and other people rely on is importable from here.

Names are loaded when they are first used, so that `import nsr` is instant and reading a formula never loads torch.
"""
from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

# Threads that wait for each other by spinning are ten times slower as soon as anything else runs on the machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_HOME = {
    "expressions": ("ExpressionError", "Vocabulary", "SIMPLIFIED", "FULL", "TRANSFORMER4SR", "subtrees", "depth", "complexity",
                    "variables", "is_valid"),
    "parsing": ("parse",),
    "notation": ("to_infix", "to_latex", "to_sympy", "from_sympy"),
    "numerics": ("evaluate", "gradient", "fit_constants", "fit_many", "r2_score"),
    "canonical": ("strip", "canonical", "template_of", "fingerprint", "family"),
    "generator": ("sample_templates", "draw_templates"),
    "saturation": ("saturate",),
    "items": ("sample_items",),
    "checkpoint": ("load",),
    "problem": ("Problem",),
    "engine": ("solve", "solve_all", "Budget"),
    "bias": ("TrainingSet",),
    "estimator": ("NSRegressor",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
__all__ = [*_MODULE_OF]


def __getattr__(name: str):
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"nsr.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"nsr has no {name!r}; it offers {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


class _Package(ModuleType):
    """Importing the module nsr.canonical would set the attribute `canonical` of this package: that name stays the function's."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULE_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
