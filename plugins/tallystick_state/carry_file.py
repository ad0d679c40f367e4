"""The carry file: reputations, averages, thresholds and windows with which a state begins.

A validator that has run for months has values that no record of a new state leads to. They come in
once, as the state begins: the state before its first epoch, and the records that windows look back
on. Such a record has a round below 0 and no epoch that counted it, so that no rule but that of
windows and averages reads it. The digest of a carry covers both; the first entry of the log has it
with the state, and the entries after it are the records.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
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
    """The content of a carry file, for the rules that a state begins with.

    Attributes:
        path: the file.
        rules: those rules.
        value: its JSON value, which fits the schema ``carry-1``.
    """

    path: Path
    rules: EpochRules
    value: Mapping[str, Any]

    @classmethod
    def read(cls, carry: PathLike | TemplateState, rules: EpochRules) -> CarryFile:
        """Return the content of a carry file, or what the template's state file is one of.

        Args:
            carry: the file, by its name one of either kind; or the template's, read before.
            rules: those that the state begins with.

        Raises:
            InputError: it cannot be read, is no JSON, or does not fit the schema; or as those of
                `TemplateState`.
        """
        if not isinstance(carry, TemplateState):
            path = path_of(carry, "a carry file")
            if path.suffix != SUFFIX:
                return cls(path, rules, _value(path))
            carry = TemplateState.read(path)
        return cls(carry.path, rules, carry.value(rules))

    def carried(self) -> tuple[Carry, tuple[StateEvent, ...]]:
        """Return the carry, and its records in their order.

        Raises:
            StateError: the rules have no such type, column or threshold, a value is out of range,
                or two miners have one slot; its ``code`` is ``bad-carry``.
        """
        miners, holders = dict[str, MinerEntry](), dict[int, str]()
        columns: dict[str, dict[str, dict[str, int]]] = {}
        flags, records = dict[tuple[str, str], int](), list[StateEvent]()
        for hotkey, value in sorted(self.value["miners"].items()):
            # what is no hotkey may be long, and the end of the message is to be read
            place = f"miners.{hotkey[:LONGEST_HOTKEY]}"
            self._check_hotkey(place, hotkey)
            miners[hotkey] = miner = self._miner(place, hotkey, value)
            if miner.uid is not None and holders.setdefault(miner.uid, hotkey) != hotkey:
                raise self._bad(
                    f"{place}.uid",
                    f"found the uid {miner.uid} of {shown(holders[miner.uid])} too, expected one "
                    "miner in a slot",
                )
            for line, column, nano in self._columns(f"{place}.columns", value):
                columns.setdefault(line, {}).setdefault(column, {})[hotkey] = nano
            for validator, count in self._flags(f"{place}.flags", value):
                flags[hotkey, validator] = count
            records += self._records(f"{place}.window", hotkey, value)
        ordered = {line: dict(sorted(of_line.items())) for line, of_line in sorted(columns.items())}
        state = flag(State(0, miners, self._thresholds(), ordered), self.rules.quorum, flags)
        records.sort(key=lambda event: (event.hotkey, event.round, event.task_id, event.skill_type))
        return Carry.of(state, records), tuple(records)

    def _miner(self, place: str, hotkey: str, value: Mapping[str, Any]) -> MinerEntry:
        types, stated = tuple(sorted(value["types"])), value.get("reputation", {})
        for name in types:
            self._type_rules(f"{place}.types", name)
        reputation = {name: self._reputation(f"{place}.reputation", name) for name in types}
        reputation |= {
            name: self._reputation(f"{place}.reputation", name, stated[name])
            for name in sorted(stated)
        }
        return MinerEntry(
            hotkey,
            value.get("uid"),
            types,
            {name: nano for name, nano in reputation.items() if nano is not None},
            registered_block=value.get("registered_block"),
        )

    def _reputation(self, place: str, name: str, text: str | None = None) -> int | None:
        """Return a reputation in nano, by default the initial one; None where there is none."""
        of_type = self._type_rules(place, name)
        section = of_type.rule_set.section(REPUTATION)
        if text is None:
            return None if section is None else of_type.initial_reputation
        where = f"{place}.{name}"
        if section is None:
            raise self._bad(
                where, f"found a reputation, expected none: {of_type.line} has no [reputation]"
            )
        nano = from_text(text)
        if not from_decimal(section.floor) <= nano <= from_decimal(section.ceiling):
            raise self._bad(
                where,
                f"found {text}, expected {section.floor} to {section.ceiling}, the floor and the "
                f"ceiling of {of_type.rule_set.reference}",
            )
        return nano

    def _columns(self, place: str, value: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
        of_lines = value.get("columns", {})
        names = {line.line: carried_names(line) for line in self.rules.lines}
        if of_lines and value.get("uid") is None:
            raise self._bad(
                place,
                "found columns of a miner without a uid, expected none: who has left begins anew",
            )
        for line, columns in sorted(of_lines.items()):
            self._check_name(place, f"the line {shown(line)}", line, names)
            for column, text in sorted(columns.items()):
                self._check_name(
                    f"{place}.{line}",
                    f"the column {shown(column)}",
                    column,
                    names[line],
                    "none: its allocation carries nothing",
                )
                yield line, column, from_text(text)

    def _flags(self, place: str, value: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        """Yield the collusion flags of a miner by validator."""
        for validator, flags in value.get("flags", {}).items():
            if not any(line.rule_set.section(REPUTATION) is not None for line in self.rules.lines):
                raise self._bad(place, "found flags, expected none: no line has [reputation]")
            if validator != ENGINE:
                self._check_hotkey(place, validator)
            yield validator, flags

    def _thresholds(self) -> dict[str, dict[str, int]]:
        tracked = {name: dict(seeds) for name, seeds in self.rules.seeds.items()}
        for name, values in self.value.get("thresholds", {}).items():
            self._check_name(
                "thresholds", shown(name), name, tracked, "no type: none has tracked ones"
            )
            place = f"thresholds.{name}"
            for threshold, text in values.items():
                self._check_name(place, shown(threshold), threshold, tracked[name])
                tracked[name][threshold] = from_text(text)
            self._check_thresholds(place, name, tracked[name])
        return tracked

    def _check_thresholds(self, place: str, name: str, tracked: Mapping[str, int]) -> None:
        """Refuse thresholds of a skill type that its rules never lead to."""
        of_type = self.rules.type_rules[name]
        tiers, epochs = of_type.tiers[name], of_type.rule_set.section(EPOCHS)
        tracking = None if epochs is None else epochs.baseline
        is_published = tracking is not None and tracking.mode == "published"
        floors = tiers.thresholds({baseline: tracked[baseline] for baseline in tiers.tracked})
        for threshold, nano in tracked.items():
            seed = of_type.seeds[name][threshold]
            is_baseline = threshold in tiers.tracked
            if is_baseline and is_published and nano != seed:
                expected = f"{to_text(seed)}, or nothing: {of_type.rule_set.reference} publishes it"
            elif not is_baseline and nano < floors[threshold]:
                floor = to_text(floors[threshold])
                expected = f"at least {floor}, which follows from the baseline"
            else:
                continue
            message = f"found {to_text(nano)}, expected {expected}"
            raise self._bad(f"{place}.{threshold}", message)

    def _records(self, place: str, hotkey: str, value: Mapping[str, Any]) -> Iterator[StateEvent]:
        seen = set[tuple[str, str, int]]()
        for index, record in enumerate(value.get("window", ())):
            where = f"{place}[{index}]"
            name, number = record["type"], -record["rounds_ago"]
            of_type = self._type_rules(f"{where}.type", name)
            key = name, record["task"], number
            if key in seen:
                raise self._bad(
                    where,
                    f"found the task {shown(record['task'])} of {shown(name)} twice in one round, "
                    "expected it once",
                )
            seen.add(key)
            self._check_values(where, of_type, record)
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

    def _check_values(self, where: str, rules: StateRules, record: Mapping[str, Any]) -> None:
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

    def _type_rules(self, where: str, name: str) -> StateRules:
        self._check_name(where, f"the skill type {shown(name)}", name, self.rules.type_rules)
        return self.rules.type_rules[name]

    def _check_name(
        self, place: str, found: str, name: str, names: Collection[str], instead: str = "none"
    ) -> None:
        """Refuse a name that is none of those that the rules have."""
        if name not in names:
            expected = " or ".join(sorted(names)) or instead
            raise self._bad(place, f"found {found}, expected {expected}{nearest(name, names)}")

    def _check_hotkey(self, place: str, hotkey: str) -> None:
        try:
            check_hotkey(hotkey)
        except StateError as error:
            raise self._bad(place, str(error)) from error
        if _CONTROL.search(hotkey):
            raise self._bad(
                place, f"found the hotkey {shown(hotkey)}, expected text without control characters"
            )

    def _bad(self, place: str, problem: str) -> StateError:
        return StateError(f"{self.path}: {visible(place)}: {problem}", code=CODE)


def _value(path: Path) -> Mapping[str, Any]:
    """Return the JSON value of a carry file, which fits the schema.

    Raises:
        InputError: it cannot be read, is no JSON, or does not fit.
    """
    try:
        value: Mapping[str, Any] = read_json(path, largest=MAX_CARRY_BYTES, numbers="whole")
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
    return value


def _whole(text: str) -> str:
    """Return a decimal with all of its nine places."""
    return to_text(from_text(text))
