"""Random proposals that worsen rules and silence what they do: none of them passes --against.

The oracle knows nothing of silences: it runs the checks by themselves on both rule sets. A proposal
may pass only if each of its errors stands in the older rule set in the same words, and if nothing
that it silences has a figure that is worse than there, or than the older silence bounds.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from attack.scale import CASES, SEED
from governance.lint.linted import CHECKS, Placed
from governance.revision import changed, shipped

import tallystick
from tallystick.errors import RuleSetError
from tallystick.rules.toml import dotted
from tallystick_governance.lint.linting import Report, report

_DECAY = ('mode = "drift"', 'mode = "replace"\nkeep = 0.9')
_SPOILED = (
    _DECAY,
    ("multiplier = 2.0", "multiplier = 0.2"),
    ("multiplier = 2.0", "multiplier = 400"),
    ("share = 0.15", "share = 0"),
    ("share = 0.15", "share = 0.01"),
    ("minimum_reputation = 0.20", "minimum_reputation = 0.60"),
)
"""What makes an error, or a silenced finding worse."""
_NUMBER = re.compile(r"(?<=[=\[, ])\d+(?:\.\d+)?(?=[,\s\]}])")
_HALF = 0.5
_SCALES = ("0", "0.1", "0.5", "0.9", "1.1", "2", "10", "200")
_ANY = "".join(
    f'\n[[lint.silence]]\ncode = "{code}"\nreason = "as it is"\n'
    for code in (
        "reputation-decays",
        "pool-extinction",
        "axis-constant",
        "newcomers-outrank-veterans",
    )
)
_WORSE: Mapping[str, tuple[tuple[int, tuple[str, ...]], ...]] = {
    "emission-above-one": ((1, ("emission",)), (1, ("at_most",))),
    "factor-above-one": ((1, ("highest",)),),
    "cliff": ((1, ("height",)),),
    "consensus-cliff": ((1, ("height",)),),
    "free-points": ((1, ("quality",)),),
    "cap-infeasible": ((1, ("miners",)),),
    "reputation-decays": ((-1, ("best", "epochs_until_below_filter")), (-1, ("best", "rests_at"))),
    "newcomers-outrank-veterans": ((1, ("initial",)),),
    "weights-forget": ((-1, ("drawn",)),),
}
"""Of some codes the figures, and whether more of each is worse: written by hand once more."""


def raw_findings(path: Path) -> list[Placed]:
    scorer = tallystick.load(str(path))
    return [
        Placed(code, f.severity or check.severity, dotted(f.path), f)
        for code, check in CHECKS.items()
        if check.find is not None
        for f in check.find(scorer)
    ]


def mutated(text: str, chance: random.Random) -> str:
    """Scale some numbers, and add, widen or raise some silences."""
    rules, mark, lint = text.partition("[[lint.silence]]")
    if chance.random() < _HALF:
        rules = rules.replace(*chance.choice([each for each in _SPOILED if each[0] in rules]), 1)
    numbers = list(_NUMBER.finditer(rules))
    for match in sorted(chance.sample(numbers, chance.randint(1, 2)), key=lambda m: -m.start()):
        scaled = Decimal(match[0]) * Decimal(chance.choice(_SCALES))
        number = str(round(scaled) if "." not in match[0] else scaled)
        rules = f"{rules[: match.start()]}{number}{rules[match.end() :]}"
    lint = mark + lint
    for change in chance.sample(range(6), chance.randint(0, 3)):
        lint = _CHANGES[change](lint, chance)
    return rules + lint


def _added(lint: str, chance: random.Random) -> str:
    code = chance.choice(list(CHECKS))
    names = [each.name for each in CHECKS[code].figures]
    bounds = ", ".join(f"{name} = {chance.choice([0, 0.5, 1, 7, 999999])}" for name in names)
    kept = f"figures = {{ {bounds} }}\n" if chance.random() < _HALF else ""
    return f'{lint}\n[[lint.silence]]\ncode = "{code}"\nreason = "trust me"\n{kept}'


_CHANGES = (
    _added,
    lambda lint, _: lint + _ANY.replace("as it is", "trust me"),
    lambda lint, _: re.sub(r"(?m)^figures = .*\n?", "", lint),
    lambda lint, _: re.sub(r"(?m)^path = .*\n", "", lint),
    lambda lint, chance: re.sub(
        r"(?<== )(\d+(?:\.\d+)?)(?= [,}]|,)", chance.choice(["0", "999999"]), lint
    ),
    lambda lint, _: re.sub(r'path = "\w+\.[^"]*"', 'path = "*"', lint),
)


def proposals(text: str, seed: int) -> Iterator[str]:
    chance = random.Random(seed)
    while True:
        yield mutated(text, chance)


def oracle(old: list[Placed], new: list[Placed], old_text: str, judged: Report) -> Iterator[str]:
    """Yield why a proposal may not pass."""
    known = {(f.code, f.path, f.message) for f in old}
    errors = [f for f in new if f.severity == "error"]
    yield from (
        f"new error: {f.message}" for f in errors if (f.code, f.path, f.message) not in known
    )
    bounds = tomllib.loads(old_text, parse_float=Decimal).get("lint", {}).get("silence", [])
    hidden = {s.finding.message for s in judged.silenced}
    for finding in new:
        for sign, keys in _WORSE.get(finding.code, ()) if finding.message in hidden else ():
            there = [
                _number(f, keys) for f in old if (f.code, f.path) == (finding.code, finding.path)
            ]
            kept = [b["figures"]["_".join(keys)] for b in bounds if _has(b, finding.code, keys)]
            limits = [*(n for n in there if n is not None), *map(Fraction, kept)]
            value = _number(finding, keys)
            if value is not None and all(sign * value > sign * limit for limit in limits):
                yield f"grown: {finding.message}"


def _has(silence: Mapping[str, Any], code: str, keys: tuple[str, ...]) -> bool:
    return silence["code"] == code and "_".join(keys) in silence.get("figures", {})


def _number(finding: Placed, keys: tuple[str, ...]) -> Fraction | None:
    value: Any = finding.evidence
    for key in keys:
        value = value.get(key)
    return None if value is None else Fraction(value)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("cases", "old_text", "has_errors"),
    [
        # an error of a workflow does not load, as a cap of 0
        (CASES // 100, shipped("workflow@1.1.0"), False),
        (CASES // 125, shipped("skills@1.1.0"), True),
        (CASES // 250, changed(shipped("skills@1.1.0"), _DECAY) + _ANY, True),
    ],
)
def test_no_proposal_with_a_new_or_grown_error_passes(
    cases: int, old_text: str, has_errors: bool, tmp_path: Path
) -> None:
    old, path = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(old_text, encoding="utf-8")
    old_found, old_report = raw_findings(old), report(old)
    tried, passed, stopped, faults = 0, 0, 0, []
    for text in proposals(old_text, SEED):
        path.write_text(text, encoding="utf-8")
        try:
            new_found = raw_findings(path)
        except RuleSetError:
            continue
        judged = report(path).since(old_report)
        tried += 1
        passes = not any(each.severity == "error" for each in judged.findings)
        wrong = list(oracle(old_found, new_found, old_text, judged))
        passed, stopped = passed + passes, stopped + bool(wrong)
        if passes and wrong:
            faults.append((wrong, text))
        if tried == cases:
            break
    assert faults == []
    assert passed > cases // 40, "some proposals are harmless"
    assert (stopped > cases // 40) == has_errors, "some are not"
