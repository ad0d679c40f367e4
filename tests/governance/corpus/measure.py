"""Measure what the analyses of a change find of the corpus.

To the point is an error or a warning that is new beside the base, at a path of the entry's
``where``, above one or below one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import attrs
from governance.corpus.corpus import Entry, Pair, build

from tallystick.rules.toml import parse
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.difference import difference
from tallystick_governance.lint.linting import Report, report_of

PROCESSES = 2
ALARMS = ("error", "warning")


@attrs.frozen
class Remark:
    """One thing that an analysis says of a change.

    Attributes:
        by: the analysis: lint or diff.
        code: the code of the finding.
        path: the place in the rule set.
        message: what it says.
    """

    by: str
    code: str
    path: str
    message: str


def found(entry: Entry) -> list[Remark]:
    """Return what the analyses say at a place of an entry; of a harmless one all that they say."""
    pair = build(entry)
    data = parse(pair.new.loaded.text, "").data
    wanted = [_keys(path, data) for path in entry.where]
    return [
        remark
        for remark in _remarks(pair)
        if not wanted or any(_is_in_line(_keys(remark.path, data), where) for where in wanted)
    ]


def found_of_all(entries: Sequence[Entry]) -> Iterator[tuple[Entry, list[Remark]]]:
    """Yield entries, in their order, with what is found of each, by `PROCESSES` processes."""
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        yield from zip(entries, pool.map(found, entries), strict=True)


def _remarks(pair: Pair) -> Iterator[Remark]:
    report = report_of(pair.new).since(_report(pair.old))
    for finding in report.findings:
        if finding.severity in ALARMS:
            yield Remark("lint", finding.code, finding.path, finding.message)
    compared = difference(pair.old, pair.new)
    if not compared.is_enough:
        yield Remark("diff", "version", "rule_set.version", f"needs a {compared.needed} version")
    for value in compared.unknown:
        yield Remark("diff", "unknown", value.value, str(value))


@cache
def _report(rules: Scorer) -> Report:
    return report_of(rules)


Keys = tuple[str, ...]
"""A path: its keys, and indices as text."""


def _keys(path: str, data: Mapping[str, Any]) -> Keys:
    """Return the keys of a path, the index of a table of a list for its name."""
    keys: list[str] = []
    place: Any = data
    for quoted, key, part in re.findall(r'"([^"]*)"|([A-Za-z0-9_*/@-]+)|\[([^]]*)\]', path):
        name = quoted or key or part.strip('"')
        if isinstance(place, list) and not name.isdigit():
            names = [table.get("name") if isinstance(table, dict) else None for table in place]
            name = str(names.index(name)) if name in names else name
        if isinstance(place, list):
            place = place[int(name)] if name.isdigit() and int(name) < len(place) else None
        else:
            place = place.get(name) if isinstance(place, Mapping) else None
        keys.append(name)
    return tuple(keys)


def _is_in_line(keys: Keys, other: Keys) -> bool:
    """Return whether one path is the other, above it or below it; the whole file is above none."""
    both = zip(keys, other, strict=False)
    return bool(keys) and all(a == b or "*" in {a, b} for a, b in both)
