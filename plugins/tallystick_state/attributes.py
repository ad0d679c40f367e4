"""What rules ask of a round and of miners beside the records, as a state is told it.

Who closes an epoch says it once for all rounds that the epoch has counted. It stands in the entry
of the log, by line, in one spelling, so that whoever replays the log reads the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from rfc8785 import CanonicalizationError

from tallystick.canonical import canonical_bytes
from tallystick.errors import AllocationError, InputError, StateError
from tallystick.io.paths import PathLike, path_of
from tallystick.json_values import json_value
from tallystick.records.messages import shown
from tallystick_allocation.files import RoundFile, read_document, round_of
from tallystick_allocation.rules import MINER
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.store.transaction import Transaction

Said = Mapping[str, RoundFile]
"""By line, what was said; of a line to whose rules nothing was said there is none."""
ATTRIBUTES = "attributes"
"""The key of the entry of an epoch that has it."""
IMMUNE = "immune"
"""The flag of a miner that the chain still protects."""
OF_ATTRIBUTES = frozenset({"attribute-missing", "reserve-share"})
"""The codes of what a step asks for in vain, or is told wrong."""
NOTHING_SAID = RoundFile()
_MOST_BYTES = 1 << 25
_ADVICE = (
    ": close the epoch with --round FILE, which says it for the rounds that the epoch has counted"
)
_WHAT = "a file of the round, or what stands in it"


def read_said(source: PathLike | Mapping[str, Any], lines: Iterable[StateRules]) -> Said:
    """What a file says, or a mapping, to the rules of each line.

    Raises:
        InputError: it cannot be read, or says something that no line asks for.
    """
    if isinstance(source, Mapping):
        return _said_to(source, lines, "round")
    path = path_of(source, _WHAT)
    return _said_to(read_document(path), lines, str(path))


def to_body(said: Said) -> dict[str, Any]:
    """What the entry of an epoch says of it.

    Raises:
        StateError: it is too large for the log, has no canonical form, or says who is immune.
    """
    for hotkey, held in (each for file in said.values() for each in file.miners.items()):
        if IMMUNE in held:
            raise StateError(
                f"found that {shown(hotkey)} is or is not {IMMUNE}, expected nothing of it: epochs "
                "are closed without immunity, which tallystick weights is told"
            )
    body = {line: json_value(each) for line, each in sorted(said.items())}
    try:
        size = len(canonical_bytes(body))
    except CanonicalizationError as error:
        raise StateError(
            f"found attributes that have no canonical form ({error}), expected Unicode text"
        ) from None
    if size > _MOST_BYTES:
        raise StateError(
            f"found attributes of {size} bytes, expected at most {_MOST_BYTES}: leave out miners "
            "without a slot"
        )
    return body


def of_body(body: Mapping[str, Any], lines: Iterable[StateRules]) -> Said:
    """What the entry of an epoch says, to the rules of the lines that counted it.

    Raises:
        StateError: the rules do not ask for it.
    """
    found = dict[str, RoundFile]()
    for rules in lines:
        bound, said = rules.allocation, body.get(rules.line)
        if said is None:
            continue
        try:
            found[rules.line] = NOTHING_SAID if bound is None else round_of(said, bound, "the log")
        except InputError as error:
            raise StateError(str(error)) from None
    return found


def said_of(transaction: Transaction, in_force: RulesInForce, line: str, epoch: int) -> RoundFile:
    """What a line was told as an epoch was closed; nothing before the first one."""
    rules = in_force.lines[line].at(max(epoch, 0))
    if rules.allocation is None or not rules.allocation.attributes:
        return NOTHING_SAID
    body = _closing(transaction, epoch).get(ATTRIBUTES, {})
    return of_body(body, [rules]).get(line, NOTHING_SAID)


def not_carried(error: AllocationError) -> StateError:
    """That an epoch cannot be closed, as a step refuses what it is told beside the records."""
    advice = _ADVICE if error.code in OF_ATTRIBUTES else ""
    return StateError(f"{error}{advice}", code=error.code)


def check_said(rules: StateRules, said: RoundFile | None) -> None:
    """Refuse to carry on without a word where what is carried depends on attributes.

    A flag that nobody says is false, so that a file which was forgotten would not be missed.

    Raises:
        StateError: nothing is said.
    """
    bound = rules.allocation
    if said is not None or bound is None:
        return
    part = attrs.evolve(bound, steps=bound.needed(bound.carried, {}))
    asked = sorted(part.attributes.keys() - {f"{MINER}{IMMUNE}"})
    if asked:
        raise StateError(
            f"found nothing said of {', '.join(asked)}, on which what {rules.line} carries "
            f"depends, expected a file that says it, or says nothing of a flag{_ADVICE}",
            code="attribute-missing",
        )


def check_closed_with(
    transaction: Transaction, epoch: int, salt: str | None, said: Said | None
) -> None:
    """Refuse what a closed epoch was not closed with: it stays as it is.

    Raises:
        StateError: the epoch was closed with another salt or other attributes, or without any.
    """
    known = _closing(transaction, epoch)
    given: dict[str, tuple[Any, str]] = {
        "salt": (salt, "a salt"),
        ATTRIBUTES: (None if said is None else to_body(said), "attributes"),
    }
    for key, (value, what) in given.items():
        if value is not None and value != known.get(key, {} if key == ATTRIBUTES else None):
            how = "with another, which an export has" if key in known else "without"
            raise StateError(
                f"found {what} for the epoch {epoch}, which was closed {how}, expected none: leave "
                "it out",
                code="other-salt" if key == "salt" else "other-attributes",
            )


def _closing(transaction: Transaction, epoch: int) -> Mapping[str, Any]:
    """The entry with which an epoch was closed; nothing of one that is not."""
    body = transaction.closing(epoch)
    found: Mapping[str, Any] = {} if body is None else json.loads(body)
    return found


def _said_to(document: Any, lines: Iterable[StateRules], where: str) -> Said:  # noqa: ANN401  # any JSON value
    bound = {rules.line: each for rules in lines if (each := rules.allocation) is not None}
    if not bound:
        raise InputError(
            f"{where}: found the file of a round, expected none: the rules weigh nobody"
        )
    found = {line: round_of(document, each, where, bound.values()) for line, each in bound.items()}
    return {line: each for line, each in found.items() if bound[line].attributes}
