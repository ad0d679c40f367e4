"""Admission: from one line to the record that the intake keeps, or to why it is refused.

A line is validated by the engine's own decoder under the rules of the state, which refuses with the
engine's codes. Beyond them the record must be of this validator, and its round one of its epoch by
the network file. What only the closing of its epoch can tell (an unknown miner, a limit) is not
asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import RecordError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.messages import shown
from tallystick.records.rejects import Identity, Reject
from tallystick_state.event import StateEvent
from tallystick_validator.closing import (
    FUTURE,
    NO_HEAD,
    OTHER_ROUND,
    OTHER_VALIDATOR,
    EpochBlocks,
    objection,
)

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer

CONFLICT, FULL = "conflict", "intake-full"
CODES: Mapping[str, str] = MappingProxyType(
    {
        CONFLICT: "another record of the task, or another event of the id, was taken before",
        FULL: "as much waits as the intake may keep",
        FUTURE: "the epoch has not begun on the chain",
        NO_HEAD: "validator, epoch or round are not of their kinds",
        OTHER_ROUND: "the round is none of the epoch, by the network file",
        OTHER_VALIDATOR: "the record is of another validator",
    }
)
"""Codes beside those of the engine with which the intake refuses a line, with meanings."""
_LAST_EPOCH = 2**53


@attrs.frozen
class Admitted:
    """A line that the intake can keep.

    Attributes:
        line: without white space around it.
        digest: the 32 bytes by which a state knows the record or the event.
        identity: the 32 bytes by which two of them conflict.
        epoch: which it names.
    """

    line: bytes = attrs.field(repr=False)
    digest: bytes
    identity: bytes
    epoch: int


class Admission:
    """The judge of lines for one validator under the rules of a state.

    Attributes:
        newest_epoch: the newest epoch that records may name; None while nobody knows the block.
    """

    def __init__(self, scorer: Scorer, network: EpochBlocks, validator: str) -> None:
        """Take the scorer of the state, which has the schemas of its rules.

        Args:
            scorer: of the rules in force and scheduled.
            network: the rounds of epochs.
            validator: the hotkey whose records are taken.
        """
        from tallystick_state.event_decoder import EventDecoder  # loads NumPy

        self._decoder, self._network = EventDecoder(scorer), network
        self.validator = validator
        self.newest_epoch: int | None = None

    def judge(self, line: bytes, number: int) -> Admitted | Reject:
        """Return the record of a line, or its reject.

        Args:
            line: the bytes of the line; longer ones than a line may be are cut one byte beyond.
            number: of the line, from 1.
        """
        event = self._decoder.unscored(line, number)
        if isinstance(event, Reject):
            return event
        newest = _LAST_EPOCH if self.newest_epoch is None else self.newest_epoch
        code = objection(self._network, self.validator, newest, line)
        if code is not None:
            return self._reject(code, event, number)
        assert len(line) <= MAX_LINE_BYTES  # noqa: S101  # the decoder refuses longer ones
        return Admitted(
            line.strip(), bytes.fromhex(event.claim_digest), event.identity, event.epoch
        )

    def _reject(self, code: str, event: StateEvent, number: int) -> Reject:
        if code == OTHER_VALIDATOR:
            path, value, expected = "validator", shown(event.validator), self.validator
        elif code == FUTURE:
            path, value = "epoch", str(event.epoch)
            expected = f"at most {self.newest_epoch}, by the chain's blocks"
        else:
            path, value = "round", str(event.round)
            first, last = self._rounds(event.epoch)
            expected = f"one of epoch {event.epoch}: {first} to {last}"
        return rejected(code, path, value, expected, event, number)

    def _rounds(self, epoch: int) -> tuple[int, int]:
        rounds = self._network.rounds_of(max(epoch, 0))
        return rounds.start, rounds.stop - 1


def rejected(  # noqa: PLR0913, PLR0917  # the parts of a reject
    code: str, path: str, value: str, expected: str, event: StateEvent, number: int
) -> Reject:
    """Return the reject of a good record, with its identity."""
    who = Identity(event.task_id, None, event.hotkey, event.validator)
    return Reject.of(RecordError(code, path, value, expected), number, who)
