"""Membership: a state is one of a network, or is refused before anything is closed."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.errors import InputError
from tallystick.io.text import visible
from tallystick_chain.network import Network
from tallystick_state.ledger import Ledger
from tallystick_state.rules import EpochRules


def check_membership(ledger: Ledger, network: Network) -> None:
    """Refuse a state that no validator of this network has.

    Raises:
        InputError: it began with other rules, or names a validator of its own.
    """
    genesis = ledger.in_force.at(0).digest
    if network.genesis not in {None, genesis}:
        raise InputError(
            f"{ledger.store.shown}: found a state that began with the rules {genesis}, "
            f"expected {network.genesis}, the genesis of the network file: take the state "
            "of this network"
        )
    begun_with = ledger.in_force.origin.network
    if begun_with not in {None, network.digest}:
        raise InputError(
            f"{ledger.store.shown}: found a state that began with the network file "
            f"{begun_with}, expected {network.digest}: take the network file of the "
            "others, or the state"
        )
    own = ledger.allowed.validator
    if network.exchange is not None and own is not None:
        raise InputError(
            f"{ledger.store.shown}: found a state of the validator {visible(own)}, "
            "expected one that names none, as the states of a network are equal: begin it "
            "without --validator"
        )


def lengths_of_others(rules: EpochRules, network: Network) -> Mapping[str, int]:
    """Return the blocks an epoch of each line whose epochs are not as long as the network's.

    The network file decides: it is what validators share, and rules move to networks whose epochs
    are of other lengths. So it is a fact and a warning, and no problem for ever.
    """
    from tallystick_state.sections.epochs import EPOCHS

    epochs = {line.line: line.rule_set.section(EPOCHS) for line in rules.lines}
    return {
        line: section.blocks
        for line, section in epochs.items()
        if section is not None and section.blocks != network.epoch_blocks
    }
