"""`python -m nsr improve brief-1000 --rounds 3`: a network that goes on with what its own searches found.

    draw      problems whose templates it was never shown; their formulas are not looked at
    search    each of them, with local search and a limit of candidates
    keep      the answers that explain fresh points, where their template is new
    train     on the old templates and all found ones: the network of the next round

What is `found` may help because it is true, or only because it is more. The controls add as many templates in
each round and train as many steps: `random` ones of the generator; `unverified` ones, any candidates of the
same searches; the `truths` behind the same problems; and `nothing`. Held-out templates are never added.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nsr.book.foreign_files import Kind, need, read_json
from nsr.book.run_records import atomic_write, new_record, to_json
from nsr.data.items import ItemRecipe
from nsr.data.templates import TreeRecipe, distinct, is_held_out, template_from, template_stream
from nsr.data.test_sets import test_set
from nsr.evidence.novelty import ACCURATE
from nsr.evidence.reference_tables import Job
from nsr.evidence.rows import N_POINTS
from nsr.formulas.equivalence import template_of
from nsr.formulas.expressions import ARITY, Prefix, Template, is_valid
from nsr.network import checkpoints
from nsr.network.batches import make_draw
from nsr.network.checkpoints import CheckpointError, Trained, load, weights_digest
from nsr.network.recipes import read_settings
from nsr.network.training import train
from nsr.numbers import random_streams
from nsr.search.engine import solve_all
from nsr.search.strategies.local import LocalSearch

if TYPE_CHECKING:
    import pandas as pd

BY = ("found", "random", "unverified", "truths", "nothing")  # what is added
CANDIDATES = 150  # of one search
OFFERED = Kind("the templates of a round", CheckpointError, "Delete it to search again.")


def round_name(name: str, by: str, number: int) -> str:
    """What the network of a round is called; that of round 0 is the one that began.

    >>> round_name("laptop/brief-1000", "found", 2)
    'laptop/brief-1000+found-2'
    """
    return f"{name}+{by}-{number}" if number else name


def improve(name: str, rounds: int, by: str = "found", *, problems: int, steps: int) -> Trained:
    """So many rounds of self-training, or of one of its controls, with so many problems and steps each; what is
    done is not done again."""
    if by != "found":  # it adds as many as were found, so that comes first
        improve(name, rounds, problems=problems, steps=steps)
    network, added = load(name), []
    for number in range(1, rounds + 1):
        offered = _kept(name, number) or _keep(name, number, search(network, number, problems))
        templates = offered["templates"]
        added += _new_to(network, templates[by])[: len(templates["found"])]
        network = _trained_with(added, network, name, by, number, steps)
    return network


def search(network: Trained, number: int, n: int) -> dict[str, Any]:
    """What the searches of a round offer, for `found` and for each control: templates, the first ones first."""
    recipe, items = _recipe(network), ItemRecipe(max_constants=network.settings["max_constants"])
    seed = random_streams.UNLABELLED + number
    drawn = test_set("not_included", network.templates, n, seed, N_POINTS, N_POINTS, recipe, items)
    results = solve_all(
        drawn, LocalSearch(candidates=CANDIDATES), network, progress=f"searching, round {number}"
    )
    if any(result.stopped == "interrupted" for result in results):
        raise KeyboardInterrupt
    solved = [result for result in results if result.answer and result.r2 > ACCURATE]
    tried = [candidate.prefix for result in results for candidate in result.candidates]
    found = _new_to(network, (result.answer.prefix for result in solved))
    others = distinct(template_stream(recipe, seed + len(BY)), network.templates)
    templates = {
        "found": found,
        "random": list(itertools.islice((t for t in others if not is_held_out(t)), 4 * len(found))),
        "unverified": _new_to(
            network, (tried[i] for i in np.random.default_rng(seed).permutation(len(tried)))
        ),
        "truths": _new_to(network, (problem.truth for problem in drawn)),
        "nothing": [],
    }
    counts = {
        "problems": n,
        "solved": len(solved),
        "true": sum(template_of(r.answer.prefix) == template_of(r.problem.truth) for r in solved),
        "seconds": round(sum(result.processor for result in results), 1),
    }
    return {"templates": templates} | counts


def _recipe(network: Trained) -> TreeRecipe:
    return TreeRecipe(
        network.vocabulary, network.settings["min_operators"], network.settings["max_operators"]
    )


def _new_to(network: Trained, prefixes: Iterable[Prefix]) -> list[Template]:
    """The different templates that the network's generator could draw, that are not held out, and that it was
    not trained with."""
    recipe = _recipe(network)
    templates = (template_of(prefix) for prefix in prefixes if is_valid(prefix))
    allowed = (
        template
        for template in templates
        if recipe.min_operators <= sum(token in ARITY for token in template) <= recipe.max_operators
        if template in network.vocabulary and template_from(template) == template
        if not is_held_out(template)
    )
    return list(distinct(allowed, network.templates))


def _trained_with(
    added: Sequence[Template], network: Trained, name: str, by: str, number: int, steps: int
) -> Trained:
    """The network of a round: the one before it, trained for more steps with the templates added so far."""
    scale, _, short_name = name.partition("/")
    plain, before = read_settings(short_name, scale), round_name(name, by, number - 1)
    changes = {"steps": steps, "warmup": steps // 10, "snapshots": 1, "seed": plain.training.seed + number}
    settings = read_settings(short_name, scale, changes | {"start_from": before})
    this = round_name(name, by, number)
    train(settings, checkpoints.training_folder(this), make_draw(settings, more=added))
    made = load(this)
    if made.about["began_with"]["weights"] != weights_digest(network):
        raise CheckpointError(
            f"{this} began with other weights than {before} has now. Move it away to train anew."
        )
    return made


# ---- what is kept ---------------------------------------------------------------------------------------------------------------


def _path(name: str, number: int) -> Path:
    return checkpoints.training_folder(round_name(name, "found", number)) / "offered.json"


def _kept(name: str, number: int) -> dict[str, Any] | None:
    """What the searches of a round offered, if they were made."""
    path = _path(name, number)
    if not path.exists():
        return None
    offered = read_json(path, OFFERED)
    with OFFERED.of(path):
        need(offered, templates=dict, problems=int, solved=int, true=int, seconds=(int, float))
        lines = offered["templates"]
        for by in BY:
            need({"lines": lines.get(by)}, lines=list)
    return offered | {"templates": {by: [tuple(line.split()) for line in lines[by]] for by in BY}}


def _keep(name: str, number: int, offered: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write it down; of the controls four times as many as can be added, for some may be known by then."""
    templates = offered["templates"]
    lines = {by: [" ".join(t) for t in templates[by][: 4 * len(templates["found"])]] for by in BY}
    record = new_record({"name": name, "round": number, "candidates": CANDIDATES}, None, offered["seconds"])
    atomic_write(_path(name, number), to_json({**offered, "templates": lines, "birth": record}) + "\n")
    return offered


