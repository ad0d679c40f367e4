"""The validator: the loop from the chain's blocks to closed epochs, checkpoints and rows.

`Validator` is what programs embed, as `tallystick.Validator`: ``await validator.step()`` does all
that is due at the finalized block, and ``await validator.run()`` steps until it is stopped. A step
is one call in a thread of the validator's own, so that the event loop of a program never waits.

A step can be killed anywhere and taken again: an epoch is closed in one transaction, its batch is
settled after it, a checkpoint is written again where it lacks, and a row has a journal of its own.
"""

from __future__ import annotations

import asyncio
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs

from tallystick.cli.locked import Held, NoLock
from tallystick.errors import NoStoreError, StoreError, TallystickError
from tallystick.io.atomic import atomic_files, output_errors
from tallystick.io.paths import PathLike, path_of
from tallystick.io.text import visible
from tallystick.plugins.logger import logger_of
from tallystick_chain.bounded_chain import DEADLINE_SECONDS, BoundedChain
from tallystick_chain.chain import Chain, ChainError
from tallystick_chain.journal import Journal
from tallystick_chain.network import Network
from tallystick_chain.sync import miner_slots
from tallystick_chain.weight_rows import WeightsToSet, weights_to_set
from tallystick_service.health import Health, Problem
from tallystick_service.metrics import Observations
from tallystick_state.checkpoints import checkpoint
from tallystick_validator.admission import Admission
from tallystick_validator.adoptions import AdoptionFolder
from tallystick_validator.attributes import AttributeFile, ChainBlock
from tallystick_validator.batches import Batch
from tallystick_validator.chain_history import ChainHistory
from tallystick_validator.closing import Counted, EpochClosing, close, epochs_due, row_due
from tallystick_validator.configuration import Options
from tallystick_validator.exclusive import exclusive, exclusive_state, made
from tallystick_validator.health import Watch, problem_of
from tallystick_validator.intake import Intake
from tallystick_validator.membership import check_membership, lengths_of_others, unmet
from tallystick_validator.row_sending import RowSender
from tallystick_validator.sources import FolderSource

if TYPE_CHECKING:
    from tallystick_chain.chain import Head
    from tallystick_state.ledger import Ledger
    from tallystick_state.rules import EpochRules
    from tallystick_state.trust.keys import Signer
    from tallystick_validator.exchange import BatchExchange

MIN_FREE_BYTES = 256 << 20
"""Free space of a disk below which health speaks of it, in bytes."""
SLOTS_BLOCKS = 25
"""Blocks between two looks at who has which slot, by which uids of records are compared."""
LOCK, INTAKE, CHECKPOINTS = "daemon.lock", "intake.db", "checkpoints"
ROWS, EXCHANGE = "rows.db", "exchange"
"""Names within the folder of the daemon."""
NEWEST = "latest.txt"
"""Name of the newest checkpoint; peers and the service give it to whoever asks."""

_LOG = logger_of(__name__)
_MOST_TOLD = 20
_Result = TypeVar("_Result")


@attrs.frozen
class Step:
    """The outcome of a step.

    Attributes:
        finalized: the finalized block; None where the chain gave no answer.
        closed: the epochs that were closed.
        open_epoch: the epoch that is open now.
        waits: whether an epoch is due that cannot be closed yet.
    """

    finalized: int | None
    closed: tuple[int, ...]
    open_epoch: int
    waits: bool = False


class _Alone:
    """The agreement of a validator alone: its own batch counts, at the end of each epoch.

    Its methods are those of `BatchExchange`.
    """

    def __init__(self, intake: Intake, validator: str) -> None:
        self._intake, self._validator = intake, validator

    def advance(self, finalized: int, epoch: int) -> None:
        """Do nothing: nobody is to be told."""

    def counted(self, epoch: int) -> Counted:
        """Return the validator's own batch, which holds what waits now, once for ever."""
        batch = Batch(self._validator, self._intake.freeze(epoch))
        return Counted(epoch, {self._validator: lambda: batch} if batch.lines else {})

    def compared(self) -> Mapping[str, bool]:
        """Return nothing: there are no peers."""
        return {}

    def routes(self) -> Sequence[Any]:
        """Return no route."""
        return ()


