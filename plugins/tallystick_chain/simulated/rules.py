"""The rules of the chain: what it refuses, in its order, and what each accepted call changes.

`RULES` has by name all that happens in a subnet and does not follow from the blocks. Each rule is
given the subnet, the number of the block that is built, and the arguments of the call; it returns
the subnet changed, or refuses by a `ChainError` whose message is the chain's own name. The source
is ``pallets/subtensor/src/subnets/weights.rs`` of the chain (commit 04957d05), ``uids.rs`` and
``coinbase/reveal_commits.rs`` beside it, and ``pallets/commitments``; names of errors are theirs.
The permits of an epoch follow the stakes alone; what an epoch pays is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from tallystick_chain.chain import (
    MAX_COMMITMENT_BYTES,
    ChainError,
    Commitment,
    Neuron,
    Pairs,
    Refusal,
    has_too_large_share,
)
from tallystick_chain.simulated.model import (
    BEACON_ROUNDS_PER_BLOCK,
    FIRST_BEACON_ROUND,
    LEAST_COMMITMENT_SPACE,
    MAX_PENDING_ROWS,
    LogEntry,
    MechanismState,
    SubnetState,
)


def beacon_round(block: int) -> int:
    """Return the newest round of the beacon at a block."""
    return FIRST_BEACON_ROUND + BEACON_ROUNDS_PER_BLOCK * block


def begin_block(subnet: SubnetState, block: int) -> SubnetState:
    """Reveal the rows that are due at the start of a block, and run an epoch where one is due."""
    if subnet.log:
        subnet = attrs.evolve(subnet, log=())
    subnet = _reveal_rows(subnet, block)
    return _run_epoch(subnet, block) if subnet.is_epoch_due(block) else subnet


def submit_row(  # noqa: PLR0913  # the arguments of the chain's call
    subnet: SubnetState,
    block: int,
    /,
    *,
    hotkey: str,
    mechanism: int,
    pairs: Iterable[Iterable[int]],
    version_key: int,
) -> SubnetState:
    """Set a row of a hotkey, or commit it where the subnet asks so.

    Raises:
        ChainError: by a rule.
    """
    # as a value of their own, whatever kind of sequence they came as
    own = tuple((uid, weight) for uid, weight in pairs)
    row = LogEntry("row", block, hotkey, mechanism, own, version_key)
    return (_commit_row if subnet.hyperparameters.commit_reveal else _set_row)(subnet, row)


def _set_row(subnet: SubnetState, row: LogEntry) -> SubnetState:  # noqa: C901  # the chain's checks
    """Set a row in the open, or apply one that is revealed.

    The rate limit holds, and LastUpdate moves, only where commit-reveal is off: else the commit
    has done both.

    Raises:
        ChainError: by a rule.
    """
    rows, pairs = mechanism_of(subnet, row.mechanism), row.pairs
    if len(pairs) > len(subnet.neurons):
        raise ChainError("UidsLengthExceedUidsInSubNet", Refusal.UNKNOWN_UID)
    neuron = _registered(subnet, row.hotkey)
    own, rules = neuron.uid, subnet.hyperparameters
    if neuron.stake_rao < rules.stake_threshold_rao:
        raise ChainError("NotEnoughStakeToSetWeights", Refusal.LOW_STAKE)
    if rules.version_key and row.version_key < rules.version_key:
        raise ChainError("IncorrectWeightVersionKey", Refusal.VERSION_KEY)
    if not rules.commit_reveal and _is_too_soon(subnet, rows, own, row.block):
        raise ChainError("SettingWeightsTooFast", Refusal.TOO_SOON)
    is_self_weight = len(pairs) == 1 and pairs[0][0] == own
    if not (is_self_weight or row.hotkey == subnet.owner or neuron.permit):
        raise ChainError("NeuronNoValidatorPermit", Refusal.NO_PERMIT)
    uids = [uid for uid, _ in pairs]
    if len(set(uids)) < len(uids):
        raise ChainError("DuplicateUids", Refusal.DUPLICATE_UID)
    if any(uid >= len(subnet.neurons) for uid in uids):
        raise ChainError("UidVecContainInvalidOne", Refusal.UNKNOWN_UID)
    if not is_self_weight and len(pairs) < min(len(subnet.neurons), rules.min_allowed):
        raise ChainError("WeightVecLengthIsLow", Refusal.TOO_FEW)
    stored = _upscaled(pairs)
    if not is_self_weight and has_too_large_share(stored, rules.max_weight_u16):
        raise ChainError("MaxWeightExceeded", Refusal.TOO_LARGE)
    rows = attrs.evolve(rows, rows={**rows.rows, own: stored})
    if not rules.commit_reveal:
        rows = _updated(rows, own, row.block)
    return _with_rows(subnet, row.mechanism, rows, row)


def _commit_row(subnet: SubnetState, row: LogEntry) -> SubnetState:
    """Commit a row, the newest of its mechanism; whether it may be set its reveal asks alone.

    Raises:
        ChainError: by a rule.
    """
    rows, block = mechanism_of(subnet, row.mechanism), row.block
    own = _registered(subnet, row.hotkey).uid
    if _is_too_soon(subnet, rows, own, block):
        raise ChainError("CommittingWeightsTooFast", Refusal.TOO_SOON)
    epoch = subnet.epoch_with_lookahead(block)
    pending = sum(item.hotkey == row.hotkey and item.epoch == epoch for item in rows.committed)
    if pending >= MAX_PENDING_ROWS:
        raise ChainError("TooManyUnrevealedCommits", Refusal.TOO_MANY_PENDING)
    reveal_round = beacon_round(_expected_reveal_block(subnet, block))
    row = attrs.evolve(row, kind="committed", epoch=epoch, reveal_round=reveal_round)
    rows = attrs.evolve(_updated(rows, own, block), committed=(*rows.committed, row))
    return _with_rows(subnet, row.mechanism, rows, row)


def commit(subnet: SubnetState, block: int, /, *, hotkey: str, data: bytes) -> SubnetState:
    """Publish bytes of a hotkey.

    Raises:
        ChainError: by a rule.
    """
    if len(data) > MAX_COMMITMENT_BYTES:
        name = f"found {len(data)} bytes, expected at most {MAX_COMMITMENT_BYTES}"
        raise ChainError(name, Refusal.OTHER)
    if subnet.uid_of(hotkey) is None:
        raise ChainError("AccountNotAllowedCommit", Refusal.NOT_REGISTERED)
    epoch, used = subnet.used_space.get(hotkey, (subnet.epoch, 0))
    # the commitments of a tempo are counted by the epochs that have been, without a look ahead
    used = (used if epoch == subnet.epoch else 0) + max(len(data), LEAST_COMMITMENT_SPACE)
    if used > subnet.hyperparameters.commitment_space:
        raise ChainError("SpaceLimitExceeded", Refusal.NO_COMMITMENT_SPACE)
    return attrs.evolve(
        subnet,
        commitments={**subnet.commitments, hotkey: Commitment(hotkey, block, data)},
        used_space={**subnet.used_space, hotkey: (subnet.epoch, used)},
        log=(*subnet.log, LogEntry("commitment", block, hotkey, data=data)),
    )


def _reveal_rows(subnet: SubnetState, block: int) -> SubnetState:
    """Apply the committed rows that are due at the start of a block; those too late vanish.

    A row is due in the epoch ``reveal_epochs`` after its own, once the beacon has its round.
    """
    epoch = subnet.epoch_with_lookahead(block) - subnet.hyperparameters.reveal_epochs
    for rows in subnet.mechanisms:
        for row in rows.committed:
            is_there = row.epoch == epoch and row.reveal_round <= beacon_round(block)
            if is_there or row.epoch < epoch:
                subnet = _reveal_row(subnet, row, block, epoch)
    return subnet


def _reveal_row(subnet: SubnetState, row: LogEntry, block: int, epoch: int) -> SubnetState:
    rows = subnet.mechanisms[row.mechanism]
    remaining = tuple(item for item in rows.committed if item is not row)
    subnet = _with_rows(subnet, row.mechanism, attrs.evolve(rows, committed=remaining))
    row, reason = attrs.evolve(row, kind="revealed", block=block), "expired"
    if row.epoch == epoch:
        try:
            return _set_row(subnet, row)
        except ChainError as refusal:
            reason = refusal.message
    row = attrs.evolve(row, kind="vanished", reason=reason)
    return attrs.evolve(subnet, log=(*subnet.log, row))


def _run_epoch(subnet: SubnetState, block: int) -> SubnetState:
    """Run one of the chain's epochs, as far as it is modelled: its number, and the permits."""
    most = subnet.hyperparameters.max_validators
    neurons = subnet.neurons
    if most is not None:
        staked = [neuron for neuron in neurons if neuron.stake_rao > 0]
        ranked = sorted(staked, key=lambda neuron: (-neuron.stake_rao, neuron.uid))
        permitted = {neuron.uid for neuron in ranked[:most]}
        neurons = tuple(attrs.evolve(n, permit=n.uid in permitted) for n in neurons)
    return attrs.evolve(
        subnet,
        neurons=neurons,
        epoch=subnet.epoch + 1,
        last_epoch_block=block,
        pending_epoch_block=0,
    )


