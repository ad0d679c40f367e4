"""Rows of weights: from the weights of a state to the whole numbers that a chain stores.

The greatest weight of a row is 65535, uids ascend, and there are no zeros: so the chain changes no
number. `tallystick_allocation.uint16` alone rounds, here as in
``tallystick weights``.

A weight is a hotkey's, and goes to its uid only while the hotkey holds it by the registration that
the state knows. The weight of a hotkey that has lost its uid, or has registered again since, is
left out; the chain reads a row by proportions, so the others keep theirs to each other, and no uid
is given what is left. A recipient that the rules name is never left out: where it cannot be paid
there is no row. No row is ever made up: without weights there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import TallystickError
from tallystick.io.text import visible
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import repr_as
from tallystick_allocation.recipients import (
    EXPECTED,
    OWNER,
    is_bound,
    key_of,
    registration_of,
    slot_of,
)
from tallystick_allocation.uint16 import dropped, to_uint16
from tallystick_chain.chain import Neuron, Pairs
from tallystick_state.queries import without_command
from tallystick_state.weights import pooled

if TYPE_CHECKING:
    from tallystick_state.queries import StateQueries
    from tallystick_state.rules import EpochRules

_MAJOR, _MINOR = 1_000_000, 1_000


class RowError(TallystickError):
    """Weights that are no row.

    ``code`` is the stable name of the reason: ``no-epoch``, ``no-weights``, ``no-pools``,
    ``recipient-lost``, ``recipient-unbound`` or ``bad-version``.
    """

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)


@attrs.frozen
class WeightRow:
    """The row of an epoch at a block, as it is given to the chain.

    Attributes:
        epoch: whose.
        version_key: that it names.
        pairs: uids, ascending, with their weights; empty where there is no row.
        dropped: by hotkey, or by the key of a recipient, why a weight above 0 is not in the row.
        error: why there is none; None where there is one.
    """

    epoch: int
    version_key: int
    pairs: Pairs = ()
    dropped: Mapping[str, str] = attrs.field(factory=dict, repr=repr_as("miner"))
    error: RowError | None = None


@attrs.frozen(kw_only=True)
class WeightsToSet:
    """The weights of a closed epoch, before they are brought to uids.

    Attributes:
        epoch: which.
        weights: in nano, by hotkey or by the key of a recipient.
        recipients: the keys that get a share by name, miners too.
        registered: by hotkey, the block of the registration that the state knows; a hotkey that is
            left out, or None, is paid by whichever registration it has.
        version_key: of the rules of the epoch.
        reason: why nobody has a weight; empty when somebody has.
    """

    epoch: int
    weights: Mapping[str, int] = attrs.field(repr=repr_as("miner"))
    recipients: Collection[str] = ()
    registered: Mapping[str, int | None] = attrs.field(factory=dict, repr=repr_as("miner"))
    version_key: int
    reason: str = ""

    def row(self, neurons: Sequence[Neuron], owner: str = "") -> WeightRow:
        """Return the row at a block.

        Args:
            neurons: of the subnet at the block, by uid.
            owner: the hotkey of its owner at the block; empty: nobody.

        Raises:
            RowError: nobody has a weight there, or a recipient of a share is not there.
        """
        by_hotkey = {neuron.hotkey: neuron for neuron in neurons}
        by_uid = {neuron.uid: neuron for neuron in neurons}
        slots, lost = dict[str, int](), dict[str, str]()
        for key in sorted(key for key, weight in self.weights.items() if weight):
            if not is_bound(key):
                raise RowError(
                    f"found a share of {key}, whoever holds that slot, expected {EXPECTED}",
                    code="recipient-unbound",
                )
            uid = slot_of(key)
            hotkey = owner if key == OWNER else key
            neuron = by_hotkey.get(hotkey) if uid is None else by_uid.get(uid)
            reason = self._lost(key, neuron)
            if neuron is not None and not reason:
                slots[key] = neuron.uid
            elif key in self.recipients or key == OWNER or uid is not None:
                raise RowError(
                    f"found no {visible(key)} to pay its share {to_text(self.weights[key])} to: "
                    f"{reason}; nobody else is given it",
                    code="recipient-lost",
                )
            else:
                lost[key] = reason
        shares = dict[int, int]()
        for key, uid in slots.items():
            shares[uid] = shares.get(uid, 0) + self.weights[key]
        uids, values = to_uint16(shares)
        if not uids:
            reason = self.reason or "no hotkey with a weight holds its uid any more"
            raise RowError(f"found no weight in epoch {self.epoch}: {reason}", code="no-weights")
        too_small = dropped(shares)
        tiny = {key: too_small[uid] for key, uid in slots.items() if uid in too_small}
        pairs = tuple(zip(uids, values, strict=True))
        return WeightRow(self.epoch, self.version_key, pairs, {**lost, **tiny})

    def _lost(self, key: str, neuron: Neuron | None) -> str:
        """Return why a hotkey, the owner or a slot is not paid at a block; empty where it is."""
        is_slot = slot_of(key) is not None
        if neuron is None and is_slot:
            return "the subnet has no such uid"
        if neuron is None:
            return "it holds no uid" if key in self.recipients else "it holds no uid any more"
        known = registration_of(key) if is_slot else self.registered.get(key)
        if known is None or neuron.registered_block == known:
            return ""
        if is_slot:
            return f"{visible(neuron.hotkey)} registered there at block {neuron.registered_block}"
        return (
            f"it registered at block {neuron.registered_block}, and the state knows its "
            f"registration at {known}"
        )


def weights_to_set(queries: StateQueries) -> WeightsToSet:
    """Return the weights of the epoch that a state has closed last.

    They are those of ``tallystick weights``: of the pools, where lines share all weight, or of the
    only line.

    Args:
        queries: of the state.

    Raises:
        RowError: no epoch is closed, the state has several lines and no pools, or a version that
            no key has.
    """
    state, in_force = queries.state, queries.in_force
    if not state.epoch:
        message = "found no closed epoch, expected one: close it with tallystick epoch close"
        raise RowError(message, code="no-epoch")
    lines = {line: queries.line_weights(line) for line in in_force.lines}
    slots = state.slots
    pools = in_force.pools.at(state.epoch)
    found = [weighed.allocation for weighed in lines.values() if weighed.allocation is not None]
    recipients = frozenset(key for allocation in found for key in allocation.recipients)
    if pools is not None:
        if pools.burn is not None:
            recipients |= {key_of(pools.burn)}
        by_line = {line: weighed.weights for line, weighed in lines.items()}
        weights: Mapping[str, int] = pooled(pools, by_line, slots)
        shared = queries.shared_weights(lines)
        reason = "" if shared is None else shared.reason
    elif len(lines) == 1:
        (weighed,) = lines.values()
        weights = weighed.weights
        reason = queries.chosen(weighed).reason
    else:
        raise RowError(
            f"found the lines {', '.join(lines)} without pools, expected shares of all weight: "
            "share it out with tallystick state init --pool, or sign pools for it",
            code="no-pools",
        )
    epoch = state.epoch - 1
    return WeightsToSet(
        epoch=epoch,
        weights=weights,
        recipients=recipients,
        registered={hotkey: state.miners[hotkey].registered_block for hotkey in slots},
        version_key=version_key(in_force.at(epoch)),
        reason=without_command(reason),
    )


def version_key(rules: EpochRules) -> int:
    """Return the version key of the rules of an epoch, which every row names.

    It is the sum over all lines of major·10⁶ + minor·10³ + patch, so that it grows with each
    version and is the same for all who have the same rules.

    Raises:
        RowError: a minor version or a patch is above 999.
    """
    return sum(_key_of(line.rule_set.rule_set.version) for line in rules.lines)


def _key_of(version: str) -> int:
    # the schema of rule sets has the form; int() refuses thousands of digits
    parts = version.partition("-")[0].split(".")
    major, minor, patch = (int(part) if len(part) < 7 else _MAJOR for part in parts)
    if max(minor, patch) >= _MINOR or major >= _MAJOR:
        raise RowError(
            f"found the version {version[:60]} of a rule set, expected numbers below {_MINOR}, of "
            "which a version key can be made",
            code="bad-version",
        )
    return major * _MAJOR + minor * _MINOR + patch
