"""Section 4 and the appendix of the paper, executed: the Boolean-formula reduction, circuits, and the PAC
guarantee."""

from nsr.theory.boolean import FormulaError
from nsr.theory.reduction import LastTokenProblem, reduce_formula

__all__ = ["FormulaError", "LastTokenProblem", "reduce_formula"]
