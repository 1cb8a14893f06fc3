"""The README says what is there: its table of claims is the judged one, its chapters have their titles, its links lead somewhere."""
import csv
import re
from pathlib import Path

import pytest

from conftest import ROOT
from nsr import lab, pages

pytestmark = pytest.mark.static
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_claims_is_that_of_chapter_09():
    with open(ROOT / "outputs" / "reference" / "laptop" / "claims.csv", encoding="utf-8", newline="") as file:
        judged = {row["claim"]: row["claim_verdict"] for row in csv.DictReader(file)}
    said = dict(re.findall(r"^\| <!-- (\w+) --> .*? \| (\w+) \|$", README, re.MULTILINE))
    assert said == judged


@pytest.mark.parametrize("name", lab.notebooks())
def test_the_table_of_chapters_has_their_titles(name: str):
    row = re.search(rf"^\| \[{name[:2]}\]\(notebooks/{name}\.py\) \| (.*) \| (\S+) \|$", README, re.MULTILINE)
    assert row, f"{name} is missing"
    assert row.group(1) == "…" or row.group(1).startswith(pages.header(lab.notebooks()[name])["title"])
    assert row.group(2) == "…" or 0 < float(row.group(2)) <= 5  # minutes: no chapter may take more than five


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(document: str):
    for link in re.findall(r"\]\(([^)#]+)\)", (ROOT / document).read_text(encoding="utf-8")):
        assert (ROOT / link).exists() or Path(link).stem in pages.CHAPTERS, link
