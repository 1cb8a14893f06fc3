"""Units of quantities: read from text, and whether a formula can have the unit of y. The judge changes the units of
the columns, tries units for the constants one after the other, and looks whether the values follow."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from nsr.book.foreign_files import read_yaml
from nsr.data.fastsrb import FASTSRB, LARGEST_FILE, public_laws
from nsr.data.practical_sets import TESTSETS, folder_of
from nsr.formulas.expressions import CONSTANT, Prefix
from nsr.formulas.parsing import parse
from nsr.numbers.evaluation import evaluate
from nsr.numbers.fitting import fit_constants
from nsr.search.dimensions import Dimensions
from nsr.search.physical_units import LONGEST, UnitError, read_unit, unit_text
from nsr.search.strategies.families import family_of

POINTS = np.random.default_rng(0).uniform(0.5, 2.0, (12, 2))
LARGER = 1.7  # an old unit of length, in new ones


def metres(n: Fraction | int) -> tuple:
    return (("m", Fraction(n)),) if n else ()


# ---- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("N", "kg m s^-2"),
        ("J", "N*m"),
        ("W/V", "A"),
        ("ohm", "Ω"),
        ("T*m**2", "Wb"),
        ("kJ/mol", "kilojoule/mole"),
        ("m s⁻²", "m/s/s"),
        ("J/(kg*K)", "J/kg/K"),
        ("kilometer / hour", "km/h"),
        ("newtons", "newton"),
        ("µm", "micrometre"),
        ("m**0.5", "m^(1/2)"),
        ("1", "rad"),
        ("L", "dm³"),
        ("1/s", "Hz"),
        ("s**(-3/2)", "1/s**1.5"),
    ],
)
def test_two_names_of_one_unit(one, other):
    assert read_unit(one) == read_unit(other)


def test_units_of_different_size_are_different_and_sizes_are_exact():
    assert (
        len(
            {read_unit(u) for u in ("m", "km", "mm", "s", "min", "h", "d", "deg", "rad", "%", "g", "kg", "t")}
        )
        == 13
    )
    assert read_unit("Mg") == read_unit("t") and read_unit("mL") == read_unit("cm**3")
    for text, size in {
        "km/h": 1 / 3.6,
        "cal": 4.184,
        "deg": np.pi / 180,
        "eV": 1.602176634e-19,
        "mm**2": 1e-6,
    }.items():
        assert float(unit_text(read_unit(text)).split()[0]) == pytest.approx(size, rel=1e-9)


def test_a_unit_without_a_size_is_read_back():
    for text in ("m", "kg*m/s**2", "1/s", "kg**(1/2)*m", "mol/(K*m**3)", "A*s", "1", "cd**(2/3)/K"):
        assert read_unit(unit_text(read_unit(text))) == read_unit(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a unit is empty"),
        ("meter/secnd", "no unit 'secnd'.*Did you mean 'second'"),
        ("Meter", "Did you mean 'meter'"),
        ("degC", "a zero of its own; use K"),
        ("5 m", "the only number is 1"),
        ("m**x", "an exponent must be a number"),
        ("m**2**3", "needs brackets"),
        ("m**(1/0)", "divided by 0"),
        ("m**1000", "larger than 100"),
        ("((m**99)**99)**99", "larger than 100"),
        ("m**" + "9" * 100, "larger than 100"),
        ("m" * (LONGEST + 1), "at most 200 characters"),
        ("(" * 50 + "m" + ")" * 50, "more than 20 deep"),
        ("(m", "'\\)' is missing"),
        ("m)", "'\\)' stands where a unit ends"),
        ("m*", "a unit is missing"),
        ("m//s", "a unit is missing"),
        ("m**٣", "no character '٣'"),
        ("__import__('os')", "no character"),
        (5, "5 is no unit; write text"),
    ],
)
def test_what_is_no_unit_gets_a_sentence(text, message):
    with pytest.raises(UnitError, match=message):
        read_unit(text)


# ---- the judge -------------------------------------------------------------------------------------------------------


def follows(prefix: Prefix, columns: tuple[int, int], goal: int) -> bool:
    """Whether some units of the constants let the values follow a change of the unit of length."""
    K = prefix.count(CONSTANT)
    constants = np.array([0.7, 1.3, 0.4][:K])
    before = evaluate(prefix, POINTS, constants)
    there = np.isfinite(before)
    assert there.sum() > 2
    for powers in itertools.product(np.arange(-4, 4.5, 0.5), repeat=K):
        after = evaluate(prefix, POINTS * LARGER ** np.array(columns), constants * LARGER ** np.array(powers))
        if np.allclose(after[there], before[there] * LARGER**goal, rtol=1e-9, atol=0, equal_nan=True):
            return True
    return False


def some_formulas(rng: np.random.Generator, n: int) -> list[Prefix]:
    """Random formulas of two columns with up to two constants, without a function of a function."""

    def draw(depth: int, inside: bool) -> Prefix:
        token = rng.choice(["leaf", "binary", "power", "function"], p=[0.15, 0.55, 0.15, 0.15])
        if depth == 0 or token == "leaf":
            return (str(rng.choice(["x1", "x2", "C"])),)
        if token == "binary":
            two = [draw(depth - 1, inside) for _ in range(2)]
            if two[0] == two[1]:  # x1 − x1 may have any unit
                return two[0]
            return (str(rng.choice(["add", "sub", "mul", "div"])), *two[0], *two[1])
        if token == "power":
            return (str(rng.choice(["pow2", "sqrt"])), *draw(depth - 1, inside))
        if inside:
            return draw(depth - 1, inside)
        return (str(rng.choice(["sin", "exp"])), *draw(depth - 1, True))

    found: dict[Prefix, None] = {}
    while len(found) < n:
        prefix = draw(3, False)
        values = (
            evaluate(prefix, POINTS, [0.7, 1.3][: prefix.count("C")])
            if prefix.count("C") <= 2
            else np.zeros(1)
        )
        if (
            {"x1", "x2"} & set(prefix)
            and np.isfinite(values).sum() > 2
            and np.ptp(values[np.isfinite(values)]) > 0.01
        ):
            found[prefix] = None
    return list(found)


def test_what_is_admitted_is_what_follows_a_change_of_units():
    rng, seen = np.random.default_rng(1), {True: 0, False: 0}
    for prefix in some_formulas(rng, 160):
        d1, d2, goal = (int(n) for n in rng.integers(-1, 2, 3))
        admitted = Dimensions((metres(d1), metres(d2)), metres(goal)).admits(prefix)
        assert admitted == follows(prefix, (d1, d2), goal), (prefix, d1, d2, goal)
        seen[admitted] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("C + C*log(x1)", True),
        ("C*log(x1)", False),
        ("C*log(C*x1)", True),
        ("log(x1/x2)", True),
        ("C*(log(x1) - log(x2))", True),
        ("C*(log(x1) + log(x2))", False),
        ("C*exp(C*log(x1) + C*log(x2))", True),
        ("exp(C*log(x1))", False),
        ("x2*log(x1) + C", False),
        ("C*x2*(C + log(x1))", True),
        ("C/exp(C*log(x1))", True),
        ("sin(C + C*log(x1))", True),
    ],
)
def test_what_takes_up_the_unit_of_a_logarithm(text, possible):
    prefix, _ = parse(text)
    X = np.random.default_rng(2).uniform(0.5, 4.0, (60, 2))
    y = evaluate(prefix, X, [0.8, 1.2, -0.6, 0.9][: prefix.count("C")])
    fit = fit_constants(prefix, X * LARGER, y, starts=8)
    # y is a number or has any unit: the same constants, or others, give the same values
    assert (fit.r2 > 1 - 1e-9) == possible == Dimensions((metres(1), metres(1)), ()).admits(prefix)


def test_rules_of_the_docstring_and_unknown_units():
    metre, second = read_unit("m"), read_unit("s")
    both = Dimensions((metre, second), metre)
    for text, possible in {
        "C*x1 + C*x2": True,
        "x1 + x2": False,
        "x1 + C*x2": True,
        "sin(x1)": False,
        "C*sin(x1)": False,
        "C*sin(C*x1)": True,
        "x1 + sin(C*x2)": False,
        "C": True,
    }.items():
        assert both.admits(parse(text)[0]) == possible, text
    unknown = Dimensions((None, second), None)
    assert unknown.admits(("add", "x1", "x2")) and unknown.admits(("mul", "x1", "x2"))
    assert not unknown.admits(("add", "sin", "x1", "x2"))
    assert not unknown.admits(("add", "x2", "mul", "x1", "sin", "x1"))  # x1 cannot be a number and a time
    assert not Dimensions((metre, read_unit("km")), metre).admits(("add", "x1", "x2"))
    assert both.admits_part(("mul", "x1", "x2")) and not both.admits_part(("exp", "x2"))


def test_the_units_of_constants():
    free_fall = Dimensions((read_unit("s"), read_unit("m")), read_unit("m"))
    units = free_fall.of_constants(parse("C*x1**2 + C*x1 + C")[0])
    assert [unit_text(unit) for unit in units] == ["m/s**2", "m/s", "m"]
    assert free_fall.of_constants(parse("C*C*x1")[0]) == [None, None]


def test_every_family_is_admitted():
    """A family has a constant wherever units could be wrong, so that no local search is led by them."""
    lengths = Dimensions(tuple(map(read_unit, ("m", "s"))), read_unit("kg"))
    rng = np.random.default_rng(3)
    for prefix in some_formulas(rng, 60):
        if "C" not in prefix:
            assert lengths.admits(family_of(prefix, shifted=True))


def test_laws_of_physics_are_admitted_by_their_units():
    try:
        path = folder_of(TESTSETS) / "fastsrb" / "expressions.yaml"
        about = read_yaml(path, FASTSRB, LARGEST_FILE)
    except OSError:
        pytest.skip("the laws are not here")
    refused = 0
    for law in public_laws("development"):
        exponents = [about[law.name]["vars"][f"v{i}"]["units"] for i in range(len(law.columns) + 1)]
        goal, *columns = (
            tuple((a, Fraction(n)) for a, n in zip("K V kg m s".split(), (e[3], e[4], e[2], e[0], e[1])) if n)
            for e in exponents
        )
        assert Dimensions(tuple(columns), goal).admits(law.parsed[0]), law.name
        # with a metre more in y, only a law with a constant of nature can be right
        wrong = tuple(sorted((dict(goal) | {"m": dict(goal).get("m", 0) + 1}).items()))
        refused += not Dimensions(tuple(columns), tuple(p for p in wrong if p[1])).admits(law.parsed[0])
    assert refused >= 8
