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


_DIGEST = "the digests of the shipped rule sets cover [allocation], and no keys of one value"
_RESTS = "it covers the digest of a rule set"
_MOVED = "the files of the shipped rule sets have other lines"
_STEPS = "weights are said by [allocation], no more by [aggregation]"
_ONE_VALUE = "keys with one legal value are gone"
_GONE = (
    *(("scope", "skill_type"), ("new_hotkey", "initial"), ("delta_base", "round_snapshot")),
    *(("combination", "multiply_then_add"), ("clamp", "after_damping")),
    *(("no_records", "unchanged"), ("unlisted_event", "unchanged"), ("flags_per", "hotkey")),
    *(("applies_to", "flagged_type"), ("ejected_until", "cleared"), ("rank", "competition")),
    *(("rank_pool", "selectable"), ("snapshot", "round_start"), ("snapshot_pin", "epoch_id")),
    *(("takes_effect", "next_round"), ("empty_epoch", "keep"), ("statistic", "median")),
    *(("too_few", "keep"), ("floor", "formula"), ("floor_baseline", "new")),
    *(("ejected", "excluded"), ("order", "reputation_descending"), ("primary_pick", "top")),
    *(("auditor_draw", "uniform"), ("short_pool", "primaries_first"), ("counted_per", "round")),
    *(("demotes", "lowest_primary"), ("pool", "below_minimum_reputation")),
)
"""The keys that had one legal value, each with it."""
_FACTORS = "the trees tell which factors a row of results has, for programs of other languages"
_PAIRS = "|".join(f'"{key}": "{value}"' for key, value in _GONE)

DECLARED = (
    Declaration("rules-check-*.json", _DIGEST, ("digest",)),
    Declaration("rules-list.json", _DIGEST, ("digest",)),
    Declaration("rules-edited-8.json", _DIGEST, ("digest",)),
    Declaration("explain-*.json", _DIGEST, ("digest",)),
    Declaration("diff-*.json", _DIGEST, ("digest",)),
    Declaration("demo.json", _DIGEST, ("digest",)),
    Declaration("backtest-*-summary.json", _DIGEST, ("digest",)),
    Declaration("score-*.json", _DIGEST, ("rule_set_digest",)),
    Declaration("api-*.txt", _DIGEST, pattern=r"(?m)^sha256:[0-9a-f]{64}$"),
    Declaration("state-*.receipt.json", _DIGEST, ("rule_set_digest",)),
    Declaration("state-*.receipt.json", _RESTS, ("snapshots",)),
    Declaration("state-*.txt", _DIGEST, ("digest", "rule_set_digest")),
    Declaration("state-*.txt", _RESTS, ("hash", "rules_digest", "snapshot", "snapshots")),
    Declaration("state-*-export.jsonl", _DIGEST, ("digest", "text")),
    Declaration("state-*-export.jsonl", _RESTS, ("hash", "snapshot")),
    Declaration("lint-*.json", _MOVED, ("line",)),
    Declaration("rules-edited-7.json", _MOVED, ("line",)),
    Declaration(
        "lint-*.json",
        _STEPS,
        pattern=r'"path": "(?:aggregation\.[a-z_.]+|aggregation|allocation\.[^"]+)"',
    ),
    Declaration(
        "prove-*.json",
        "the laws of weights are asked of each set with [allocation]",
        pattern=r',\s*\{[^{}]*"skill_type": "allocation"[^{}]*\}',
    ),
    Declaration(
        "diff-skills.json",
        _STEPS,
        pattern=r'\{[^{}]*"path": "(?:aggregation|allocation)\.[^{}]*\}, ',
    ),
    Declaration("diff-skills.json", _STEPS, pattern='"(?:aggregation|allocation)"'),
    Declaration(
        "diff-skills.json",
        _ONE_VALUE,
        pattern=r'\{[^{}]*"path": "epochs\.baseline\.empty_epoch"[^{}]*\}, ',
    ),
    Declaration("rules-show-*.json", _DIGEST, ("digest",)),
    Declaration("rules-show-*.json", _STEPS, ("aggregation", "allocation")),
    # the factors of the emission are a table, and stay
    Declaration("rules-show-*.json", _FACTORS, pattern=r'(?:, )?"factors": \[[^\]]*\]'),
    Declaration("rules-show-*.json", _ONE_VALUE, pattern=f"(?:, (?:{_PAIRS})|(?:{_PAIRS}), )"),
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
