"""Rules in force: which rule set each line of a state follows in each epoch.

A state begins under a rule set of each of its lines. An adoption, which is an entry of the log with
the whole rule set, replaces one from an epoch on; until that epoch begins it can be withdrawn. So
the log alone says which rules an epoch has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from tallystick.canonical import digest
from tallystick.diagnostics import nearest
from tallystick.errors import DamagedError, StateError, TrustError
from tallystick.plugins.registry import Plugins, installed_plugins
from tallystick.records.messages import shown
from tallystick.rules.reading import read_again
from tallystick.rules.timeline import Timeline
from tallystick.state.authority import Authority, Envelopes, authority_of, no_envelopes
from tallystick.state.claims import Hearing
from tallystick.state.rules import GENESIS, StateRules
from tallystick.state.trust_in_force import OPERATORS, ROTATION, TrustInForce, root_of

if TYPE_CHECKING:
    from tallystick.scoring.threshold_snapshots import Thresholds
    from tallystick.state.chain import Entry
    from tallystick.trust.policy import TrustRoot
    from tallystick.trust.statement import Action, Statement

ADOPTION, WITHDRAWAL = "rules", "withdraw"
"""The kinds of the entries that change which rules are in force."""


class TypeRules(Protocol):
    """The rules of some skill types, of one line or of several."""

    @property
    def type_rules(self) -> Mapping[str, StateRules]:
        """By skill type, the rules of its line."""

    @property
    def quorum(self) -> int:
        """How many validators flags have to come from that eject a miner; the most of any line."""


@attrs.frozen(eq=False, slots=False)
class EpochRules:
    """The rules of every line in one epoch.

    Attributes:
        lines: of each line, in the order of their names.
    """

    lines: tuple[StateRules, ...]

    @cached_property
    def type_rules(self) -> Mapping[str, StateRules]:
        """By skill type, the rules of its line."""
        return {name: rules for rules in self.lines for name in rules.rule_set.skill_types}

    @property
    def quorum(self) -> int:
        """How many validators flags have to come from that eject a miner; the most of any line."""
        return max(rules.quorum for rules in self.lines)

    @property
    def seeds(self) -> Mapping[str, Thresholds]:
        """By skill type, the thresholds that a state tracks, in nano, at the seed baselines."""
        return {name: seeds for rules in self.lines for name, seeds in rules.seeds.items()}

    @property
    def digest(self) -> str:
        """What a snapshot names: the digest of the only rule set, or that of all by their lines."""
        if len(self.lines) == 1:
            return self.lines[0].digest
        return digest({rules.line: rules.digest for rules in self.lines})

    def only(self) -> StateRules:
        """The rules of a state that has one line.

        Raises:
            StateError: it has several.
        """
        if len(self.lines) > 1:
            names = ", ".join(rules.line for rules in self.lines)
            raise StateError(f"found a state of the lines {names}, expected one line: name it")
        return self.lines[0]

    def watching(self) -> StateRules:
        """The rules that say over which hours dispatches count: those of the first line that do."""
        told = (each for each in self.lines if each.rule_set.reputation is not None)
        return next((r for r in told if r.reputation.visibility is not None), self.lines[0])

    def of_type(self, skill_type: str) -> StateRules:
        """The rules of the line that has a skill type.

        Raises:
            StateError: no line has it.
        """
        if skill_type not in self.type_rules:
            known = self.type_rules
            raise StateError(
                f"found the skill type {shown(skill_type)}, expected one of {', '.join(known)}"
                f"{nearest(skill_type, known)}"
            )
        return self.type_rules[skill_type]


@attrs.frozen
class Adoption:
    """A rule set that a line adopted, or will.

    Attributes:
        line: of the rule set.
        epoch: the first epoch under it.
        block: that its entry states; None where it states none.
        rules: the rule set.
        previous: the digest of the rule set before it.
        sequence: its number among the adoptions and withdrawals of its line, from 1.
        major: whether it may take away what others name.
        seq: the number of its entry.
        statement: the digest of the statement that was signed; None where the operator decided.
        signed_by: the names of those who signed it, as the trust file of then calls them.
    """

    line: str
    epoch: int
    block: int | None
    rules: StateRules = attrs.field(eq=False)
    previous: str
    sequence: int
    major: bool
    seq: int
    statement: str | None = None
    signed_by: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What its entry says."""
        optional = {"block": self.block, "statement": self.statement, "major": self.major or None}
        return {
            "epoch": self.epoch,
            "line": self.line,
            "previous": self.previous,
            "rule_set": self.rules.to_dict(),
            "sequence": self.sequence,
            **{name: value for name, value in optional.items() if value is not None},
        }


