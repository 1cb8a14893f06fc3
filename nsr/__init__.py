"""A laboratory for neural symbolic regression, in nine rooms.

    template ──► expression ──► problem (X, y) ──► network ──► search ──► verified candidates ──► novelty × accuracy ──► page

formulas, numbers, data, network, search, evidence and regressor stand in this order, and none imports one
that comes after it. theory is the paper's Section 4, executed; book runs the notebooks. What other people
rely on is importable from here.
"""

import os

from nsr.doors import door

# Threads that wait for each other by spinning are ten times slower as soon as anything else runs on the
# machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = door(
    __name__,
    formulas="ExpressionError FULL SIMPLIFIED TRANSFORMER4SR Vocabulary canonical complexity depth family from_sympy is_valid parse saturate strip "
    "subtrees template_of to_infix to_latex to_sympy variables",
    numbers="evaluate fingerprint fit_constants fit_many gradient r2_score",
    data="Problem draw_templates sample_items sample_templates",
    network="load",
    search="Budget solve solve_all strategies",
    evidence="TrainingSet",
    regressor="NSRegressor",
)
