"""The walk along true tokens says what the network itself says when it is asked token by token."""

from dataclasses import replace

import numpy as np
import pytest

from nsr.evidence.measuring import network_for, networks_for, problems_of
from nsr.evidence.novel_steps import (
    SLOTS,
    bare_problems,
    choices,
    gaps,
    log_probabilities,
    shown_tree,
    shown_with_constants,
    slot_of,
    step_jobs,
    told,
    training_jobs,
    walk,
)
from nsr.evidence.reference_tables import read_records, recorded, results_path
from nsr.formulas.expressions import ARITY, END
from nsr.formulas.prefix_trees import PrefixTree
from nsr.network.batches import Stream, make_draw
from nsr.network.checkpoints import load_folder
from nsr.network.recipes import read_settings
from nsr.network.training import train
from nsr.search.decoding import NextTokens
from nsr.search.engine import solve_all


class Asks:
    """A strategy that asks for the next tokens after every beginning of the truth."""

    name = "asks"

    def __init__(self):
        self.answers: dict[str, list] = {}

    def search(self, view, rng):
        truth = view.problem.truth
        said = yield [NextTokens(truth[:n], masked=False) for n in range(len(truth) + 1)]
        self.answers[view.problem.name] = said


@pytest.fixture(scope="module")
def tiny():
    trained = network_for("")
    return trained, problems_of(trained, "not_included", n_problems=8, n_points=20)


def test_the_walk_is_what_the_engine_would_say(tiny):
    trained, problems = tiny
    asks = Asks()
    solve_all(problems, asks, trained)
    tables = log_probabilities(trained, problems, [p.truth for p in problems])
    for problem, table in zip(problems, tables):
        for place, token in enumerate((*problem.truth, END)):
            by_engine = dict(asks.answers[problem.name][place])
            assert table[place, trained.vocabulary.ids[token]] == pytest.approx(by_engine[token], abs=1e-4)


def test_phases_stand_around_the_novel_step_and_known_formulas_have_none(tiny):
    trained, problems = tiny
    tree = PrefixTree(trained.templates)
    table = walk(trained, problems, tree)
    for problem in problems:
        lines = table[table.problem == problem.name]
        assert list(lines.token) == [*problem.truth, END] and (lines.phase == "at").sum() == 1
        novel = int(lines.place[lines.phase == "at"].iloc[0])
        assert (lines.alike[lines.place < novel] > 0).all() and (lines.alike[lines.place >= novel] == 0).all()
    own = walk(trained, problems, PrefixTree(p.truth for p in problems))
    assert (own.phase == "").all() and np.isfinite(own.log_prob).all()


def test_what_is_told_is_what_the_answer_begins_with(tiny):
    trained, problems = tiny
    table = told(trained, problems, PrefixTree(trained.templates), beam_size=2)
    assert set(table.told) == {"nothing", "before", "at"} and table.groupby("told").size().nunique() == 1
    whole = told(trained, problems, PrefixTree([p.truth[:-1] for p in problems]), beam_size=1)
    assert whole[whole.told == "at"]["same"].all()  # the novel step is then the last token


def test_the_gap_is_that_of_each_formula(tiny):
    trained, problems = tiny
    table = walk(trained, problems, PrefixTree(trained.templates)).assign(step=np.nan)
    found = gaps(table).set_index("problem").gap
    for problem in problems:
        lines = table[table.problem == problem.name]
        before, at = (lines.log_prob[lines.phase == phase] for phase in ("before", "at"))
        if len(before):
            assert found[problem.name] == pytest.approx(before.mean() - at.iloc[0])
        else:
            assert problem.name not in found


def test_a_network_that_is_not_here_is_asked_of_the_table_by_its_name(tiny):
    trained, _ = tiny
    for jobs in (
        step_jobs({"laptop/away": None, "here": trained}, [0], 8, 20, [5], "not_included_matched"),
        training_jobs({"laptop/away": None, "here": trained}, {"laptop/away": [1], "here": [200]}, 0, 8, 20),
    ):
        away, here = jobs
        assert away.make is None and not away.comparable and here.make is not None and here.comparable
        assert away.parameters["weights"] == "laptop/away" and here.parameters["weights"] == trained.name
        assert away.parameters.keys() == here.parameters.keys()


def test_what_was_shown_with_constants_is_found_again(tmp_path):
    """The stream is drawn again: these are the sequences that a training shows."""
    settings = read_settings("nesymres", "tiny", {"steps": 12, "draws": 40})
    trained = load_folder(train(settings, tmp_path))
    t, d = settings.training, settings.data
    stream = Stream(
        make_draw(settings)[1], settings.vocabulary, t.seed, t.batch, (d.points_min, d.points_max), d.pool
    )
    shown = {prefix for batch in stream.from_step(0, t.steps) for prefix in batch.shown}
    again = list(shown_with_constants(trained))
    assert set(again) == shown and len(again) == len(shown) > 40


def test_a_choice_is_made_among_tokens_of_its_kind_and_trying_finds_what_the_data_tell(tiny):
    trained, _ = tiny
    problems = bare_problems(trained, "not_included", 0, 12, 40)
    table = choices(trained, problems)
    assert set(table.slot) == set(SLOTS) and (table.known == False).all()  # noqa: E712
    assert table[table.slot == "last leaf"].tried.mean() > 0.9 and table.tried.mean() > 0.8
    tables = log_probabilities(trained, problems, [p.truth for p in problems])
    for problem, rows in zip(problems, tables):
        place = slot_of(problem.truth, "last operator")
        assert not any(token in ARITY for token in problem.truth[place + 1 :])
        alike = [
            t for t in trained.vocabulary.operators if ARITY[t] == ARITY[problem.truth[place]] and t != "mul"
        ]
        best = max(alike, key=lambda token: rows[place, trained.vocabulary.ids[token]])
        line = table[(table.problem == problem.name) & (table.slot == "last operator")].iloc[0]
        assert line.network == (best == problem.truth[place])


def test_a_network_that_saw_other_orders_has_a_larger_tree(tiny):
    trained, _ = tiny
    other = replace(trained, about=trained.about | {"settings": trained.settings | {"reordered": True}})
    small, large = shown_tree(trained), shown_tree(other)
    assert len(small) < len(large) and all(
        large.novel_step(template) is None for template in trained.templates
    )


def test_the_committed_table_is_found_whatever_the_order_of_its_parameters():
    networks = networks_for("laptop/nesymres", 4)
    records = read_records(results_path("novel_steps"))[1]
    jobs = step_jobs(networks, range(3), 400, 100, [5])
    assert set(recorded(jobs, records).values()) == records.keys()
    turned = [replace(job, parameters=dict(reversed(job.parameters.items()))) for job in jobs]
    assert set(recorded(turned, records).values()) == records.keys()
    other = [replace(job, parameters={**job.parameters, "n": 401}) for job in jobs]
    assert set(recorded(other, records).values()) == {None}
