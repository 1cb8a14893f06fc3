"""Where a network copies: what it thinks of every true token, before, at and after the step that leaves the
tree of its training prefixes; and what one token told to it changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from nsr.data.items import ItemRecipe
from nsr.data.problems import Problem
from nsr.data.templates import TreeRecipe
from nsr.data.test_sets import test_set as make_test_set
from nsr.evidence.measuring import problems_of
from nsr.evidence.reference_tables import Job
from nsr.evidence.rows import SKELETON_SETS
from nsr.evidence.scaling import problems_of as skeleton_problems
from nsr.formulas.constant_places import ALWAYS, saturate
from nsr.formulas.editing import operators_of
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import ARITY, CONSTANT, END, START, Prefix
from nsr.formulas.orders import orders
from nsr.formulas.prefix_trees import PrefixTree
from nsr.network.checkpoints import Trained, weights_digest
from nsr.network.shown import sequence_hash
from nsr.numbers.evaluation import evaluate, r2_score
from nsr.search.decoding import Complete
from nsr.search.encoder_cache import Memories
from nsr.search.engine import Search, View, solve_all
from nsr.search.oracle import Verify

if TYPE_CHECKING:
    import pandas as pd

NO_CONSTANTS = ItemRecipe(
    max_constants=1
)  # of the generator: zero constants are drawn, so truths are templates
WALKED = 64  # problems whose tokens the decoder reads in one pass
PHASES = ("before", "at", "after")  # of a true token, beside the novel step of its formula
SLOTS = ("last leaf", "last operator", "inner leaf")  # places at which a choice is asked for
TOLD = ("nothing", "before", "at")  # which true tokens a search begins with


def bare_problems(trained: Trained, test_set: str, seed: int, n: int, n_points: int) -> list[Problem]:
    """Problems whose truths are templates, without constants: then the tree of templates says what was shown.
    Those of `baseline` are the same for every network of a recipe. With all operators some templates have no
    values without constants (asin of something large); others of the set stand for them."""
    s = trained.settings
    recipe = TreeRecipe(trained.vocabulary, s["min_operators"], s["max_operators"])
    return make_test_set(
        test_set, trained.templates, n, seed, n_points, n_points, recipe, NO_CONSTANTS, replace=True
    )


def shown_with_constants(trained: Trained) -> Iterator[Prefix]:
    """Every different sequence that a training really showed, constants included. The log holds a hash of each:
    so every way to put constants into every template is written, and looked up."""
    shown = set(trained.seen.hashes.tolist())
    for template in trained.templates:
        whole = saturate(template)
        places = [group for group, members in enumerate(whole.groups) if members]
        most = min(len(whole.additive), trained.settings["max_constants"]) - 1
        for k in range(max(most, 0) + 1):
            for used in itertools.combinations(places, k):
                guarded = zip(whole.tokens, whole.guards)
                tokens = tuple(token for token, guard in guarded if guard == ALWAYS or guard in used)
                if sequence_hash(tokens) in shown:
                    yield tokens


def shown_tree(trained: Trained, constants: bool = False) -> PrefixTree:
    """The tree of what a training shows: its templates, if the recipe reorders their terms in all orders; or what
    was really shown, with constants."""
    if constants:
        return PrefixTree(shown_with_constants(trained))
    if not trained.settings.get("reordered"):
        return PrefixTree(trained.templates)
    return PrefixTree({order for template in trained.templates for order in orders(template)})


def step_jobs(
    networks: Mapping[str, Trained | None],
    seeds: Iterable[int],
    n_problems: int,
    n_points: int,
    beams: Sequence[int],
    unknown: str = "not_included",
    constants: bool = False,
) -> list[Job]:
    """What the table `novel_steps` holds, network by network: a line per token of common problems and of
    problems unknown to it (`what` is "walk"), a line per unknown problem and way of telling ("told"), and one
    per problem on its last leaf ("leaf"). Of a network that is not here (None) the table is asked by name.

    With `constants` the problems are those of the other tables, and the tree is of what was really shown; the
    problems `new_skeletons` are those of transformer4sr. Last leaves are left out of both."""
    jobs = []
    for seed in seeds:
        for name, trained in networks.items():
            common = {"weights": trained.name if trained else name, "seed": seed}
            common |= {"weights_digest": weights_digest(trained) if trained else ""}
            common |= {"n": n_problems, "points": n_points, "beams": list(beams)}
            common |= {} if unknown == "not_included" else {"unknown": unknown}
            common |= {"constants": True} if constants else {}
            given = trained, seed, n_problems, n_points, beams, unknown, constants
            make = partial(_lines, *given) if trained else None
            jobs.append(Job(f"{name} seed {seed}", common, make, trained is not None))
    return jobs


def training_jobs(
    networks: Mapping[str, Trained | None],
    steps: Mapping[str, Sequence[int]],
    seed: int,
    n_problems: int,
    n_points: int,
    unknown: str = "not_included",
) -> list[Job]:
    """What the table `novel_steps_over_training` holds: walks along unknown formulas with snapshots of the
    trainings, and, as phase "once", the steps of known ones that a single template shows, where at least two
    go on differently. Snapshots are only where a network was trained."""
    jobs = []
    for name, trained in networks.items():
        for step in steps[name]:
            common = {"weights": trained.name if trained else name, "step": step}
            common |= {"weights_digest": weights_digest(trained, step) if trained else ""}
            common |= {"seed": seed, "n": n_problems, "points": n_points}
            common |= {} if unknown == "not_included" else {"unknown": unknown}
            make = partial(_walks_at, trained, step, seed, n_problems, n_points, unknown)
            here = trained is not None and step in trained.snapshots()
            jobs.append(Job(f"{name} step {step:,}", common, make if here else None, here))
    return jobs


def _walks_at(trained: Trained, step: int, seed: int, n: int, n_points: int, test_set: str) -> pd.DataFrame:
    import pandas as pd

    tree, then = shown_tree(trained), replace(trained, network=trained.at(step))
    problems = [bare_problems(trained, name, seed, n, n_points) for name in ("baseline", test_set)]
    known, unknown = (walk(then, part, tree) for part in problems)
    once = known[(known["phase"] == "") & (known["alike"] == 1) & (known["others"] >= 2)].assign(phase="once")
    columns = ["problem", "truth", "place", "phase", "log_prob"]
    lines = pd.concat([once, unknown[unknown["phase"] != ""]])[columns].round({"log_prob": 3})
    shown = step * trained.settings["batch"] / len(trained.templates)  # how often each, on the average
    about = {"templates": len(trained.templates), "shown": round(shown, 2), "weights": trained.name}
    return lines.assign(step=step, seed=seed, stopped="", **about)


def _lines(
    trained: Trained, seed: int, n: int, n_points: int, beams: Sequence[int], test_set: str, constants: bool
) -> pd.DataFrame:
    import pandas as pd

    tree, skeletons = shown_tree(trained, constants), test_set in SKELETON_SETS
    if skeletons:
        make = lambda name: skeleton_problems(name, trained.templates, n, seed, n_points)
    else:
        problems = problems_of if constants else bare_problems
        make = lambda name: problems(trained, name, seed, n, n_points)
    common, unknown = make("new_tables" if skeletons else "baseline"), make(test_set)
    parts = [
        walk(trained, common, tree).assign(what="walk"),
        walk(trained, unknown, tree).assign(what="walk"),
        *([] if constants or skeletons else [last_leaves(trained, [*common, *unknown]).assign(what="leaf")]),
        *(told(trained, unknown, tree, b, seed).assign(what="told") for b in beams),
    ]
    whole = pd.concat(parts, ignore_index=True).assign(seed=seed, weights=trained.name, stopped="")
    return whole.assign(test_set=whole["problem"].str.partition("-")[0])


def choice_jobs(
    networks: Mapping[str, Trained | None], seeds: Iterable[int], n_problems: int, n_points: int
) -> list[Job]:
    """What the table `novel_steps_choices` holds: the `choices` of the networks, on common and on unknown
    problems."""
    jobs = []
    for seed in seeds:
        for name, trained in networks.items():
            about = {"weights": trained.name if trained else name, "seed": seed, "n": n_problems}
            about |= {"weights_digest": weights_digest(trained) if trained else "", "points": n_points}
            make = partial(_choices, trained, seed, n_problems, n_points) if trained else None
            jobs.append(Job(f"{name} seed {seed}", about, make, trained is not None))
    return jobs


def _choices(trained: Trained, seed: int, n: int, n_points: int) -> pd.DataFrame:
    names = ("baseline", "not_included")
    problems = [p for name in names for p in bare_problems(trained, name, seed, n, n_points)]
    return choices(trained, problems).assign(seed=seed, weights=trained.name, stopped="")


@torch.inference_mode()
def log_probabilities(
    trained: Trained, problems: Sequence[Problem], expressions: Sequence[Prefix]
) -> list[np.ndarray]:
    """For each problem (L+1, V): the log-probability of every token after every beginning of its expression."""
    network, ids = trained.network, trained.vocabulary.ids
    memories, tables = Memories(network, trained.vocabulary), []
    for start in range(0, len(problems), WALKED):
        some, theirs = problems[start : start + WALKED], expressions[start : start + WALKED]
        memory, rows = memories.rows([(problem, None) for problem in some])
        read = [torch.tensor([ids[START], *(ids[token] for token in e)]) for e in theirs]
        tokens = torch.nn.utils.rnn.pad_sequence(read, batch_first=True)  # (B, L)
        logits = network.decode(memory[rows], tokens)  # (B, L, V)
        each = torch.log_softmax(logits.double(), -1).cpu().numpy()
        tables += [each[i, : len(one)] for i, one in enumerate(read)]
    return tables


def walk(trained: Trained, problems: Sequence[Problem], tree: PrefixTree) -> pd.DataFrame:
    """One line per token of the true formulas, END included: how likely the network finds it, and where it
    stands beside the formula's novel step (`phase` is "" in a formula that the tree holds).

    `alike` counts the training expressions that begin like the truth up to and with this token, `others`
    those that begin like it up to this token and go on differently.
    """
    import pandas as pd

    truths = [problem.truth for problem in problems]
    rows = []
    for problem, truth, table in zip(problems, truths, log_probabilities(trained, problems, truths)):
        tokens, novel = (*truth, END), tree.novel_step(truth)
        for place, token in enumerate(tokens):
            log_prob = table[place, trained.vocabulary.ids[token]]
            alike = tree.count(tokens[: place + 1])
            phase = "" if novel is None else PHASES[1 + (place > novel) - (place < novel)]
            rows.append(
                {
                    "problem": problem.name, "truth": " ".join(truth), "place": place, "token": token,
                    "length": len(truth), "constants": truth.count(CONSTANT), "phase": phase, "log_prob": float(log_prob),
                    "rank": int((table[place] > log_prob).sum()), "alike": alike,
                    "others": tree.count(tokens[:place]) - alike,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def gaps(walks: pd.DataFrame) -> pd.DataFrame:
    """Of every formula, asked of every network and snapshot: by how many nats its novel step is less likely than
    the mean of the steps before it (`gap`)."""
    names = ("weights", "templates", "shown", "step", "problem", "truth")
    keys = [name for name in names if name in walks and walks[name].notna().all()]
    wide = walks.pivot_table(index=keys, columns="phase", values="log_prob").dropna(subset=["before", "at"])
    return (wide["before"] - wide["at"]).rename("gap").reset_index()


@dataclass(frozen=True)
class Told:
    """Beam search that begins with the first tokens of the truth: none, those before its novel step, or that
    step, too. It shows what one token decides; nobody who searches knows it.
    """

    tree: PrefixTree
    told: str = "nothing"
    beam_size: int = 5

    @property
    def name(self) -> str:
        return f"told {self.told}"

    def search(self, view: View, rng: np.random.Generator) -> Search:
        novel = self.tree.novel_step(view.problem.truth) or 0
        known = {"nothing": 0, "before": novel, "at": novel + 1}[self.told]
        hypotheses = yield Complete(view.problem.truth[:known], self.beam_size)
        yield Verify.beam(hypotheses)


def told(
    trained: Trained, problems: Iterable[Problem], tree: PrefixTree, beam_size: int = 5, seed: int = 0
) -> pd.DataFrame:
    """One line per problem that leaves the tree and per way of telling: R², and whether the template is true.

    A formula that only ends too early has no token to be told, and is left out.
    """
    import pandas as pd

    leaving = [
        p for p in problems if (place := tree.novel_step(p.truth)) is not None and place < len(p.truth)
    ]
    rows = []
    for way in TOLD:
        for result in solve_all(leaving, Told(tree, way, beam_size), trained, seed=seed):
            answer = result.answer
            same = answer is not None and template_of(answer.prefix) == template_of(result.problem.truth)
            rows.append(
                {
                    "problem": result.problem.name,
                    "truth": " ".join(result.problem.truth),
                    "told": way,
                    "beam_size": beam_size,
                    "r2": result.r2,
                    "same": same,
                }
            )
    return pd.DataFrame(rows)


def last_leaves(trained: Trained, problems: Sequence[Problem]) -> pd.DataFrame:
    """The `choices` at last leaves."""
    return choices(trained, problems, SLOTS[:1]).drop(columns="slot")


def slot_of(truth: Prefix, slot: str) -> int | None:
    """The place of a slot; None if the formula has none. An inner leaf is the middle one of those before the
    last.

    >>> [slot_of(("add", "x1", "sin", "x2"), slot) for slot in SLOTS]
    [3, 2, 1]
    """
    leaves = [place for place, token in enumerate(truth) if token not in ARITY]
    if slot == "inner leaf":
        return leaves[(len(leaves) - 1) // 2] if len(leaves) > 1 else None
    return leaves[-1] if slot == "last leaf" else max(set(range(len(truth))) - set(leaves), default=None)


def choices(trained: Trained, problems: Sequence[Problem], slots: Sequence[str] = SLOTS) -> pd.DataFrame:
    """One line per problem and slot, given all tokens before it: is the true token found by the network, by the
    network with the data of another problem (what it expects before it sees data), and by trying on the given
    points?

    Only variables are compared with each other, and operators of one arity; of equally good ones the first is
    taken. What is tried ends as the truth does, except that after an operator all variables are tried for all
    leaves.
    """
    import pandas as pd

    variables, ids = list(trained.vocabulary.variables), trained.vocabulary.ids
    operators = dict(zip((1, 2), operators_of(trained.vocabulary)))
    truths = [problem.truth for problem in problems]
    own = log_probabilities(trained, problems, truths)
    others = log_probabilities(trained, [*problems[1:], *problems[:1]], truths)
    rows = []
    for problem, truth, mine, foreign in zip(problems, truths, own, others):
        for slot in slots:
            if (place := slot_of(truth, slot)) is None:
                continue
            present, before, rest = variables[: problem.X.shape[1]], truth[:place], truth[place + 1 :]
            tokens, tried = operators.get(ARITY.get(truth[place]), variables), present
            endings = [rest]
            if slot == "last operator":
                tried = tokens
                varying = [v for v, spread in zip(present, np.ptp(problem.X, axis=0)) if spread > 0]
                endings = list(itertools.product(varying, repeat=len(rest)))
            scores = [max(_r2((*before, token, *ending), problem) for ending in endings) for token in tried]
            best = [
                tokens[int(np.argmax(table[place, [ids[t] for t in tokens]]))] for table in (mine, foreign)
            ]
            rows.append(
                {
                    "problem": problem.name,
                    "truth": " ".join(truth),
                    "slot": slot,
                    "length": len(truth),
                    "known": truth in trained.templates,
                    "network": best[0] == truth[place],
                    "expected": best[1] == truth[place],
                    "tried": tried[int(np.argmax(scores))] == truth[place],
                }
            )
    return pd.DataFrame(rows)


def _r2(prefix: Prefix, problem: Problem) -> float:
    return float(np.nan_to_num(r2_score(problem.y, evaluate(prefix, problem.X)), nan=-np.inf))
