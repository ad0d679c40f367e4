"""The state file of the subnet template, ``state.npz``, as a carry file.

It has ``step``, ``scores`` and ``hotkeys``, where the index is the uid: a moving average of each
hotkey, and nothing of how it came about. So a rule set takes it in one of two ways: an average that
its allocation carries begins with the score; or the window of a mean begins full of it, and forgets
it task by task. Who has 0 begins anew.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import InputError
from tallystick.io.text import visible
from tallystick.numbers.nano import from_double, to_text
from tallystick_allocation.population import QUALITY
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.memory import Average

if TYPE_CHECKING:
    from tallystick_state.rules import EpochRules

SUFFIX = ".npz"
MAX_BYTES = 1 << 26
"""Maximum size of the arrays of a file, in bytes."""
_ARRAYS = ("hotkeys", "scores", "step")
_MOST_NAMED = 10


@attrs.frozen
class TemplateState:
    """The scores of hotkeys.

    Attributes:
        path: the file.
        scores: in nano, by uid and hotkey, ascending by uid; those above 0 alone.
    """

    path: Path
    scores: Mapping[tuple[int, str], int] = attrs.field(repr=False)

    @classmethod
    def read(cls, path: Path) -> TemplateState:
        """Return the content of a file.

        Raises:
            InputError: it cannot be read, lacks an array, or has a score that is no number from 0
                to 1; the message names its hotkeys.
        """
        hotkeys, scores = _arrays(path)
        if len(hotkeys) != len(scores):
            raise InputError(
                f"{path}: found {len(scores)} scores of {len(hotkeys)} hotkeys, expected as many"
            )
        bad = [
            f"{visible(hotkey)} (uid {uid}) has {score}"
            for uid, (hotkey, score) in enumerate(zip(hotkeys, scores, strict=True))
            if not 0 <= score <= 1
        ]
        if bad:
            more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
            raise InputError(
                f"{path}: found scores that are none: {', '.join(bad[:_MOST_NAMED])}{more}; "
                "expected numbers from 0 to 1: correct them in the file, or set them to 0"
            )
        slots = zip(enumerate(hotkeys), map(from_double, scores), strict=True)
        return cls(path, {slot: nano for slot, nano in slots if nano})

    def held(self, slots: Mapping[int, str]) -> tuple[TemplateState, tuple[str, ...]]:
        """Return the scores of hotkeys that have their slots still, and the other hotkeys.

        Args:
            slots: the hotkey of each uid, by the chain.
        """
        held = {key: nano for key, nano in self.scores.items() if slots.get(key[0]) == key[1]}
        gone = tuple(hotkey for uid, hotkey in self.scores if (uid, hotkey) not in held)
        return attrs.evolve(self, scores=held), gone

    def value(self, rules: EpochRules) -> Mapping[str, Any]:
        """Return the content of the carry file for the rules that a state begins with.

        Raises:
            InputError: the rules have several types, or no one place where a score goes.
        """
        line, of_type, step = self._step(rules)
        miners: dict[str, Any] = {}
        for (uid, hotkey), nano in self.scores.items():
            miner: dict[str, Any] = {"uid": uid, "types": [of_type]}
            text = to_text(nano)
            if isinstance(step, Average):
                miner["columns"] = {line: {step.name: text}}
            else:
                miner["window"] = [
                    {"type": of_type, "task": f"carried {n}", "rounds_ago": n, QUALITY: text}
                    for n in range(1, 1 + (step.last or 1))
                ]
            if miners.setdefault(hotkey, miner) is not miner:
                raise InputError(
                    f"{self.path}: found {visible(hotkey)} with the uids "
                    f"{miners[hotkey]['uid']} and {uid}, expected each hotkey once"
                )
        return {"format": 1, "miners": miners}

    def _step(self, rules: EpochRules) -> tuple[str, str, Average | Collect]:
        """Return the line, its type, and the step that scores go to."""
        if len(rules.lines) != 1 or len(rules.type_rules) != 1:
            raise InputError(
                f"{self.path}: found one score of each hotkey for rules of the types "
                f"{', '.join(sorted(rules.type_rules))}, expected rules of one type: write a carry "
                "file, which has values of each"
            )
        (line,), (of_type,) = rules.lines, rules.type_rules
        allocation = line.rule_set.section(ALLOCATION)
        steps = () if allocation is None else allocation.steps
        averages = [each for each in steps if isinstance(each, Average)]
        windows = [
            each
            for each in steps
            if isinstance(each, Collect)
            and (each.value, each.statistic, each.records) == (QUALITY, "mean", "window")
        ]
        takers: list[Average] | list[Collect] = averages or windows
        if len(takers) != 1 or (averages and averages[0].normalise):
            raise InputError(
                f"{self.path}: found no one place in the allocation of "
                f"{line.rule_set.reference} for a score of each hotkey, expected one average with "
                "normalise = false, or one mean of quality: write a carry file"
            )
        return line.line, of_type, takers[0]


def _arrays(path: Path) -> tuple[list[str], list[float]]:
    """Return the hotkeys and the scores of a file, by uid.

    Raises:
        InputError: it cannot be read, or has other arrays.
    """
    import numpy as np

    expected = "the state.npz of a validator"
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_BYTES:
            raise InputError(f"{path}: found {size} bytes, expected at most {MAX_BYTES}")
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in _ARRAYS if name not in file.files]
            if missing:
                raise InputError(f"{path}: found no {', '.join(missing)}, expected {expected}")
            scores, hotkeys = file["scores"], file["hotkeys"]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read ({error}), expected {expected}") from error
    if scores.ndim != 1 or scores.dtype.kind != "f":
        found = f"scores of {scores.ndim} dimensions of {scores.dtype}"
        raise InputError(f"{path}: found {found}, expected one of float32 or float64")
    if hotkeys.ndim != 1 or hotkeys.dtype.kind != "U":
        found = f"hotkeys of {hotkeys.ndim} dimensions of {hotkeys.dtype}"
        raise InputError(f"{path}: found {found}, expected one of texts")
    return hotkeys.tolist(), scores.astype(np.float64).tolist()
