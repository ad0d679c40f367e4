"""Candidates: the rule sets of a back-test, each loaded, checked, bound and named.

The first is the baseline. The others are rule sets that were named, the points of *sweeps* (the
baseline with some of its numbers changed), and the baseline that *switches* to other rule sets on
its way. Each comes with its *proposal*: its own words, and every value and formula that it changes
of the baseline.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.canonical import PREFIX, digest
from tallystick.errors import RuleSetError, TallystickError
from tallystick.formula.text import lines
from tallystick.io.paths import PathLike
from tallystick.numbers.text import numbered
from tallystick.rules.digest import used_plugins
from tallystick.rules.edit import current, edited, edits, is_path, read_number
from tallystick.rules.loading import load
from tallystick.rules.reading import LoadedRuleSet, read_document
from tallystick.rules.structure import table_of
from tallystick.rules.timeline import Timeline
from tallystick.rules.toml import decimal_text
from tallystick.scoring.bound_rules import BoundRules, bound_over
from tallystick.scoring.executors.portable import BoundRulesSpec
from tallystick.scoring.scorer import bind
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_governance.diff.change import (
    Change,
    FormulaChange,
    changes,
    formula_changes,
    own_summary,
)

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugins, Registry

MOST = 1 << 6
"""Maximum number of candidates of one back-test."""
_DIGITS = 64
"""Decimal digits of the values of a sweep: more than any number of a rule set has."""
_SHOWN_DIGITS = 12
"""Hexadecimal digits of a digest that tell two rule sets of one reference apart."""
_ASIDE = ("rule_set.", "lint.")
"""Prefixes of paths that no score depends on: the words of a rule set, and those to the linter."""

Point = tuple[tuple[str, Decimal], ...]
"""One value for the path of each sweep."""


@attrs.frozen
class SweptNumber:
    """One number that a sweep changed in the baseline.

    Attributes:
        path: as the sweep spells it, such as ``axes.policy.weight``.
        value: the number as the shortest decimal text, such as ``0.1``.
        baseline: the number of the baseline; None where several types have several.
    """

    path: str
    value: str
    baseline: str | None = None


@attrs.frozen
class Identity:
    """The names and the digest that tell a candidate from the others.

    Attributes:
        name: the unique name among the candidates: the reference ``name@version``, with the
            changes of a sweep in brackets, such as ``skills@1.0.0[axes.policy.weight=0.10]``; two
            files of one reference are told apart by the beginning of their digests.
        reference: ``name@version`` of the file.
        digest: ``sha256:…`` of what the rule set means, the changes included.
        changes: the numbers that a sweep changed; empty for a rule set as its file says it.
    """

    name: str
    reference: str
    digest: str
    changes: tuple[SweptNumber, ...] = ()


@attrs.frozen
class Sweep:
    """The values of one number of the baseline: ``PATH=START:STOP:STEP``, in exact decimals.

    The values are START, START + STEP and so on up to STOP, which is the last when it is hit
    exactly. PATH is one of `rules.edit` that leads to a number; weights are scaled as there.

    Attributes:
        path: as it was given.
        start: the first.
        stop: none is above it.
        step: from one to the next.
    """

    path: str
    start: Decimal
    stop: Decimal
    step: Decimal

    @property
    def count(self) -> int:
        """The number of values."""
        return int((Fraction(self.stop) - Fraction(self.start)) / Fraction(self.step)) + 1

    @property
    def values(self) -> list[Decimal]:
        """The values, ascending."""
        with localcontext(prec=_DIGITS):
            return [self.start + self.step * n for n in range(self.count)]


def parse_sweep(text: str) -> Sweep:
    """Parse a sweep, ``PATH=START:STOP:STEP``.

    Raises:
        TallystickError: it is not one, or its steps never reach the end.
    """
    path, equals, values = text.partition("=")
    parts = values.split(":")
    usual = "expected PATH=START:STOP:STEP, such as axes.NAME.weight=0.05:0.30:0.05"
    if not equals or not is_path(path) or len(parts) != len(("start", "stop", "step")):
        raise TallystickError(f"found the sweep {text!r}, {usual}")
    numbers = [number for number in map(read_number, parts) if number is not None]
    if len(numbers) != len(parts):
        raise TallystickError(f"found the sweep {text!r}, {usual} with at most nine decimals")
    start, stop, step = numbers
    if step <= 0:
        raise TallystickError(f"found the step {step} of {path}, expected one above 0")
    if stop < start:
        raise TallystickError(
            f"found {start}:{stop} for {path}, expected a STOP that steps from START reach"
        )
    return Sweep(path, start, stop, step)


def points(sweeps: Sequence[Sweep], most: int) -> list[Point]:
    """Return every combination of the values, the last sweep turning fastest.

    Raises:
        TallystickError: two sweeps are of one path, or there are more than ``most`` combinations.
    """
    for n, sweep in enumerate(sweeps):
        if any(sweep.path == other.path for other in sweeps[:n]):
            raise TallystickError(f"found two sweeps of {sweep.path}, expected each path once")
    count = 1
    for sweep in sweeps:
        count *= sweep.count
    if count > most:
        raise TallystickError(
            f"found sweeps of {count} candidates, expected at most {most}: make the steps larger"
        )
    axes = [[(sweep.path, value) for value in sweep.values] for sweep in sweeps]
    return list(product(*axes)) if axes else []


@attrs.frozen
class Switch:
    """A rule set that the baseline adopts.

    Attributes:
        reference: of the rule set.
        epoch: the first epoch under it.
    """

    reference: str
    epoch: int

    @classmethod
    def parse(cls, text: str) -> Switch:
        """Parse a switch, ``RULES@EPOCH``; RULES may hold an @ of its own.

        Raises:
            TallystickError: it says none.
        """
        reference, _, epoch = text.rpartition("@")
        if not reference or not re.fullmatch("[1-9][0-9]{0,9}", epoch):
            raise TallystickError(
                f"found {text!r} to adopt, expected RULES@EPOCH such as skills@1.2.0@20, the "
                "epoch from 1"
            )
        return cls(reference, int(epoch))


@attrs.frozen
class FormulaUse:
    """A formula that reads values which a candidate changes, so that a reader sees what they do.

    Attributes:
        name: ``namespace/name@version``.
        parameters: the names of the values, as the formula has them.
        lines: the formula as people write it.
    """

    name: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]


@attrs.frozen
class Proposal:
    """A candidate's own words, and its changes of the baseline.

    Attributes:
        summary: what its file says it is for; None where it has no words of its own but those of
            the baseline.
        source: the documents that it follows, by its file; empty where they are the baseline's.
        changes: the values that it gives otherwise than the baseline, by path.
        formulas: the formulas that it uses otherwise.
        uses: the formulas of the candidate that read the changed values.
    """

    summary: str | None = None
    source: str = ""
    changes: tuple[Change, ...] = ()
    formulas: tuple[FormulaChange, ...] = ()
    uses: tuple[FormulaUse, ...] = ()


@attrs.frozen(eq=False)
class Candidate:
    """One rule set of a back-test.

    Attributes:
        identity: which it is.
        rules: the rule set, bound; and those that it adopts later.
        proposal: what it changes of the baseline.
        variant: the position of its consensus among the different ones, where groups have it.
    """

    identity: Identity
    rules: BoundRules
    proposal: Proposal = attrs.field(factory=Proposal)
    variant: int = 0

    @classmethod
    def of_spec(cls, spec: BoundRulesSpec) -> Candidate:
        """Return the candidate that a worker makes of a specification, named by its digest.

        Raises:
            EngineError: the worker is not like the process that began it.
        """
        rules = spec.rules()
        return cls(Identity(spec.digest, rules.rule_set.reference, spec.digest), rules)

    @property
    def name(self) -> str:
        """The unique name."""
        return self.identity.name

    def at(self, epoch: int) -> Candidate:
        """Return the candidate as if the rules of one epoch held in all."""
        if not self.rules.later:
            return self
        return attrs.evolve(self, rules=attrs.evolve(self.rules.rules_at(epoch), later=()))

    def with_thresholds(self, skill_type: str, tracked: Thresholds) -> Candidate:
        """Return the candidate, scoring a type by some tracked thresholds."""
        thresholds = all_thresholds(self.rules, skill_type, tracked)
        if not thresholds:
            return self
        by_type = {**self.rules.thresholds, skill_type: thresholds}
        return attrs.evolve(self, rules=attrs.evolve(self.rules, thresholds=by_type))


def all_thresholds(rules: BoundRules, skill_type: str, tracked: Thresholds) -> Thresholds:
    """Return every threshold of a type from the tracked ones; none where it has no tiers."""
    bound = rules.types.get(skill_type)
    if bound is None or bound.tiers is None or set(bound.tiers.tracked) - set(tracked):
        return {}
    return bound.tiers.thresholds(tracked)


def tracks_thresholds(candidates: Iterable[Candidate]) -> bool:
    """Tell whether a state tracks a threshold of a candidate."""
    rules = (span for candidate in candidates for _, span in candidate.rules.spans())
    types = (bound for span in rules for bound in span.types.values())
    return any(bound.tiers is not None and bound.tiers.tracked for bound in types)


def candidates_of(
    references: Sequence[PathLike],
    sweeps: Sequence[Sweep],
    plugins: Plugins,
    adoptions: Sequence[Switch] = (),
) -> tuple[Candidate, ...]:
    """Load the candidates: the baseline, the other references, the sweeps, the switching baseline.

    A point of a sweep that is the baseline itself, or the same rule set as an earlier candidate, is
    left out: it is there already.

    Args:
        references: rule sets; the first is the baseline, which the sweeps change.
        sweeps: the numbers of the baseline to change.
        plugins: where the plugins are found that the rule sets name.
        adoptions: what the baseline adopts, and when; by ascending epochs.

    Raises:
        RuleSetError: a rule set does not load; of a sweep, the file is the candidate's name.
        TallystickError: there are fewer than two candidates or too many, two references are one
            rule set, a sweep leads nowhere, or a candidate has no skill type of the baseline.
    """
    if not references:
        raise TallystickError("found no rule set, expected a baseline")
    loaded = _loaded(references, plugins)
    digests = {rule_set.digest for _, rule_set in loaded}
    for identity, rule_set in list(_swept(loaded[0][1], points(sweeps, MOST), plugins)):
        if rule_set.digest not in digests:
            digests.add(rule_set.digest)
            loaded.append((identity, rule_set))
    adopted = [(switch.epoch, load(switch.reference, plugins)) for switch in adoptions]
    count = len(loaded) + bool(adopted)
    if not 1 < count <= MOST:
        raise TallystickError(
            f"found {numbered(count, 'candidate')}, expected 2 to {MOST}: "
            "give --rules more than once, or a --sweep"
        )
    # records of every type that a candidate scores are read once, for all of them
    registry = _shared([rule_set for _, rule_set in (*loaded, *adopted)], plugins)
    bound: list[tuple[Identity, BoundRules]] = [
        (identity, _bound(identity, rule_set, registry)) for identity, rule_set in loaded
    ]
    baseline = bound[0][1]
    if adopted:
        bound.append(_switching(bound[0], adopted, registry))
    candidates = tuple(
        Candidate(identity, rules, proposal_of(baseline, rules.latest)) for identity, rules in bound
    )
    for candidate in candidates[1:]:
        if not candidate.rules.types.keys() & baseline.types.keys():
            raise TallystickError(
                f"found no skill type that both {candidates[0].name} and {candidate.name} have, "
                "expected rule sets that can be compared"
            )
    return candidates


def _loaded(
    references: Sequence[PathLike], plugins: Plugins
) -> list[tuple[Identity, LoadedRuleSet]]:
    """Load rule sets and name them; refuse one that is there twice."""
    rule_sets = [load(reference, plugins) for reference in references]
    first: dict[str, LoadedRuleSet] = {}
    for loaded in rule_sets:
        if loaded.digest in first:
            earlier = first[loaded.digest]
            raise TallystickError(
                f"found {earlier.path} and {loaded.path}, which are the same rule set "
                f"{loaded.rule_set.reference} {loaded.digest}, expected each candidate once"
            )
        first[loaded.digest] = loaded
    counts = Counter(loaded.rule_set.reference for loaded in rule_sets)
    named = list[tuple[Identity, LoadedRuleSet]]()
    for loaded in rule_sets:
        name = reference = loaded.rule_set.reference
        if counts[reference] > 1:
            name += "#" + loaded.digest.removeprefix(PREFIX)[:_SHOWN_DIGITS]
        named.append((Identity(name, reference, loaded.digest), loaded))
    return named


def _swept(
    baseline: LoadedRuleSet, combinations: Sequence[Point], plugins: Plugins
) -> Iterator[tuple[Identity, LoadedRuleSet]]:
    """Yield the rule set of each point of the sweeps."""
    data = baseline.document.data
    reference = baseline.rule_set.reference
    for point in combinations:
        swept = []
        for path, value in point:
            # None where the baseline has no number of its own there, or several
            number = current(data, path)
            own = decimal_text(Decimal(number)) if isinstance(number, int | Decimal) else None
            swept.append(SweptNumber(path, decimal_text(value), own))
        listed = ",".join(f"{path}={value}" for path, value in point)
        name = f"{reference}[{listed}]"
        tables = edited(data, edits(data, point))
        document = attrs.evolve(baseline.document, data=tables)
        try:
            loaded = read_document(document, document_text(tables), baseline.path, plugins)
        except RuleSetError as error:
            raise _renamed(error, name) from None
        yield Identity(name, reference, loaded.digest, tuple(swept)), loaded


def _switching(
    baseline: tuple[Identity, BoundRules],
    adopted: Sequence[tuple[int, LoadedRuleSet]],
    registry: Registry,
) -> tuple[Identity, BoundRules]:
    """Return the baseline that adopts other rule sets on its way.

    Raises:
        TallystickError: the epochs do not ascend, or a rule set is of another series.
    """
    identity, first = baseline
    series = first.rule_set.rule_set.name
    timeline = Timeline(first)
    name, digests = identity.name, [[0, first.digest]]
    for epoch, loaded in adopted:
        reference = loaded.rule_set.reference
        if loaded.rule_set.rule_set.name != series:
            raise TallystickError(f"found {reference} to adopt, expected a version of {series}")
        try:
            timeline = timeline.extended(epoch, bind(loaded, registry))
        except ValueError:
            raise TallystickError(
                f"found {reference} to adopt at epoch {epoch}, expected a later epoch than before"
            ) from None
        name += f"→{reference}@{epoch}"
        digests.append([epoch, loaded.digest])
    last = adopted[-1][1]
    switching = Identity(name, last.rule_set.reference, digest(digests))
    return switching, bound_over([timeline])


def _shared(rule_sets: Sequence[LoadedRuleSet], plugins: Plugins) -> Registry:
    """Return the registry of the plugins that any of the rule sets names, and the engine's own.

    A history may hold records of types that no candidate scores. Those of the engine's own plugins
    are known, whoever is installed beside them.
    """
    names = {name for loaded in rule_sets for name in used_plugins(loaded.rule_set)}
    with_own = plugins.of({*names, *plugins.own().plugins})
    registry = plugins.of(names) if names & with_own.refused.keys() else with_own
    clashes = [f"{name}: {registry.refused[name]}" for name in names & registry.refused.keys()]
    if clashes and any(loaded.registry is not registry for loaded in rule_sets):
        raise TallystickError(
            f"found plugins that cannot be used together ({'; '.join(sorted(clashes))}), expected "
            "rule sets that can be compared"
        )
    return registry


def _bound(identity: Identity, loaded: LoadedRuleSet, registry: Registry) -> BoundRules:
    try:
        return bind(loaded, registry)
    except RuleSetError as error:
        if not identity.changes:
            raise
        raise _renamed(error, identity.name) from None


def _renamed(error: RuleSetError, name: str) -> RuleSetError:
    """Return the same problems, of a rule set that no file holds."""
    return RuleSetError([attrs.evolve(p, file=name, line=0) for p in error.problems], error.more)


def document_text(data: Mapping[str, Any]) -> str:
    """Write the tables of a rule-set file as TOML, a line for each top-level key."""
    return "".join(f"{_string(key)} = {_toml(value)}\n" for key, value in data.items())


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case Decimal():
            text = decimal_text(value)
            return text if "." in text else f"{text}.0"
        case Mapping():
            inner = ", ".join(f"{_string(key)} = {_toml(item)}" for key, item in value.items())
            return f"{{ {inner} }}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return _string(str(value))


def _string(text: str) -> str:
    # TOML has the escapes of JSON, and refuses a bare DEL
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def proposal_of(baseline: BoundRules, candidate: BoundRules) -> Proposal:
    """Compare a rule set with a baseline; for the baseline itself there is no change."""
    own, before = candidate.rule_set.rule_set, baseline.rule_set.rule_set
    every = changes(baseline.rule_set, candidate.rule_set)
    changed = tuple(change for change in every if not change.path.startswith(_ASIDE))
    return Proposal(
        own_summary(baseline, candidate),
        own.source if own.source != before.source else "",
        changed,
        formula_changes(baseline, candidate),
        tuple(_uses(candidate, changed)),
    )


def _uses(rules: BoundRules, changed: Iterable[Change]) -> Iterator[FormulaUse]:
    """Yield the formulas of a rule set that read some changed values, in name order."""
    names = dict(_formula_names(table_of(rules.rule_set)))
    parameters = defaultdict[str, list[str]](list)
    for change in changed:
        table, _, key = change.path.rpartition(".")
        if table in names and key != "formula":
            parameters[names[table]].append(key)
    for name, keys in sorted(parameters.items()):
        formula = rules.registry.formulas[name]
        text = lines(formula.symbol or formula.name, formula.tree)
        yield FormulaUse(name, tuple(dict.fromkeys(keys)), tuple(text))


def _formula_names(table: Mapping[str, object], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path of each table that names a formula, and the name."""
    for key, value in table.items():
        if key == "formula" and isinstance(value, str):
            yield path, value
        elif isinstance(value, Mapping):
            yield from _formula_names(value, f"{path}.{key}".removeprefix("."))
