"""``docs/validator.md`` has every code of the daemon's health, and a configuration that is one."""

import re
from pathlib import Path

from manual.page import Page

from tallystick_validator.configuration import Configuration
from tallystick_validator.health import CODES

_PAGE = Page.of("docs/validator.md")


def test_every_code_of_health_has_its_row() -> None:
    text = _PAGE.text.partition("## Health\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \| .+ \|$", text, re.MULTILINE) == sorted(CODES)


def test_the_configuration_is_one(tmp_path: Path) -> None:
    (shown,) = [block.text for block in _PAGE.blocks() if block.title == "validator.toml"]
    (tmp_path / "validator.toml").write_text(shown, encoding="utf-8")
    assert Configuration.load(tmp_path / "validator.toml").serves
