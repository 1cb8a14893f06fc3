"""A protocol reaches every request of every strategy: what the network is asked, and how constants are
fitted."""

from dataclasses import replace

import pytest
from fake_network import fake_model
from test_engine import problems

from nsr.formulas.expressions import SIMPLIFIED
from nsr.search import decoding, oracle
from nsr.search.decoding import Complete
from nsr.search.engine import Budget, solve_all
from nsr.search.protocol import PROTOCOLS, Protocol
from nsr.search.strategies.names import MAKERS, by_name

OURS_ALONE = ("off-tree", "families+off-tree", "last-leaf", "local", "local-random")


@pytest.mark.parametrize("name", ["beam", "tpsr", "gvs", "gvs+tpsr", "nsrwh-none"])
def test_every_request_is_decoded_and_every_candidate_fitted_by_the_protocol(name, monkeypatch):
    asked, methods, fit_many = [], [], oracle.fit_many
    for kind in ("complete", "next_tokens"):
        real = getattr(decoding, kind)
        monkeypatch.setattr(
            decoding,
            kind,
            lambda *a, real=real: (asked.extend(job.request for job in a[3]), real(*a))[1],
        )
    monkeypatch.setattr(
        oracle,
        "fit_many",
        lambda *a, method, **k: (methods.append(method), fit_many(*a, method=method, **k))[1],
    )
    model = fake_model(vocabulary=SIMPLIFIED.with_variables(2))
    given = [replace(problem, truth=("add", "x1", "x2")) for problem in problems(2)]
    for label, protocol in PROTOCOLS.items():
        asked.clear()
        methods.clear()
        strategy = protocol.strategy(name, 2)
        results = solve_all(given, strategy, model, budget=Budget(candidates=8), fit=protocol.fit)
        assert asked and {request.masked for request in asked} == {not protocol.published_decoder}
        stops = {request.stop for request in asked if isinstance(request, Complete)}
        assert stops == {"published" if protocol.published_decoder else "bound"}
        assert set(methods) <= {protocol.fit}
        assert all((result.n_evaluations > 0) == (result.n_fits > 0) for result in results)
        assert Protocol.of(strategy, protocol.fit).name == label
        assert label != "published fit" or all(result.n_fits for result in results)


def test_strategies_without_a_published_decoder_say_so():
    for name in MAKERS:
        if name in OURS_ALONE:
            with pytest.raises(ValueError, match="no published decoder"):
                by_name(name, published=True)
        else:
            assert by_name(name, published=True) != by_name(name)
    with pytest.raises(ValueError, match="no protocol 'publish'.*'published'"):
        Protocol.named("publish")
