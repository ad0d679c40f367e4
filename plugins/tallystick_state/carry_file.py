"""The carry file: reputations, averages, thresholds and windows with which a state begins.

A validator that has run for months has values that no record of a new state leads to. They come in
once, as the state begins: the state before its first epoch, and the records that windows look back
on. Such a record has a round below 0 and no epoch that counted it, so that no rule but that of
windows and averages reads it. The digest of a carry covers both; the first entry of the log has it
with the state, and the entries after it are the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError, StateError
from tallystick.io.documents import read_json
from tallystick.io.json_schema import first_problem
from tallystick.io.paths import PathLike, path_of
from tallystick.io.text import visible
from tallystick.numbers.nano import from_decimal, from_text, to_text
from tallystick.records.messages import shown
from tallystick_allocation.population import EMISSION, QUALITY
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.carry import carried_names
from tallystick_state.event import StateEvent
from tallystick_state.genesis import Carry
from tallystick_state.miners import ENGINE, LONGEST_HOTKEY, check_hotkey, flag
from tallystick_state.model import MinerEntry, State
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.store.transaction import CARRIED
from tallystick_state.template_state import SUFFIX, TemplateState

if TYPE_CHECKING:
    from tallystick_state.rules import EpochRules, StateRules

MAX_CARRY_BYTES = 1 << 28
"""Maximum size of a carry file, in bytes."""
CODE = "bad-carry"
"""Code of the refusal of a carry file that its rule sets cannot begin with."""
_SCHEMA = "carry-1"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@attrs.frozen
class CarryFile:
    """The content of a carry file.

    Attributes:
        path: the file.
        value: its JSON value, which fits the schema.
    """

    path: Path
    value: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> CarryFile:
        """Return the content of a carry file.

        Raises:
            InputError: it cannot be read, is no JSON, or does not fit the schema ``carry-1``.
        """
        try:
            value = read_json(path, largest=MAX_CARRY_BYTES, numbers="whole")
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"{path}: a carry file cannot be read ({reason}): check the name"
            ) from error
        except ValueError as error:
            # some reasons say what they expect
            rest = "" if ", expected " in str(error) else ", expected a carry file in JSON"
            raise InputError(f"{path}: found {error}{rest}") from None
        problem = first_problem(_SCHEMA, value)
        if problem is not None:
            raise InputError(f"{path}: {problem.path or 'the whole'}: {problem.message}")
        return cls(path, value)

    @classmethod
    def of(cls, carry: PathLike | TemplateState, rules: EpochRules) -> CarryFile:
        """Return the content of a carry file, or what the template's state file is one of.

        Args:
            carry: the file, by its name one of either kind; or the template's, read before.
            rules: those that the state begins with.

        Raises:
            InputError: as `read`, or as those of `TemplateState`.
        """
        if not isinstance(carry, TemplateState):
            path = path_of(carry, "a carry file")
            if path.suffix != SUFFIX:
                return cls.read(path)
            carry = TemplateState.read(path)
        return cls(carry.path, carry.value(rules))

    def carried(self, rules: EpochRules) -> tuple[Carry, tuple[StateEvent, ...]]:
        """Return the carry under the rules that a state begins with, and its records in order.

        Raises:
            StateError: the rules have no such type, column or threshold, a value is out of range,
                or two miners have one slot; its ``code`` is ``bad-carry``.
        """
        miners = {name: self._miner(rules, name) for name in sorted(self.value["miners"])}
        self._check_slots(miners)
        columns: dict[str, dict[str, dict[str, int]]] = {}
        for name, miner in miners.items():
            for line, column, nano in self._columns(rules, miner):
                columns.setdefault(line, {}).setdefault(column, {})[name] = nano
        ordered = {line: dict(sorted(of_line.items())) for line, of_line in sorted(columns.items())}
        state = State(0, miners, self._thresholds(rules), ordered)
        state = flag(state, rules, dict(self._flags(rules, miners)))
        records = sorted(
            (record for name in miners for record in self._records(rules, name)),
            key=lambda record: (record.hotkey, record.round, record.task_id, record.skill_type),
        )
        return Carry.of(state, records), tuple(records)

    def _miner(self, rules: EpochRules, hotkey: str) -> MinerEntry:
        # what is no hotkey may be long, and the end of the message is to be read
        place, value = f"miners.{hotkey[:LONGEST_HOTKEY]}", self.value["miners"][hotkey]
        try:
            check_hotkey(hotkey)
        except StateError as error:
            raise self._bad(place, str(error)) from error
        if _CONTROL.search(hotkey):
            raise self._bad(
                place, f"found the hotkey {shown(hotkey)}, expected text without control characters"
            )
        types = tuple(sorted(value["types"]))
        stated = value.get("reputation", {})
        for name in (*types, *stated):
            self._type_rules(rules, f"{place}.{'types' if name in types else 'reputation'}", name)
        reputation: dict[str, int] = {}
        for name in dict.fromkeys((*types, *sorted(stated))):
            of_type = rules.type_rules[name]
            section = of_type.rule_set.section(REPUTATION)
            if name not in stated:
                if section is not None:
                    reputation[name] = of_type.initial_reputation
                continue
            where = f"{place}.reputation.{name}"
            if section is None:
                raise self._bad(
                    where, f"found a reputation, expected none: {of_type.line} has no [reputation]"
                )
            nano = from_text(stated[name])
            if not from_decimal(section.floor) <= nano <= from_decimal(section.ceiling):
                raise self._bad(
                    where,
                    f"found {stated[name]}, expected {section.floor} to {section.ceiling}, the "
                    f"floor and the ceiling of {of_type.rule_set.reference}",
                )
            reputation[name] = nano
        block = value.get("registered_block")
        return MinerEntry(hotkey, value.get("uid"), types, reputation, registered_block=block)

    def _check_slots(self, miners: Mapping[str, MinerEntry]) -> None:
        holders: dict[int, str] = {}
        for name, miner in miners.items():
            if miner.uid is not None and holders.setdefault(miner.uid, name) != name:
                raise self._bad(
                    f"miners.{name}.uid",
                    f"found the uid {miner.uid} of {shown(holders[miner.uid])} too, expected one "
                    "miner in a slot",
                )

    def _columns(self, rules: EpochRules, miner: MinerEntry) -> Iterator[tuple[str, str, int]]:
        place = f"miners.{miner.hotkey}.columns"
        of_lines = self.value["miners"][miner.hotkey].get("columns", {})
        names = {line.line: carried_names(line) for line in rules.lines}
        if of_lines and miner.uid is None:
            raise self._bad(
                place,
                "found columns of a miner without a uid, expected none: who has left begins anew",
            )
        for line, columns in sorted(of_lines.items()):
            if line not in names:
                raise self._bad(place, f"found the line {shown(line)}, expected {_either(names)}")
            for column, text in sorted(columns.items()):
                if column not in names[line]:
                    carries = _either(names[line]) or "none: its allocation carries nothing"
                    raise self._bad(
                        f"{place}.{line}", f"found the column {shown(column)}, expected {carries}"
                    )
                yield line, column, from_text(text)

    def _flags(
        self, rules: EpochRules, miners: Iterable[str]
    ) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the collusion flags by miner and by validator."""
        for hotkey in miners:
            for validator, flags in self.value["miners"][hotkey].get("flags", {}).items():
                place = f"miners.{hotkey}.flags"
                if not any(line.rule_set.section(REPUTATION) is not None for line in rules.lines):
                    raise self._bad(place, "found flags, expected none: no line has [reputation]")
                if validator != ENGINE:
                    try:
                        check_hotkey(validator)
                    except StateError as error:
                        raise self._bad(place, str(error)) from error
                yield (hotkey, validator), flags

    def _thresholds(self, rules: EpochRules) -> dict[str, dict[str, int]]:
        tracked = {name: dict(seeds) for name, seeds in rules.seeds.items()}
        for name, values in self.value.get("thresholds", {}).items():
            if name not in tracked:
                raise self._bad(
                    "thresholds",
                    f"found {shown(name)}, expected a skill type that has tracked thresholds: "
                    f"{_either(tracked) or 'none has'}",
                )
            for threshold, text in values.items():
                if threshold not in tracked[name]:
                    raise self._bad(
                        f"thresholds.{name}",
                        f"found {shown(threshold)}, expected {_either(tracked[name])}",
                    )
                tracked[name][threshold] = from_text(text)
            self._check_thresholds(rules, name, tracked[name])
        return tracked

    def _check_thresholds(self, rules: EpochRules, name: str, tracked: Mapping[str, int]) -> None:
        """Refuse thresholds of a skill type that its rules never lead to."""
        of_type = rules.type_rules[name]
        tiers, epochs = of_type.tiers[name], of_type.rule_set.section(EPOCHS)
        tracking = None if epochs is None else epochs.baseline
        floors = tiers.thresholds({baseline: tracked[baseline] for baseline in tiers.tracked})
        for threshold, nano in tracked.items():
            where = f"thresholds.{name}.{threshold}"
            seed = of_type.seeds[name][threshold]
            is_baseline = threshold in tiers.tracked
            is_published = tracking is not None and tracking.mode == "published"
            if is_baseline and is_published and nano != seed:
                raise self._bad(
                    where,
                    f"found {to_text(nano)}, expected {to_text(seed)}, or nothing: "
                    f"{of_type.rule_set.reference} publishes it",
                )
            if not is_baseline and nano < floors[threshold]:
                raise self._bad(
                    where,
                    f"found {to_text(nano)}, expected at least {to_text(floors[threshold])}, which "
                    "follows from the baseline",
                )

    def _records(self, rules: EpochRules, hotkey: str) -> Iterator[StateEvent]:
        place, value = f"miners.{hotkey}.window", self.value["miners"][hotkey]
        seen = set[tuple[str, str, int]]()
        for index, record in enumerate(value.get("window", ())):
            where = f"{place}[{index}]"
            name, number = record["type"], -record["rounds_ago"]
            of_type = self._type_rules(rules, f"{where}.type", name)
            key = name, record["task"], number
            if key in seen:
                raise self._bad(
                    where,
                    f"found the task {shown(record['task'])} of {shown(name)} twice in one round, "
                    "expected it once",
                )
            seen.add(key)
            self._check_values(of_type, where, record)
            yield StateEvent(
                validator=CARRIED,
                hotkey=hotkey,
                skill_type=name,
                task_id=record["task"],
                round=number,
                epoch=0,
                missed=record.get("missed", False),
                group=record.get("group"),
                measures={key: _whole(text) for key, text in record.get("measures", {}).items()},
                quality=_whole(record[QUALITY]) if QUALITY in record else None,
                emission=_whole(record[EMISSION]) if EMISSION in record else None,
            )

    def _check_values(self, rules: StateRules, where: str, record: Mapping[str, Any]) -> None:
        """Refuse a record that lacks a value which the windows of its line collect."""
        allocation = rules.rule_set.section(ALLOCATION)
        for step in () if allocation is None else allocation.collects:
            if step.records != "window" or record.get("missed"):
                continue
            is_paid = step.value == EMISSION and record["type"] in rules.base_weights
            if (step.value == QUALITY or is_paid) and step.value not in record:
                raise self._bad(
                    where,
                    f"found no {step.value}, expected it: the step {step.name} of "
                    f"{rules.rule_set.reference} collects it",
                )

    def _type_rules(self, rules: EpochRules, where: str, name: str) -> StateRules:
        if name not in rules.type_rules:
            names = [*rules.type_rules]
            raise self._bad(
                where,
                f"found the skill type {shown(name)}, expected {_either(names)}"
                f"{nearest(name, names)}",
            )
        return rules.type_rules[name]

    def _bad(self, place: str, problem: str) -> StateError:
        return StateError(f"{self.path}: {visible(place)}: {problem}", code=CODE)


def _whole(text: str) -> str:
    """Return a decimal with all of its nine places."""
    return to_text(from_text(text))


def _either(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))
