"""Answers of a ledger and its queries, as plain values: miners, claims, rounds, epochs.

Inside, a state counts in nano; here every number of the field is a decimal of nine places.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

import attrs

from tallystick.json_values import JsonKey, json_fields, json_object
from tallystick.numbers.nano import from_text, to_decimal, to_decimals
from tallystick.numbers.text import numbered, repr_as
from tallystick_state.claims import Claim
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, Snapshot


@json_fields(empty=("flagged_by",))
@attrs.frozen
class MinerInfo:
    """One hotkey.

    Attributes:
        hotkey: who it is.
        uid: its slot; None once another hotkey took the slot over, or it left the subnet.
        types: the skill types that it declares, sorted.
        reputation: by skill type, in the order of names; also of types that it no longer declares.
        flags: collusion flags since they were last cleared.
        flagged_by: how many of them each validator gave, where the rule set asks for a quorum of
            validators; otherwise empty.
    """

    hotkey: str
    uid: int | None
    types: tuple[str, ...]
    reputation: Mapping[str, Decimal]
    flags: int = 0
    flagged_by: Mapping[str, int] = attrs.field(factory=dict, repr=repr_as("validator"))

    @classmethod
    def of(cls, miner: MinerEntry) -> MinerInfo:
        """Return the answer about a miner of a state."""
        reputation = to_decimals(dict(sorted(miner.reputation.items())))
        flags = miner.flags, miner.flagged_by
        return cls(miner.hotkey, miner.uid, miner.types, reputation, *flags)


@attrs.frozen
class SnapshotInfo:
    """The state as an epoch began, which the rounds of the epoch are pinned to.

    Attributes:
        epoch: which began with it.
        digest: of the snapshot, which covers every one before.
        rule_set: the digest of the rules of the epoch.
        previous: the digest of the snapshot before; None for the first.
        thresholds: by skill type, the tier thresholds by name.
        reputation: by hotkey, the reputations by skill type.
        carry: by line, the columns that its allocation carries; by name, then by hotkey.
    """

    epoch: int
    digest: str
    rule_set: str
    previous: str | None
    thresholds: Mapping[str, Mapping[str, Decimal]] = attrs.field(repr=repr_as("skill type"))
    reputation: Mapping[str, Mapping[str, Decimal]] = attrs.field(repr=repr_as("miner"))
    carry: Mapping[str, Mapping[str, Mapping[str, Decimal]]] = attrs.field(
        factory=dict, repr=repr_as("line")
    )

    @classmethod
    def of(cls, snapshot: Snapshot) -> SnapshotInfo:
        """Return the answer about a snapshot."""
        state = snapshot.state
        miners = sorted(state.miners.items())
        return cls(
            epoch=state.epoch,
            digest=snapshot.digest,
            rule_set=snapshot.rule_set,
            previous=snapshot.previous,
            thresholds={name: to_decimals(nano) for name, nano in state.thresholds.items()},
            reputation={hotkey: MinerInfo.of(miner).reputation for hotkey, miner in miners},
            carry={
                line: {name: to_decimals(column) for name, column in columns.items()}
                for line, columns in state.carry.items()
            },
        )


@json_fields(JsonKey("claim", "seq"), none=("alignment", "quality"), hidden=("seq", "line"))
@attrs.frozen
class ClaimInfo:
    """A claim that is not recorded, or not any more: what a validator says, and why it waits.

    Attributes:
        seq: its number, which `Ledger.accept` and `Ledger.drop` take; 0 where it is kept nowhere,
            since its validator claims more than the rule set allows.
        reason: why it is in quarantine, a key of `tallystick_state.claims.REASONS`.
        rank: how much it counts against others: ``imported``, ``signed``, ``accepted``, ``own``.
        validator: the hotkey of who says it.
        hotkey: the miner.
        skill_type: of the task.
        task_id: the task.
        round: of the dispatch.
        epoch: whose snapshot the round is pinned to.
        id: of an event that came alone; None for a record.
        events: names of reputation events, sorted; they may repeat.
        alignment: how alike the miner is to the other primaries and to the auditors of its group,
            as exact fractions; None without a group.
        quality: of the record; None without a submission, and of an event.
        line: the place of the record in what was given; None of a claim that came before.
    """

    seq: int
    reason: str
    rank: str
    validator: str
    hotkey: str
    skill_type: str
    task_id: str
    round: int
    epoch: int
    id: str | None = None
    events: tuple[str, ...] = ()
    alignment: tuple[str, str] | None = None
    quality: Decimal | None = None
    line: int | None = None

    @classmethod
    def of(cls, claim: Claim, reason: str, line: int | None = None) -> ClaimInfo:
        """Return the answer about a claim that waits for a reason."""
        event = claim.event
        return cls(
            claim.seq,
            reason,
            claim.rank.name.lower(),
            event.validator,
            event.hotkey,
            event.skill_type,
            event.task_id,
            event.round,
            event.epoch,
            event.id,
            event.events,
            event.alignment,
            _decimal(event.quality),
            line,
        )


@attrs.frozen
class Rerun:
    """A submission that its group asks to run again.

    Attributes:
        skill_type: of the task.
        task_id: the task.
        validator: who recorded it.
        hotkey: the miner.
    """

    skill_type: str
    task_id: str
    validator: str
    hotkey: str

    @classmethod
    def of(cls, event: StateEvent) -> Rerun:
        """Return the answer about the event of a record."""
        return cls(event.skill_type, event.task_id, event.validator, event.hotkey)


@attrs.frozen
class ClosedRound:
    """The scores of a round.

    Attributes:
        round: its number.
        epoch: the epoch that it is pinned to: the first that its recorded records name, those of
            earlier files and of others too; where none is recorded, the one that the file names.
        lines: by line, the scores by hotkey of all that is recorded so far.
        records: how many records of it are recorded.
        miners: of how many miners.
        late: how many of the records are missed deadlines, late submissions among them.
        reruns: how many submissions are to be run again.
    """

    round: int
    epoch: int
    lines: Mapping[str, Mapping[str, Decimal]] = attrs.field(repr=repr_as("line"))
    records: int = 0
    miners: int = 0
    late: int = 0
    reruns: int = 0

    @property
    def scores(self) -> Mapping[str, Decimal]:
        """The scores of a state of one line.

        Raises:
            ValueError: the state has several lines.
        """
        (scores,) = self.lines.values()
        return scores


@attrs.frozen
class Synced:
    """The changes that a list of miners and their slots made.

    Attributes:
        registered: hotkeys that came, or came back.
        moved: hotkeys that hold another slot than before.
        changed: hotkeys that declare other types, in the slot that they had.
        retired: hotkeys that hold no slot any more.
        unchanged: how many others the list has.
    """

    registered: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    moved: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    changed: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    retired: tuple[str, ...] = attrs.field(repr=repr_as("miner"))
    unchanged: int


@json_object("epoch", JsonKey("already_closed", "already"), JsonKey("snapshot", "snapshot.digest"))
@attrs.frozen
class ClosedEpoch:
    """The outcome of closing an epoch.

    Attributes:
        epoch: the epoch that is closed.
        already: whether it was closed before.
        snapshot: the snapshot of the next epoch.
    """

    epoch: int
    already: bool
    snapshot: SnapshotInfo


@attrs.frozen
class Profile:
    """A miner, whole.

    Attributes:
        hotkey: who it is.
        epoch: the open epoch.
        reputation: by skill type.
        rank: by declared skill type, its rank; None while it cannot be selected.
        rounds: in how many rounds it was dispatched; None where some of them may be pruned.
        counted: over what they are counted: the ``hours`` of the rule set, or ``all`` rounds where
            it names none, or no round has a time.
    """

    hotkey: str
    epoch: int
    reputation: Mapping[str, Decimal]
    rank: Mapping[str, int | None]
    rounds: int | None
    counted: Literal["hours", "all"]

    @property
    def dispatched(self) -> str:
        """In how many rounds it was dispatched, in words."""
        if self.rounds is None:
            return "of its rounds records were pruned"
        over = "of the last hours" if self.counted == "hours" else "in all"
        return f"dispatched in {numbered(self.rounds, 'round')} {over}"


@attrs.frozen
class RecordScore:
    """Scores of one record of a miner.

    Attributes:
        round: of the dispatch.
        skill_type: of the task.
        task_id: the task.
        quality: None without a submission.
        emission: None without a submission, or where the rule set has none.
        events: names of reputation events; they may repeat.
    """

    round: int
    skill_type: str
    task_id: str
    quality: Decimal | None
    emission: Decimal | None
    events: tuple[str, ...]

    @classmethod
    def of(cls, event: StateEvent) -> RecordScore:
        """Return what is told of a record."""
        quality, emission = map(_decimal, (event.quality, event.emission))
        about = event.round, event.skill_type, event.task_id
        return cls(*about, quality, emission, event.events)


@attrs.frozen
class Movement:
    """A reputation over the last closed epoch, and what moved it.

    Attributes:
        skill_type: the type.
        before: as the epoch began.
        after: as it ended.
        records: how many records of the miner the epoch counts.
        events: by name of those that the rule set lists, how often they came.
    """

    skill_type: str
    before: Decimal
    after: Decimal
    records: int
    events: Mapping[str, int]


@json_object("uid", "weights", JsonKey("without", "reasons"), "scores", "movements")
@attrs.frozen
class Recent:
    """Pay of a miner now, with its newest scores and what moved its reputations.

    Attributes:
        uid: its slot; None without one.
        weights: by line, or of all lines where pools share; None without one.
        reasons: by line, why there is no weight.
        scores: of its newest records, the newest first.
        movements: of the reputations that the last closed epoch counted something for.
    """

    uid: int | None
    weights: Mapping[str, Decimal | None]
    reasons: Mapping[str, str]
    scores: tuple[RecordScore, ...]
    movements: tuple[Movement, ...]


@json_object(
    "epoch",
    "snapshot",
    "miners",
    "slots",
    JsonKey("last_round", "records_round"),
    "closed_rounds",
    "open_events",
    "entries",
    "hash",
    JsonKey("quarantine", left_out="empty"),
)
@attrs.frozen
class StateInfo:
    """A state at a glance.

    Attributes:
        epoch: the open epoch.
        snapshot: the digest of the snapshot that it began with.
        miners: how many hotkeys are known.
        slots: how many of them hold a slot.
        records_round: the last round with records; None when there is none.
        closed_rounds: how many rounds are closed.
        open_events: how many events are recorded in the open epoch.
        entries: how many entries the log has.
        hash: of the last entry.
        quarantine: how many claims are in quarantine, without those that were dropped.
    """

    epoch: int
    snapshot: str
    miners: int
    slots: int
    records_round: int | None
    closed_rounds: int
    open_events: int
    entries: int
    hash: str
    quarantine: int = 0


@attrs.frozen
class RoundInfo:
    """A round with records.

    Attributes:
        round: its number.
        epoch: the epoch that it is pinned to: the first that its records name.
        closed: whether it was closed; records can come by an import alone.
        at: when, as it was said; None when nobody said.
        records: how many records there are.
        miners: of how many miners.
    """

    round: int
    epoch: int
    closed: bool
    at: str | None
    records: int
    miners: int


@json_object(
    "epoch",
    JsonKey("open", "is_open"),
    "at",
    "events",
    JsonKey("snapshot", "snapshot.digest"),
)
@attrs.frozen
class EpochInfo:
    """An epoch that has begun.

    Attributes:
        epoch: its number.
        is_open: whether it is the open one.
        at: when it was closed, as it was said; None when nobody said, or it is open.
        events: how many events were recorded while it was open.
        snapshot: the state that it began with.
    """

    epoch: int
    is_open: bool
    at: str | None
    events: int
    snapshot: SnapshotInfo


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else to_decimal(from_text(text))
