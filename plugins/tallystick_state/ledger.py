"""The ledger: the state of a subnet in a store, and everything that changes it.

Every method is one transaction: it happens whole or not at all, and another process sees it before
or after, never between. What is refused changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from attrs import evolve

from tallystick.errors import StateError
from tallystick.io.paths import PathLike, path_text
from tallystick.plugins.logger import logger_of
from tallystick_state.answers import (
    ClosedEpoch,
    ClosedRound,
    MinerInfo,
    SnapshotInfo,
    Synced,
)
from tallystick_state.argument_checks import (
    check_text,
    checked_digest,
    path_or_items,
    texts,
    timestamp,
    whole,
)
from tallystick_state.attributes import check_closed_with, read_attributes
from tallystick_state.authority import OPERATOR, Authority, read_root
from tallystick_state.carry_file import CarryFile
from tallystick_state.claims import AllowedValidators
from tallystick_state.entries import (
    Accept,
    Adopt,
    Clear,
    CloseEpoch,
    CloseRound,
    Drop,
    Register,
    Rotate,
    SelectGroup,
    Share,
    Withdraw,
    begin,
    check_carry,
)
from tallystick_state.event_log import RECORDED, EventLog
from tallystick_state.genesis import Carry
from tallystick_state.groups import Group
from tallystick_state.miners import miner_of
from tallystick_state.pools import Pools, pools_of
from tallystick_state.rules import StateRules, proved_rules_of
from tallystick_state.rules_in_force import begin_under
from tallystick_state.schedule import Decision, Schedule
from tallystick_state.store.store import PLACE, Store
from tallystick_state.stored_state import StoredSnapshots, StoredState
from tallystick_state.template_state import TemplateState

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from tallystick.plugins.registry import Registry
    from tallystick.scoring.run_files import Progress
    from tallystick.scoring.scorer import RecordLike
    from tallystick_consensus.run import GroupLike
    from tallystick_state.event import StateEvent
    from tallystick_state.ingest import Bad, Ingested, Rounds
    from tallystick_state.prune import Pruning
    from tallystick_state.replay import Verified
    from tallystick_state.transfer import Exported
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import PublicKey
    from tallystick_state.trust.policy import TrustRoot

_LOG = logger_of(__name__)


class Ledger(StoredState):
    """A stored state, and everything that changes it."""

    @classmethod
    def create(  # noqa: PLR0913  # what a state begins with
        cls,
        where: PathLike,
        reference: PathLike | Sequence[PathLike],
        *,
        validator: str | None = None,
        hear: Iterable[str] = (),
        trust: PathLike | None = None,
        pools: Mapping[str, str | Decimal] | None = None,
        idle: str = "proportional",
        burn: str | int | None = None,
        carry: PathLike | TemplateState | None = None,
        network: str | None = None,
        authority: Authority = OPERATOR,
        registry: Registry | None = None,
    ) -> Self:
        """Begin a state under a rule set, or under one of each of several lines.

        Args:
            where: a path, for SQLite, or a URL.
            reference: the rule set; or several, each of another line.
            validator: the hotkey of the validator whose state it is; what it says by closing a
                round outranks claims by others in its name.
            hear: the hotkeys of the validators that it hears beside its own; by default all.
            trust: the trust file, which says whose signatures count, and then whom it hears.
            pools: of a state of several lines, the share of all weight that each gives out; by
                default each has weights of its own.
            idle: where the share of a line goes in which nobody has a weight: ``equal``,
                ``proportional`` or ``burn``.
            burn: the recipient that burns it: a hotkey, ``owner``, or a slot; see
                `tallystick_allocation.recipients`.
            carry: the carry file, with values of miners from before the state; see `carry_file`.
                Or the state file of the subnet template; see `template_state`.
            network: the digest of the network file, which every later digest covers.
            authority: what stands behind the carry file; in a state with a trust file there must
                be a signature.
            registry: the plugins; by default the installed ones.

        Raises:
            InputError: the place is neither text nor a path, or a file cannot be read.
            RuleSetError: the rule set does not load.
            StateError: a hotkey is not possible, two things say whom it hears, the rule sets do
                not go together, or the pools are none of their lines.
            StoreError: there is something at that place already, or it cannot be written.
            TrustError: the trust file is none.
        """
        place = path_text(where, PLACE)
        allowed = AllowedValidators.named(validator, texts(hear, "hear"))
        if allowed.heard and trust is not None:
            raise StateError(
                "found validators to hear beside a trust file, expected one of the two: the trust "
                "file says whom the state hears"
            )
        rule_sets: Any = reference
        is_one = isinstance(rule_sets, str | bytes | os.PathLike) or not isinstance(
            rule_sets, Iterable
        )
        in_force = begin_under([rule_sets] if is_one else [*rule_sets], registry, trust)
        shares = None if pools is None else pools_of(pools, in_force.lines, idle, burn)
        content: Carry | None = None
        records: tuple[StateEvent, ...] = ()
        if carry is not None:
            content, records = CarryFile.read(carry, in_force.at(0)).carried()
        elif authority.envelope is not None:
            raise StateError("found a signature without a carry file, expected both or neither")
        in_force = evolve(
            in_force,
            pools=Schedule(shares),
            network=None if network is None else checked_digest(network),
            carry=content,
            named=allowed,
        )
        if content is not None:
            # before anything is made at the place
            check_carry(in_force, authority)
        with Store.create(place) as (store, transaction):
            log = EventLog(transaction, in_force)
            begin(log, records, authority)
            log.finish()
            has_checksums = transaction.connection.data_checksums()
        if has_checksums is False:
            _LOG.warning(
                "found a PostgreSQL without checksums of its pages, expected them: have its server "
                "make them with pg_checksums --enable, as a disk that errs is else found late"
            )
        return cls(store, in_force)

    @classmethod
    def open(
        cls, where: PathLike, *, registry: Registry | None = None, shown: str | None = None
    ) -> Self:
        """Open a state.

        Args:
            where: a path, for SQLite, or a URL.
            registry: the plugins; by default the installed ones.
            shown: what errors name in place of a file that is temporary.

        Raises:
            DamagedError: the log does not begin with a rule set, or the plugins are others.
            InputError: the place is neither text nor a path.
            StoreError: there is no store of ours, it cannot be used, or is of an older format.
        """
        store = Store.open(path_text(where, PLACE), shown=shown)
        with store.reading() as transaction:
            ledger, head = cls.read(store, transaction, registry), transaction.head()
            rules = ledger.in_force_of(transaction).at(0 if head is None else head.epoch)
        names = ", ".join(line.rule_set.reference for line in rules.lines)
        details = {"state": store.shown, "rule_set": names, "digest": rules.digest}
        _LOG.info("opened a state", extra=details)
        return ledger

    def close(self) -> None:
        """End the use of the state; no connection outlives its transaction."""

    @contextmanager
    def together(self) -> Iterator[Self]:
        """Yield the same ledger for several changes that happen whole or not at all.

        Queries of it see the changes so far; every other ledger of the state sees them once the
        block is left.

        Raises:
            StoreError: a change in the block failed, though its error was caught; nothing changed.
        """
        with self.store.together() as store:
            joined = copy(self)
            joined.store = store
            yield joined
        self._known = joined._known  # noqa: SLF001  # its own, under which the block wrote

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def register(self, hotkey: str, uid: int, types: Iterable[str]) -> MinerInfo:
        """Register a miner in a slot; see `miners.register`.

        Raises:
            StateError: the hotkey, the slot or a type is not possible.
        """
        check_text(hotkey, "hotkey")
        slot, declared = whole(uid, "uid"), texts(types, "types")
        with self._writing() as log:
            log.write(Register(hotkey=hotkey, uid=slot, types=[*declared]))
        return MinerInfo.of(log.state.miners[hotkey])

    def sync_miners(self, source: PathLike | Iterable[Mapping[str, Any]]) -> Synced:
        """Give every slot to whom a list says: register, move and retire, in one transaction.

        Args:
            source: a file with a line for each slot that is taken, as CSV or JSONL, or the same as
                mappings; see `slots`.

        Raises:
            InputError: the file cannot be read, or has no miners.
            RefusedError: a line is bad; nothing has changed.
        """
        from tallystick_state.miner_list import slots_of, sync  # a query needs none

        items = path_or_items(source, "a file of miners, or an iterable of mappings")
        name = str(items) if isinstance(items, Path) else "miners"
        with self._writing() as log:
            return sync(log, slots_of(items, log.rules, name))

    def clear(self, hotkey: str, at: datetime | None = None) -> int:
        """Clear the collusion flags of a miner; gives how many it had.

        Raises:
            StateError: there is no such miner.
        """
        with self._writing() as log:
            flags = miner_of(log.state, hotkey).flags
            log.write(Clear(hotkey=hotkey, at=timestamp(at)))
        return flags

    def rotate_trust(self, path: PathLike, *, authority: Authority = OPERATOR) -> TrustRoot:
        """Put a trust file in force, at once.

        Args:
            path: the trust file.
            authority: signed by the groups ``root`` of this one and of the one before; by nobody
                where it is the first one, which is the operator's decision.

        Raises:
            InputError: a file cannot be read.
            TrustError: it cannot follow the one in force, has expired, or too few have signed it.
        """
        root = read_root(path)
        with self._writing() as log:
            log.write(Rotate.of(root), authority)
        return root

    def import_events(
        self,
        source: PathLike | Iterable[RecordLike],
        *,
        authority: Authority = OPERATOR,
        groups: PathLike | Iterable[GroupLike] | None = None,
        progress: Progress | None = None,
        bad: Bad = "refuse",
    ) -> Ingested:
        """Record records and late events, whichever round they are of.

        Args:
            source: a file of them, or mappings or lines.
            groups: a file of the groups of the records, or mappings or lines: records get their
                consensus from them.
            authority: the batch in which their validator has signed them; in a state with a trust
                file there must be one.
            progress: told how many bytes of how many are read.
            bad: as for `close_round`.

        Raises:
            InputError: the file cannot be read, or there is no record.
            RefusedError: a line is bad; nothing is recorded. What another validator, or nobody
                that is heard, stands for is no bad line: see `Ingested`.
            TrustError: the batch does not hold, or is missing.
        """
        with self._writing() as log:
            if authority != OPERATOR or log.in_force.root is not None:
                log.begin_batch(authority)
            return self._ingest(log, source, progress=progress, groups=groups, bad=bad)

    def close_round(  # noqa: PLR0913  # what an operator may give
        self,
        source: PathLike | Iterable[RecordLike],
        number: int | None = None,
        at: datetime | None = None,
        *,
        authority: Authority = OPERATOR,
        groups: PathLike | Iterable[GroupLike] | None = None,
        progress: Progress | None = None,
        bad: Bad = "refuse",
    ) -> tuple[tuple[ClosedRound, ...], Ingested]:
        """Record records and give the scores of their rounds.

        Args:
            source: a file of records, or mappings or lines.
            groups: as for `import_events`.
            number: the round that they all are of; by default each closes its own.
            at: when, with an offset.
            authority: the batch in which another validator has signed records; those of the state's
                own need none.
            progress: told how many bytes of how many are read.
            bad: ``refuse``: one bad record refuses them all; or ``reject``: the good ones are
                recorded, `Ingested.results` has each outcome in order, and a round is pinned to the
                epoch that most of its records name.

        Raises:
            InputError: the file cannot be read, or there is no record.
            RefusedError: a line is bad, or of another round; nothing is recorded.
            TrustError: the batch does not hold.
        """
        from tallystick_state.ingest import Rounds  # loads NumPy
        from tallystick_state.queries import StateQueries

        pinned = Rounds(None if number is None else whole(number, "round"), self.allowed)
        with self._writing() as log:
            if authority != OPERATOR:
                log.begin_batch(authority)
            recorded = self._ingest(log, source, pinned, progress=progress, groups=groups, bad=bad)
            for closed in sorted(pinned.epochs):
                log.write(CloseRound(round=closed, at=timestamp(at)))
            queries = StateQueries(log.transaction, log.in_force)
            rounds = tuple(
                queries.closed_round(*closed_round)
                for closed_round in sorted(pinned.epochs.items())
            )
        return rounds, recorded

    def accept(self, claims: Iterable[int], at: datetime | None = None) -> None:
        """Record claims that are in quarantine.

        Args:
            claims: their numbers, as `StateQueries.quarantine` has them.
            at: when, with an offset.

        Raises:
            StateError: a claim is not in quarantine, or another one stands against it.
        """
        numbers = [whole(number, "claim") for number in claims]
        with self._writing() as log:
            log.write(Accept(claims=numbers, at=timestamp(at)))

    def drop(self, claims: Iterable[int], at: datetime | None = None) -> int:
        """Leave claims out that are in quarantine; gives how many others that releases.

        Args:
            claims: their numbers, as `StateQueries.quarantine` has them.
            at: when, with an offset.

        Raises:
            StateError: a claim is not in quarantine.
        """
        numbers = [whole(number, "claim") for number in claims]
        with self._writing() as log:
            log.write(Drop(claims=numbers, at=timestamp(at)))
        return sum(after == RECORDED for _, after in log.moved.values())

    def close_epoch(
        self,
        epoch: int | None = None,
        at: datetime | None = None,
        *,
        salt: str | None = None,
        round: PathLike | Mapping[str, Any] | None = None,  # noqa: A002  # what it is called everywhere
    ) -> ClosedEpoch:
        """Close an epoch; one that is closed already stays as it is.

        Args:
            epoch: which; by default the one that is open as the call begins.
            at: when, with an offset.
            salt: 16 to 64 bytes in hexadecimal digits, which go into the leaf of the epoch.
            round: what the rules ask of the rounds that the epoch has counted, and of miners,
                beside the records: the file of a round, or what stands in it.

        Raises:
            InputError: the file cannot be read, or says something that the rules do not ask for.
            StateError: the epoch has not begun, an argument is of another kind, the epoch was
                closed without this salt or these attributes, or what is carried needs some.
        """
        wanted = self.open_epoch() if epoch is None else whole(epoch, "epoch")
        with self._writing() as log:
            already = wanted < log.state.epoch
            if not 0 <= wanted <= log.state.epoch:
                raise StateError(
                    f"found the epoch {wanted}, expected 0 to {log.state.epoch}, the open "
                    "one: close the epochs before it first"
                )
            at_time = timestamp(at)
            attributes = (
                None if round is None else read_attributes(round, log.in_force.at(wanted).lines)
            )
            if already:
                check_closed_with(log.transaction, wanted, salt, attributes)
            else:
                log.write(CloseEpoch.of(at_time, salt, attributes))
            snapshot = log.snapshot(wanted + 1)
        return ClosedEpoch(wanted, already, SnapshotInfo.of(snapshot))

    def adopt(
        self,
        reference: PathLike,
        at_epoch: int,
        *,
        major: bool = False,
        authority: Authority = OPERATOR,
    ) -> Decision[StateRules]:
        """Schedule a rule set of one of the state's lines for an epoch that has not begun.

        Args:
            reference: the rule set.
            at_epoch: the first epoch under it.
            major: whether it may take away what others name.
            authority: what stands behind it.

        Raises:
            InputError: the reference is neither text nor a path.
            RuleSetError: the rule set does not load, or does not bind.
            StateError: the state does not allow it; its ``code`` says why.
            TrustError: nobody has signed it who may.
        """
        from tallystick.rules.loading import load  # a query needs none
        from tallystick.scoring.scorer import bind

        epoch = whole(at_epoch, "epoch")
        # proofs take a while: nobody has to wait for them
        loaded = load(reference, self.plugins)
        rules = proved_rules_of(bind(loaded, loaded.registry))
        with self._writing() as log:
            log.write(Adopt.of(rules, epoch, major=major), authority)
            return log.in_force.schedules[rules.line].decisions[-1]

    def withdraw(
        self, line: str | None = None, *, authority: Authority = OPERATOR
    ) -> Decision[StateRules]:
        """Take back the last adoption of a line, as long as it has not begun; gives what it was.

        Args:
            line: which; by default the only one.
            authority: what stands behind it.

        Raises:
            StateError: there is none that has not begun; its ``code`` says why.
            TrustError: nobody has signed it who may.
        """
        with self._writing() as log:
            before, withdrawal = log.in_force, Withdraw.of(line)
            withdrawn = log.write(withdrawal, authority) or withdrawal
            return before.schedules[withdrawn.line].decisions[-1]

    def share(  # what pools are, and from when
        self,
        pools: Mapping[str, str | Decimal],
        at_epoch: int,
        *,
        idle: str = "proportional",
        burn: str | int | None = None,
        authority: Authority = OPERATOR,
    ) -> Decision[Pools | None]:
        """Schedule other pools for an epoch that has not begun.

        They replace what was scheduled for that epoch or a later one.

        Args:
            pools: the share of all weight that each line gives out.
            at_epoch: the first epoch with them.
            idle: as for `create`.
            burn: as for `create`.
            authority: what stands behind it; the groups that adopt rules sign it.

        Raises:
            StateError: the state does not allow it; its ``code`` says why.
            TrustError: nobody has signed it who may.
        """
        epoch = whole(at_epoch, "epoch")
        with self._writing() as log:
            shares = pools_of(pools, log.in_force.lines, idle, burn)
            log.write(Share.of(shares, epoch), authority)
            return log.in_force.pools.decisions[-1]

    def select_group(
        self, skill_type: str, number: int, seed: str, epoch: int | None = None
    ) -> Group:
        """Select the group of a dispatch and note it in the log.

        Args:
            skill_type: of the task.
            number: the round.
            seed: what makes the draw of auditors unforeseeable; any text.
            epoch: whose snapshot the round is pinned to; by default the open one.

        Raises:
            StateError: the type or the epoch is unknown, or the rule set has no groups.
        """
        check_text(seed, "seed")
        dispatched = whole(number, "round")
        with self._writing() as log:
            pinned = log.state.epoch if epoch is None else whole(epoch, "epoch")
            request = SelectGroup(skill_type=skill_type, round=dispatched, seed=seed, epoch=pinned)
            entry = log.write(request) or request
            rules = log.in_force.at(pinned).of_type(skill_type)
            return Group.of(entry.primaries, entry.auditors, rules)

    def prune(self, before_epoch: int) -> Pruning:
        """Remove the records that epochs before one have counted; see `prune`.

        Args:
            before_epoch: the first epoch whose records stay whole; at most the last closed one.

        Raises:
            DamagedError: the store is damaged; nothing has changed.
            StateError: the epoch is not closed, or rules need all records.
            StoreError: the store cannot be written.
        """
        from tallystick_state.prune import prune

        return prune(self, whole(before_epoch, "epoch"))

    def verify(
        self, checkpoint: Checkpoint | None = None, keys: Collection[PublicKey] = ()
    ) -> Verified:
        """Replay the log from its first entry and compare everything; see `replay.verify`.

        Raises:
            DamagedError: something that is stored does not follow from the log.
            TrustError: something that must be signed is not, or the log is not the checkpoint's.
        """
        from tallystick_state.replay import verify

        return verify(self, checkpoint, keys)

    def export(self, path: PathLike, *, follow_links: bool = False) -> Exported:
        """Write the log to a file, from which ``state import`` makes the same state.

        Raises:
            OutputError: the file cannot be written, or is of the store itself.
            StoreError: the store cannot be read.
        """
        from tallystick_state.transfer import export_state

        return export_state(self, path, follow_links=follow_links)

    @contextmanager
    def _writing(self) -> Iterator[EventLog]:
        with self.store.writing() as transaction:
            log = EventLog(transaction, self.in_force_of(transaction))
            before = log.entries
            yield log
            log.finish()
        if log.entries > before:
            details = {"entries": log.entries - before, "last": log.entries, "hash": log.hash}
            _LOG.info("wrote to the log of the state", extra=details)

    def _ingest(
        self,
        log: EventLog,
        source: PathLike | Iterable[RecordLike],
        rounds: Rounds | None = None,
        **options: Any,  # noqa: ANN401  # those of `ingest`
    ) -> Ingested:
        from tallystick_state.ingest import ingest  # loads NumPy

        scorer = log.in_force.scorer.with_snapshots(StoredSnapshots(log.transaction))
        return ingest(log, source, scorer, rounds, **options)
