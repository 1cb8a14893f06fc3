"""The search box finds what the pages hold, and nothing in a chapter can break out of it."""

import json
from urllib.parse import unquote

import nbformat
from nbconvert import HTMLExporter

from nsr.book import search_box

new = nbformat.v4.new_markdown_cell


def test_a_section_is_found_where_the_page_has_it(tmp_path):
    book = nbformat.v4.new_notebook(
        cells=[
            new("# A title\n\nSome *prose*."),
            new("More.\n\n## In the middle\n\nA word.\n\n```\n# a comment\n```"),
            new("## Is it so? An answer\n\n</script><b>bold</b>"),
            nbformat.v4.new_code_cell("hidden = 1"),
        ]
    )
    (tmp_path / "07_x").mkdir()
    nbformat.write(book, tmp_path / "07_x" / "07_x.ipynb")
    text = search_box.as_json(tmp_path, ["07_x", "08_missing"])
    data = json.loads(text)
    assert {s["chapter"] for s in data} == {"07"}
    assert [s["title"] for s in data] == ["A title", "In the middle", "Is it so? An answer"]
    assert data[0]["text"] == "Some prose . More." and "hidden" not in text and "<" not in text
    page = HTMLExporter(template_name="basic").from_notebook_node(book)[0]
    for section in data:
        assert f'id="{unquote(section["page"].split("#")[1])}"' in page


def test_no_chapters_nothing_to_search(tmp_path):
    assert search_box.as_json(tmp_path, ["00_none"]) == ""
