"""Candidates: the rule sets of a back-test, each loaded, checked, bound and named."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.canonical import PREFIX, canonical_bytes, digest
from tallystick.errors import RuleSetError, TallystickError
from tallystick.io.paths import PathLike
from tallystick.numbers.text import numbered
from tallystick.rules.digest import used_plugins
from tallystick.rules.edit import current, edited, edits
from tallystick.rules.loading import load
from tallystick.rules.reading import LoadedRuleSet, read_document
from tallystick.rules.structure import unstructure
from tallystick.rules.timeline import Timeline
from tallystick.rules.toml import Document, decimal_text, parse
from tallystick.scoring.bound_rules import BoundRules, bound_over
from tallystick.scoring.scorer import Scorer, bind
from tallystick_governance.backtest.comparison_model import Change, Identity
from tallystick_governance.backtest.proposal import Proposal, proposal_of
from tallystick_governance.backtest.sweep import Point, Sweep, points

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugins, Registry

MOST = 1 << 10
"""The most candidates of one back-test."""
_SHOWN_DIGITS = 12


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
        """The switch that ``RULES@EPOCH`` says; RULES may hold an @ of its own.

        Raises:
            TallystickError: it says none.
        """
        reference, _, epoch = text.rpartition("@")
        if not reference or not re.fullmatch("[1-9][0-9]{0,9}", epoch):
            raise TallystickError(
                f"found {text!r} to adopt, expected RULES@EPOCH such as skills@1.1.0@20, the "
                "epoch from 1"
            )
        return cls(reference, int(epoch))


@attrs.frozen(eq=False)
class Candidate:
    """One rule set of a back-test.

    Attributes:
        identity: which it is.
        rules: the rule set, bound; and those that it adopts later.
        proposal: what it changes of the baseline.
    """

    identity: Identity
    rules: BoundRules
    proposal: Proposal = attrs.field(factory=Proposal)

    @property
    def name(self) -> str:
        """Its unique name."""
        return self.identity.name

    def at(self, epoch: int) -> Candidate:
        """The candidate as if the rules of one epoch held in all."""
        if not self.rules.later:
            return self
        return attrs.evolve(self, rules=attrs.evolve(self.rules.rules_at(epoch), later=()))


def candidates_of(
    references: Sequence[PathLike],
    sweeps: Sequence[Sweep],
    plugins: Plugins,
    adoptions: Sequence[Switch] = (),
) -> tuple[Candidate, ...]:
    """The candidates: the baseline, the other references, the sweeps, the baseline that adopts.

    A point of a sweep that is the baseline itself, or the same rule set as an earlier candidate, is
    left out: it is there already.

    Args:
        references: rule sets; the first is the baseline, which the sweeps change.
        sweeps: what is changed of it.
        plugins: where the plugins are found that the rule sets name.
        adoptions: what the baseline adopts, and when; by ascending epochs.

    Raises:
        RuleSetError: a rule set does not load; of a sweep, the file is the candidate's name.
        TallystickError: there are fewer than two candidates or too many, two references are one
            rule set, a sweep leads nowhere, or a candidate has no skill type of the baseline.
    """
    if not references:
        raise TallystickError("found no rule set, expected a baseline")
    given = [load(reference, plugins) for reference in references]
    _refuse_duplicates(given)
    swept = list(_swept(given[0], points(sweeps, MOST), plugins))
    found = [(_given_identity(each, given), each) for each in given]
    known = {each.digest for each in given}
    for identity, loaded in swept:
        if loaded.digest not in known:
            known.add(loaded.digest)
            found.append((identity, loaded))
    adopted = [(each.epoch, load(each.reference, plugins)) for each in adoptions]
    _check_count(len(found) + bool(adopted))
    # records of every type that a candidate scores are read once, for all of them
    registry = _shared([*(each for _, each in found), *(each for _, each in adopted)], plugins)
    bound: list[tuple[Identity, BoundRules]] = [
        (identity, _bound(identity, loaded, registry)) for identity, loaded in found
    ]
    baseline = bound[0][1]
    if adopted:
        bound.append(_switching(bound[0], adopted, registry))
    candidates = tuple(
        Candidate(i, rules, proposal_of(baseline, rules.latest)) for i, rules in bound
    )
    _check_types(candidates)
    return candidates


def _switching(
    baseline: tuple[Identity, BoundRules],
    adopted: Sequence[tuple[int, LoadedRuleSet]],
    registry: Registry,
) -> tuple[Identity, BoundRules]:
    """The baseline that adopts other rule sets on its way.

    Raises:
        TallystickError: the epochs do not ascend, or a rule set is of another line.
    """
    identity, first = baseline
    line = first.rule_set.rule_set.name
    timeline = Timeline(first)
    name, held = identity.name, [[0, first.digest]]
    for epoch, loaded in adopted:
        reference = loaded.rule_set.reference
        if loaded.rule_set.rule_set.name != line:
            raise TallystickError(f"found {reference} to adopt, expected a version of {line}")
        try:
            timeline = timeline.extended(epoch, bind(loaded, registry))
        except ValueError:
            raise TallystickError(
                f"found {reference} to adopt at epoch {epoch}, expected a later epoch than before"
            ) from None
        name += f"→{reference}@{epoch}"
        held.append([epoch, loaded.digest])
    last = adopted[-1][1]
    found = Identity(name, last.rule_set.reference, digest(held), (), _text(last))
    return found, bound_over([timeline])


def _shared(found: Sequence[LoadedRuleSet], plugins: Plugins) -> Registry:
    """What the plugins offer together that any of the rule sets names, and the engine's own.

    A history may hold records of types that no candidate scores. Those of the engine's own plugins
    are known, whoever is installed beside them.
    """
    names = {name for each in found for name in used_plugins(each.rule_set, plugins)}
    with_own = plugins.of({*names, *plugins.own().plugins})
    registry = plugins.of(names) if names & with_own.refused.keys() else with_own
    clashes = [f"{name}: {registry.refused[name]}" for name in names & registry.refused.keys()]
    if clashes and any(each.registry is not registry for each in found):
        raise TallystickError(
            f"found plugins that cannot be used together ({'; '.join(sorted(clashes))}), expected "
            "rule sets that can be compared"
        )
    return registry


def _check_count(count: int) -> None:
    if not 1 < count <= MOST:
        raise TallystickError(
            f"found {numbered(count, 'candidate')}, expected 2 to {MOST}: "
            "give --rules more than once, or a --sweep"
        )


def _check_types(candidates: Sequence[Candidate]) -> None:
    baseline = candidates[0]
    for candidate in candidates[1:]:
        if not candidate.rules.types.keys() & baseline.rules.types.keys():
            raise TallystickError(
                f"found no skill type that both {baseline.name} and {candidate.name} have, "
                "expected rule sets that can be compared"
            )


def _refuse_duplicates(given: Sequence[LoadedRuleSet]) -> None:
    first: dict[str, LoadedRuleSet] = {}
    for loaded in given:
        if loaded.digest in first:
            earlier = first[loaded.digest]
            raise TallystickError(
                f"found {earlier.path} and {loaded.path}, which are the same rule set "
                f"{loaded.rule_set.reference} {loaded.digest}, expected each candidate once"
            )
        first[loaded.digest] = loaded


def _given_identity(loaded: LoadedRuleSet, given: Sequence[LoadedRuleSet]) -> Identity:
    reference = loaded.rule_set.reference
    names = Counter(each.rule_set.reference for each in given)
    name = reference
    if names[reference] > 1:
        name += "#" + loaded.digest.removeprefix(PREFIX)[:_SHOWN_DIGITS]
    return Identity(name, reference, loaded.digest, (), _text(loaded))


def _swept(
    baseline: LoadedRuleSet, combinations: Sequence[Point], plugins: Plugins
) -> Iterator[tuple[Identity, LoadedRuleSet]]:
    data = parse(baseline.text, str(baseline.path)).data
    reference = baseline.rule_set.reference
    for point in combinations:
        changes = tuple(
            Change(path, decimal_text(value), _number_at(data, path)) for path, value in point
        )
        listed = ",".join(f"{path}={value}" for path, value in point)
        name = f"{reference}[{listed}]"
        tables = edited(data, edits(data, point))
        document = Document.of(tables, baseline.positions)
        try:
            loaded = read_document(document, document_text(tables), baseline.path, plugins)
        except RuleSetError as error:
            raise _renamed(error, name) from None
        yield Identity(name, reference, loaded.digest, changes, _text(loaded)), loaded


def _number_at(data: Mapping[str, Any], path: str) -> str | None:
    """The number of the baseline, as text; None where it has none of its own or several."""
    found = current(data, path)
    return decimal_text(Decimal(found)) if isinstance(found, int | Decimal) else None


def _bound(identity: Identity, loaded: LoadedRuleSet, registry: Registry) -> Scorer:
    try:
        return bind(loaded, registry)
    except RuleSetError as error:
        if not identity.changes:
            raise
        raise _renamed(error, identity.name) from None


def _renamed(error: RuleSetError, name: str) -> RuleSetError:
    """The same problems, of a rule set that no file holds."""
    return RuleSetError([attrs.evolve(p, file=name, line=0) for p in error.problems], error.more)


def _text(loaded: LoadedRuleSet) -> str:
    return canonical_bytes(unstructure(loaded.rule_set)).decode()


def document_text(data: Mapping[str, Any]) -> str:
    """TOML that says what the tables of a rule-set file say, a line for each top-level key."""
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
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
