"""State events: the part of a record, or of a late event, that a state records.

A state event holds what was scored, not the submission. Its canonical line is RFC 8785: it is the
body of an entry of the log, and the sorted lines of an epoch are what its closing rests on.
Decimals are text of nine places there; what does not apply is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec

from tallystick.canonical import PREFIX, plain_encoder
from tallystick.errors import DamagedError, NumberError
from tallystick.numbers import ratio
from tallystick.numbers.nano import from_text, to_text
from tallystick_state.roles import Role

_DECIMALS = ("quality", "emission")
_MEASURES = "measures"
_PLACES = 9

COUNTED_IN = -1
"""Epoch that a store notes for carried records: one before the first."""
NUMBER_LIMIT = 2**53
"""Upper limit of numbers in a log: canonical JSON holds larger ones inexactly."""
Number = Annotated[int, msgspec.Meta(ge=0, lt=NUMBER_LIMIT)]
"""A number of a round, an epoch or a slot."""
_Round = Annotated[int, msgspec.Meta(gt=-NUMBER_LIMIT, lt=NUMBER_LIMIT)]
"""The round of an event in a log: below 0 of a carried record alone."""

_Text = TypeVar("_Text")
_Value = TypeVar("_Value")

# keys are ASCII and numbers are whole
_json = plain_encoder()
# the fields of a struct stand in order
_line_json = msgspec.json.Encoder(order="deterministic").encode


class StateEvent(msgspec.Struct, frozen=True, gc=False):
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
        quality: the composite of the record in nano; None without a submission.
        emission: in nano; None without a submission, or where the rule set has no emission.
        record: the digest of the whole record, by which two versions of it are told apart.
        facts: the digest of what was read of the record, where the rule set has a state keep it;
            None without a submission.
        group: the group of the miner, where the allocation names a field of the record for it.
        alignment: how alike the miner is to the other primaries and to the auditors of its group,
            as exact fractions; None without a group, or where it has no row.
        rerun: true where its group asks to run the submission again; None elsewhere.
        measures: those that apply, by name, in nano or, if exact, as ratios.
    """

    validator: str
    hotkey: str
    skill_type: str
    task_id: str
    round: int
    epoch: int
    events: tuple[str, ...] = ()
    id: str | None = None
    role: Role | None = None
    missed: bool = False
    quality: int | None = None
    emission: int | None = None
    record: str | None = None
    facts: str | None = None
    group: str | None = None
    alignment: tuple[str, str] | None = None
    rerun: bool | None = None
    measures: dict[str, int | Fraction] = {}

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

    def to_line(self) -> str:
        """Return the canonical JSON of the event."""
        values: list[Any] = [*_values_in_order(self)]
        for place in _ORDERED_DECIMALS:
            if values[place] is not None:
                values[place] = to_text(values[place])
        values[_ORDERED_MEASURES] = measure_texts(self.measures) if self.measures else None
        return _line_json(_line()(*values)).decode()

    @classmethod
    def from_line(cls, line: str) -> StateEvent:
        """Return the event that `to_line` wrote.

        Raises:
            DamagedError: the text is no such line.
        """
        return cls(*_read(_field_values, line))


class SampledEvent(msgspec.Struct, gc=False):
    """The fields of a state event that an allocation reads, decoded from its line.

    An epoch has many events, and carried columns read few of their fields: the others are skipped,
    and decimals stay text until they are asked for. Which line it is, its checksum has told.

    Attributes:
        hotkey: the miner.
        skill_type: of the task.
        task_id: the task.
        round: of the dispatch.
        epoch: whose snapshot the round is pinned to.
        id: of an event that came alone; None for a record.
        missed: whether the record says that the deadline was missed.
        group: the group of the miner, as in `StateEvent`.
        quality_text: the quality as the line has it.
        emission_text: the emission as the line has it.
        measure_texts: the measures as the line has them.
    """

    hotkey: str
    skill_type: str
    task_id: str
    round: _Round
    epoch: Number
    id: str | None = None
    missed: bool = False
    group: str | None = None
    quality_text: str | None = msgspec.field(default=None, name="quality")
    emission_text: str | None = msgspec.field(default=None, name="emission")
    measure_texts: dict[str, str] | None = msgspec.field(default=None, name=_MEASURES)

    @property
    def is_record(self) -> bool:
        """True for a record; False for an event that came alone."""
        return self.id is None

    @property
    def quality(self) -> int | None:
        """The quality in nano; None without a submission."""
        return None if self.quality_text is None else _read(_nano, self.quality_text)

    @property
    def emission(self) -> int | None:
        """The emission in nano; None where it does not apply."""
        return None if self.emission_text is None else _read(_nano, self.emission_text)

    @property
    def measures(self) -> Mapping[str, int | Fraction]:
        """The measures that apply."""
        return _read(measures_of, self.measure_texts) if self.measure_texts else {}

    @classmethod
    def from_line(cls, line: str) -> SampledEvent:
        """Return what is read of the event that `StateEvent.to_line` wrote.

        Raises:
            DamagedError: the text is no such line.
        """
        return _read(_sampled_decoder(), line)