def register(  # noqa: PLR0913  # what a neuron has
    subnet: SubnetState,
    block: int,
    /,
    *,
    hotkey: str,
    uid: int | None = None,
    stake_rao: int = 0,
    permit: bool = False,
    coldkey: str = "",
) -> SubnetState:
    """Give a hotkey the next uid, or one that another has until now.

    A uid that is taken over loses its rows, and its weight in the rows of others becomes 0; rows
    that its hotkey has committed stay, as the chain keeps them by hotkey.

    Raises:
        ChainError: the hotkey has a uid, there is no room, or the uid is the owner's.
    """
    if subnet.uid_of(hotkey) is not None:
        raise ChainError(f"the hotkey {hotkey} is registered already", Refusal.OTHER)
    n = len(subnet.neurons)
    uid = n if uid is None else uid
    neuron = Neuron(uid, hotkey, permit, block, stake_rao, coldkey)
    if uid == n:
        return _append(subnet, neuron, block)
    previous = neuron_of(subnet, uid).hotkey
    if previous == subnet.owner:
        message = f"the uid {uid} is that of the subnet's owner, which nobody takes over"
        raise ChainError(message, Refusal.OTHER)
    return attrs.evolve(
        subnet,
        neurons=_replaced(subnet.neurons, uid, neuron),
        mechanisms=tuple(_cleared(rows, uid, block) for rows in subnet.mechanisms),
        commitments={key: c for key, c in subnet.commitments.items() if key != previous},
        used_space={key: used for key, used in subnet.used_space.items() if key != previous},
    )


