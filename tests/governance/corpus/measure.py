"""Measure what the analyses of a change find of the corpus.

To the point is an error or a warning that is new beside the base, at a path of the entry's
``where``, above one or below one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
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


@attrs.frozen
class Outcome:
    """The remarks about one entry.

    Attributes:
        entry: the entry.
        to_the_point: remarks at a place of the entry; of a harmless one all of them.
        elsewhere: the others.
    """

    entry: Entry
    to_the_point: tuple[Remark, ...]
    elsewhere: tuple[Remark, ...]

    @property
    def is_missed(self) -> bool:
        """Whether it is a mistake that is not found, or a harmless change that gives an alarm."""
        return bool(self.to_the_point) is not bool(self.entry.where)

    def __str__(self) -> str:
        entry = self.entry
        change = ", ".join([*entry.set, *(["texts replaced"] if entry.replace else [])])
        said = "; ".join(
            f"{r.by} {r.code} at {r.path}: {r.message[:160]}"
            for r in (*self.to_the_point, *self.elsewhere)
        )
        return (
            f"{entry.section}/{entry.id} ({entry.base}; {change}): {entry.why} [{said or 'silent'}]"
        )


def measure(entry: Entry) -> Outcome:
    """Return what the analyses say of an entry."""
    pair = build(entry)
    data = parse(pair.new.loaded.text, "").data
    wanted = [_keys(path, data) for path in entry.where]
    near: list[Remark] = []
    far: list[Remark] = []
    for remark in _remarks(pair):
        keys = _keys(remark.path, data)
        is_near = not entry.where or any(_is_in_line(keys, where) for where in wanted)
        (near if is_near else far).append(remark)
    return Outcome(entry, tuple(near), tuple(far))


def measure_all(entries: Iterable[Entry]) -> Iterator[Outcome]:
    """Yield the outcomes of entries, in their order, by `PROCESSES` processes."""
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        yield from pool.map(measure, entries)


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
