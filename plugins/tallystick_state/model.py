"""The state of a subnet as a value: miners, their reputations, and the tracked tier thresholds.

Everything here is immutable and free of time, chance and files. Transitions, in the modules beside
this one, take a state and return the next.

Invariants of a state:

- a slot (uid) belongs to at most one miner;
- a miner has a reputation for every type that it ever declared, in [floor, ceiling], in nano;
- the types of a miner are sorted;
- a carried column has values of miners with a slot alone as an epoch begins.

The canonical form of a state is the RFC 8785 form of its JSON values: miners are an object by
hotkey, and decimals are text of nine places.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from tallystick.canonical import digest
from tallystick.numbers.nano import from_text, to_text
from tallystick.numbers.text import repr_as

FORMAT = 1
"""Version of the canonical form of a snapshot."""

Nano = Annotated[int, "nano"]
"""An integer count of 1e-9, which is text in the canonical form."""

Columns = Mapping[str, Mapping[str, Nano]]
"""Columns of an allocation that outlive their round: by name, what each hotkey has."""

_T = TypeVar("_T")


@attrs.frozen
class MinerEntry:
    """One hotkey.

    Attributes:
        hotkey: who it is.
        uid: its slot; None once another hotkey took the slot over, or it left the subnet.
        types: the skill types that it declares, sorted.
        reputation: by skill type, in nano; also of types that it no longer declares, so that a
            type that is dropped and declared again does not start anew.
        flags: collusion flags since they were last cleared.
        flagged_by: how many of them each validator gave, where the rule set asks for a quorum of
            validators; otherwise empty, and no part of the canonical form.
        registered_block: the block of the chain at which the hotkey registered, where its list of
            miners has one; otherwise None, and no part of the canonical form.
        anew: the epoch in which the hotkey last registered again at a later block and so began
            anew: records of earlier epochs count for it no more; None where it never did, and no
            part of the canonical form.
    """

    hotkey: str
    uid: int | None
    types: tuple[str, ...]
    reputation: Mapping[str, Nano]
    flags: int = 0
    flagged_by: Mapping[str, int] = attrs.field(factory=dict)
    registered_block: int | None = None
    anew: int | None = None


@attrs.frozen
class State:
    """The live state, which transitions read.

    Attributes:
        epoch: the open epoch, from 0.
        miners: by hotkey.
        thresholds: by skill type, the tracked tier thresholds in nano, by name.
        carry: by line, the carried columns of its allocation, as far as they hold anything; they
            move only when an epoch is closed. Where there is none it is no part of the canonical
            form.
    """

    epoch: int
    miners: Mapping[str, MinerEntry] = attrs.field(repr=repr_as("miner"))
    thresholds: Mapping[str, Mapping[str, Nano]] = attrs.field(repr=repr_as("skill type"))
    carry: Mapping[str, Columns] = attrs.field(factory=dict, repr=repr_as("line"))

    @property
    def slots(self) -> dict[str, int]:
        """The slots by hotkey, of the miners that have one."""
        return {m.hotkey: m.uid for m in self.miners.values() if m.uid is not None}


@attrs.frozen
class Snapshot:
    """The state at the start of an epoch, which rounds pin; kept for ever.

    Attributes:
        state: as the epoch began; ``state.epoch`` is its number.
        rule_set: the digest of the rule set.
        previous: the digest of the snapshot before; None for the first.
        events_digest: of the events, and of the attributes, that led from the one before; None for
            the first.
        genesis: of the first one, the digest of what the state began under, where that is more than
            rules; None elsewhere, which is no part of the canonical form.
        format: the version of the canonical form.
    """

    state: State
    rule_set: str
    previous: str | None = None
    events_digest: str | None = None
    genesis: str | None = None
    format: int = attrs.field(default=FORMAT, init=False)

    @property
    def digest(self) -> str:
        """``sha256:`` of the canonical form: it covers every snapshot and all events before."""
        return digest(unstructure(self))


def unstructure(value: State | Snapshot) -> dict[str, Any]:
    """Return a state or a snapshot as JSON values."""
    document: dict[str, Any] = _converter().unstructure(value)
    return document


def structure(document: Mapping[str, Any], cls: type[_T]) -> _T:
    """Return the state or the snapshot that `unstructure` made JSON values of.

    Raises:
        KeyError: a key is missing.
        TypeError: a value has another type.
        ValueError: a value cannot be.
    """
    return _converter().structure(document, cls)


@cache
def _converter() -> cattrs.Converter:
    converter, omitted = cattrs.Converter(detailed_validation=False), override(omit_if_default=True)
    converter.register_structure_hook_func(_is_nano, lambda value, _: from_text(value))
    converter.register_unstructure_hook_func(_is_nano, to_text)
    # a miner is under its hotkey, without flags of nobody and without no registration
    write_miner = make_dict_unstructure_fn(
        MinerEntry,
        converter,
        hotkey=override(omit=True),
        flagged_by=omitted,
        registered_block=omitted,
        anew=omitted,
    )
    read_miner = make_dict_structure_fn(MinerEntry, converter)

    def read_miners(documents: Mapping[str, Any], _: object) -> dict[str, MinerEntry]:
        return {
            hotkey: read_miner({"hotkey": hotkey, **fields}, MinerEntry)
            for hotkey, fields in documents.items()
        }

    converter.register_unstructure_hook(MinerEntry, write_miner)
    converter.register_structure_hook_func(
        lambda target: target == Mapping[str, MinerEntry], read_miners
    )
    # most states were begun without carried columns
    write_state = make_dict_unstructure_fn(State, converter, carry=omitted)
    converter.register_unstructure_hook(State, write_state)
    # the name that the first snapshots have, which later ones cover
    evidence = override(rename="evidence")
    write_snapshot = make_dict_unstructure_fn(
        Snapshot,
        converter,
        _cattrs_include_init_false=True,
        events_digest=evidence,
        genesis=omitted,
    )
    read_snapshot = make_dict_structure_fn(Snapshot, converter, events_digest=evidence)
    converter.register_unstructure_hook(Snapshot, write_snapshot)
    converter.register_structure_hook(Snapshot, read_snapshot)
    return converter


def _is_nano(target: Any) -> bool:  # noqa: ANN401  # a type form
    return target is Nano