def rounds_table(name: str, rounds: int) -> pd.DataFrame:
    """A line per round and way: how many templates there are, what the searches solved (`true`: with the true
    template), and what both cost, in seconds."""
    import pandas as pd

    lines = []
    for by, number in itertools.product(BY, range(1, rounds + 1)):
        if checkpoints.places_of(this := round_name(name, by, number)):
            made, offered = load(this), _kept(name, number)
            counts = {key: offered[key] for key in ("problems", "solved", "true")}
            searched = offered["seconds"] if by in ("found", "unverified") else 0.0
            cost = {
                "steps": made.about["steps"],
                "searched": searched,
                "trained": made.about["birth"]["seconds"],
            }
            about = {"weights": this, "by": by, "round": number, "templates": len(made.templates)}
            lines.append(about | counts | cost | {"stopped": ""})
    return pd.DataFrame(lines)


def rounds_jobs(name: str, rounds: int) -> list[Job]:
    """The same as the one row of a table, which can be made where all of its networks were trained."""
    last = [round_name(name, by, rounds) for by in BY]
    here = all(checkpoints.places_of(one) for one in last)
    digests = " ".join(weights_digest(load(one)) for one in last) if here else ""
    about = {"weights": name, "weights_digest": digests, "rounds": rounds}
    return [Job(f"rounds of {name}", about, partial(rounds_table, name, rounds) if here else None, here)]