def _append(subnet: SubnetState, neuron: Neuron, block: int) -> SubnetState:
    if neuron.uid >= subnet.hyperparameters.max_uids:
        message = "the subnet is full, and whom the chain replaces depends on what it has paid"
        raise ChainError(f"{message}: name the uid to take over", Refusal.NOT_MODELLED)
    return attrs.evolve(
        subnet,
        neurons=(*subnet.neurons, neuron),
        mechanisms=tuple(
            attrs.evolve(rows, last_update=(*rows.last_update, block)) for rows in subnet.mechanisms
        ),
    )


def _cleared(rows: MechanismState, uid: int, block: int) -> MechanismState:
    others = {
        own: tuple((to, 0 if to == uid else weight) for to, weight in row)
        for own, row in rows.rows.items()
        if own != uid
    }
    return _updated(attrs.evolve(rows, rows=others), uid, block)


def trim(subnet: SubnetState, _block: int, /, *, uids: Iterable[int]) -> SubnetState:
    """Remove uids; those that stay move down into the gaps, and rows with them.

    Raises:
        ChainError: there is no such uid, or it is the owner's.
    """
    gone = set(uids)
    for uid in gone:
        if neuron_of(subnet, uid).hotkey == subnet.owner:
            raise ChainError(f"the uid {uid} is that of the subnet's owner", Refusal.OTHER)
    kept = [neuron for neuron in subnet.neurons if neuron.uid not in gone]
    new_uids = {neuron.uid: uid for uid, neuron in enumerate(kept)}
    return attrs.evolve(
        subnet,
        neurons=tuple(attrs.evolve(neuron, uid=uid) for uid, neuron in enumerate(kept)),
        mechanisms=tuple(_moved(rows, new_uids) for rows in subnet.mechanisms),
    )


def _moved(rows: MechanismState, new_uids: Mapping[int, int]) -> MechanismState:
    return attrs.evolve(
        rows,
        last_update=tuple(rows.last_update[uid] for uid in new_uids),
        rows={
            new_uids[own]: tuple((new_uids[to], x) for to, x in row if to in new_uids)
            for own, row in rows.rows.items()
            if own in new_uids
        },
    )


