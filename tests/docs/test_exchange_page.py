"""``docs/exchange.md`` has every code and every address."""

import re

from manual.page import Page

from tallystick_validator import batches, exchange, peers

PAGE = Page.of("docs/exchange.md")


def rows(section: str) -> dict[str, str]:
    """The codes of the last table of a section, with their meanings."""
    text = PAGE.text.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", text, re.MULTILINE))


def test_every_code_has_its_meaning() -> None:
    assert {code: rows("A batch")[code] for code in batches.CODES} == dict(batches.CODES)
    codes = re.findall(r"^``([a-z-]+)`` +(.+)$", exchange.__doc__ or "", re.MULTILINE)
    assert rows("When states part") == dict(codes)
    assert not dict(codes).keys() & batches.CODES.keys()


def test_every_address_is_there() -> None:
    named = re.findall(r"^\| `(/peer/v1/\w+)", PAGE.text, re.MULTILINE)
    source = re.findall(r"^``(/\w+)", peers.__doc__ or "", re.MULTILINE)
    assert named == [f"{peers.PREFIX}{path}" for path in source]
