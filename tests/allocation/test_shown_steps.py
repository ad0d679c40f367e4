"""Lines that `rules show` prints of an allocation can be written as one."""

import re
from pathlib import Path

import pytest
from cli.command import RULE_SETS, run

import tallystick
from tallystick_allocation.rules import placed_steps

_SECTION = re.compile(
    r"^\[allocation\].*?^\]\n|^\[\[lint\.silence\]\].*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL
)
_STEP = re.compile(r" {4}(\w+) = (\w+): (.*)")
# a list, a table, or one word
_KEY = re.compile(r"(\w+) (\[[^\]]*\]|\([^)]*\)|[^,]+)(?:, |$)")
_WORD = re.compile(r"[a-z_][\w./@-]*")


def _shown(path: Path) -> list[str]:
    lines = run("rules", "show", path).out.splitlines()
    return lines[lines.index("allocation") + 1 :]


def _written(line: str) -> str:
    """A step as it is printed, as it is written."""
    step = _STEP.fullmatch(line)
    assert step is not None, line
    name, do, rest = step.groups()
    rest, is_rounded = re.subn(r"(?:, )?rounded$", "", rest)
    keys = [f'name = "{name}"', f'do = "{do}"']
    keys += [f"{key} = {_value(value)}" for key, value in _KEY.findall(rest)]
    return f"  {{ {', '.join([*keys, *(['publish = true'] if is_rounded else [])])} }},"


def _value(text: str) -> str:
    if text.startswith("["):
        return f"[{', '.join(map(_value, text[1:-1].split(', ')))}]"
    if text.startswith("("):
        parts = (part.split() for part in text[1:-1].split(", "))
        return f"{{ {', '.join(f'{key} = {_value(value)}' for key, value in parts)} }}"
    is_word = _WORD.fullmatch(text) and text not in {"true", "false"}
    return f'"{text}"' if is_word else text


@pytest.mark.parametrize("name", RULE_SETS)
def test_what_is_shown_can_be_written(name: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before.toml", tmp_path / "after.toml"
    before.write_text(tallystick.load(name).loaded.text, encoding="utf-8")
    shown = _shown(before)
    steps = "\n".join(["[allocation]", "steps = [", *map(_written, shown), "]", ""])
    rest = _SECTION.sub("", before.read_text(encoding="utf-8"))
    after.write_text(f"{rest}\n{steps}", encoding="utf-8")
    assert _shown(after) == shown
    one, other = (tallystick.load(path).rule_set for path in (before, after))
    assert [step for _, step in placed_steps(one)] == [step for _, step in placed_steps(other)]


@pytest.mark.parametrize("name", RULE_SETS)
def test_each_step_is_told_in_words(name: str) -> None:
    told = [(step.do, step.sentence) for _, step in placed_steps(tallystick.load(name).rule_set)]
    assert [text for do, text in told if text.startswith(f"do {do}")] == []
