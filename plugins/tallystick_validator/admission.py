"""Admission: from one line to the record that the intake keeps, or to why it is refused.

A record says what only its maker knows: its round, epoch, validator and role, and the uid of its
miner, are filled in where they are left out. The line is then validated by the engine's own decoder
under the rules of the state, which refuses with the engine's codes. Beyond them the record must be
of this validator, its round one of its epoch by the network file, and a uid beside the hotkey that
of the hotkey. What only the closing of its epoch can tell (an unknown miner, a limit) is not asked
here. The codes beside those of the engine:

===================  ===============================================================================
``conflict``         another record of the task, or another event of the id, was taken before
``intake-full``      as much waits as the intake may keep
``future-epoch``     the epoch has not begun on the chain
``chain-unknown``    the record leaves out what the chain says, which has given no answer yet
``no-slot``          the record leaves out the uid, and its miner has no slot
``not-written``      the line, and those after it in a post, cannot be written
``other-round``      the round is none of the epoch, by the network file
``other-uid``        the uid is not that of the hotkey
``other-validator``  the record is of another validator
===================  ===============================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import RecordError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.identity import identity_of
from tallystick.records.messages import NOTHING, shown
from tallystick.records.rejects import Identity, Reject
from tallystick_state.event import StateEvent

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer
    from tallystick_chain.network import Network

CONFLICT, FULL, NOT_WRITTEN = "conflict", "intake-full", "not-written"
FUTURE, OTHER_ROUND, OTHER_VALIDATOR = "future-epoch", "other-round", "other-validator"
NO_CHAIN, NO_SLOT, OTHER_UID = "chain-unknown", "no-slot", "other-uid"
_ROLE = "primary"
_FILLED = ("round", "epoch", "validator", "role")
"""Fields of a record that are filled in where they are left out, beside the uid of the miner."""
_UID = "miner.uid"


@attrs.frozen
class Admitted:
    """A line that the intake can keep.

    Attributes:
        line: without white space around it, with what was left out.
        digest: the 32 bytes by which a state knows the record or the event.
        identity: the 32 bytes by which two of them conflict.
        epoch: which it names.
        sent: the SHA-256 of the line as it came, where something was left out: the same line again
            is the same record, though its round may be another one by then. None: nothing was.
    """

    line: bytes = attrs.field(repr=False)
    digest: bytes
    identity: bytes
    epoch: int
    sent: bytes | None = None


def objection(
    event: StateEvent, validator: str, network: Network, newest: int | None
) -> RecordError | None:
    """Return why a validator can have no such record or event; None where it can.

    Args:
        event: the record or event.
        validator: the hotkey whose it has to be.
        network: the rounds of epochs.
        newest: the last epoch that it can name; None where nobody knows.
    """
    if event.validator != validator:
        return RecordError(OTHER_VALIDATOR, "validator", shown(event.validator), validator)
    if newest is not None and event.epoch > newest:
        expected = f"at most {newest}, by the chain's blocks"
        return RecordError(FUTURE, "epoch", str(event.epoch), expected)
    rounds = network.rounds_of(event.epoch)
    if event.round not in rounds:
        expected = f"one of epoch {event.epoch}: {rounds.start} to {rounds.stop - 1}"
        return RecordError(OTHER_ROUND, "round", str(event.round), expected)
    return None


class Admission:
    """The judge of lines for one validator under the rules of a state.

    Attributes:
        network: the rounds of epochs.
        validator: the hotkey whose records are taken.
        block: the newest block, by which a round is filled in, and which epochs records may name;
            None while nobody knows it.
        uids: the slots of the chain, by hotkey; None while nobody knows them.
    """

    def __init__(self, scorer: Scorer, network: Network, validator: str) -> None:
        """Take the scorer of the state, which has the schemas of its rules.

        Args:
            scorer: of the rules in force and scheduled.
            network: the rounds of epochs.
            validator: the hotkey whose records are taken.
        """
        self.network, self.validator = network, validator
        self.block: int | None = None
        self.uids: Mapping[str, int] | None = None
        self.follow(scorer)

    def follow(self, scorer: Scorer) -> None:
        """Judge by other rules from now on."""
        from tallystick_state.event_decoder import EventDecoder  # loads NumPy

        self._decoder = EventDecoder(scorer)

    def judge(self, line: bytes, number: int) -> Admitted | Reject:
        """Return the record of a line, or its reject.

        Args:
            line: the bytes of the line; longer ones than a line may be are cut one byte beyond.
            number: of the line, from 1.
        """
        sent, problem = None, None
        record = _record(line)
        if record is not None:
            is_filled, problem = self._fill(record)
            if is_filled:
                sent = hashlib.sha256(line.strip()).digest()
                line = json.dumps(record, separators=(",", ":")).encode()
        event = self._decoder.unscored(line, number)
        if problem is not None and (not isinstance(event, Reject) or _is_unfilled(event)):
            return Reject.of(problem, number, identity_of(record))
        if isinstance(event, Reject):
            return event
        newest = None
        if self.block is not None:
            begun = self.network.epoch_at(self.block)
            # a record names the epoch of a block that its validator may see before this node does
            newest = 0 if begun is None else begun + 1
        problem = objection(event, self.validator, self.network, newest)
        if problem is not None:
            who = Identity(event.task_id, None, event.hotkey, event.validator)
            return Reject.of(problem, number, who)
        digest = bytes.fromhex(event.claim_digest)
        return Admitted(line.strip(), digest, event.identity, event.epoch, sent)

    def _fill(self, record: dict[str, Any]) -> tuple[bool, RecordError | None]:
        """Fill in what a record leaves out.

        Returns:
            Whether anything was filled in; and what is wrong: the uid is not that of the hotkey, or
            nobody knows what is left out.
        """
        missing = [name for name in _FILLED if name not in record]
        try:
            for name in missing:
                record[name] = self._value(name, record)
            uid = self._uid(record.get("miner"))
        except RecordError as error:
            return bool(missing), error
        if uid is not None:
            record["miner"]["uid"] = uid
        return bool(missing) or uid is not None, None

    def _value(self, name: str, record: Mapping[str, Any]) -> int | str:
        """Return the value of a field that is left out; ``round`` comes before ``epoch``."""
        if name == "validator":
            return self.validator
        if name == "role":
            return _ROLE
        number = record.get("round")
        if name == "epoch" and type(number) is int and number >= 0:
            return self.network.epoch_of_round(number)
        if self.block is None:
            raise _unknown(name)
        number = self.network.round_at(self.block)
        if number is None:
            expected = "a record after epoch 0 has begun, by the anchor block of the network file"
            raise RecordError(FUTURE, name, f"block {self.block}", expected)
        return number if name == "round" else self.network.epoch_of_round(number)

    def _uid(self, miner: object) -> int | None:
        """Return the uid that a miner leaves out; None where it does not, or is no miner."""
        hotkey = miner.get("hotkey") if isinstance(miner, dict) else None
        if not isinstance(miner, dict) or not isinstance(hotkey, str):
            return None
        slot = None if self.uids is None else self.uids.get(hotkey)
        if "uid" not in miner:
            if self.uids is None:
                raise _unknown(_UID)
            if slot is None:
                raise RecordError(NO_SLOT, "miner.hotkey", shown(hotkey), "a hotkey with a slot")
            return slot
        if slot is not None and miner["uid"] != slot:
            expected = f"{slot}, the slot of the hotkey, or no uid"
            raise RecordError(OTHER_UID, _UID, shown(miner["uid"]), expected)
        return None


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record that a line may be; None of a late event, and where there is none."""
    try:
        # of bytes it would read other encodings too
        value = json.loads(line.decode()) if len(line) <= MAX_LINE_BYTES else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "event" not in value else None


def _is_unfilled(reject: Reject) -> bool:
    """Return whether a record is rejected for a field alone that could not be filled in."""
    return reject.code == "missing-field" and reject.path in {*_FILLED, _UID}


def _unknown(path: str) -> RecordError:
    expected = "the field, or the record again once the chain has answered"
    return RecordError(NO_CHAIN, path, NOTHING, expected)
