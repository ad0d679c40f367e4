"""``docs/sources.md`` has every section that a number of the shipped rule sets cites."""

import re
from pathlib import Path

import pytest
from manual.page import ROOT, Page

_PAGE = Page.of("docs/sources.md")
_RULES = sorted(p for name in ("skills", "workflow") for p in (ROOT / "rules" / name).iterdir())
_CITATION = re.compile(r"(\w+\.(?:txt|md)), ([^\n]*)")
_SECTIONS = {
    document: set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    for document, text in re.findall(
        r"^## (\S+)\n(.*?)(?=^## |\Z)", _PAGE.text, re.MULTILINE | re.DOTALL
    )
}


@pytest.mark.parametrize("path", _RULES, ids=lambda path: f"{path.parent.name}@{path.stem}")
def test_every_citation_of_a_rule_set_is_a_section_of_the_page(path: Path) -> None:
    _, _, body = path.read_text(encoding="utf-8").partition("\n# ---")
    cited = [(d, text) for d, text in _CITATION.findall(body) if not text.startswith("and ")]
    assert len(cited) > 10
    for document, text in cited:
        sections = _SECTIONS[document.replace("scoring.md", "scoring.txt")]
        assert any(text.startswith(section) for section in sections), (document, text)
