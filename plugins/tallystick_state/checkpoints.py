"""Checkpoints of a state: what its log of epochs was, and proofs of rows in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tallystick.canonical import PREFIX
from tallystick.errors import StateError
from tallystick.json_values import json_value
from tallystick_state.epoch_log import EpochLog
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.step_roots import KEY_SIZES, STEPS, Key, RootedStep, place_of, step_tree
from tallystick_state.stored_state import StoredState
from tallystick_state.trust.checkpoint import Checkpoint, check_name
from tallystick_state.trust.proof import Proof

_GENESIS_DIGITS = 16


def checkpoint(ledger: StoredState, origin: str | None = None) -> Checkpoint:
    """Return the checkpoint of a state, which nobody has signed yet; it covers every closed epoch.

    Args:
        ledger: the state.
        origin: the name of its log; by default `default_origin`.

    Raises:
        TrustError: the origin cannot be the name of a key.
    """
    with ledger.epoch_log(keep=True) as log:
        return log_checkpoint(log, origin)


def log_checkpoint(log: EpochLog, origin: str | None = None) -> Checkpoint:
    """Return the checkpoint of closed epochs; arguments and errors as of `checkpoint`."""
    origin = origin or default_origin(log.in_force)
    check_name(origin)
    return Checkpoint(origin, log.tree.size, log.tree.root())


def default_origin(in_force: RulesInForce) -> str:
    """Return the name of a state's log: its network, or its genesis, and its validator."""
    begun = in_force.genesis.removeprefix(PREFIX)[:_GENESIS_DIGITS]
    network = begun if in_force.root is None else in_force.root.network
    return f"tallystick/{network}/{quote(in_force.allowed.validator or 'state', safe='')}"


def row_proof(
    ledger: StoredState,
    epoch: int,
    step: RootedStep,
    key: Sequence[Any],
    signed: Checkpoint | None = None,
) -> Proof:
    """Return the proof that a row is in a step of an epoch, and the epoch in the log.

    Args:
        ledger: the state.
        epoch: a closed one.
        step: which.
        key: of the row.
        signed: the checkpoint that it leads to; by default that of now, which nobody has signed.

    Raises:
        StateError: the epoch is not closed, the step has no rows, or none with that key.
        TrustError: the state is not what the checkpoint says.
    """
    with ledger.epoch_log(keep=True) as log:
        return log_proof(log, epoch, step, key, signed or log_checkpoint(log))


def log_proof(
    log: EpochLog, epoch: int, step: RootedStep, key: Sequence[Any], checkpoint: Checkpoint
) -> Proof:
    """Return the proof that a row is in closed epochs; arguments and errors as of `row_proof`."""
    checkpoint.check_log(log.tree)
    if epoch >= checkpoint.size:
        raise StateError(
            f"found the epoch {epoch}, expected one of the {checkpoint.size} that the "
            "checkpoint covers"
        )
    rows = log.rows(epoch)[step]
    if rows is None:
        raise StateError(
            f"found no {step} in the epoch {epoch}, expected some: the rule set does not ask "
            "for their digests"
        )
    index = _place(rows, step, tuple(key))
    return Proof(
        checkpoint=checkpoint,
        leaf=json_value(log.leaves[epoch]),
        leaf_path=log.tree.path(epoch, checkpoint.size),
        step=step,
        row=json.loads(rows[index]),
        row_index=index,
        row_path=step_tree(rows).path(index),
    )


def _place(rows: Sequence[bytes], step: RootedStep, key: Key) -> int:
    """Return the place of the row with a key."""
    if step not in STEPS or len(key) != KEY_SIZES[step]:
        raise StateError(
            f"found a key of {len(key)} parts, expected the {KEY_SIZES[step]} of {step}"
        )
    index = place_of(rows, key)
    if index is None:
        raise StateError(
            f"found no row {json.dumps(key, ensure_ascii=False)} among the {len(rows)} of {step}, "
            "expected one that is there"
        )
    return index
