"""``docs/versioning.md`` says what the policy does."""

import re

import pytest
from manual.page import Page

import tallystick
from tallystick_governance.diff import policy
from tallystick_governance.diff.policy import Level

_PAGE = Page.of("docs/versioning.md")


def row(level: Level) -> str:
    lines = _PAGE.section("Rule sets").text.splitlines()
    return next(line for line in lines if line.startswith(f"| {level} |"))


@pytest.mark.parametrize("level", [level for level in Level if level])
def test_every_level_is_documented(level: Level) -> None:
    assert len(row(level).split("|")) == 5


def test_what_no_result_depends_on_is_a_patch() -> None:
    patch = row(Level.PATCH)
    assert {f"`{path}`" for path in policy.without_result(tallystick.load("skills@1.1.0"))} == set(
        re.findall("`[^`]+`", patch)
    )
