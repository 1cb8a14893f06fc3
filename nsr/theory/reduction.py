"""The reduction of the paper's proof: a Boolean formula becomes a last-token prediction problem, one function
per step.

    t ──or_free──► t' ──to_prefix──► t'_pre ──to_tokens──► s ──prepend "add"──► s̃,   with the data (1, 0, 1), (0, −1, 0)

The best last token of s̃ is x1 if eval(t) = 0 and x2 if eval(t) = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nsr.formulas.expressions import CONSTANT, VARIABLES, ExpressionError, Prefix, is_valid, n_constants
from nsr.numbers.evaluation import evaluate
from nsr.numbers.fitting import fit_constants
from nsr.theory.boolean import AND, NOT, OR, Formula, Symbols, parse

# Step 3: what each Boolean symbol becomes. At the two data points x1·x2 = 0 and x1 − x2 = 1, so these compute
# 0, 1, a·b and 1 − a.
TOKENS_OF: dict[str, Prefix] = {"0": ("mul", "x1", "x2"), "1": ("sub", "x1", "x2")}
TOKENS_OF |= {AND: ("mul",), NOT: ("sub", "sub", "x1", "x2")}
POINTS = np.array([[1.0, 0.0], [0.0, -1.0]])  # (P=2, D=2)
VALUES = np.array([1.0, 0.0])  # (P=2,)
UNIT: Prefix = ("mul", "sub", "x1", "x2")  # times one: four tokens that change no value, for padding


@dataclass(frozen=True)
class LastTokenProblem:
    """Find the leaf u that minimises the mean squared error of the expression (s̃, u) on the data, constants
    fitted.

    u* = arg min_u  min_c 1/P Σᵢ (yᵢ − e_{(s̃,u)}(xᵢ; c))²,   X (P, D), y (P,), u over the leaves only.

    >>> problem = LastTokenProblem(("add", "x1"), X=[[1.0, 5.0], [2.0, 7.0]], y=[6.0, 9.0])
    >>> problem.solve()
    'x2'
    """

    prefix: Prefix
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    leaves: tuple[str, ...] = ()
    formula: Formula | None = None

    def __post_init__(self) -> None:
        X = np.atleast_2d(np.asarray(self.X, dtype=np.float64))
        y = np.asarray(self.y, dtype=np.float64).reshape(-1)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} points but y has {len(y)} values.")
        known = (*VARIABLES[: X.shape[1]], CONSTANT)
        leaves, prefix = tuple(self.leaves) or known, tuple(self.prefix)
        if wrong := [leaf for leaf in leaves if leaf not in known]:
            there = f"the leaves are C and x1 to x{X.shape[1]}"
            raise ExpressionError(f"{wrong[0]!r} cannot end an expression here: {there}.")
        if not is_valid((*prefix, CONSTANT)):
            raise ExpressionError("The sequence does not become an expression by adding one leaf.")
        for name, content in (("X", X), ("y", y), ("leaves", leaves), ("prefix", prefix)):
            object.__setattr__(self, name, content)

    def loss(self, leaf: str) -> float:
        """Mean squared error of (s̃, leaf), constants at their best; inf where the expression is undefined."""
        expression = (*self.prefix, leaf)
        if n_constants(expression):
            mse = fit_constants(expression, self.X, self.y).mse
        else:
            mse = float(np.mean((self.y - evaluate(expression, self.X)) ** 2))
        return mse if np.isfinite(mse) else float("inf")

    def losses(self) -> dict[str, float]:
        """The loss of every leaf: brute force."""
        return {leaf: self.loss(leaf) for leaf in self.leaves}

    def solve(self) -> str:
        """The best leaf; of equally good ones the first in `leaves`."""
        losses = self.losses()
        return min(losses, key=losses.__getitem__)


def or_places(formula: Formula) -> list[tuple[int, int, int]]:
    """For every ∨ of a formula its place, between the places of the brackets around it.

    >>> or_places("(0∨(1∧1))")
    [(0, 2, 8)]
    """
    parse(formula)  # a clear error first
    found, open_brackets = [], []  # of each open bracket its place, and that of its ∨
    for i, symbol in enumerate(formula):
        if symbol == "(":
            open_brackets.append([i])
        elif symbol == OR:
            open_brackets[-1].append(i)
        elif symbol == ")" and len(bracket := open_brackets.pop()) == 2:
            found.append((*bracket, i))
    return found


def or_free(formula: Formula) -> str:
    """Step 1, the paper's local edits: at every ∨ the nearest left bracket around it becomes ¬(¬, and ∨
    becomes ∧¬.

    (a∨b) = ¬(¬a∧¬b). The result leaves the paper's grammar, because its new ¬ have no brackets of their own;
    read it with `parse(…, bare_not=True)`.

    >>> or_free("(0∨(1∧1))")
    '¬(¬0∧¬(1∧1))'
    """
    out = list(formula)
    for left, at, _ in or_places(formula):
        out[left], out[at] = NOT + "(" + NOT, AND + NOT
    return "".join(out)


def or_free_in_grammar(formula: Formula) -> Formula:
    """Step 1 mended: a third edit, at the right bracket, keeps the result inside the paper's grammar.

    (a∨b) = (¬((¬a)∧(¬b))).

    >>> or_free_in_grammar("(0∨(1∧1))")
    '(¬((¬0)∧(¬(1∧1))))'
    """
    out = list(formula)
    for left, at, right in or_places(formula):
        out[left], out[at], out[right] = "(" + NOT + "((" + NOT, ")" + AND + "(" + NOT, ")))"
    return "".join(out)


def to_prefix(text: str) -> Symbols:
    """Step 2: the ∨-free text in prefix order, brackets dropped.

    >>> to_prefix("¬(¬0∧¬(1∧1))")
    ('¬', '∧', '¬', '0', '¬', '∧', '1', '1')
    """
    symbols = parse(text, bare_not=True)
    if OR in symbols:
        raise ValueError("The formula still contains ∨: apply or_free first.")
    return symbols


def to_tokens(symbols: Symbols) -> Prefix:
    """Step 3: Boolean symbols become tokens; s computes eval(t) at both data points.

    >>> to_tokens(("¬", "0"))
    ('sub', 'sub', 'x1', 'x2', 'mul', 'x1', 'x2')
    """
    return tuple(token for symbol in symbols for token in TOKENS_OF[symbol])


def pad_to(prefix: Prefix, length: int) -> Prefix:
    """s̃ lengthened to exactly `length` tokens by factors x1 − x2 = 1; possible whenever both lengths are
    multiples of four.

    >>> pad_to(("add", "mul", "x1", "x2"), 8)
    ('add', 'mul', 'sub', 'x1', 'x2', 'mul', 'x1', 'x2')
    """
    missing = length - len(prefix)
    if missing < 0 or missing % len(UNIT):
        only = f"only multiples of {len(UNIT)} can be added"
        raise ValueError(f"Cannot pad {len(prefix)} tokens to {length}: {only}.")
    return (*prefix[:1], *UNIT * (missing // len(UNIT)), *prefix[1:])


def reduce_formula(text: Formula, length: int | None = None, n_variables: int = 2) -> LastTokenProblem:
    """The whole reduction: a Boolean formula as a LastTokenProblem whose answer is x1 if it is 0 and x2 if it
    is 1.

    A malformed formula raises a ValueError with the position of the fault. With `length` the sequence is
    padded to exactly that many tokens. Variables beyond x2 are 0 at both points, which no expression of the
    reduction reads.

    >>> reduce_formula("(0∨1)").solve()
    'x2'
    """
    prefix = ("add", *to_tokens(to_prefix(or_free(text))))
    if length is not None:
        prefix = pad_to(prefix, length)
    X = np.zeros((len(POINTS), n_variables))
    X[:, :2] = POINTS
    return LastTokenProblem(prefix, X, VALUES.copy(), formula=text)


def exact_losses(prefixes: Sequence[Prefix]) -> np.ndarray:
    """Four times the losses of x1, x2 and C for many s̃ of the reduction, in integers: (N, 3) int64.

    Every (s̃, u) is evaluated in full at both points. All values on the way are small whole numbers, so nothing
    is rounded. C is additive here, so min_c of the mean squared
    residual is the variance of the residuals: ((r₁ − r₂)/2)².

    >>> exact_losses([reduce_formula("0").prefix, reduce_formula("1").prefix]).tolist()
    [[0, 4, 1], [4, 0, 1]]
    """
    leaves = np.column_stack([POINTS, np.zeros(2)])  # (P=2, 3): x1, x2, and C at 0
    X = np.column_stack([np.repeat(POINTS, 3, axis=0), leaves.ravel()])  # (P · 3, 3): x3 is the leaf
    values = np.array([evaluate((*prefix, "x3"), X) for prefix in prefixes]).reshape(-1, 2, 3)  # (N, P, 3)
    residuals = VALUES[:, None] - values
    losses = 2 * (residuals**2).sum(axis=1)  # (N, 3)
    losses[:, 2] = (residuals[:, 0, 2] - residuals[:, 1, 2]) ** 2
    return losses.astype(np.int64)
