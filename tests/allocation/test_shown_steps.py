"""What `rules show` prints of an allocation can be written as one, and gives the same weights."""

import re
from itertools import product
from pathlib import Path
from random import Random

import pytest
from cli.command import RULE_SETS, run

import tallystick
from tallystick_allocation.rules import placed_steps

OPTIONS = {
    f"{name}-{'+'.join(on) or 'plain'}": (name, on)
    for name in RULE_SETS
    for on in (
        [tuple(o for o, is_on in zip(("warm_up", "zero_average"), each, strict=True) if is_on)
         for each in product((False, True), repeat=2)]
        if name == "workflow@1.2.0"
        else [()]
    )
}  # fmt: skip
_SECTION = re.compile(
    r"^\[allocation\].*?^\]\n|^\[\[lint\.silence\]\].*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL
)
_OPTION = re.compile(r"^# (  \{ name = .*)$", re.MULTILINE)
_PUBLISHED = ", publish = true }"
_STEP = re.compile(r" {4}(\w+) = (\w+): (.*)")
# a list, a table, or one word
_KEY = re.compile(r"(\w+) (\[[^\]]*\]|\([^)]*\)|[^,]+)(?:, |$)")
_WORD = re.compile(r"[a-z_][\w./@-]*")


def _with(text: str, options: tuple[str, ...]) -> str:
    """The rules with the steps that their comments name."""
    if not options:
        return text
    low, done, warm = _OPTION.findall(text)
    (mean,) = re.findall(r"^  \{ name = \"mean\".* \}(?=,)", text, re.MULTILINE)
    added = [mean.replace(_PUBLISHED, " }") + ","]
    if "zero_average" in options:
        added = [added[0].replace('name = "mean"', 'name = "raw"'), low]
    if "warm_up" in options:
        added += [done, warm]
        text = text.replace('of = "mean", zero', 'of = "warm", zero')
    added[-1] = added[-1].replace(" },", f"{_PUBLISHED},")
    return text.replace(f"{mean},", "\n".join(added))


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


def _rows(seed: int, shown: str) -> list[dict[str, object]]:
    """A table of miners with the columns that the steps read."""
    random = Random(seed)
    rows: list[dict[str, object]] = []
    for uid in range(random.randint(1, 12)):
        count = random.randint(0, 30)
        most = 0.08 if random.random() < 0.3 else 1
        row: dict[str, object] = {
            name: [f"{most * random.random():.9f}" for _ in range(count)]
            for name in ("quality", "emission")
            if name in shown
        }
        factors = [name for name in ("base_weight", "reputation") if name in shown]
        row |= {name: f"{random.random():.9f}" for name in factors}
        if "warm-up" in shown:
            row["immune"] = random.random() < 0.5
        rows.append({"hotkey": f"hk-{uid}", "uid": uid, **row})
    return rows


@pytest.mark.parametrize("case", OPTIONS)
def test_what_is_shown_can_be_written_and_gives_the_same_weights(case: str, tmp_path: Path) -> None:
    name, options = OPTIONS[case]
    before, after = tmp_path / "before.toml", tmp_path / "after.toml"
    before.write_text(_with(tallystick.load(name).loaded.text, options), encoding="utf-8")
    shown = _shown(before)
    added = {"zero_average": "raw", "warm_up": "warm"}
    assert {added[each] for each in options} <= {line.split()[0] for line in shown}
    steps = "\n".join(["[allocation]", "steps = [", *map(_written, shown), "]", ""])
    rest = _SECTION.sub("", before.read_text(encoding="utf-8"))
    after.write_text(f"{rest}\n{steps}", encoding="utf-8")
    assert _shown(after) == shown
    one, other = tallystick.load(before), tallystick.load(after)
    said, written = ([step for _, step in placed_steps(scorer.rule_set)] for scorer in (one, other))
    assert said == written
    for seed in range(3):
        rows = _rows(seed, steps)
        first, second = (tallystick.allocate(scorer, rows) for scorer in (one, other))
        assert (first.weights, first.without) == (second.weights, second.without)
    assert any(tallystick.allocate(one, _rows(seed, steps)).weights for seed in range(5))
