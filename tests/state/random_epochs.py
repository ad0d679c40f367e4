"""Random epochs: states, records, and events that come after them."""

import random
from fractions import Fraction

import attrs
from msgspec.structs import replace
from state.subnet import under

from tallystick.numbers.nano import to_text
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION

NANO = 10**9
FLOOR = 50_000_000
EPOCH = 7
HOTKEYS = "abcdefg"
TYPES = ("executable_python", "mcp_server")
ALONE = ("rerun_pass", "rerun_fail", "probe_fail", "collusion_flag", "listed_nowhere")
AT_ONCE = (
    *("consensus_pass", "consensus_weak", "consensus_fail", "digest_mismatch", "rerun_fail"),
    *("validity_violation", "parse_failure", "early_arrival", "rerun_pass", "probe_fail"),
    *("collusion_flag", "listed_nowhere"),
)
Events = list[StateEvent]
ThresholdSnapshot = dict[int, State]


def changed(rules: StateRules, section: str, **changes: object) -> StateRules:
    """The rules with a section of its rule set changed."""
    sections = rules.rule_set.sections
    found = attrs.evolve(sections[section], **changes)  # type: ignore[type-var]  # of attrs
    return under(rules, attrs.evolve(rules.rule_set, sections={**sections, section: found}))


def types_of(rules: StateRules) -> list[str]:
    """Some skill types of the rules."""
    return sorted(rules.rule_set.skill_types)[:3]


def random_state(
    rng: random.Random, rules: StateRules, epoch: int, hotkeys: str = HOTKEYS
) -> State:
    """A state whose miners hold a slot each, but for the last."""
    types = types_of(rules)
    has_reputation = rules.rule_set.section(REPUTATION) is not None
    miners = {
        hotkey: MinerEntry(
            hotkey,
            None if hotkey == HOTKEYS[-1] else uid,
            tuple(types),
            {name: random_reputation(rng) for name in types if has_reputation},
        )
        for uid, hotkey in enumerate(hotkeys)
    }
    tracked = {name: random_thresholds(rng, rules, name) for name in types if name in rules.seeds}
    return State(epoch, miners, {**rules.seeds, **tracked})


def random_thresholds(rng: random.Random, rules: StateRules, name: str) -> dict[str, int]:
    """As a state can have them: none below its formula at the baseline."""
    tiers, found = rules.tiers[name], {each: rng.randint(0, NANO) for each in rules.seeds[name]}
    floors = tiers.thresholds({each: found[each] for each in tiers.tracked})
    return {each: max(nano, floors[each]) for each, nano in found.items()}


def random_reputation(rng: random.Random) -> int:
    return rng.choice([FLOOR, rng.randint(FLOOR, NANO), rng.randint(FLOOR, NANO), NANO])


def random_records(rng: random.Random, rules: StateRules, epoch: int) -> Events:
    """Records of tasks of an epoch, of which several validators record some."""
    types, found = types_of(rules), list[StateEvent]()
    for task in range(rng.choice([0, 3, 12, 30])):
        hotkey, skill_type = rng.choice(HOTKEYS), rng.choice(types)
        number = epoch * 3 + rng.randrange(3)
        for validator in rng.sample("vwx", rng.choice([1, 1, 2, 3])):
            missed = rng.random() < 0.15
            scored = not missed or rng.random() < 0.5
            quality = rng.choice([0, NANO, rng.randint(0, NANO)]) if scored else None
            events = rng.choices(AT_ONCE, k=rng.choice([0, 1, 1, 2, 3]))
            measures: dict[str, str] = {}
            if scored and rng.random() < 0.8:
                ratio = Fraction(rng.randrange(50), rng.randrange(1, 50))
                points = to_text(rng.randint(0, 5 * NANO))
                measures = {"ratio": f"{ratio.numerator}/{ratio.denominator}", "points": points}
            found.append(
                StateEvent(
                    *(validator, hotkey, skill_type, f"t{epoch}-{task}", number),
                    epoch if rng.random() < 0.8 else max(epoch - 1, 0),
                    tuple(sorted([*events, *(["missed_deadline"] if missed else [])])),
                    role=rng.choice(["primary", "primary", "auditor"]),
                    missed=missed,
                    quality=None if quality is None else to_text(quality),
                    emission=None if quality is None else to_text(2 * quality),
                    group=rng.choice(["north", "south"]),
                    measures=measures,
                )
            )
    return found


def random_late(rng: random.Random, records: Events, number: int) -> StateEvent:
    """An event that came alone: about one of the records, or about a task that has none."""
    event = late(rng.choice(records), rng.choice(ALONE), number)
    return event if rng.random() < 0.7 else replace(event, task_id="unknown")


def late(about: StateEvent, event: str, number: int) -> StateEvent:
    nothing = {"role": None, "quality": None, "emission": None, "missed": False, "measures": {}}
    return replace(about, id=f"e{number}", events=(event,), **nothing)


def random_epoch(seed: int, rules: StateRules) -> tuple[State, Events, ThresholdSnapshot]:
    rng = random.Random(seed)
    records = random_records(rng, rules, EPOCH)
    alone = [random_late(rng, records, number) for number in range(rng.randrange(6)) if records]
    events = [*records, *alone]
    rng.shuffle(events)
    # some miners registered while the last two epochs were open
    begun = {EPOCH - 1: HOTKEYS[:4], EPOCH: HOTKEYS[:5]}
    pinned = {epoch: random_state(rng, rules, epoch, hotkeys) for epoch, hotkeys in begun.items()}
    return random_state(rng, rules, EPOCH), events, pinned
