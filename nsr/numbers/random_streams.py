"""The registry of random streams: every number that the project itself begins a stream with, and who draws
from it.

Such a number is the first entry of `np.random.default_rng([number, …])`, or the seed of `draw_templates`;
where a user gives a seed, it is added, or it is the next entry. Numbers below a thousand belong to users and
recipes. These numbers made the tables in outputs/reference, so none of them may change, also where two are
equal. A new one is at least a thousand away from every other (tests/numbers/test_random_streams.py).

What is shared today does no harm. Equal numbers give equal random numbers, but those are used for different
things:

- GVS_EXPRESSIONS and SCALING_PROBLEMS: templates of p_E, and skeletons of another generator;
- LOCAL_TEMPLATES and PRACTICAL_SETS: templates of p_E from 2 to 5 operators, and from 3 to 6;
- SYMMETRY_POINTS and SKELETON_POINTS: points at which formulas are compared, spread differently;
- TEST_SETS and DROPOUT: one is for NumPy, the other for torch;
- the seeds of a recipe: `seed` and `template_seed` are both 0 as a rule, and then the k-th pool of items and
  the k-th chunk of templates begin with the same random numbers.
"""

# ---- problems to be solved
TEST_SETS = 1_000_003  # nsr.data.test_sets: templates and items of the controlled test sets
SCALING_PROBLEMS = 2_000_003  # nsr.evidence.scaling: test problems for transformer4sr
PRACTICAL_SETS = 3_000_017  # nsr.data.practical_sets: formulas with five variables, points of all sets
FASTSRB = 6_000_011  # nsr.data.fastsrb: rows of its laws

# ---- random formulas that searches and hints use
GVS_EXPRESSIONS = 2_000_003  # nsr.search.strategies.gvs: subtrees for prompts
HINT_TEMPLATES = 3_000_003  # nsr.data.hint_draws: what a formula does not contain
LOCAL_TEMPLATES = 3_000_017  # nsr.search.strategies.local: where the search without a network begins

# ---- other training templates
EXCHANGES = 7_000_003  # nsr.data.templates: subtrees exchanged between templates
UNLABELLED = 8_000_009  # nsr.improvement: problems for self-training, and what its controls add

# ---- fixed points at which formulas are compared
FINGERPRINT_POINTS = 20_260  # nsr.numbers.fingerprints
SYMMETRY_POINTS = 20_261  # nsr.numbers.symmetry
SYMMETRY_CONSTANTS = 20_262  # nsr.numbers.symmetry
SKELETON_POINTS = 20_261  # nsr.evidence.scaling

# ---- training
DROPOUT = 1_000_003  # nsr.network.training: the units dropped at a step; torch's generator, times the step
# nsr.theory.experiment: formulas to learn from; as small as a user's seed, for no reason
BOOLEAN_TRAINING = 7
BOOLEAN_TESTS = 20_240_101  # nsr.theory.experiment: formulas to be judged
