"""Every random stream of the project begins with a number of the registry, and no new number meets
another."""

import ast
from collections.abc import Iterator

from conftest import ROOT

from nsr.numbers import random_streams

REGISTRY = ROOT / "nsr" / "numbers" / "random_streams.py"
NUMBERS = {name: number for name, number in vars(random_streams).items() if name.isupper()}
APART = 1000  # a seed that is added to a number should not reach the next one
# Streams that were closer than this when the registry was made. The shipped tables depend on them; no other
# may join.
CLOSE = [
    {"FINGERPRINT_POINTS", "SYMMETRY_POINTS", "SYMMETRY_CONSTANTS", "SKELETON_POINTS"},
    {"TEST_SETS", "DROPOUT"},
    {"SCALING_PROBLEMS", "GVS_EXPRESSIONS"},
    {"HINT_TEMPLATES", "PRACTICAL_SETS", "LOCAL_TEMPLATES"},
]
SEEDS = {  # which arguments of a call are seeds
    "default_rng": slice(None),
    "SeedSequence": slice(None),
    "PCG64": slice(None),
    "manual_seed": slice(None),
    "template_stream": slice(1, 2),
    "skeleton_stream": slice(0, 1),
    "make_tables": slice(3, 4),
}


def test_no_new_streams_meet():
    close = [
        {one, two}
        for one in NUMBERS
        for two in NUMBERS
        if one < two and abs(NUMBERS[one] - NUMBERS[two]) < APART
    ]
    assert [pair for pair in close if not any(pair <= group for group in CLOSE)] == []


def seeds(tree: ast.AST) -> Iterator[ast.expr]:
    """What the calls in a file are given as seeds."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            function = (
                call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            )
            yield from call.args[SEEDS.get(function, slice(0))]
            yield from (keyword.value for keyword in call.keywords if keyword.arg in ("seed", "random_state"))


def parts(seed: ast.AST) -> Iterator[ast.AST]:
    """The parts of a seed, without what is computed by a call, such as the index of a test set."""
    if not isinstance(seed, ast.Call):
        yield seed
        if not isinstance(seed, ast.Attribute):
            for child in ast.iter_child_nodes(seed):
                yield from parts(child)


def own_numbers(source: str) -> list[str]:
    """Stream numbers that a file has for itself: a literal other than the places 0, 1 and 2, or a constant
    that is not the registry's; and a number of the registry that stands anywhere else."""
    tree = ast.parse(source)
    wrong = [
        ast.unparse(node)
        for seed in seeds(tree)
        for node in parts(seed)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int)
        and node.value > 2
        or isinstance(node, ast.Name)
        and node.id.isupper()
        or isinstance(node, ast.Attribute)
        and node.attr.isupper()
        and ast.unparse(node.value) != "random_streams"
    ]
    taken = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in NUMBERS.values()
        if node.value >= APART
    ]
    return wrong + taken


def test_no_stream_has_a_number_outside_the_registry():
    files = [path for path in (ROOT / "nsr").rglob("*.py") if path != REGISTRY]
    assert {path.name: found for path in files if (found := own_numbers(path.read_text()))} == {}


def test_a_number_outside_the_registry_is_noticed():
    assert own_numbers("_FRESH = 1_000_003") == ["1000003"]
    assert own_numbers("rng = np.random.default_rng([_FRESH, seed])") == ["_FRESH"]
    assert own_numbers("templates = draw_templates(BANK, recipe, seed=4_000_037)") == ["4000037"]
    assert own_numbers("stream = template_stream(recipe, other.FRESH + seed)") == ["other.FRESH"]
    assert own_numbers("rng = default_rng([random_streams.TEST_SETS, seed, SETS.index(name), 2])") == []


def test_every_stream_is_used():
    sources = "".join(path.read_text() for path in (ROOT / "nsr").rglob("*.py") if path != REGISTRY)
    assert [name for name in NUMBERS if f"random_streams.{name}" not in sources] == []
