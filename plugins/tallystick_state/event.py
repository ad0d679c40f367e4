"""State events: the part of a record, or of a late event, that a state records.

A state event holds what was scored, not the submission. Its canonical line is RFC 8785: it is the
body of an entry of the log, and the sorted lines of an epoch are what its closing rests on.
Decimals are text of nine places, as in the line; what does not apply is left out of that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fractions import Fraction
from operator import attrgetter
from typing import Annotated

import msgspec

from tallystick.canonical import PREFIX, plain_encoder
from tallystick.errors import DamagedError
from tallystick.numbers import ratio
from tallystick.numbers.nano import from_text
from tallystick_allocation.population import EMISSION, QUALITY
from tallystick_state.roles import Role

COUNTED_IN = -1
"""Epoch that a store notes for carried records: one before the first."""
NUMBER_LIMIT = 2**53
"""Upper limit of numbers in a log: canonical JSON holds larger ones inexactly."""
Number = Annotated[int, msgspec.Meta(ge=0, lt=NUMBER_LIMIT)]
"""A number of a round, an epoch or a slot."""
_Round = Annotated[int, msgspec.Meta(gt=-NUMBER_LIMIT, lt=NUMBER_LIMIT)]
"""The round of an event in a log: below 0 of a carried record alone."""
# each number has one spelling, as digests are of lines
_DECIMAL = r"(?!-0\.0{9}\Z)-?(0|[1-9][0-9]{0,29})\.[0-9]{9}"
_RATIO = r"(?!-0/)-?(0|[1-9][0-9]{0,99})/[1-9][0-9]{0,99}"
_Decimal = Annotated[str, msgspec.Meta(pattern=rf"^{_DECIMAL}\Z")]
_Measure = Annotated[str, msgspec.Meta(pattern=rf"^({_DECIMAL}|{_RATIO})\Z")]


class StateEvent(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """One (validator, task) record, or one event that came alone.

    A round has many, and none can refer to itself: the garbage collector visits none of them.

    Attributes:
        validator: hotkey of who recorded it.
        hotkey: the miner.
        skill_type: of the task.
        task_id: the task.
        round: of the dispatch.
        epoch: whose snapshot the round is pinned to.
        events: names of reputation events with that of the consensus, sorted; they may repeat.
        id: of an event that came alone; None for a record.
        role: of the miner, for a record.
        missed: whether the record says that the deadline was missed.
        quality: the composite of the record; None without a submission.
        emission: None without a submission, or where the rule set has no emission.
        record: the digest of the whole record, by which two versions of it are told apart.
        facts: the digest of what was read of the record, where the rule set has a state keep it;
            None without a submission.
        group: the group of the miner, where the allocation names a field of the record for it.
        alignment: how alike the miner is to the other primaries and to the auditors of its group,
            as exact fractions; None without a group, or where it has no row.
        rerun: true where its group asks to run the submission again; None elsewhere.
        measures: those that apply, by name; decimals, or if exact, ratios in lowest terms.
    """

    validator: str
    hotkey: str
    skill_type: str
    task_id: str
    round: _Round
    epoch: Number
    # made by functions, and so in every line
    events: tuple[str, ...] = msgspec.field(default_factory=lambda: ())
    id: str | None = None
    role: Role | None = None
    missed: bool = msgspec.field(default_factory=bool)
    quality: _Decimal | None = None
    emission: _Decimal | None = None
    record: str | None = None
    facts: str | None = None
    group: str | None = None
    alignment: tuple[str, str] | None = None
    rerun: bool | None = None
    measures: dict[str, _Measure] = {}

    def __hash__(self) -> int:
        # a mapping has no hash; two events that differ elsewhere are still told apart
        return hash((self.validator, self.hotkey, self.task_id, self.round, self.id))

    @property
    def is_record(self) -> bool:
        """True for a record; False for an event that came alone."""
        return self.id is None

    @property
    def identity(self) -> bytes:
        """Digest by which claims conflict: events of one identity are the same, or rivals."""
        if self.id is None:
            return self.task
        return hashlib.sha256(_json(("event", self.validator, self.id))).digest()

    @property
    def task(self) -> bytes:
        """The identity of the record that it is, or that it is about."""
        dispatch = self.skill_type, self.task_id, self.round
        parts = ("record", self.validator, self.hotkey, *dispatch)
        return hashlib.sha256(_json(parts)).digest()

    @property
    def scope(self) -> bytes:
        """Digest of the validator and epoch whose limits count it; see `scope_of`."""
        return scope_of(self.validator, self.epoch)

    @property
    def claim_digest(self) -> str:
        """Digest that a signed batch lists for it: 64 hexadecimal digits.

        Of a record they are of the whole record, which its validator has, not of how it was scored;
        of an event that came alone, of its canonical line.
        """
        if self.record is not None:
            return self.record.removeprefix(PREFIX)
        return hashlib.sha256(self.to_line().encode()).hexdigest()

    def value(self, name: str) -> int | Fraction | None:
        """Return the quality, the emission or a measure: in nano or, if exact, as a ratio.

        Args:
            name: of a measure, or one of ``QUALITY`` and ``EMISSION``.
        """
        if name == QUALITY:
            text = self.quality
        else:
            text = self.emission if name == EMISSION else self.measures.get(name)
        if text is None:
            return None
        return ratio.from_text(text) if ratio.is_ratio(text) else from_text(text)

    def to_line(self) -> str:
        """Return the canonical JSON of the event."""
        return _line_encoder.encode(self).decode()

    @classmethod
    def from_line(cls, line: str) -> StateEvent:
        """Return the event that `to_line` wrote.

        Raises:
            DamagedError: the text is no such line.
        """
        try:
            return _line_decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise DamagedError(
                f"found an event in the log that cannot be read ({error}), expected what "
                "tallystick wrote: the log is damaged, so take it back from a copy"
            ) from error


# keys are ASCII and numbers are whole
_json = plain_encoder()
_line_encoder = msgspec.json.Encoder(order="sorted")
_line_decoder = msgspec.json.Decoder(StateEvent)
AGE = attrgetter("round", "task_id", "skill_type", "validator")
"""Sort key of the records of a miner, oldest first."""


def scope_of(validator: str, epoch: int) -> bytes:
    """Return the digest of a validator and a pinned epoch, whose claims limits count together."""
    return hashlib.sha256(_json(("scope", validator, epoch))).digest()


def events_digest(lines: Iterable[str]) -> str:
    """Return the digest of a set of canonical lines: of the sorted lines with their ends."""
    sha256 = hashlib.sha256()
    for line in sorted(lines):
        sha256.update(line.encode() + b"\n")
    return PREFIX + sha256.hexdigest()
