"""Miners: registration, and the collusion flags that eject (docs/sources.md, Initial Value)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import StateError
from tallystick.records.messages import shown
from tallystick_allocation.uint16 import LAST_UID
from tallystick_state.event import COUNTED_IN
from tallystick_state.model import Columns, MinerEntry, State
from tallystick_state.rules import EpochRules, StateRules
from tallystick_state.sections.reputation import REPUTATION

Flags = Mapping[tuple[str, str], int]
"""Numbers of flags by miner and validator; below 0 for flags that are withdrawn."""

ENGINE = ""
"""Validator of the flags that the engine computes: no validator has this hotkey."""
FLAG = "collusion_flag"
"""The event of the record format that flags a miner (E35 of docs/errata.md)."""
LAST_BLOCK = 2**53 - 1
"""The last block of a chain: an integer that every reader of JSON has exactly."""
LONGEST_HOTKEY = 64
"""Maximum length of a hotkey, in characters, as in a record."""


def register(  # noqa: PLR0913, PLR0917  # a registration
    state: State,
    rules: EpochRules,
    hotkey: str,
    uid: int,
    types: Iterable[str],
    block: int | None = None,
) -> State:
    """Return the state with a miner registered in a slot.

    A newcomer starts at the initial reputation for each type that it declares. Whoever held the
    slot is left behind with its reputations. A hotkey that registers again keeps its own, and now
    declares the given types; but by a registration that the chain has at a later block than the
    one that is known it begins anew: with initial reputations, without carried values, and without
    records of earlier epochs in its windows. Flags of collusion stay, as nobody may buy them off.

    Args:
        state: the state.
        rules: of its open epoch.
        hotkey: of the miner.
        uid: the slot.
        types: the skill types that it declares.
        block: of its registration on the chain; None where it is not known, which changes nothing.

    Raises:
        StateError: the hotkey, the slot or a type is not possible.
    """
    declared = tuple(sorted(set(types)))
    _check(rules, hotkey, uid, declared)
    before = state.miners.get(hotkey)
    known = before.registered_block if before is not None else None
    if block is not None:
        _check_block(hotkey, block, known)
    is_anew = block is not None and known is not None and block > known
    fresh = {
        name: of_type.initial_reputation
        for name in declared
        if (of_type := rules.type_rules[name]).rule_set.section(REPUTATION) is not None
    }
    reputations = before.reputation if before is not None and not is_anew else {}
    others = {
        name: attrs.evolve(miner, uid=None) if miner.uid == uid else miner
        for name, miner in state.miners.items()
    }
    reputation = {**fresh, **reputations}
    miner = attrs.evolve(
        before or MinerEntry(hotkey, None, (), {}),
        uid=uid,
        types=declared,
        reputation=reputation,
        registered_block=known if block is None else block,
        anew=state.epoch if is_anew else before.anew if before is not None else None,
    )
    carry = _without(state.carry, hotkey) if is_anew else state.carry
    return attrs.evolve(state, miners={**others, hotkey: miner}, carry=carry)


def _without(carry: Mapping[str, Columns], hotkey: str) -> Mapping[str, Columns]:
    """Return the carried columns without the values of a hotkey; empty ones are left out."""
    by_line = {}
    for line, columns in carry.items():
        others = {
            name: {key: nano for key, nano in column.items() if key != hotkey}
            for name, column in columns.items()
        }
        by_line[line] = {name: column for name, column in others.items() if column}
    return {line: columns for line, columns in by_line.items() if columns}


def _check_block(hotkey: str, block: int, known: int | None) -> None:
    """Refuse a block of a registration that cannot be.

    Raises:
        StateError: it is none, or before the one that is known: a list of an older block.
    """
    if not 0 <= block <= LAST_BLOCK:
        raise StateError(f"found the block {block}, expected 0 to {LAST_BLOCK}")
    if known is not None and block < known:
        raise StateError(
            f"found the registration of {shown(hotkey)} at block {block}, expected at least "
            f"{known}, which the state knows: read the miners at a later block"
        )


def begun_anew(miners: Mapping[str, MinerEntry], hotkey: str) -> int:
    """Return the epoch from which on records that are recorded count for a hotkey."""
    miner = miners.get(hotkey)
    # carried values count in the epoch before the first
    return COUNTED_IN if miner is None or miner.anew is None else miner.anew


def without_former(
    columns: Columns, miners: Mapping[str, MinerEntry], epoch: int
) -> dict[str, dict[str, int]]:
    """Return the columns that an epoch began with, without values of who began anew since."""
    return {
        name: {key: nano for key, nano in column.items() if begun_anew(miners, key) < epoch}
        for name, column in columns.items()
    }


def without_slots(state: State) -> State:
    """Return the state in which no miner has a slot."""
    miners = {hotkey: attrs.evolve(miner, uid=None) for hotkey, miner in state.miners.items()}
    return attrs.evolve(state, miners=miners)


def retire(state: State, hotkey: str) -> State:
    """Return the state with a miner without a slot, which keeps its reputations and types.

    Raises:
        StateError: there is no such miner.
    """
    miner = attrs.evolve(miner_of(state, hotkey), uid=None)
    return attrs.evolve(state, miners={**state.miners, hotkey: miner})


def clear(state: State, hotkey: str) -> State:
    """Return the state with a miner's collusion flags cleared, which ends its ejection (E35).

    Raises:
        StateError: there is no such miner.
    """
    miner = attrs.evolve(miner_of(state, hotkey), flags=0, flagged_by={})
    return attrs.evolve(state, miners={**state.miners, hotkey: miner})


def flag(state: State, quorum: int, flags: Flags) -> State:
    """Return the state with so many more collusion flags for some miners, or so many fewer.

    With a quorum of more than one validator they are counted by validator too.
    """
    if not flags:
        return state
    changed = dict(state.miners)
    for (hotkey, validator), more in flags.items():
        miner = changed[hotkey]
        by = dict(miner.flagged_by)
        if quorum > 1:
            by[validator] = by.get(validator, 0) + more
        changed[hotkey] = attrs.evolve(
            miner,
            flags=miner.flags + more,
            flagged_by={name: by[name] for name in sorted(by) if by[name]},
        )
    return attrs.evolve(state, miners=changed)


def as_of(state: State, pinned: State, rules: StateRules, skill_type: str) -> State:
    """Return the miners of a state as they are, with the reputations of a pinned one in a type.

    A miner has the initial reputation where the pinned state lacks it, or the type of it.
    """
    miners = {
        hotkey: attrs.evolve(
            miner,
            reputation={
                **miner.reputation,
                skill_type: pinned_reputation(pinned, rules, hotkey, skill_type),
            },
        )
        for hotkey, miner in state.miners.items()
    }
    return attrs.evolve(state, miners=miners)


def pinned_reputation(pinned: State | None, rules: StateRules, hotkey: str, skill_type: str) -> int:
    """Return the reputation of a miner in a pinned state, in nano; by default the initial one."""
    miner = pinned.miners.get(hotkey) if pinned is not None else None
    reputation = miner.reputation.get(skill_type) if miner is not None else None
    return rules.initial_reputation if reputation is None else reputation


def miner_of(state: State, hotkey: str) -> MinerEntry:
    """Return the miner with a hotkey.

    Raises:
        StateError: there is none.
    """
    if hotkey not in state.miners:
        raise StateError(
            f"found the hotkey {shown(hotkey)}, expected a registered miner: "
            "register it with tallystick miner register"
        )
    return state.miners[hotkey]


def has_declared(miner: MinerEntry, skill_type: str) -> bool:
    """Return whether a miner declares a type, or ever did."""
    return skill_type in miner.types or skill_type in miner.reputation


def check_hotkey(hotkey: str) -> None:
    """Refuse what cannot be a hotkey.

    Raises:
        StateError: it is no Unicode text, or has too few or too many characters.
    """
    if not hotkey.isascii() and hotkey.encode("utf-8", "replace").decode() != hotkey:
        raise StateError(f"found the hotkey {hotkey!a}, expected Unicode text")
    if not 1 <= len(hotkey) <= LONGEST_HOTKEY:
        raise StateError(
            f"found the hotkey {shown(hotkey)} of {len(hotkey)} characters, expected 1 to "
            f"{LONGEST_HOTKEY}"
        )


def _check(rules: EpochRules, hotkey: str, uid: int, types: tuple[str, ...]) -> None:
    check_hotkey(hotkey)
    if not 0 <= uid <= LAST_UID:
        raise StateError(f"found the uid {uid}, expected 0 to {LAST_UID}")
    names = rules.type_rules
    for name in types:
        if name not in names:
            raise StateError(
                f"found the skill type {shown(name)}, expected some of {', '.join(names)}"
                f"{nearest(name, names)}"
            )
    if not types:
        raise StateError(f"found no skill type, expected some of {', '.join(names)}")
