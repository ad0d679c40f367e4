"""Membership: a state is one of a network that a daemon can run, or is refused at its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tallystick.errors import InputError
from tallystick.io.text import visible
from tallystick_allocation.recipients import EXPECTED, is_bound, key_of
from tallystick_chain.network import Network
from tallystick_service.health import Problem
from tallystick_state.ledger import Ledger
from tallystick_state.pools import Pools
from tallystick_state.rules import EpochRules, StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_validator.attributes import AttributeFile
from tallystick_validator.health import problem_of


def check_membership(ledger: Ledger, network: Network, attributes: AttributeFile) -> None:
    """Refuse a state that no validator of this network has.

    Args:
        ledger: the state.
        network: the network file.
        attributes: what the validator's own file says beside the chain.

    Raises:
        InputError: it began with other rules, asks for what no daemon has, or names a validator of
            its own.
    """
    for message in _objections(ledger, network, attributes):
        raise InputError(f"{ledger.store.shown}: {message}")


def _objections(ledger: Ledger, network: Network, attributes: AttributeFile) -> Iterator[str]:
    genesis, begun_with = ledger.in_force.at(0).digest, ledger.in_force.network
    if network.genesis not in {None, genesis}:
        found = f"found a state that began with the rules {genesis}, expected {network.genesis}"
        yield f"{found}, the genesis of the network file: take the state of this network"
    if begun_with not in {None, network.digest}:
        found = f"found a state that began with the network file {begun_with}"
        remedy = "take the network file of the others, or the state"
        yield f"{found}, expected {network.digest}: {remedy}"
    for problem in unmet(ledger.in_force, ledger.open_epoch(), attributes):
        yield f"{problem.message}: {problem.remedy}"
    own = ledger.allowed.validator
    if network.exchange is not None and own is not None:
        found = f"found a state of the validator {visible(own)}, expected one that names none"
        yield f"{found}, as the states of a network are equal: begin it without --validator"


def unmet(in_force: RulesInForce, open_epoch: int, attributes: AttributeFile) -> Iterator[Problem]:
    """Yield what a daemon cannot do of what rules and pools ask for, from the last epoch on.

    Args:
        in_force: those of a state.
        open_epoch: the first epoch that is not closed.
        attributes: what a file says beside the chain.
    """
    since = max(open_epoch - 1, 0)
    by_owner = dict[str, list[str]]()
    for timeline in in_force.lines.values():
        for _, until, rules in timeline.spans():
            if until is None or until > since:
                yield from attributes.unmet(rules)
                by_owner.setdefault(rules.rule_set.reference, []).extend(_recipients(rules))
    for _, until, pools in in_force.pools.timeline.spans():
        if isinstance(pools, Pools) and pools.burn is not None and (until is None or until > since):
            by_owner.setdefault("the pools", []).append(key_of(pools.burn))
    for owner, keys in by_owner.items():
        for key in keys:
            if not is_bound(key):
                message = f"{owner}: found a share for {key}, whoever holds it, expected {EXPECTED}"
                yield problem_of("recipient-unbound", visible(message), failing=True)


def _recipients(rules: StateRules) -> Iterator[str]:
    for step in () if rules.allocation is None else rules.allocation.steps:
        yield from (key for _, key in step.rules.named())


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