def set_neuron(subnet: SubnetState, _block: int, /, *, uid: int, **changes: Any) -> SubnetState:  # noqa: ANN401  # by name
    """Change a neuron's ``stake_rao`` or ``permit``, which an epoch gives too.

    Raises:
        ChainError: there is no such uid.
    """
    neuron = attrs.evolve(neuron_of(subnet, uid), **changes)
    return attrs.evolve(subnet, neurons=_replaced(subnet.neurons, uid, neuron))


def set_hyperparameters(subnet: SubnetState, _block: int, /, **changes: Any) -> SubnetState:  # noqa: ANN401  # by name
    """Change hyperparameters, as `Hyperparameters` has them."""
    changed = attrs.evolve(subnet.hyperparameters, **changes)
    return attrs.evolve(subnet, hyperparameters=changed)


def request_epoch(subnet: SubnetState, _block: int, /, *, block: int) -> SubnetState:
    """Ask for an epoch at a block, before the tempo is over."""
    return attrs.evolve(subnet, pending_epoch_block=block)


RULES: Mapping[str, Callable[..., SubnetState]] = MappingProxyType(
    {
        rule.__name__: rule
        for rule in (
            submit_row,
            commit,
            register,
            trim,
            set_neuron,
            set_hyperparameters,
            request_epoch,
        )
    }
)
"""All that can be done in a subnet, by name."""


def mechanism_of(subnet: SubnetState, mechanism: int) -> MechanismState:
    """Return a mechanism of a subnet.

    Raises:
        ChainError: there is none.
    """
    if not 0 <= mechanism < len(subnet.mechanisms):
        raise ChainError("MechanismDoesNotExist", Refusal.NO_SUBNET)
    return subnet.mechanisms[mechanism]


def neuron_of(subnet: SubnetState, uid: int) -> Neuron:
    """Return a neuron of a subnet.

    Raises:
        ChainError: there is no such uid.
    """
    if not 0 <= uid < len(subnet.neurons):
        raise ChainError(f"found no uid {uid}", Refusal.UNKNOWN_UID)
    return subnet.neurons[uid]


def _registered(subnet: SubnetState, hotkey: str) -> Neuron:
    uid = subnet.uid_of(hotkey)
    if uid is None:
        raise ChainError("HotKeyNotRegisteredInSubNet", Refusal.NOT_REGISTERED)
    return subnet.neurons[uid]


def _is_too_soon(subnet: SubnetState, rows: MechanismState, uid: int, block: int) -> bool:
    last = rows.last_update[uid]
    return last != 0 and block - last < subnet.hyperparameters.rate_limit_blocks


def _upscaled(pairs: Pairs) -> Pairs:
    """Return a row as the chain stores it: its greatest weight is 65535."""
    from tallystick_yuma.weights import upscaled  # NumPy

    weights = upscaled([weight for _, weight in pairs])
    return tuple((uid, weight) for (uid, _), weight in zip(pairs, weights, strict=True))


def _expected_reveal_block(subnet: SubnetState, block: int) -> int:
    """Return the first block of the epoch of a reveal, as a client that commits computes it."""
    tempo, later = subnet.hyperparameters.tempo, subnet.hyperparameters.reveal_epochs
    if subnet.is_epoch_due(block):
        return block + tempo * later
    return (subnet.next_epoch_block() or block) + tempo * (later - 1)


def _with_rows(
    subnet: SubnetState, mechanism: int, rows: MechanismState, *log: LogEntry
) -> SubnetState:
    mechanisms = (*subnet.mechanisms[:mechanism], rows, *subnet.mechanisms[mechanism + 1 :])
    return attrs.evolve(subnet, mechanisms=mechanisms, log=(*subnet.log, *log))


def _updated(rows: MechanismState, uid: int, block: int) -> MechanismState:
    last = (*rows.last_update[:uid], block, *rows.last_update[uid + 1 :])
    return attrs.evolve(rows, last_update=last)


def _replaced(neurons: tuple[Neuron, ...], uid: int, neuron: Neuron) -> tuple[Neuron, ...]:
    return (*neurons[:uid], neuron, *neurons[uid + 1 :])
