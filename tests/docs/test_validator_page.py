"""``docs/validator.md`` has every code of the daemon's health."""

import re

from manual.page import Page

from tallystick_validator.health import CODES


def test_every_code_of_health_has_its_row() -> None:
    text = Page.of("docs/validator.md").text.partition("## Health\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| .+ \|$", text, re.MULTILINE)
    assert rows == sorted(CODES)
