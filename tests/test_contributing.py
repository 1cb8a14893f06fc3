"""What CONTRIBUTING.md shows works as it stands there."""

import re

from conftest import ROOT

from nsr import evidence


def test_the_strategy_of_the_guide_runs(monkeypatch, capsys):
    strategy, measuring = re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    assert len(strategy.strip().splitlines()) <= 30
    tiny = evidence.network_for("")
    # The guide's own network takes longer.
    monkeypatch.setattr(evidence, "network_for", lambda name: tiny)
    names: dict = {}
    exec(compile(strategy, "CONTRIBUTING.md", "exec"), names)
    exec(compile(measuring, "CONTRIBUTING.md", "exec"), names)
    assert capsys.readouterr().out.splitlines()[-1].startswith("novel ")
    table = names["table"]
    assert len(table) == 20 and (table.candidates <= 127).all() and (table.candidates >= 1).all()
