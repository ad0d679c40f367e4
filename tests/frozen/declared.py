"""Fields that the frozen corpus may differ in from the corpus before it.

`before.json` has the SHA-256 of every artefact that programs read, as the tree before made it,
without the declared fields. The corpus is made anew in one commit; the test shows that nothing else
differs. The digests are of the tree before::

    python tests/frozen/generate.py OUTPUT --tree BEFORE --before
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

Json = Any
BEFORE = Path(__file__).with_name("before.json")


class Declaration(NamedTuple):
    """A difference that is meant.

    Attributes:
        artefacts: pattern of the names below ``machine/``.
        because: the change that makes them differ.
        keys: keys of JSON objects, at any depth, that are left out.
        pattern: regular expression of text that is masked; its groups are kept.
        whole: whether the artefact as a whole may differ.
    """

    artefacts: str
    because: str
    keys: tuple[str, ...] = ()
    pattern: str = ""
    whole: bool = False


_SKILLS_1_2 = "sha256:(?:6927fe0b01b689b9|1855f925aa9b65d6)[0-9a-f]{48}"

DECLARED = (
    Declaration(
        "*.rejects.jsonl",
        "rejects spell whole numbers alike, whatever they were read from",
        pattern=r'("value":"-?\d+)(?:\.0)?"',
    ),
    Declaration("rules-list.json", "skills@1.2.0 counts a task once", pattern=_SKILLS_1_2),
    Declaration("demo.json", "skills@1.2.0 counts a task once", pattern=_SKILLS_1_2),
    Declaration("prove-*.json", "a counterexample says what is wrong", keys=("wrong",)),
    Declaration(
        "lint-*.json",
        "silences keep the figures that they were written for, on lines of their own",
        keys=("figures", "line"),
    ),
    Declaration(
        "diff-*.json",
        "a difference says what it bounds, and what it does not analyse",
        keys=("any_tier", "measure", "not_analysed"),
    ),
    Declaration(
        "backtest-*.json",
        "a back-test says whose thresholds its figures are by",
        keys=("thresholds", "results", "new_network"),
    ),
    Declaration("backtest-state*", "with a state the replay is the result", whole=True),
    Declaration("state-*.txt", "the rules in force and scheduled have a digest", ("rules_digest",)),
    Declaration("state-*.txt", "the log begins with another format", ("hash",)),
    Declaration(
        "state-*-export.jsonl",
        "the log begins with another format, which lists the rules",
        ("hash", "tallystick_state", "format", "rule_set", "rules"),
    ),
    Declaration(
        "api-*.txt",
        "a small value is written in nine places",
        pattern=r"\b(?:\d(?:\.\d+)?E-\d+|0\.000000\d{3})\b",
    ),
)


def reduced(name: str, text: str) -> str:
    """Return the text of an artefact without what is declared of it."""
    declarations = [each for each in DECLARED if fnmatch(name, each.artefacts)]
    if any(each.whole for each in declarations):
        return ""
    keys = frozenset(key for each in declarations for key in each.keys)
    if keys:
        text = "\n".join(_without_keys(text, keys))
    for pattern in (each.pattern for each in declarations if each.pattern):
        text = re.sub(pattern, _groups, text)
    return text


def digests(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the digest of each artefact that programs read, without what is declared of it."""
    machine = {
        name.removeprefix("machine/"): text
        for name, text in texts.items()
        if name.startswith("machine/")
    }
    return {
        name: hashlib.sha256(reduced(name, text).encode()).hexdigest()
        for name, text in sorted(machine.items())
    }


def _groups(match: re.Match[str]) -> str:
    return "…".join(group or "" for group in match.groups())


def _without_keys(text: str, keys: frozenset[str]) -> Iterator[str]:
    """Yield the JSON values of a text, the whole or line by line, without some keys."""
    try:
        yield json.dumps(_dropped(json.loads(text), keys))
    except ValueError:
        for line in text.splitlines():
            try:
                yield json.dumps(_dropped(json.loads(line), keys))
            except ValueError:
                yield line


def _dropped(value: Json, keys: frozenset[str]) -> Json:
    if isinstance(value, dict):
        return {key: _dropped(inner, keys) for key, inner in value.items() if key not in keys}
    return [_dropped(inner, keys) for inner in value] if isinstance(value, list) else value
