"""Comparisons of the values of two files: what is dropped, switched off, or moved very far.

They know no section. Whether more of a parameter of an axis is stricter is asked of records that
are tried (`answers`); weights and gates are judged by what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs

from tallystick.diagnostics import Severity
from tallystick.formula.tree import names
from tallystick.rules.edit import named_paths
from tallystick.rules.findings import Finding
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.section import document_schema
from tallystick.rules.settable import SettablePath, settable_paths
from tallystick.rules.toml import KeyPath, dotted, parse
from tallystick.scoring.lint import comparison
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.answers import is_paid_more_somewhere
from tallystick_governance.lint.cliffs import comparisons_of

_FAR = 10
"""Least ratio between two values of one key that is a leap."""
_STEP = 3
"""Least ratio of two whole numbers that is a leap where the smaller ends the range: 2 to 1 is
one step."""
_SWITCH = re.compile(r"(^|_)enabled$")
"""The name of a number that is a switch: 1 is on, 0 is off."""
_VERSIONED = re.compile(r"(?P<name>[a-z0-9-]+/[a-z0-9-]+)@(?P<version>[1-9][0-9]*)")
_FORMULA = "formula"
_NOT_ASKED = ("rule_set", "lint")
"""Sections that decide no result."""


@attrs.frozen
class Setting:
    """A value of a file.

    Attributes:
        path: the keys that lead to it.
        place: its value, its range and its meaning.
    """

    path: KeyPath
    place: SettablePath

    @property
    def text(self) -> str:
        """The value as text."""
        return self.place.value or ""

    @property
    def number(self) -> Fraction | None:
        """The exact value; None of one that is no number."""
        return Fraction(self.text) if self.place.kind == "number" else None

    @property
    def is_switch(self) -> bool:
        """True of what is on or off: true or false, or a number whose name says so."""
        return self.place.kind == "true or false" or (
            self.number is not None and _SWITCH.search(str(self.path[-1])) is not None
        )

    @property
    def ends(self) -> set[Fraction]:
        """The ends of the range that the schema or the formula declares."""
        ends = (self.place.at_least, self.place.at_most)
        return {Fraction(end) for end in ends if end is not None}


Names = tuple[str | int, ...]
"""A path in which tables of a list go by their name, and texts of a list by what they say."""


def settings_of(loaded: LoadedRuleSet) -> Mapping[Names, Setting]:
    """Return the values of a file that decide results."""
    documentation = document_schema(loaded.rule_set).documentation
    data = loaded.document.data
    places = {place.path: place for place in settable_paths(loaded, loaded.registry)}
    return {
        _names(data, path): Setting(path, places[name])
        for name, path, _ in named_paths(data)
        if path[0] not in _NOT_ASKED and not any(path[: len(d)] == d for d in documentation)
    }


def renumbered(old: LoadedRuleSet, new: LoadedRuleSet) -> Mapping[str, str]:
    """Return where tables of lists that have a name stand in another file, if it is elsewhere.

    Args:
        old: the file whose paths are told.
        new: the file in which they are looked up.
    """
    before, after = (dict(_tables(parse(each.text, str(each.path)).data)) for each in (old, new))
    return {
        dotted(path): dotted(after[names])
        for names, path in before.items()
        if names in after and after[names] != path
    }


def _tables(data: Mapping[str, Any]) -> Iterator[tuple[Names, KeyPath]]:
    """Yield the tables of lists that have a name, by their names."""
    for _, path, _ in named_paths(data):
        for end, key in enumerate(path, 1):
            if isinstance(key, int):
                names = _names(data, path[:end])
                if isinstance(names[-1], str):
                    yield names, path[:end]


def _names(data: Mapping[str, Any], path: KeyPath) -> Names:
    value: Any = data
    place = list[str | int]()
    for key in path:
        value = value[key]
        name = value.get("name") if isinstance(value, Mapping) else value
        place.append(name if isinstance(key, int) and isinstance(name, str) else key)
    return tuple(place)


_STEPS, _DO = ("allocation", "steps"), "do"


@attrs.frozen
class _Pair:
    """The values of two files.

    Attributes:
        old: of the older.
        new: of the newer.
        is_one_series: whether the rule sets have one name.
    """

    old: Mapping[Names, Setting]
    new: Mapping[Names, Setting]
    is_one_series: bool

    def both(self) -> Iterator[tuple[Setting, Setting]]:
        """Yield each value that both have, of a table whose formula is the same."""
        for place, before in self.old.items():
            after = self.new.get(place)
            if after is not None and not self.has_other_formula(place):
                yield before, after

    def is_replaced(self, step: str | int) -> bool:
        """Return whether a step of the allocation does something else now, or another beside it.

        What that pays is compared by running both.
        """
        old, new = (each.get((*_STEPS, step, _DO)) for each in (self.old, self.new))
        before, after = (
            {place[2] for place in each if place[:2] == _STEPS} for each in (self.old, self.new)
        )
        if old is not None and new is not None:
            return old.text != new.text or len(after) > len(before)
        return len(after) >= len(before)

    def has_other_formula(self, place: Names) -> bool:
        """Return whether a value is a parameter of a formula that is another one now."""
        formulas = [each.get((*place[:-1], _FORMULA)) for each in (self.old, self.new)]
        texts = {formula.text for formula in formulas if formula is not None}
        return place[-1] != _FORMULA and len(texts) > 1


@lru_cache(maxsize=1)
def _pair(old: Scorer, new: Scorer) -> _Pair:
    """Return the values of two rule sets, which are kept for the checks that come next."""
    names = {scorer.rule_set.rule_set.name for scorer in (old, new)}
    return _Pair(settings_of(old.loaded), settings_of(new.loaded), len(names) == 1)


@comparison("setting-dropped", "warning")
def _setting_dropped(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Something that the older rule set has is gone.

    A key, an entry of a list or a table is gone, so that a rule no longer holds: a step, a limit, a
    skill type, an event, a factor. A table that is gone as a whole is listed once. Only a rule set
    of the same name is asked. Weights, gates, axes and silences have checks of their own, and
    documentation decides nothing.

    Remedy: keep it, or say in the proposal what stands in its place.
    """
    pair = _pair(old, new)
    if not pair.is_one_series:
        return
    left = {place[:n] for place in pair.new for n in range(len(place) + 1)}
    paths = {setting.path[:n] for setting in pair.new.values() for n in range(len(setting.path))}
    dropped = set[Names]()
    for place, setting in pair.old.items():
        if place in pair.new or _is_judged_elsewhere(place) or pair.has_other_formula(place):
            continue
        if place[:2] == _STEPS and pair.is_replaced(place[2]):
            continue
        prefixes = (place[:n] for n in range(1, len(place) + 1))
        gone = next((prefix for prefix in prefixes if prefix not in left), None)
        if gone is None or gone in dropped:
            continue  # a value that is a table now is not gone
        dropped.add(gone)
        outer = (setting.path[:n] for n in range(len(setting.path), -1, -1))
        parent = next(path for path in outer if path in paths)
        is_text_of_list = isinstance(setting.path[-1], int)
        was = f": it was {setting.text}" if gone == place and not is_text_of_list else ""
        text = ".".join(map(str, gone))
        yield Finding(parent, f"{text} is gone{was}", {"dropped": text, "was": setting.text})


