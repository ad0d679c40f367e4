"""Attributes of miners and of rounds: values beside the records that rules ask for.

Who closes an epoch says it once for all rounds that the epoch has counted. It stands in the entry
of the log, by line, in one spelling, so that whoever replays the log reads the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from tallystick.canonical import CanonicalError, canonical_bytes, digest
from tallystick.errors import AllocationError, InputError, StateError
from tallystick.io.paths import PathLike, path_of
from tallystick.json_values import json_value
from tallystick_allocation.files import RoundFile, read_document, round_of
from tallystick_allocation.input_value import InputValue
from tallystick_allocation.population import MINER
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.store.transaction import Transaction

RoundFiles = Mapping[str, RoundFile]
"""Files of the round by line; a line without attributes is left out."""
ATTRIBUTES = "attributes"
"""Key of the attributes in the entry of an epoch."""
IMMUNE = "immune"
"""The flag of a miner that the chain still protects."""
ATTRIBUTE_CODES = frozenset({"attribute-missing", "reserve-share"})
"""Codes of an attribute that a step lacks, or finds wrong."""
NO_ATTRIBUTES = RoundFile()
_MOST_BYTES = 1 << 25
_ADVICE = (
    ": close the epoch with --round FILE, which says it for the rounds that the epoch has counted"
)
_WHAT = "a file of the round, or what stands in it"


def read_attributes(
    source: PathLike | Mapping[str, Any], lines: Iterable[StateRules]
) -> RoundFiles:
    """Return the attributes in a file, or in a mapping, by line.

    Raises:
        InputError: it cannot be read, or says something that no line asks for.
    """
    document = read_document(
        source if isinstance(source, Mapping) else path_of(source, _WHAT), "round"
    )
    bound = {
        rules.line: allocation for rules in lines if (allocation := rules.allocation) is not None
    }
    if not bound:
        raise InputError(
            f"{document.where}: found the file of a round, expected none: the rules weigh nobody"
        )
    files = {
        line: round_of(document, allocation, bound.values()) for line, allocation in bound.items()
    }
    return {line: file for line, file in files.items() if bound[line].attributes}


def to_body(round_files: RoundFiles) -> dict[str, Any]:
    """Return the attributes as the entry of an epoch holds them.

    Raises:
        StateError: it is too large for the log, or has no canonical form.
    """
    body = {line: json_value(round_file) for line, round_file in sorted(round_files.items())}
    try:
        size = len(canonical_bytes(body))
    except CanonicalError as error:
        raise StateError(
            f"found attributes that have no canonical form ({error}), expected Unicode text"
        ) from None
    if size > _MOST_BYTES:
        raise StateError(
            f"found attributes of {size} bytes, expected at most {_MOST_BYTES}: leave out miners "
            "without a slot"
        )
    return body


def closing_digest(events: str, body: Mapping[str, Any]) -> str:
    """Return the digest of all that an epoch was closed with, which its snapshot covers.

    Args:
        events: the digest of its events.
        body: the attributes as the entry holds them; empty without any.
    """
    return digest({"events": events, ATTRIBUTES: body}) if body else events


def of_body(body: Mapping[str, Any], lines: Iterable[StateRules]) -> RoundFiles:
    """Return the attributes in the entry of an epoch, by the lines that counted it.

    Raises:
        StateError: the rules do not ask for it.
    """
    files = dict[str, RoundFile]()
    for rules in lines:
        bound, document = rules.allocation, body.get(rules.line)
        if document is None:
            continue
        try:
            files[rules.line] = (
                NO_ATTRIBUTES if bound is None else round_of(InputValue(document, "the log"), bound)
            )
        except InputError as error:
            raise StateError(str(error)) from None
    return files


def closed_attributes(
    transaction: Transaction, in_force: RulesInForce, line: str, epoch: int
) -> RoundFile:
    """Return the attributes with which an epoch of a line was closed; none before the first one."""
    rules = in_force.lines[line].at(max(epoch, 0))
    if rules.allocation is None or not rules.allocation.attributes:
        return NO_ATTRIBUTES
    body = _closing(transaction, epoch).get(ATTRIBUTES, {})
    return of_body(body, [rules]).get(line, NO_ATTRIBUTES)


def not_carried(error: AllocationError) -> StateError:
    """Return the error of an epoch that cannot be closed, as a step refuses an attribute."""
    advice = _ADVICE if error.code in ATTRIBUTE_CODES else ""
    return StateError(f"{error}{advice}", code=error.code)


def check_attributes(rules: StateRules, round_files: RoundFile | None) -> None:
    """Refuse to carry on without a word where what is carried depends on attributes.

    A flag that nobody says is false, so that a file which was forgotten would not be missed.

    Raises:
        StateError: nothing is said.
    """
    bound = rules.allocation
    if round_files is not None or bound is None:
        return
    part = attrs.evolve(bound, steps=bound.needed(bound.carried))
    missing = sorted(part.attributes.keys() - {f"{MINER}{IMMUNE}"})
    if missing:
        raise StateError(
            f"found nothing said of {', '.join(missing)}, on which what {rules.line} carries "
            f"depends, expected a file that says it, or says nothing of a flag{_ADVICE}",
            code="attribute-missing",
        )


def check_closed_with(
    transaction: Transaction, epoch: int, salt: str | None, round_files: RoundFiles | None
) -> None:
    """Refuse what a closed epoch was not closed with: it stays as it is.

    Raises:
        StateError: the epoch was closed with another salt or other attributes, or without any.
    """
    entry = _closing(transaction, epoch)
    arguments: dict[str, tuple[Any, str]] = {
        "salt": (salt, "a salt"),
        ATTRIBUTES: (None if round_files is None else to_body(round_files), "attributes"),
    }
    for key, (value, what) in arguments.items():
        if value is not None and value != entry.get(key, {} if key == ATTRIBUTES else None):
            how = "with another, which an export has" if key in entry else "without"
            raise StateError(
                f"found {what} for the epoch {epoch}, which was closed {how}, expected none: leave "
                "it out",
                code="other-salt" if key == "salt" else "other-attributes",
            )


def _closing(transaction: Transaction, epoch: int) -> Mapping[str, Any]:
    """Return the entry with which an epoch was closed; nothing of one that is not."""
    body = transaction.closing(epoch)
    entry: Mapping[str, Any] = {} if body is None else json.loads(body)
    return entry
