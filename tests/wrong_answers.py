"""A plausible wrong answer for every exercise of the book, which its check must reject: notebook → code in
the place of the solution."""

WRONG = {
    "00_start_here": (
        "copies = [True, False, False]",
        "above = 0.99",
        "def best_copy(problem, templates):\n    return min(templates, key=len)",
    ),
    "01_boolean_formula_reduction": (
        'n_tokens, winner = 20, "x1"',
        "other_y = [2, 1]",
        'other_tokens, if_true = TOKENS | {"1": ["add", "x1", "x2"]}, "x2"',
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
        "good, bad = 4.0, 3.9",
        "def split(rows):\n    new = rows.novel\n    return 1 - new.mean(), rows[~new].accurate.mean(), rows[new].accurate.mean()",
    ),
    "05_beam_search": (
        "can_be_worse = False",
        "p_end = 0.3",
        "lossy = toy",
    ),
    "06_tpsr": (
        'selected, q_sin, q_cos = "sin", 0.6, 0.5',
        "smallest_k, needed = 2, 3",
        "def best_inside(result):\n    return next((c for c in result.candidates if 'mul' not in c.prefix), None)",
    ),
    "07_nsr_gvs": (
        'at_the_top = "common"',
        "def verified_share(z):\n    return 0.5",
        "def lower_bound(z, c):\n    return z - math.sqrt(math.log(10)) / c",
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
        "def swaps(tree):\n    other = {'x1': 'x2', 'x2': 'x1'}\n    return {tuple(other.get(token, token) for token in tree)} - {tree}",
    ),
    "11_strategies_compared": (
        'easier = "independent"',
        'sharpest = ("tpsr", 99)',
        "def portfolio(a, b):\n    pair = a.merge(b, on=KEY, suffixes=('_a', '_b'))\n"
        "    kept = np.where(pair.r2_given_a >= pair.r2_given_b, pair.accurate_a, pair.accurate_b)\n"
        "    return pair[KEY].assign(accurate=kept, candidates=pair.candidates_a)",
    ),
    "12_transformer4sr": (
        "answers = [True, True, False, False]",
        "enough = 1",
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
        "def novel_steps(formula):\n    return []",
    ),
}
