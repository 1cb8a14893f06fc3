"""Data: random formulas, the points that belong to them, and problems to solve.

    p_Tree ──► template ──► item: constants, supports, points ──► batch of training, or Problem of a test set

Laws of physics, real tables, hints about a formula and the change to other units are here, too.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    templates="TreeRecipe draw_templates raw_draws sample_templates template_from training_draws tree_counts",
    items="ItemRecipe TemplateBank sample_items",
    problems="Problem",
    test_sets="TEST_SETS size test_templates",
    hints="Complexity HintError Negative Positive Symmetry decode encode",
    hint_draws="HintRecipe draw_hints random_templates",
    laws="equations",
    fastsrb="PublicLaw public_laws",
    practical_sets="SETS black_box_data practical_set",
    rescaling="Units",
    skeleton_tables="FILTERS WEIGHTS skeleton_draws skeleton_of tables_of",
)
