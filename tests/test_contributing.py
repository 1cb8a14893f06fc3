"""What CONTRIBUTING.md shows works as it stands there."""

import re
from pathlib import Path

import nsr.evidence.measuring

ROOT = Path(__file__).resolve().parents[1]


def test_the_strategy_of_the_guide_runs(monkeypatch, capsys):
    strategy, measuring = re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    assert len(strategy.strip().splitlines()) <= 30
    tiny = nsr.evidence.measuring.network_for("")
    monkeypatch.setattr(
        nsr.evidence.measuring, "network_for", lambda name: tiny
    )  # the guide's own network takes longer
    names: dict = {}
    exec(compile(strategy, "CONTRIBUTING.md", "exec"), names)
    exec(compile(measuring, "CONTRIBUTING.md", "exec"), names)
    assert capsys.readouterr().out.splitlines()[-1].startswith("novel ")
    table = names["table"]
    assert len(table) == 20 and (table.candidates <= 127).all() and (table.candidates >= 1).all()