class Validator:
    """A validator of a subnet: records in, epochs closed by the chain's blocks, rows out.

    >>> validator = Validator("subnet.db", "network.toml", chain, "validator")  # doctest: +SKIP
    >>> async with validator:  # doctest: +SKIP
    ...     validator.intake.take([line])
    ...     await validator.step()

    Attributes:
        network: the network file.
        chain: the chain, with deadlines.
        options: what it does beside closing epochs.
        watch: what is wrong now.
        folder: of the daemon's own files.
        observations: counts and times for `/metrics`.
        ledger: the state, while it is open.
        intake: its records, while it is open.
        agreement: the batches of all validators, while it is open.
    """

    def __init__(  # noqa: PLR0913  # the parts of a validator
        self,
        state: PathLike,
        network: PathLike | Network,
        chain: Chain | Callable[[], Chain],
        folder: PathLike,
        *,
        hotkey: str | None = None,
        options: Options | None = None,
        signer: Signer | None = None,
        checkpoint_signer: Signer | None = None,
        held: Held | None = None,
        deadline_s: float = DEADLINE_SECONDS,
    ) -> None:
        """Take the parts; nothing is opened yet.

        Args:
            state: of the store: a path or a URL.
            network: the network file, or its content.
            chain: the chain, or a function that connects; it is called again after a failure.
            folder: of the daemon's own files; it is made.
            hotkey: of this validator; by default the chain is asked.
            options: what it does beside closing epochs.
            signer: its key, for statements; by default none.
            checkpoint_signer: signs checkpoints; by default nobody does.
            held: the lock that its rules must have; by default none.
            deadline_s: the longest time of a read of the chain, in seconds.

        Raises:
            InputError: the network file, or that of attributes, cannot be read.
        """
        self.network = network if isinstance(network, Network) else Network.load(network)
        self.chain = BoundedChain(chain if callable(chain) else lambda: chain, deadline_s)
        self.options = options or Options()
        attributes = self.options.attributes
        self._attributes = AttributeFile() if attributes is None else AttributeFile.load(attributes)
        self.watch = Watch()
        self._state, self.folder = state, path_of(folder, "the folder of a daemon")
        self._checkpoints = self.options.checkpoints or self.folder / CHECKPOINTS
        self.observations = Observations()
        self._hotkey, self._signer, self._held = hotkey, signer, held or NoLock()
        self._checkpoint_signer = checkpoint_signer
        self._open: ExitStack | None = None
        self._is_stopping = False
        self._awake: asyncio.Event | None = None
        self._other_epochs: Mapping[str, int] = {}
        self._problems = list[Problem]()
        self._open_epoch = self._slots_block = self._looked_at = self._since = 0
        self._rejects: Mapping[int, Counter[str]] = {-1: Counter()}
        self._rows: RowSender | None = None
        self.ledger: Ledger
        self.intake: Intake
        self.agreement: _Alone | BatchExchange

    @property
    def hotkey(self) -> str:
        """The hotkey of this validator; the chain is asked once where nobody named it."""
        if self._hotkey is None:
            self._hotkey = self.chain.hotkey()
        return self._hotkey

    async def __aenter__(self) -> Self:
        """Open the state and the intake, alone.

        Raises:
            InputError: another daemon has them, or the folder cannot be used.
            TallystickError: the state cannot be opened, or is none for this network.
        """
        # a stop while the state is opened is one
        self._is_stopping = False
        stack, self._pool = ExitStack(), ThreadPoolExecutor(1, thread_name_prefix="validator")
        stack.callback(self._pool.shutdown, wait=False, cancel_futures=True)
        try:
            await self._in_thread(self._open_parts, stack)
        except BaseException:
            stack.close()
            raise
        self._open = stack
        self._loop, self._awake = asyncio.get_running_loop(), asyncio.Event()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close what was opened; work that is under way in a thread ends by itself."""
        stack, self._open = self._open, None
        self._is_stopping = True
        if stack is not None:
            await asyncio.to_thread(stack.close)

    def _open_parts(self, stack: ExitStack) -> None:
        from tallystick_state.ledger import Ledger
        from tallystick_state.store.connection import TAKE_BACK

        made(self.folder)
        stack.enter_context(exclusive(self.folder / LOCK, "this folder"))
        try:
            self.ledger = stack.enter_context(Ledger.open(self._state))
        except NoStoreError as error:
            if not (self.folder / INTAKE).exists():
                raise
            expected = f"expected the state that closed the epochs of {self.folder}: {TAKE_BACK}"
            raise StoreError(f"{error.found}, {expected}") from error
        self._alone = stack.enter_context(ExitStack())
        self._check_alone = self._alone.enter_context(exclusive_state(self.ledger.store))
        check_membership(self.ledger, self.network, self._attributes)
        self._compare_epochs(self.ledger.in_force.at(self.ledger.open_epoch()))
        self._opened, self._weights, self._rows = stack, dict[int, WeightsToSet](), None
        admission = Admission(self.ledger.scorer, self.network, self.hotkey)
        self._admits_by = self.ledger.in_force.seq
        self.intake = stack.enter_context(
            Intake(
                self.folder / INTAKE,
                admission,
                waiting_bytes=self.options.waiting_bytes,
                rejected=self.observations.rejected,
            )
        )
        self._check_settled()
        self._history = ChainHistory(self.chain, self.intake)
        self._records = None
        if self.options.records is not None:
            made(self.options.records)
            self._records = FolderSource(self.options.records, self.intake)
        adoptions = self.options.adoptions
        self._adoptions = None if adoptions is None else AdoptionFolder(adoptions)
        self.agreement = self._agreement()

    def _agreement(self) -> _Alone | BatchExchange:
        if self.network.exchange is None:
            return _Alone(self.intake, self.hotkey)
        from tallystick_validator.exchange import BatchExchange  # loads what serves

        return BatchExchange(
            self.network,
            self.chain,
            self.ledger,
            self.intake.freeze,
            self.folder / EXCHANGE,
            self.watch,
            peers=self.options.peers,
            signer=self._signer,
            state_name=self.ledger.store.shown,
            checkpoint=self._checkpoints / NEWEST,
        )

    def _compare_epochs(self, rules: EpochRules) -> None:
        others = lengths_of_others(rules, self.network)
        if others and others != self._other_epochs:
            found = ", ".join(
                f"{blocks} blocks in {visible(line)}" for line, blocks in others.items()
            )
            message = "found epochs of %s, expected %d as in the network file, which decides"
            _LOG.warning(message, found, self.network.epoch_blocks)
        self._other_epochs = others
        self.watch.know(epoch_blocks={"network": self.network.epoch_blocks, "rules": others})

    def stop(self) -> None:
        """End `run` after the step under way; any thread may call it."""
        self._is_stopping = True
        self.wake()

    async def run(self, after: Callable[[Step], bool] | None = None) -> None:
        """Step until it is stopped.

        Args:
            after: called after each step; False ends the run.
        """
        if self._open is None:
            async with self:
                await self.run(after)
            return
        while not self._is_stopping:
            step = await self.step()
            if after is not None and not after(step):
                return
            await self._pause()

    def wake(self) -> None:
        """Look at the chain at once; any thread may call it."""
        if self._awake is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._awake.set)

    async def _pause(self) -> None:
        assert self._awake is not None  # noqa: S101  # it is open
        try:
            await asyncio.wait_for(self._awake.wait(), self.options.poll_seconds)
        except TimeoutError:
            return
        self._awake.clear()

    def health(self) -> Health:
        """Return what is wrong now."""
        return self.watch.health()

    async def look(self) -> int | None:
        """Look at the chain, by which records are judged; return the finalized block.

        What fails is told by `health`, and None is returned.
        """
        head = await self._in_thread(self._look_at_chain)
        return None if head is None else head.finalized

    async def step(self) -> Step:
        """Do all that is due at the finalized block; what fails is told by `health`.

        Raises:
            RuntimeError: it is not open.
        """
        if self._open is None:
            raise RuntimeError("a validator steps within `async with`")
        return await self._in_thread(self._step)

    async def _in_thread(
        self,
        work: Callable[..., _Result],
        *arguments: Any,  # noqa: ANN401  # of the work
    ) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def _hold_state(self) -> bool:
        """Take the lock of the state again where it was lost with the server.

        Raises:
            InputError: another process has it by now.
            StoreError: the server cannot be asked.
        """
        try:
            self._check_alone()
        except StoreError:
            self._alone.close()
            self._check_alone = self._alone.enter_context(exclusive_state(self.ledger.store))
        return True

    def _step(self) -> Step:
        if not self._stage("alone", self._hold_state):
            return Step(None, (), self._open_epoch)
        self._stage("records", self._take_records)
        self._stage("disk", self._look_at_disk)
        head = self._look_at_chain()
        self._stage("adoptions", self._adopt)
        settled = self._stage("intake", self._settle_closed)
        waits = head is not None and not (
            settled and self._stage("history", self._is_same_chain, head)
        )
        opened = self._stage("state", self.ledger.open_epoch)
        if opened:
            self._stage("checkpoints", self._publish, opened - 1)
        closed = list[int]()
        if head is not None and opened is not None and not waits:
            self._stage("agreement", self.agreement.advance, head.finalized, opened)
            waits = not self._close_all(head.finalized, opened, closed)
            self._stage("weighing", self._weigh)
            self._stage("weights", self._send_row, head.finalized)
        self._stage("recorded", self._look_at_epochs)
        self._stage("counts", self._count_records)
        opened = self._stage("state", self.ledger.open_epoch)
        self._open_epoch = self._open_epoch if opened is None else opened
        self.observations.peers = self.agreement.compared()
        finalized = None if head is None else head.finalized
        self.watch.know(finalized=finalized, open_epoch=self._open_epoch)
        return Step(finalized, tuple(closed), self._open_epoch, waits)

    def _stage(
        self,
        name: str,
        work: Callable[..., _Result],
        *arguments: Any,  # noqa: ANN401  # of the work
    ) -> _Result | None:
        """Return the result of a part of a step; a failure is a problem, and gives None."""
        began, result = time.monotonic(), None
        self._problems = problems = list[Problem]()
        try:
            result = work(*arguments)
        except Exception as error:  # noqa: BLE001  # a defect of one part must not end the others
            problems.append(_failure(name, error))
        self.watch.put(name, problems)
        self.observations.took(name, time.monotonic() - began)
        return result

    def _take_records(self) -> None:
        if self._records is None:
            return
        for file in self._records.take_all(lambda: self._is_stopping):
            _LOG.info("took a file of records", extra={"file": file.name, **file.answers})
            if not file.is_whole:
                message = "found more records than the intake may keep, expected closed epochs"
                self._problems.append(problem_of("intake-full", message, failing=True))
        self._problems += [
            problem_of("record-file", visible(f"{name}: not taken ({reason})"))
            for name, reason in [*self._records.problems.items()][:_MOST_TOLD]
        ]

    def _look_at_disk(self) -> None:
        store = self.ledger.store.path
        for folder in {self.folder, self.folder if store is None else store.absolute().parent}:
            if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
                found = f"found less than {MIN_FREE_BYTES >> 20} MiB free for {folder}"
                self._problems.append(problem_of("disk", f"{found}, expected more"))

    def _look_at_chain(self) -> Head | None:
        """Look at the newest blocks, and tell the intake of them."""
        head = self._stage("chain", self.chain.head)
        if head is not None:
            self.intake.admission.block = head.best
            self.watch.know(best=head.best, endpoint=head.endpoint)
            self._stage("slots", self._look_at_slots, head.finalized)
        return head

    def _look_at_slots(self, finalized: int) -> None:
        """Tell the intake which hotkey has which slot, as of now and then."""
        admission = self.intake.admission
        if admission.uids is None or finalized >= self._slots_block + SLOTS_BLOCKS:
            neurons = self.chain.neurons(self.network.netuid, finalized)
            admission.uids = {neuron.hotkey: neuron.uid for neuron in neurons}
            self._slots_block = finalized

    def _is_same_chain(self, head: Head) -> bool:
        """Return whether the finalized blocks that were acted on are still there."""
        self._problems += self._history.look(head.finalized, head.endpoint)
        return not self._problems

    def _adopt(self) -> None:
        if self._adoptions is not None:
            self._problems += self._adoptions.apply(self.ledger)
        in_force = self.ledger.in_force
        if in_force.seq != self._admits_by:
            self.intake.admission.follow(self.ledger.scorer)
            self._admits_by = in_force.seq
            self.watch.put("rules", unmet(in_force, self.ledger.open_epoch(), self._attributes))

    def _settle_closed(self) -> bool:
        """Settle the batches of epochs that were closed by hand, or before this process died.

        Raises:
            StoreError: the state is older than the intake.
        """
        for epoch in self.intake.unsettled(self._check_settled()):
            self.intake.settle(epoch, self._held_by_state(epoch))
        return True

    def _held_by_state(self, epoch: int) -> frozenset[bytes]:
        """Return which records of the batch of an epoch the state has."""
        with self.ledger.queries() as queries:
            return queries.known(self.intake.identities(epoch))

    def _check_settled(self) -> int:
        """Return the open epoch of the state; refuse one whose records the intake has let go.

        Raises:
            StoreError: it is such a state.
        """
        settled, opened = self.intake.newest_settled(), self.ledger.open_epoch()
        # validators with an exchange keep the batches that counted, and a state catches up by them
        is_alone = self.network.exchange is None
        if is_alone and settled is not None and settled >= opened:
            raise StoreError(
                f"{self.ledger.store.shown}: found the epoch {opened} open, expected {settled + 1} "
                f"or a later one, as {self.intake.path} has let go the records of the epoch "
                f"{settled}: put back the state that closed it, by tallystick state import or a "
                "peer's; or move the intake away, and send these records again"
            )
        return opened

    def _count_records(self) -> None:
        counts = self.intake.counts()
        self.watch.know(records_waiting=counts.waiting, records_batched=counts.batched)
        totals, block = self.observations.observed().rejects, self.intake.admission.block
        begun = None if block is None else self.network.epoch_at(block)
        epoch = -1 if begun is None else begun
        # totals as an epoch began, of two epochs: what is told lasts until one has no rejects
        if epoch not in self._rejects:
            self._rejects = dict([*self._rejects.items(), (epoch, totals)][-2:])
        rejects = totals - self._rejects[min(self._rejects)]
        if rejects:
            told = ", ".join(f"{count} {code}" for code, count in rejects.most_common())
            message = f"found records of this epoch or the last that were rejected ({told})"
            self._problems.append(problem_of("records-rejected", f"{message}, expected none"))

    def _look_at_epochs(self) -> None:
        """Tell the closed epochs since the last one in which a record came, late ones too."""
        opened = self.ledger.open_epoch()
        if opened != self._looked_at:
            with self.ledger.store.reading() as transaction:
                self._since = max(transaction.counted_events(), default=-1) + 1
            self._looked_at = opened
        if self._since < opened:
            one = self._since == opened - 1
            epochs = f"epoch {self._since}" if one else f"epochs {self._since} to {opened - 1}"
            message = f"found no record in the {epochs}, expected some in each"
            self._problems.append(problem_of("no-records", message))

    def _close_all(self, finalized: int, open_epoch: int, closed: list[int]) -> bool:
        """Close every epoch that is due; False where one of them cannot be closed yet."""
        due = epochs_due(self.network, open_epoch, finalized)
        for epoch in due:
            if self._is_stopping or not self._close_one(epoch):
                break
            closed.append(epoch)
            if self.network.weights_block(epoch + 1) > finalized:
                self._stage("weighing", self._weigh)
            self._stage("agreement", self.agreement.advance, finalized, epoch + 1)
        opened = open_epoch + len(closed)
        behind = max(0, finalized - self.network.vote_block(opened))
        self.watch.know(blocks_behind=behind)
        self.observations.last_block, self.observations.blocks_behind = finalized, behind
        problems = list[Problem]()
        if behind > self.network.epoch_blocks:
            found = f"found the epoch {opened} open more than an epoch after its closing block"
            problems.append(problem_of("blocks-behind", f"{found}, expected it closed"))
        self.watch.put("behind", problems)
        return opened == due.stop

    def _close_one(self, epoch: int) -> bool:
        if not self._stage("lock", self._require_locked, epoch):
            return False
        closing = self._stage("closing", self._close, epoch)
        if closing is None:
            return False
        # the epoch is closed, whether or not a file can be written
        self._stage("checkpoints", self._publish, epoch)
        return bool(self._stage("settling", self._settle, *closing))

    def _require_locked(self, epoch: int) -> bool:
        """Require the rules of an epoch in the lock.

        Raises:
            TrustError: the lock lacks them.
        """
        for line in self.ledger.in_force.at(epoch).lines:
            self._held.require(line)
        return True

    def _close(self, epoch: int) -> tuple[Counted, EpochClosing] | None:
        """Close an epoch by the batches that count; None where bytes of them are missing."""
        counted = self.agreement.counted(epoch)
        if not isinstance(counted, Counted):
            self._problems += counted
            return None
        block = counted.end
        if block is None:
            number = self.network.end_block(epoch)
            block = ChainBlock.read(self.chain, self.network.netuid, number)
        rules = self.ledger.in_force.at(epoch)
        self._compare_epochs(rules)
        slots = miner_slots(self.network, block.neurons, rules.type_rules)
        attributes = self._attributes.of_epoch(rules.lines, self.network, block)
        counted = attrs.evolve(counted, end=block)
        closing = close(self.ledger, self.network, counted, slots, attributes)
        refused, batches = len(closing.refused), len(counted.batches)
        details = {**attrs.asdict(closing, recurse=False), "refused": refused, "batches": batches}
        _LOG.info("closed an epoch", extra=details)
        self.watch.know(epoch=epoch, snapshot=closing.snapshot, rules=closing.rules)
        return counted, closing

    def _publish(self, epoch: int) -> None:
        """Write the checkpoint of the newest closed epoch, unless it is there."""
        folder, signer = self._checkpoints, self._checkpoint_signer
        own = folder / f"{epoch:08d}.txt"
        if own.exists():
            return
        current = checkpoint(self.ledger)
        text = (current if signer is None else current.signed(signer)).to_text().encode()
        with output_errors(folder):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with atomic_files(own, folder / NEWEST) as files:
            for file in files:
                file.write(text)

    def _settle(self, counted: Counted, closing: EpochClosing) -> bool:
        """Settle the own batch of an epoch that was closed, and tell what did not count."""
        epoch, is_judged = counted.epoch, self.hotkey in counted.batches
        refused = [line for line in closing.refused if line.validator == self.hotkey]
        for number, line in enumerate(refused):
            self.observations.rejected(line.code)
            if number < _MOST_TOLD:
                details = {"epoch": epoch, "code": line.code, "place": line.index}
                _LOG.warning("a record was not counted: expected %s", line.expected, extra=details)
        self.intake.settle(epoch, self._held_by_state(epoch), lets_go=is_judged)
        return True

    def _weigh(self) -> None:
        """Compute the weights of the newest closed epoch, and keep those of the one before."""
        epoch = self.ledger.open_epoch() - 1
        if epoch < 0 or epoch in self._weights:
            return
        with self.ledger.queries() as queries:
            newest = weights_to_set(queries)
        # its row may be due after the next epoch is closed
        before = {of: weights for of, weights in self._weights.items() if of == epoch - 1}
        self._weights = {**before, epoch: newest}

    def _send_row(self, finalized: int) -> None:
        """Send the row of the newest epoch whose row is due, and watch those before it."""
        if self._rows is None:
            journal = Journal(self.folder / ROWS, self.network, self.hotkey)
            self._opened.enter_context(journal)
            self._rows = RowSender(self.chain, self.network, journal, self.observations)
        epoch = row_due(self.network, self.ledger.open_epoch(), finalized)
        weights = None if epoch is None else self._weights.get(epoch)
        self._problems += self._rows.send(weights, is_to_send=self.options.sets_weights)
        self.watch.know(
            rows={str(epoch): what for epoch, what in self._rows.outcomes.items()},
            unpaid=dict(self._rows.unpaid),
        )


def _failure(stage: str, error: Exception) -> Problem:
    """Return the problem that a part of a step failed."""
    code = _CODES.get(stage, "state")
    if isinstance(error, ChainError):
        code = "chain-unreachable"
    elif isinstance(error, StoreError) and code not in {"intake", "weights"}:
        code = "state"
    elif not isinstance(error, TallystickError):
        code = "internal"
        _LOG.error("a defect", extra={"stage": stage, "trace": traceback.format_exc()})
    return problem_of(code, visible(str(error) or type(error).__name__), failing=True)


_CODES = {
    "adoptions": "adoption-refused",
    "agreement": "peers",
    "checkpoints": "disk",
    "closing": "closing-failed",
    "counts": "intake",
    "intake": "intake",
    "lock": "not-locked",
    "records": "intake",
    "settling": "intake",
    "weighing": "weights",
    "weights": "weights",
}
"""Codes of what goes wrong in a part of a step, unless the chain does."""