@attrs.frozen(eq=False, slots=False)
class RulesInForce:
    """Which rules each line of a state has in each epoch.

    Attributes:
        lines: by name, in the order of names; most states have one.
        plugins: what the rule sets of later entries are loaded with.
        adoptions: those that hold or are scheduled, by line, in the order of epochs.
        sequences: by line, how many adoptions and withdrawals its log has; 0 is left out.
        trust: whose signatures count.
        seq: the number of the newest entry that this was made of; 0 if only the first.
    """

    lines: Mapping[str, Timeline[StateRules]]
    plugins: Plugins
    adoptions: Mapping[str, tuple[Adoption, ...]] = attrs.field(factory=dict)
    sequences: Mapping[str, int] = attrs.field(factory=dict)
    trust: TrustInForce = OPERATORS
    seq: int = 0

    @classmethod
    def of(cls, rules: StateRules | RulesInForce) -> RulesInForce:
        """A rule set that holds in every epoch; rules in force as they are."""
        if isinstance(rules, RulesInForce):
            return rules
        return cls({rules.line: Timeline(rules)}, rules.registry)

    def at(self, epoch: int) -> EpochRules:
        """The rules of every line in an epoch."""
        return self._epochs.at(epoch)

    def of_type(self, skill_type: str, epoch: int) -> StateRules | None:
        """The rules of a skill type in an epoch; None where they have no such type then."""
        return self.at(epoch).type_rules.get(skill_type)

    def line_of(self, skill_type: str) -> str | None:
        """The line that has a skill type in some epoch; None where none ever has."""
        return self._line_of.get(skill_type)

    def types_apart(self, line: str) -> Sequence[str] | None:
        """The skill types that a line has in some epoch; None where all are of the only line."""
        if len(self.lines) == 1:
            return None
        return [name for name, owner in self._line_of.items() if owner == line]

    def rule_sets(self) -> Mapping[str, StateRules]:
        """Every rule set that is ever in force, by digest, each once, by line and epoch."""
        every = (rules for timeline in self.lines.values() for rules in timeline.values())
        return {rules.digest: rules for rules in every}

    def dropped_events(self, skill_type: str, epoch: int) -> frozenset[str]:
        """The events that some earlier rules of a type list, and those of an epoch no longer do."""
        line = self.line_of(skill_type)
        return frozenset() if line is None else self._dropped[line].at(epoch)

    @property
    def changes(self) -> bool:
        """Whether the rules of some line ever change."""
        return bool(self._epochs.later)

    @property
    def root(self) -> TrustRoot | None:
        """The trust file in force; None while the operator decides alone."""
        return self.trust.root

    @cached_property
    def genesis(self) -> str:
        """The digest of what the state began under, by which statements name it.

        No validator and nobody heard is in it, so that one statement is for all that began alike.
        """
        lines = {name: timeline.first.digest for name, timeline in self.lines.items()}
        first = self.trust.first
        return digest(
            {"format": 1, "lines": lines, "trust": None if first is None else first.digest}
        )

    def statement(self, action: Action, adoption: Adoption, sequence: int) -> Statement | None:
        """What has to be signed to adopt rules, or to withdraw them; None without a trust file.

        Args:
            action: ``adopt`` or ``withdraw``.
            adoption: what is adopted, or withdrawn.
            sequence: the number of its entry among those of its line.
        """
        if self.root is None:
            return None
        from tallystick.trust.statement import adoption as statement  # noqa: PLC0415  # if signed

        return statement(
            action,
            genesis=self.genesis,
            network=self.root.network,
            line=adoption.line,
            previous=adoption.previous,
            rule_set=adoption.rules.digest,
            reference=adoption.rules.rule_set.reference,
            epoch=adoption.epoch,
            sequence=sequence,
            major=adoption.major and action == "adopt",
        )

    def check(
        self, action: Action, adoption: Adoption, sequence: int, authority: Authority
    ) -> tuple[str, ...]:
        """Refuse to adopt or withdraw rules unless it is signed as the trust file says.

        Returns:
            The names of those who signed; empty without a trust file.

        Raises:
            TrustError: too few have signed, or something else; or nothing says who has to.
        """
        statement = self.statement(action, adoption, sequence)
        if self.root is None or statement is None:
            authority.check_unsigned("rules")
            return ()
        from tallystick.trust.policy import authorise  # noqa: PLC0415  # where something is signed

        envelope = authority.signed("rules")
        authorise(self.root, action, statement, envelope, authority.block)
        known = self.root.keys.values()
        signers = envelope.signers(each.public for each in known)
        return tuple(sorted(each.name for each in known if each.public in signers))

    def begun_with(self, root: TrustRoot | None) -> RulesInForce:
        """The same rules in a state that begins with a trust file, or without one."""
        return attrs.evolve(self, trust=TrustInForce.begun(root))

    def at_genesis(self) -> RulesInForce:
        """The rules as the state began, without any adoption."""
        lines = {name: Timeline(timeline.first) for name, timeline in self.lines.items()}
        return RulesInForce(lines, self.plugins, trust=TrustInForce.begun(self.trust.first))

    def rotated(self, root: TrustRoot, seq: int, authority: Authority) -> RulesInForce:
        """The same rules after an entry that puts a trust file in force.

        Raises:
            TrustError: as `TrustInForce.rotated`.
        """
        return attrs.evolve(self, trust=self.trust.rotated(root, authority), seq=seq)

    def adopted(self, adoption: Adoption) -> RulesInForce:
        """The rules after an entry that adopts a rule set, which its line allows."""
        line = adoption.line
        timeline = self.lines[line].extended(adoption.epoch, adoption.rules)
        return attrs.evolve(
            self,
            lines={**self.lines, line: timeline},
            adoptions={**self.adoptions, line: (*self.adoptions.get(line, ()), adoption)},
            sequences={**self.sequences, line: adoption.sequence},
            seq=adoption.seq,
        )

    def withdrawn(self, line: str, sequence: int, seq: int) -> RulesInForce:
        """The rules after an entry that withdraws the last adoption of a line."""
        return attrs.evolve(
            self,
            lines={**self.lines, line: self.lines[line].shortened()},
            adoptions={**self.adoptions, line: self.adoptions[line][:-1]},
            sequences={**self.sequences, line: sequence},
            seq=seq,
        )

    @cached_property
    def _epochs(self) -> Timeline[EpochRules]:
        """The rules of every line, from each epoch at which some begin."""
        lines = self.lines.values()
        starts = sorted({epoch for timeline in lines for epoch, _ in timeline.later})
        first, *later = (
            EpochRules(tuple(each.at(start) for each in lines)) for start in (0, *starts)
        )
        return Timeline(first, tuple(zip(starts, later, strict=True)))

    @cached_property
    def _dropped(self) -> Mapping[str, Timeline[frozenset[str]]]:
        return {name: _dropped(timeline) for name, timeline in self.lines.items()}

    @cached_property
    def _line_of(self) -> Mapping[str, str]:
        return {
            skill_type: name
            for name, timeline in self.lines.items()
            for rules in timeline.values()
            for skill_type in rules.rule_set.skill_types
        }


