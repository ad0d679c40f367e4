"""``docs/validator.md`` has every code of the daemon's health, and a configuration that is one."""

import re
from pathlib import Path

from manual.page import Page

from tallystick_validator.configuration import Configuration
from tallystick_validator.health import CODES

_PAGE = Page.of("docs/validator.md")


def test_every_code_of_health_is_named() -> None:
    named = re.findall(r"`([a-z-]+)`", _PAGE.section("Health").text)
    assert CODES.keys() - named == set()


def test_the_configuration_is_one(tmp_path: Path) -> None:
    (shown,) = [block.text for block in _PAGE.blocks() if block.title == "validator.toml"]
    (tmp_path / "validator.toml").write_text(shown, encoding="utf-8")
    assert Configuration.load(tmp_path / "validator.toml").serves
