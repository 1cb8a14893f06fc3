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
        "def same_family(a, b):\n    fit = fit_constants(saturate(a).prefix(), points, evaluate(b, points), starts=16)\n    return fit.r2 > 0.999999",
    ),
    "03_training": (
        "factor = 4000 / 500_000",
        "ratio = 100 / 16",
        "def induced(block, x):\n    summary, _ = set_attention(block.gather, block.inducing, x)\n    return set_attention(block.spread, x, summary)[0]",
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
        "def budget(U, r, beta):\n    return 10 * U * U",
    ),
    "09_nsrwh": (
        "all_four, no_kind = 200, 0",
        "def written_length(n):\n    return float(n)",
        "class Filter:\n    name, beam_size = 'filter', 30\n\n    def search(self, view, rng):\n"
        "        beam = yield Complete((), self.beam_size)\n        yield Verify.beam(beam[:5])",
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
        "as_written = np.mean([tuple(answer.split()) in training.seen for answer in top.answer.fillna('')])",
        "def by_length(rows, cuts):\n    return rows.groupby(pd.cut(rows.truth_length, cuts), observed=True).novel_constants.count()",
    ),
    "13_practice": (
        "shift, size, constant = 1000.0, 1.0, 1.0",
        "greedy, lengths = model, (1, 1)",
        "def formula_of(path, target):\n    table = pd.read_csv(path)\n    X, y = table.drop(columns=target)[:60], table[target][:60]\n"
        "    model = NSRegressor(own, max_time=5, random_state=0).fit(X, y)\n    return model.formula_, model.score(X, y)",
    ),
    "14_one_token": (
        "place = 1",
        "n = len(trained.templates)",
        "def novel_steps(formula):\n    return [novel_step(formula)]",
    ),
}
