"""A plausible wrong answer for every exercise of the book, which its check must reject: notebook → code in
the place of the solution."""

WRONG = {
    "00_start_here": (
        'predicted = "x1 sub x2 sub x3"',
        'copied = "sin(x1) + x3"',
        "def depth_by_stack(tokens):\n    return len(tokens)",
    ),
    "01_boolean_formula_reduction": (
        'n_tokens, winner = 16, "x1"',
        'moved, broken = np.array([[1.0, 0.0], [0.0, 1.0]]), "1"',
        'def xor(a, b):\n    return ("add", *a, *b)',
    ),
    "02_expressions_and_data": (
        "n_templates = 8",
        "one_variable = 0.1",
        "def leaves(template):\n    return 1 + sum(token in ARITY for token in template)",
    ),
    "03_training": (
        "factor = 4000 / 500_000",
        "ratio = 100 / 16",
        "def order_matters(a, b):\n    return False",
    ),
    "04_reproduction_bias": (
        "by_template, by_family = True, True",
        "between = np.mean(copied.r2 > 0.9) + 0.5",
        "from collections import Counter\n\n\ndef missing(truth, answer):\n    return Counter(truth)",
    ),
    "05_beam_search": (
        "can_be_worse = False",
        "wider = solve_all(problems[:1], BeamSearch(2 * beam_size), trained)[:0]",
        "class FirstTokens:\n    name, beam_size = 'first tokens', 5\n\n    def search(self, view, rng):\n"
        "        found = yield Complete(beam_size=6)\n        yield Verify.beam(found)",
    ),
    "06_tpsr": (
        "at_most = 3",
        "def walked_length(weight):\n    return weight",
        "class Impatient:\n    name = 'impatient'\n\n    def search(self, view, rng):\n        yield NextTokens(())\n        return None",
    ),
    "07_nsr_gvs": (
        'at_the_top = "common"',
        "def verified_share(z):\n    return 0.5",
        "class Fresh(BeamSearch):\n    def search(self, view, rng):\n        beam = yield Complete((), 1)\n        yield Verify.beam(beam[:1])",
    ),
    "08_pac_guarantee": (
        'more_than_doubles = "R"',
        "small_beta = 0.5",
        "def calls_bound(U, r, max_depth, beta, delta):\n"
        "    return U / r * (max_depth + np.log(1 / delta)) + np.log(1 / delta) / beta",
    ),
    "09_nsrwh": (
        "all_four, no_kind = 200, 0",
        "def written_length(n):\n    return float(n)",
        "def accurate_when_off(by):\n    return float(good['complexity'].mean())",
    ),
    "10_families_and_local_search": (
        "n_placements = 8",
        "enough = 10**9",
        "def remainders(prefix):\n    return {prefix[1:]}",
    ),
    "11_strategies_compared": (
        'easier = "independent"',
        'sharpest = ("tpsr", 99)',
        "def portfolio(a, b):\n    pair = a.merge(b, on=KEY, suffixes=('_a', '_b'))\n    return np.minimum(pair.r2_a, pair.r2_b)",
    ),
    "12_transformer4sr": (
        "answers = [True, True, False, False]",
        "enough = 1",
        "def by_length(rows, cuts):\n    return rows.groupby(pd.cut(rows.truth_length, cuts), observed=True).novel_constants.count()",
    ),
    "13_practice": (
        "shift, size, constant = 1000.0, 1.0, 1.0",
        "greedy, lengths = model, (1, 1)",
        "def plainest(fitted, least=0.9):\n    return fitted.equations_.sort_values('complexity').equation.iloc[-1]",
    ),
    "14_one_token": (
        "place = 1",
        "n = len(trained.templates)",
        "def novel_steps(formula):\n    return [novel_step(formula)]",
    ),
}