def _is_judged_elsewhere(place: Names) -> bool:
    return place[0] == "axes" or (
        place[0] == "skill_types" and place[2] in {"weights", "gates", "axes"}
    )


@comparison("switch-off", "warning")
def _switch_off(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A switch that the older rule set has on is off.

    A value that was true is false, or a number whose name ends in `enabled` was 1 and is 0. What it
    switches no longer holds.

    Remedy: leave it on, or say in the proposal what stands in its place.
    """
    for before, after in _pair(old, new).both():
        texts = before.text, after.text
        if before.is_switch and (texts == ("true", "false") or (texts[1] == "0" != texts[0])):
            figures = {"was": texts[0], "now": texts[1]}
            message = f"{dotted(after.path)} was {texts[0]}, and is {texts[1]}"
            yield Finding(after.path, message, figures)


@comparison("constant-leaps", "warning")
def _constant_leaps(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A number that is moved tenfold, or to the end of its range.

    A value is at least ten times what it was, or at most a tenth; or it was within the range that
    the schema or its formula declares, and is at an end of it, or 0. Whole numbers reach the end of
    their range in steps: from 2 to 1 is no leap. A parameter of an axis with which no record that
    is tried is paid more is a note: it is stricter. A parameter of an emission factor that is an
    amount, not an edge, may come to its end: what it pays has a check of its own, as weights, gates
    and seed baselines have.

    Remedy: move it by less at a time, or say in the proposal what it was measured by.
    """
    for before, after in _pair(old, new).both():
        first, second = before.number, after.number
        if first is None or second is None or before.is_switch or _is_own(after.path):
            continue
        ends = after.ends if not _is_amount(new, after.path) else set[Fraction]()
        how = _leap(first, second, ends)
        if how:
            severity: Severity | None = None
            if after.path[0] == "axes" and not is_paid_more_somewhere(old, new, str(after.path[1])):
                severity = "note"
            message = f"{dotted(after.path)} was {before.text}, and is {after.text}: {how}"
            yield Finding(after.path, message, {"was": before.text, "now": after.text}, severity)


def _is_own(path: KeyPath) -> bool:
    return path[0] == "skill_types" and path[2] in {"weights", "gates", "baseline"}


def _is_amount(scorer: Scorer, path: KeyPath) -> bool:
    """Return whether a value is a parameter of an emission factor that nothing is compared with."""
    emission = scorer.rule_set.emission
    if emission is None or path[:2] != ("emission", "factors"):
        return False
    tree = scorer.registry.formulas[emission.factors[str(path[2])].formula].tree
    edges = {name for each in comparisons_of(tree) for name in names(each, "param")}
    return str(path[-1]) not in edges


def _leap(first: Fraction, second: Fraction, ends: set[Fraction]) -> str:
    """Return in which way a number leaps; empty where it does not."""
    if first == second or not first:
        return "the end of its range" if first != second and second in ends else ""
    if not second:
        return "nothing is left of it"
    ratio = second / first
    if ratio < 0:
        return "it has another sign"
    if ratio >= _FAR or ratio * _FAR <= 1:
        return "tenfold or more"
    is_step = first.denominator == second.denominator == 1 and 1 < _STEP * ratio < _STEP**2
    return "the end of its range" if second in ends and not is_step else ""


@comparison("formula-older", "warning")
def _formula_older(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An older formula than that of the older rule set.

    A name of a formula ends in its version. Where the older rule set names a later version of the
    same formula, what that version corrected is back.

    Remedy: name the version that the older rule set names.
    """
    for before, after in _pair(old, new).both():
        was, now = (_VERSIONED.fullmatch(setting.text) for setting in (before, after))
        if was is None or now is None or was["name"] != now["name"]:
            continue
        if int(now["version"]) < int(was["version"]):
            figures = {"was": before.text, "now": after.text}
            message = f"{dotted(after.path)} was {before.text}, and is {after.text}"
            yield Finding(after.path, message, figures)
