"""Measure what the analyses of a change find of the corpus.

``PYTHONPATH=tests python -m governance.corpus.measure [--prove|--gate] [SECTION|ENTRY …]`` prints
what is missed by name, with what is said of it elsewhere; then, by section, how many mistakes are
found to the point, of how many something else is said, and how many harmless changes give a false
alarm. With ``--gate`` a made-up history alone is asked, by the default policy without its clauses
about what analyses say; its figures have no place, so whatever is broken counts.

To the point is an error or a warning that is new beside the base, or a property that is newly
refuted, at a path of the entry's ``where``, above one or below one.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import takewhile
from multiprocessing import get_context
from typing import Any

import attrs
from governance.corpus.corpus import Entry, Pair, bad, build, harmless

from tallystick.rules.toml import parse
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.difference import RuleSetDifference, difference
from tallystick_governance.lint.linting import Report, report_of
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import LAWS as LAWS_ASKED
from tallystick_governance.prove.proving import answers

PROCESSES = 2
MILLION = 10**6
BUDGET = 4 * MILLION
"""Steps of the solver for all questions about one rule set."""
ALARMS = ("error", "warning")
LAWS = ("consensus", "allocation")
"""Sections about which there are laws beside the questions about records."""
PROVE = "--prove"
"""The argument by which properties are asked too."""
GATE = "--gate"
"""The argument by which the gate is asked alone."""
MEASURED = frozenset({"emission", "weight", "simulation"})
"""Kinds of clauses of a policy that ask made-up miners."""
OWN = frozenset({"composite", "quality", "tier", "tier_multiplier", "base_weight", "emission"})
"""Values that are a skill type's own."""


