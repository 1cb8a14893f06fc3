"""Formulas: what an expression is, as a tuple of tokens in prefix order.

Text comes in (`parse`) and goes out (`to_infix`, `to_latex`, `to_sympy`). In between an expression is
stripped of its constants, brought into canonical form, compared with others by template or by family, given a
constant wherever one may stand, and edited. Nothing here evaluates anything, and nothing imports another
room.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    expressions="ARITY CONSTANT END FULL SIMPLIFIED START TRANSFORMER4SR ExpressionError Vocabulary arity complexity depth is_valid spans subtrees variables",
    parsing="parse",
    notation="from_sympy to_infix to_latex to_sympy",
    normal_form="strip",
    equivalence="canonical family is_reduced template_of",
    constant_places="saturate",
    editing="edits operators_of template_if_allowed",
    distance="changes nearest",
    skeletons="bare to_skeleton",
    prefix_trees="PrefixTree",
)
