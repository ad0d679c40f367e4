"""The first entry of a log: the format of its state, whom it hears, and what it began with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes, digest
from tallystick.errors import DamagedError, NumberError, StateError, StoreError
from tallystick_state.argument_checks import checked_digest
from tallystick_state.chain import Entry
from tallystick_state.claims import AllowedValidators
from tallystick_state.event import StateEvent, events_digest
from tallystick_state.model import State, structure, unstructure
from tallystick_state.rules import GENESIS

CARRY_FORMAT = 1
"""Version of the carry file and of the digest of a carry."""
FORMAT = 3
"""Version of a state: of the entries of its log, and of their transitions.

Under 1, and 2 for several lines, late submissions moved baselines and thresholds (E96).
"""
RULE_SETS = "rules"
"""The key of the rule sets in a first entry; an engine that knows no format above 2 finds none."""


def first_body(genesis: Entry | None, where: str) -> Mapping[str, Any]:
    """Return the JSON object of the entry that begins a log.

    Raises:
        DamagedError: the log begins with something else.
    """
    if genesis is None or genesis.kind != GENESIS:
        kind = "nothing" if genesis is None else genesis.kind
        raise DamagedError(
            f"{where}: found a log that begins with {kind}, expected {GENESIS}: restore a copy"
        )
    try:
        body = json.loads(genesis.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise DamagedError(
            f"{where}: found a first entry without a rule set, expected one: restore a copy"
        )
    return body


def rule_set_bodies(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rule sets in a first entry, one of each line."""
    if RULE_SETS in body:
        rule_sets: list[Mapping[str, Any]] = body[RULE_SETS]
    else:
        rule_sets = [body["rule_set"]] if "rule_set" in body else body["rule_sets"]
    return rule_sets


def format_of(genesis: Entry | None, where: str) -> int:
    """Return the format of the state that a log leads to.

    Raises:
        DamagedError: the first entry is none.
        StoreError: the format is newer than this engine.
    """
    number = first_body(genesis, where).get("format")
    if type(number) is not int or number < 1:
        raise DamagedError(
            f"{where}: found a first entry without a format, expected one: restore a copy"
        )
    if number > FORMAT:
        raise StoreError(
            f"{where}: found a state of the format {number}, expected at most {FORMAT}: "
            "update tallystick"
        )
    return number


def check_format(genesis: Entry | None, where: str) -> None:
    """Refuse the store of a state of an older format, with the way to make it again.

    Raises:
        DamagedError: the first entry is none.
        StoreError: it is of an older format, or of a newer one.
    """
    number = format_of(genesis, where)
    if number < FORMAT:
        source = shlex.quote(where)
        raise StoreError(
            f"{where}: found a state of the format {number}, expected {FORMAT}, under which late "
            "submissions move no thresholds: make it again from its export, with tallystick state "
            f"export FILE --state {source} and tallystick state import FILE --state NEW"
        )


def renewed(genesis: Entry) -> str:
    """Return the body of the first entry of an older log, as this format has it."""
    body = dict(first_body(genesis, "the log"))
    rule_sets = rule_set_bodies(body)
    for name in ("rule_set", "rule_sets"):
        body.pop(name, None)
    return canonical_bytes({**body, "format": FORMAT, RULE_SETS: rule_sets}).decode()


def genesis_validators(genesis: Entry | None, where: str) -> AllowedValidators:
    """Return the allowed validators that the first entry of a log names.

    Args:
        genesis: the first entry, if the log has one.
        where: the store or the file, for errors.

    Raises:
        DamagedError: it says no such thing.
    """
    body = first_body(genesis, where)
    validator, heard = body.get("validator"), body.get("hears", [])
    texts = isinstance(heard, list) and all(isinstance(hotkey, str) for hotkey in heard)
    if not texts or not isinstance(validator, str | None):
        raise DamagedError(
            f"{where}: found a first entry that names no validators, expected hotkeys: restore a "
            "copy"
        )
    return AllowedValidators(validator, frozenset(heard) or None)


@attrs.frozen(slots=False)
class Carry:
    """The values that a state begins with.

    Attributes:
        state: before the first epoch.
        records: how many carried records there are.
        records_digest: of their canonical lines.
    """

    state: State
    records: int
    records_digest: str

    @classmethod
    def of(cls, state: State, records: Sequence[StateEvent]) -> Carry:
        """Return the carry of a state and its records."""
        return cls(state, len(records), events_digest(record.to_line() for record in records))

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Carry:
        """Return the carry that a first entry has.

        Raises:
            KeyError: a part is missing.
            TypeError: a part is of another kind.
            ValueError: a part cannot be, or the digest is that of something else.
        """
        records = body["records"]
        carry = cls(structure(body["state"], State), records["count"], records["digest"])
        if carry.body != body:
            raise ValueError(body["digest"])
        return carry

    @cached_property
    def _values(self) -> dict[str, Any]:
        records = {"count": self.records, "digest": self.records_digest}
        return {"format": CARRY_FORMAT, "records": records, "state": unstructure(self.state)}

    @cached_property
    def digest(self) -> str:
        """Digest of the state and of the records, whatever the spelling and order of the file."""
        return digest(self._values)

    @property
    def body(self) -> dict[str, Any]:
        """The carry as the first entry has it."""
        return {**self._values, "digest": self.digest}

    def check(self, records: Sequence[StateEvent]) -> None:
        """Refuse other records than those of the carry.

        Raises:
            StateError: they are others.
        """
        actual = Carry.of(self.state, records)
        if actual != self:
            raise StateError(
                f"found {actual.records} carried records {actual.records_digest}, expected "
                f"{self.records} of {self.records_digest}"
            )


@attrs.frozen
class Origin:
    """The values with which a state begins beside its rules, trust file and pools.

    Attributes:
        network: the digest of its network file; None without one.
        carry: the values that it moves over; None without.
    """

    network: str | None = None
    carry: Carry | None = None

    @property
    def digests(self) -> dict[str, str]:
        """The digests of the network file and of what is carried, where there are any."""
        carried = None if self.carry is None else self.carry.digest
        parts = {"carry": carried, "network": self.network}
        return {name: digest for name, digest in parts.items() if digest is not None}

    @property
    def body(self) -> dict[str, Any]:
        """The part of the first entry that says it; empty without either."""
        network = {} if self.network is None else {"network": self.network}
        return network | ({} if self.carry is None else {"carry": self.carry.body})


NO_ORIGIN = Origin()
"""The origin of a state that begins with rules alone."""


def origin_of(body: Mapping[str, Any], where: str) -> Origin:
    """Return the origin that a first entry says.

    Raises:
        DamagedError: it says none that can be.
    """
    network, carry = body.get("network"), body.get("carry")
    try:
        return Origin(
            None if network is None else checked_digest(network),
            None if carry is None else Carry.of_body(carry),
        )
    except (KeyError, TypeError, ValueError, AttributeError, NumberError, StateError) as error:
        raise DamagedError(
            f"{where}: found a first entry with carried values that are none, expected those of a "
            "carry file: restore a copy"
        ) from error