def _dropped(timeline: Timeline[StateRules]) -> Timeline[frozenset[str]]:
    listed, found = timeline.first.events, Timeline(frozenset[str]())
    for epoch, rules in timeline.later:
        found, listed = found.extended(epoch, listed - rules.events), listed | rules.events
    return found


def read(
    genesis: Entry | None,
    later: Iterable[Entry],
    where: str,
    plugins: Plugins | None = None,
    envelopes: Envelopes = no_envelopes,
) -> RulesInForce:
    """The rules that the entries of a log say, each as the trust file before it allows.

    Args:
        genesis: the first entry, if the log has one.
        later: the entries that adopt, withdraw and rotate, in their order.
        where: the store or the file, for errors.
        plugins: what the rule sets are loaded with; by default the installed ones.
        envelopes: what stands behind entries.

    Raises:
        DamagedError: an entry is none of its kind, or the installed plugins give a rule set
            another meaning than it had.
        RuleSetError: a rule set does not load with the installed plugins.
    """
    loading = plugins or installed_plugins()
    said = first_body(genesis, where)
    try:
        every = [said["rule_set"]] if "rule_set" in said else said["rule_sets"]
        rules = [load_rules(each, where, loading) for each in every]
    except (KeyError, TypeError):
        raise DamagedError(
            f"{where}: found a first entry without a rule set, expected one: restore a copy"
        ) from None
    root = root_of(said["trust"], where) if "trust" in said else None
    try:
        found = begun(rules, loading).begun_with(root)
    except StateError as error:
        raise DamagedError(f"{where}: {error}: restore a copy") from None
    return continued(found, later, where, envelopes)


def begun(rules: Iterable[StateRules], plugins: Plugins) -> RulesInForce:
    """The rules of a state that begins, one rule set for each of its lines.

    Args:
        rules: of the lines, in any order.
        plugins: what later rule sets are loaded with.

    Raises:
        StateError: there is none, two are of one line, two lines have one skill type, or epochs of
            two lengths.
    """
    lines: dict[str, Timeline[StateRules]] = {}
    owners: dict[str, str] = {}
    lengths: dict[int, str] = {}
    for each in sorted(rules, key=lambda found: found.line):
        reference, epochs = each.rule_set.reference, each.rule_set.epochs
        if each.line in lines:
            raise StateError(
                f"found {lines[each.line].first.rule_set.reference} and {reference}, expected one "
                f"rule set of the line {each.line}",
                code="same-line",
            )
        for skill_type in each.rule_set.skill_types:
            if skill_type in owners:
                raise StateError(
                    f"found the skill type {skill_type} in {owners[skill_type]} and in "
                    f"{reference}, expected it in one line only",
                    code="types-overlap",
                )
            owners[skill_type] = reference
        if epochs is not None:
            lengths.setdefault(epochs.blocks, reference)
        lines[each.line] = Timeline(each)
    if not lines:
        raise StateError("found no rule set, expected one for each line of the state")
    if len(lengths) > 1:
        (one, first), (other, second), *_ = lengths.items()
        raise StateError(
            f"found epochs of {one} blocks in {first} and of {other} in {second}, expected epochs "
            "of one length in every line of a state",
            code="clock-differs",
        )
    return RulesInForce(lines, plugins)


