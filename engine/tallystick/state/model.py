"""The state of a subnet as a value: miners, their reputations, and the tracked tier thresholds.

Everything here is immutable and free of time, chance and files. Transitions, in the modules beside
this one, take a state and return the next.

Invariants of a state:

- a slot (uid) belongs to at most one miner;
- a miner has a reputation for every type that it ever declared, in [floor, ceiling], in nano;
- the types of a miner are sorted, and so are miners in the canonical form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tallystick.canonical import digest
from tallystick.numbers.nano import from_text, to_text

FORMAT = 1
"""The version of the canonical form of a state."""


@attrs.frozen
class Miner:
    """One hotkey.

    Attributes:
        hotkey: who it is.
        uid: its slot; None once another hotkey took the slot over.
        types: the skill types that it declares, sorted.
        reputation: by skill type, in nano; also of types that it no longer declares, so that a
            type that is dropped and declared again does not start anew.
        flags: collusion flags since they were last cleared.
    """

    hotkey: str
    uid: int | None
    types: tuple[str, ...]
    reputation: Mapping[str, int]
    flags: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The miner as JSON values, without its hotkey."""
        return {
            "flags": self.flags,
            "reputation": {name: to_text(nano) for name, nano in sorted(self.reputation.items())},
            "types": list(self.types),
            "uid": self.uid,
        }

    @classmethod
    def from_dict(cls, hotkey: str, found: Mapping[str, Any]) -> Miner:
        """The miner that `to_dict` wrote."""
        reputation = {name: from_text(text) for name, text in found["reputation"].items()}
        return cls(hotkey, found["uid"], tuple(found["types"]), reputation, found["flags"])


@attrs.frozen
class State:
    """What the next transition reads.

    Attributes:
        epoch: the open epoch, from 0.
        miners: by hotkey.
        thresholds: by skill type, the tracked tier thresholds in nano, by name.
    """

    epoch: int
    miners: Mapping[str, Miner]
    thresholds: Mapping[str, Mapping[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON values; decimals are text of nine places."""
        thresholds = {
            skill_type: {name: to_text(nano) for name, nano in sorted(values.items())}
            for skill_type, values in sorted(self.thresholds.items())
        }
        miners = {hotkey: miner.to_dict() for hotkey, miner in sorted(self.miners.items())}
        return {"epoch": self.epoch, "miners": miners, "thresholds": thresholds}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> State:
        """The state that `to_dict` wrote."""
        miners = {hotkey: Miner.from_dict(hotkey, each) for hotkey, each in found["miners"].items()}
        thresholds = {
            skill_type: {name: from_text(text) for name, text in values.items()}
            for skill_type, values in found["thresholds"].items()
        }
        return cls(found["epoch"], miners, thresholds)


@attrs.frozen
class Snapshot:
    """The state at the start of an epoch, which rounds pin; kept for ever.

    Attributes:
        state: as the epoch began; ``state.epoch`` is its number.
        rule_set: the digest of the rule set.
        previous: the digest of the snapshot before; None for the first.
        evidence: the digest of the signals that led from the one before; None for the first.
    """

    state: State
    rule_set: str
    previous: str | None = None
    evidence: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The snapshot as JSON values."""
        found = {"evidence": self.evidence, "format": FORMAT, "previous": self.previous}
        return {**found, "rule_set": self.rule_set, "state": self.state.to_dict()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Snapshot:
        """The snapshot that `to_dict` wrote."""
        state = State.from_dict(found["state"])
        return cls(state, found["rule_set"], found["previous"], found["evidence"])

    @property
    def digest(self) -> str:
        """``sha256:`` of the canonical form: it covers every snapshot before and all evidence."""
        return digest(self.to_dict())