@attrs.frozen
class Remark:
    """One thing that an analysis says of a change.

    Attributes:
        by: the analysis: lint, diff or prove.
        code: the code of the finding, or the name of the property.
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
    def is_silent(self) -> bool:
        """True if nothing is said."""
        return not self.to_the_point and not self.elsewhere


def measure(entry: Entry, *, proves: bool = False) -> Outcome:
    """Return what the analyses say of an entry.

    Args:
        entry: the entry.
        proves: whether properties are asked too, where nothing else is to the point.
    """
    pair = build(entry)
    compared = difference(pair.old, pair.new)
    outcome = _outcome(entry, pair, _remarks(pair, compared))
    if not proves or outcome.to_the_point:
        return outcome
    refuted = _outcome(entry, pair, _refuted(pair, compared))
    return Outcome(entry, refuted.to_the_point, (*outcome.elsewhere, *refuted.elsewhere))


def measure_by_gate(entry: Entry) -> Outcome:
    """Return the clauses of the default policy that made-up miners show to be broken."""
    from tallystick_governance.gate.gate import ask
    from tallystick_governance.gate.policy import read
    from tallystick_governance.gate.sources import source_of

    pair, policy = build(entry), read("default")
    clauses = tuple(c for c in policy.clauses if c.name.partition(".")[0] in MEASURED)
    asked = attrs.evolve(policy, clauses=clauses)
    source = source_of(None, None, policy.measure, pair.old, pair.new)
    broken = ask(asked, pair.old, pair.new, source).broken
    remarks = (Remark("gate", j.clause.name, "", j.figure) for j in broken)
    return Outcome(entry, tuple(remarks), ())


def _outcome(entry: Entry, pair: Pair, remarks: Iterable[Remark]) -> Outcome:
    data = parse(pair.new.loaded.text, "").data
    wanted = [_keys(path, data) for path in entry.where]
    near: list[Remark] = []
    far: list[Remark] = []
    for remark in remarks:
        keys = _keys(remark.path, data)
        is_near = not entry.where or any(_is_in_line(keys, where) for where in wanted)
        (near if is_near else far).append(remark)
    return Outcome(entry, tuple(near), tuple(far))


def measure_all(
    entries: Sequence[Entry], by: Callable[[Entry], Outcome] = measure
) -> Iterator[Outcome]:
    """Yield the outcomes of entries, in their order, by `PROCESSES` processes."""
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        yield from pool.map(by, entries)


def _remarks(pair: Pair, compared: RuleSetDifference) -> Iterator[Remark]:
    report = report_of(pair.new).since(_report(pair.old))
    for finding in report.findings:
        if finding.severity in ALARMS:
            yield Remark("lint", finding.code, finding.path, finding.message)
    if not compared.is_enough:
        yield Remark("diff", "version", "rule_set.version", f"needs a {compared.needed} version")
    for value in compared.unknown:
        yield Remark("diff", "unknown", value.value, str(value))


@cache
def _report(rules: Scorer) -> Report:
    return report_of(rules)


def _refuted(pair: Pair, compared: RuleSetDifference) -> Iterator[Remark]:
    """Yield the properties that the change refutes, of what it computes in another way."""
    # a type that is computed as before has the answers that it had, and so have groups
    names = _types(compared)
    laws = any(section in LAWS for section in compared.not_analysed)
    new = _answers(pair.new, names, laws)
    if new:
        old = _answers(pair.old, names, laws)
        yield from (remark for key, remark in new.items() if key not in old)


def _types(compared: RuleSetDifference) -> tuple[str, ...]:
    """Return skill types whose values that are computed anew include those of all types.

    Axes and factors are shared, so that one type answers for them; the composite is a type's own.
    """
    seen: set[str] = set()
    names: list[str] = []
    for effect in compared.effects:
        shared = {name for name in effect.recomputed if name not in OWN}
        has_own = not OWN.isdisjoint(effect.recomputed) and not shared
        if shared - seen or has_own:
            names.append(effect.skill_type)
        seen |= shared
    return tuple(names)


@cache
def _answers(rules: Scorer, names: tuple[str, ...], laws: bool) -> dict[object, Remark]:
    """Return the properties that are refuted, by what they are about."""
    types = {name: rules.types[name] for name in names if name in rules.types}
    replies = list(_of_records(attrs.evolve(rules, types=types))) if types else []
    if laws:
        replies += [reply for each in LAWS_ASKED for reply in each.answers(rules, None)]
    return {
        (a.property, a.skill_type, a.axis, a.about): Remark(
            "prove", a.property, _path_of(a, rules), a.summary or a.property
        )
        for a in replies
        if a.status == "counterexample"
    }


def _of_records(rules: Scorer) -> Iterator[Answer]:
    """Yield the answers about records; those of laws, which come last, take longer."""
    replies = (reply for _, reply in answers(rules, budget=BUDGET))
    return takewhile(lambda a: a.skill_type in rules.types, replies)


def _path_of(answer: Answer, rules: Scorer) -> str:
    """Return the place in a rule set that an answer is about."""
    document = rules.rule_set
    if answer.skill_type not in rules.types:
        return (
            "allocation"
            if answer.skill_type == "allocation"
            else f"consensus.components.{answer.axis}"
        )
    if answer.axis in document.axes:
        return f"axes.{answer.axis}"
    if document.emission is not None and answer.axis in document.emission.factors:
        return f"emission.factors.{answer.axis}"
    return f"skill_types.{answer.skill_type}"


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


COLUMNS = ("bad", "found", "lint", "diff", "prove", "gate", "vague", "silent", "harmless", "false")


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts by section, as text."""
    sections = dict.fromkeys(outcome.entry.section for outcome in outcomes)
    rows = [("section", *COLUMNS)]
    for name in sections:
        own = [outcome for outcome in outcomes if outcome.entry.section == name]
        rows.append((name, *map(str, counts(own))))
    rows.append(("all", *map(str, counts(outcomes))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )


def counts(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    """Return the numbers of `COLUMNS`."""
    mistakes = [outcome for outcome in outcomes if outcome.entry.where]
    others = [outcome for outcome in outcomes if not outcome.entry.where]
    by = [{remark.by for remark in outcome.to_the_point} for outcome in mistakes]
    return (
        len(mistakes),
        sum(map(bool, by)),
        *(sum(tool in tools for tools in by) for tool in ("lint", "diff", "prove", "gate")),
        sum(bool(o.elsewhere) and not o.to_the_point for o in mistakes),
        sum(o.is_silent for o in mistakes),
        len(others),
        sum(not o.is_silent for o in others),
    )


def missed(outcome: Outcome) -> str:
    """Return a line about a mistake that is not found to the point, or a false alarm; else none."""
    entry = outcome.entry
    change = ", ".join([*entry.set, *(["texts replaced"] if entry.replace else [])])
    name = f"{entry.section}/{entry.id} ({entry.base}; {change})"
    if not entry.where:
        return f"FALSE ALARM {name}: {_said(outcome.to_the_point)}" if outcome.to_the_point else ""
    if outcome.to_the_point:
        return ""
    return f"{name}: {entry.why} [{_said(outcome.elsewhere) or 'silent'}]"


def _said(remarks: Iterable[Remark]) -> str:
    return "; ".join(f"{r.by} {r.code} at {r.path}: {r.message[:160]}" for r in remarks)


def main(arguments: Sequence[str]) -> None:
    """Measure the sections or entries that are named, or all, and print what `table` counts."""
    names = {name for name in arguments if name not in {PROVE, GATE}}
    by = measure_by_gate if GATE in arguments else partial(measure, proves=PROVE in arguments)
    entries = [e for e in (*bad(), *harmless()) if not names or {e.section, e.id} & names]
    outcomes: list[Outcome] = []
    for outcome in measure_all(entries, by):
        outcomes.append(outcome)
        if line := missed(outcome):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{table(outcomes)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