def continued(
    found: RulesInForce,
    later: Iterable[Entry],
    where: str,
    envelopes: Envelopes = no_envelopes,
) -> RulesInForce:
    """The rules after more entries that adopt, withdraw and rotate; see `read`."""
    for entry in later:
        try:
            found = _after(found, entry, where, envelopes)
        except TrustError as error:
            raise DamagedError(
                f"{where}: the entry {entry.seq} ({entry.kind}) does not hold: {error.code}: "
                f"{error}: the store was changed, restore a copy"
            ) from error
        except (ValueError, KeyError, TypeError, IndexError):
            raise DamagedError(
                f"{where}: found the entry {entry.seq} ({entry.kind}) {entry.body:.80}, expected "
                "rules that a line adopts or withdraws: restore a copy"
            ) from None
    return found


def _after(found: RulesInForce, entry: Entry, where: str, envelopes: Envelopes) -> RulesInForce:
    said = json.loads(entry.body)
    authority = authority_of(said, envelopes)
    if entry.kind == ROTATION:
        return found.rotated(root_of(said, where), entry.seq, authority)
    line, sequence = _text(said["line"]), int(said["sequence"])
    if sequence != found.sequences.get(line, 0) + 1:
        raise ValueError(sequence)
    if entry.kind == WITHDRAWAL:
        found.check("withdraw", found.adoptions[line][-1], sequence, authority)
        return found.withdrawn(line, sequence, entry.seq)
    adoption = Adoption(
        line=line,
        epoch=int(said["epoch"]),
        block=said.get("block"),
        rules=load_rules(said["rule_set"], where, found.plugins),
        previous=_text(said["previous"]),
        sequence=sequence,
        major=bool(said.get("major", False)),
        seq=entry.seq,
        statement=said.get("statement"),
    )
    signed_by = found.check("adopt", adoption, sequence, authority)
    return found.adopted(attrs.evolve(adoption, signed_by=signed_by))


def genesis_hearing(genesis: Entry | None, where: str) -> Hearing:
    """Whose claims the state takes, as the first entry of its log says.

    Args:
        genesis: the first entry, if the log has one.
        where: the store or the file, for errors.

    Raises:
        DamagedError: it says no such thing.
    """
    said = first_body(genesis, where)
    validator, heard = said.get("validator"), said.get("hears", [])
    texts = isinstance(heard, list) and all(isinstance(each, str) for each in heard)
    if not texts or not isinstance(validator, str | None):
        raise DamagedError(
            f"{where}: found a first entry that names no validators, expected hotkeys: restore a "
            "copy"
        )
    return Hearing(validator, frozenset(heard) or None)


def load_rules(said: Mapping[str, Any], where: str, plugins: Plugins) -> StateRules:
    """The rule set that an entry holds.

    Raises:
        DamagedError: the plugins give it another meaning than the entry says.
        KeyError: the entry holds no rule set.
        RuleSetError: it does not load.
        TypeError: as `KeyError`.
    """
    # whoever forged the entry may have put anything there
    text, name, known = (_text(said[key]) for key in ("text", "reference", "digest"))
    loaded = read_again(text, Path(f"{where}#{name}"), known, plugins)
    if loaded.digest != known:
        raise DamagedError(
            f"{where}: found that {name} means {loaded.digest} with the installed "
            f"plugins, expected {known}: install the plugins that the state began with"
        )
    return StateRules.of(loaded)


def first_body(genesis: Entry | None, where: str) -> Mapping[str, Any]:
    """What the entry says that begins a log.

    Raises:
        DamagedError: the log begins with something else.
    """
    if genesis is None or genesis.kind != GENESIS:
        kind = "nothing" if genesis is None else genesis.kind
        raise DamagedError(
            f"{where}: found a log that begins with {kind}, expected {GENESIS}: restore a copy"
        )
    try:
        found = json.loads(genesis.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise DamagedError(
            f"{where}: found a first entry without a rule set, expected one: restore a copy"
        )
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
