"""Rules in force as the entries of a log say them, each as the trust file before it allows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, StateError, StoreError, TrustError
from tallystick.plugins.registry import Plugins, installed_plugins
from tallystick.rules.reading import read_again
from tallystick.rules.timeline import Timeline
from tallystick_state.authority import Authority, Envelopes, authority_of, no_envelopes
from tallystick_state.chain import Entry
from tallystick_state.claims import Hearing
from tallystick_state.pools import POOLS, PoolsChange, read_pools
from tallystick_state.rules import GENESIS, StateRules
from tallystick_state.rules_in_force import WITHDRAWAL, Adoption, RulesInForce
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.trust_in_force import ROTATION, root_of

FORMAT = 3
"""The version of a state: of the entries of its log, and of what they lead to.

Under 1, and 2 for several lines, late submissions moved baselines and thresholds (E96).
"""
RULE_SETS = "rules"
"""The key of the rule sets in a first entry; an engine that knows no format above 2 finds none."""


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
        rules = [load_rules(each, where, loading) for each in _rule_sets(said)]
    except (KeyError, TypeError):
        raise DamagedError(
            f"{where}: found a first entry without a rule set, expected one: restore a copy"
        ) from None
    root = root_of(said["trust"], where) if "trust" in said else None
    try:
        found = begun(rules, loading)
        pools = read_pools(said.get("pools"), found.lines)
    except StateError as error:
        raise DamagedError(f"{where}: {error}: restore a copy") from None
    except (KeyError, TypeError, AttributeError):
        raise DamagedError(
            f"{where}: found a first entry with pools that are none, expected shares of the lines: "
            "restore a copy"
        ) from None
    found = found.begun_with(root, pools)
    return continued(found, later, where, envelopes)


def _rule_sets(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if RULE_SETS in said:
        found: list[Mapping[str, Any]] = said[RULE_SETS]
    else:
        found = [said["rule_set"]] if "rule_set" in said else said["rule_sets"]
    return found


def format_of(genesis: Entry | None, where: str) -> int:
    """The format of the state that a log leads to.

    Raises:
        DamagedError: the first entry is none.
        StoreError: the format is newer than this engine.
    """
    found = first_body(genesis, where).get("format")
    if type(found) is not int or found < 1:
        raise DamagedError(
            f"{where}: found a first entry without a format, expected one: restore a copy"
        )
    if found > FORMAT:
        raise StoreError(
            f"{where}: found a state of the format {found}, expected at most {FORMAT}: "
            "update tallystick"
        )
    return found


def check_format(genesis: Entry | None, where: str) -> None:
    """Refuse the store of a state of an older format, with the way to make it again.

    Raises:
        DamagedError: the first entry is none.
        StoreError: it is of an older format, or of a newer one.
    """
    found = format_of(genesis, where)
    if found < FORMAT:
        place = shlex.quote(where)
        raise StoreError(
            f"{where}: found a state of the format {found}, expected {FORMAT}, under which late "
            "submissions move no thresholds: make it again from its export, with tallystick state "
            f"export FILE --state {place} and tallystick state import FILE --state NEW"
        )


def renewed(genesis: Entry) -> str:
    """The body of the first entry of an older log, as this format has it."""
    said = dict(first_body(genesis, "the log"))
    rule_sets = _rule_sets(said)
    for name in ("rule_set", "rule_sets"):
        said.pop(name, None)
    return canonical_bytes({**said, "format": FORMAT, RULE_SETS: rule_sets}).decode()


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
        reference, epochs = each.rule_set.reference, each.rule_set.section(EPOCHS)
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
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, StateError):
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
    if entry.kind == POOLS:
        return _with_pools(found, said, entry.seq, authority)
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


def _with_pools(
    found: RulesInForce, said: Mapping[str, Any], seq: int, authority: Authority
) -> RulesInForce:
    pools = read_pools(said["pools"], found.lines)
    if pools is None:
        raise TypeError(said)
    change = PoolsChange(
        epoch=int(said["epoch"]),
        pools=pools,
        previous=said["previous"],
        sequence=int(said["sequence"]),
        block=said.get("block"),
        statement=said.get("statement"),
    )
    signed_by = found.check_pools(change, authority)
    return found.with_pools(attrs.evolve(change, signed_by=signed_by), seq)


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
