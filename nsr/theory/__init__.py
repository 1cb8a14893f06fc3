"""Section 4 and the appendix of the paper, executed: the Boolean-formula reduction, circuits, and the PAC
guarantee."""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    boolean="FormulaError boolean",
    reduction="LastTokenProblem reduce_formula reduction",
    circuits="circuits",
    proof_circuits="proof_circuits",
    last_token="last_token",
    experiment="experiment",
    pac="pac",
    drawings="bracket_picture classes_picture draw_circuit experiment_picture growth_picture reduction_picture",
)
