"""Random epochs: states, records, and events that come after them."""

import random

import attrs
from msgspec.structs import replace
from state.subnet import under

from tallystick.numbers.nano import to_text
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules

NANO = 10**9
FLOOR = 50_000_000
EPOCH = 7
HOTKEYS = ("a", "b", "c", "d", "e", "f")
TYPES = ("executable_python", "mcp_server")
ALONE = ("rerun_pass", "rerun_fail", "probe_fail", "collusion_flag", "listed_nowhere")
AT_ONCE = (
    *("consensus_pass", "consensus_weak", "consensus_fail", "digest_mismatch", "rerun_fail"),
    *("validity_violation", "missed_deadline", "parse_failure", "early_arrival", "rerun_pass"),
)
Events = list[StateEvent]
ThresholdSnapshot = dict[int, State]


def changed(rules: StateRules, section: str, **changes: object) -> StateRules:
    """The rules with a section of its rule set changed."""
    sections = rules.rule_set.sections
    found = attrs.evolve(sections[section], **changes)  # type: ignore[type-var]  # of attrs
    return under(rules, attrs.evolve(rules.rule_set, sections={**sections, section: found}))


def random_state(
    rng: random.Random, rules: StateRules, epoch: int, hotkeys: str = "abcdef"
) -> State:
    miners = {
        hotkey: MinerEntry(hotkey, uid, TYPES, {name: random_reputation(rng) for name in TYPES})
        for uid, hotkey in enumerate(hotkeys)
    }
    tracked = {name: random_thresholds(rng, rules, name) for name in TYPES}
    return State(epoch, miners, {**rules.seeds, **tracked})


def random_thresholds(rng: random.Random, rules: StateRules, name: str) -> dict[str, int]:
    """As a state can have them: none below its formula at the baseline."""
    tiers, found = rules.tiers[name], {each: rng.randint(0, NANO) for each in rules.seeds[name]}
    floors = tiers.thresholds({each: found[each] for each in tiers.tracked})
    return {each: max(nano, floors[each]) for each, nano in found.items()}


def random_reputation(rng: random.Random) -> int:
    return rng.choice([FLOOR, rng.randint(FLOOR, NANO), rng.randint(FLOOR, NANO), NANO])


def random_record(rng: random.Random, task: int) -> StateEvent:
    about = (rng.choice("vwx"), rng.choice(HOTKEYS), rng.choice(TYPES), f"t{task}", 1)
    events = tuple(sorted(rng.choices(AT_ONCE, k=rng.choice([0, 1, 1, 1, 2, 3]))))
    scored = rng.random() < 0.9
    epoch = rng.choice([EPOCH - 1, EPOCH])
    role = rng.choice(["primary", "primary", "auditor"])
    quality = rng.choice([0, rng.randint(0, NANO), rng.randint(0, NANO)]) if scored else None
    return StateEvent(
        *about,
        epoch=epoch,
        events=events,
        role=role,
        quality=None if quality is None else to_text(quality),
        emission=to_text(quality or 0),
        missed="missed_deadline" in events,
    )


def random_late(rng: random.Random, records: Events, number: int) -> StateEvent:
    """An event that came alone: about one of the records, or of a record of an epoch before."""
    about = rng.choice(records) if records and rng.random() < 0.7 else random_record(rng, 99)
    return late(about, rng.choice(ALONE), number)


def late(about: StateEvent, event: str, number: int) -> StateEvent:
    nothing = {"role": None, "quality": None, "emission": None, "missed": False}
    return replace(about, id=f"e{number}", events=(event,), **nothing)


def random_epoch(seed: int, rules: StateRules) -> tuple[State, Events, ThresholdSnapshot]:
    rng = random.Random(seed)
    records = [random_record(rng, task) for task in range(rng.choice([0, 3, 12, 30]))]
    alone = [random_late(rng, records, number) for number in range(rng.randrange(6))]
    events = [*records, *alone]
    rng.shuffle(events)
    # some miners registered while the last two epochs were open
    begun = {EPOCH - 1: "abcd", EPOCH: "abcde"}
    pinned = {epoch: random_state(rng, rules, epoch, hotkeys) for epoch, hotkeys in begun.items()}
    return random_state(rng, rules, EPOCH), events, pinned