@cache
def _sampled_decoder() -> Callable[[str], SampledEvent]:
    return msgspec.json.Decoder(SampledEvent).decode


def _read(reader: Callable[[_Text], _Value], text: _Text) -> _Value:
    """Read a line of a log, or a part of it.

    Raises:
        DamagedError: it is none.
    """
    try:
        return reader(text)
    except (msgspec.MsgspecError, NumberError) as error:
        raise DamagedError(
            f"found an event in the log that cannot be read ({error}), expected what "
            "tallystick wrote: the log is damaged, so take it back from a copy"
        ) from error


_FIELDS = StateEvent.__struct_fields__
_ORDERED = sorted(_FIELDS)
_values_in_order = attrgetter(*_ORDERED)
_ORDERED_DECIMALS = tuple(map(_ORDERED.index, _DECIMALS))
_ORDERED_MEASURES = _ORDERED.index(_MEASURES)
_PLACES_OF_DECIMALS = tuple(_FIELDS.index(name) for name in _DECIMALS)
_PLACE_OF_MEASURES = _FIELDS.index(_MEASURES)


def measure_texts(measures: Mapping[str, int | Fraction]) -> dict[str, str]:
    """Return measures as a log has them: text of nine places, or of a fraction in lowest terms."""
    return {
        name: to_text(value) if isinstance(value, int) else ratio.to_text(value)
        for name, value in measures.items()
    }


def measures_of(texts: Mapping[str, str]) -> dict[str, int | Fraction]:
    """Read the text of `measure_texts`.

    Raises:
        NumberError: a text is no such number.
    """
    return {
        name: ratio.from_text(text) if ratio.is_ratio(text) else _nano(text)
        for name, text in texts.items()
    }


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


def _field_values(line: str) -> list[Any]:
    """Return the values of the fields of an event from its canonical line."""
    values = list(msgspec.structs.astuple(_decoder()(line)))
    for index in _PLACES_OF_DECIMALS:
        if values[index] is not None:
            values[index] = _nano(values[index])
    values[_PLACE_OF_MEASURES] = measures_of(values[_PLACE_OF_MEASURES] or {})
    return values


@cache
def _decoder() -> Callable[[str], msgspec.Struct]:
    """Return a decoder of lines into a struct made from `StateEvent`, at the speed of msgspec."""
    fields = list(_line_fields())
    line = msgspec.defstruct("Line", fields, forbid_unknown_fields=True, kw_only=True, gc=False)
    return msgspec.json.Decoder(line).decode


@cache
def _line() -> Callable[..., msgspec.Struct]:
    """Return the same struct to be encoded: its fields in the order of keys."""
    optional = {name for name, _, *default in _line_fields() if default}
    # a value is never unset, so that of the others none is left out
    fields: list[tuple[str, Any, Any]] = [
        (name, Any, None if name in optional else msgspec.UNSET) for name in _ORDERED
    ]
    return msgspec.defstruct("Line", fields, omit_defaults=True, gc=False)


def _line_fields() -> Iterator[tuple[str, Any] | tuple[str, Any, None]]:
    types = get_type_hints(StateEvent)
    for field in msgspec.structs.fields(StateEvent):
        of_line = str | None if field.name in _DECIMALS else types[field.name]
        if of_line is int:
            of_line = _Round if field.name == "round" else Number
        if field.name == _MEASURES:
            yield field.name, dict[str, str] | None, None
            continue
        # a line leaves out what is None, and no measures, and nothing else
        yield (field.name, of_line, None) if field.default is None else (field.name, of_line)


def _nano(text: str) -> int:
    """Read nano like `from_text`, but faster: lines of a log are known to be well-formed."""
    whole, _, part = text.partition(".")
    plain = len(part) == _PLACES and len(whole) < _PLACES and text.isascii()
    if plain and whole.isdigit() and part.isdigit():
        return int(whole + part)
    return from_text(text)
