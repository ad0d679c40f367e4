"""Fields that the frozen corpus may differ in from the corpus before it.

`before.json` has the SHA-256 of every artefact, as the tree before made it,
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


DECLARED = (
    Declaration(
        "rules-show-*.json", "formulas are summed up in plain sentences", keys=("summary",)
    ),
    Declaration(
        "lint-*.json", "there are more checks, and a cap that miners keep is a note", whole=True
    ),
    Declaration("diff-*.json", "a difference names every result that can move", whole=True),
    Declaration(
        "backtest-*",
        "a back-test weighs every epoch, and its headline is the share of weight that moves",
        whole=True,
    ),
    Declaration(
        "prove-*.json*", "answers name their rules, for simulations", keys=("digest", "rule_set")
    ),
    Declaration(
        "prove-skills@1.0.0.json*",
        "a search proposes other records than the solver did, so sentences have other figures",
        keys=("wrong",),
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
    """Return the digest of each artefact, without what is declared of it."""
    machine = {name.removeprefix("machine/"): text for name, text in texts.items()}
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
