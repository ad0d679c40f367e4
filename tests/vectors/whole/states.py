"""What a state does: the closing of epochs, groups, round scores, windows and weights."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from oracle import text
from oracle.decimals import NANO, published
from oracle.emissions import BASE_WEIGHTS
from oracle.groups import Candidate, select
from oracle.reputation import ADDS, RULES, TIMES, TIMES_CORRECTED, Report, levels, reputations
from oracle.tiers import BASELINES, thresholds
from oracle.weights import Task, round_score

from vectors.whole.case import Json, case

_TYPES = ("executable_python", "mcp_server")
_AVERAGING = ("skills@1.2.0",)
"""Rule sets that read the emissions of an epoch as it is closed: they carry an average of them."""
_EVENTS = (*TIMES, *ADDS, "consensus_weak", "missed_deadline", *TIMES_CORRECTED, "nobody_listed_it")


def cases() -> list[Json]:
    """Every case."""
    found = []
    for number, name in enumerate(RULES, 1):
        found += [
            case(
                f"S1{number}",
                "close_epoch",
                _epochs(name),
                rule_set=name,
                refs=["E26", "E29", "E40"],
            ),
            case(f"S2{number}", "group", _groups(name), rule_set=name, refs=["E31", "E32", "E34"]),
            case(f"S3{number}", "round", _rounds(name), rule_set=name, refs=["E36", "E38"]),
            case(f"S4{number}", "consensus_event", _bands(), rule_set=name),
        ]
    window = ("workflow@1.0.0", "workflow@1.1.0", "workflow@1.2.0")
    for number, name in enumerate(window, 1):
        found += [
            case(f"S5{number}", "window", _windows(), rule_set=name, refs=["E50"]),
            case(f"S6{number}", "weights", _weights(), rule_set=name, refs=["E51"]),
        ]
    return [*found, case("S70", "uint16", _uint16())]


# -------------------------------------------------------------------------------------- epochs


def _epochs(rule_set: str) -> Iterator[tuple[Json, Json]]:
    for seed in range(14):
        yield _epoch(random.Random(seed), rule_set, seed)
    yield _clamped(rule_set)
    yield from _smoothed(rule_set)
    yield _late(rule_set)


def _epoch(rng: random.Random, rule_set: str, seed: int) -> tuple[Json, Json]:
    hotkeys = [f"hk-{number}" for number in range(rng.randint(2, 7))]
    before = {(h, t): _reputation(rng) for h in hotkeys for t in _TYPES if rng.random() < 0.9}
    owners = sorted(before) or [("hk-0", _TYPES[0])]
    pinned = {
        0: {owner: _reputation(rng) for owner in owners if rng.random() < 0.7},
        1: {owner: _reputation(rng) for owner in owners},
        2: before,
    }
    reports = [report for _ in range(rng.choice([0, 2, 9, 18])) for report in _reports(rng, owners)]
    old = {t: (_nano(rng), _nano(rng)) for t in _TYPES}
    return _closing(rule_set, pinned, reports, old, str(seed))


def _closing(
    rule_set: str,
    pinned: Mapping[int, Mapping[tuple[str, str], Fraction]],
    reports: Sequence[Report],
    old: Mapping[str, tuple[Fraction, Fraction]],
    mark: str,
) -> tuple[Json, Json]:
    """The closing of the last of some epochs."""
    epoch, rules = max(pinned), RULES[rule_set]
    given = {
        "state": _state(epoch, pinned[epoch], old),
        "pinned": {str(each): _state(each, known, old) for each, known in pinned.items()},
        "events": [
            _event(report, f"{mark}-{place}", with_emission=rule_set in _AVERAGING)
            for place, report in enumerate(reports)
        ],
    }
    after = reputations(pinned[epoch], reports, pinned, rules)
    moved = _state(epoch + 1, after, levels(old, reports, rules))
    return given, {"miners": moved["miners"], "thresholds": moved["thresholds"]}


def _clamped(rule_set: str) -> tuple[Json, Json]:
    """Reputations that would leave the floor and the ceiling."""
    name = _TYPES[0]
    known = {("best", name): Fraction(1), ("worst", name): Fraction(1, 20)}
    reports = [
        Report("v1", "best", name, "t1", 0, 0, ("consensus_pass", "rerun_pass", "rerun_pass")),
        Report("v1", "worst", name, "t1", 0, 0, ("digest_mismatch", "probe_fail")),
    ]
    return _closing(rule_set, {0: known}, reports, {name: (Fraction(1, 2), Fraction(3, 4))}, "edge")


def _smoothed(rule_set: str) -> Iterator[tuple[Json, Json]]:
    """Few and many results over a low baseline; a median of a half nano is not rounded alone."""
    name = _TYPES[0]
    high = [900_000_003, 900_000_002, 900_000_001, 900_000_000]
    many = [
        990_000_000,
        980_000_000,
        970_000_001,
        960_000_000,
        950_000_000,
        300_000_000,
        200_000_000,
    ]
    for qualities in (high[:2], high[:3], high, [n + 1 for n in high], many, [*many, *many]):
        for old in (900_000_000, 900_000_001, 900_000_002, 900_000_003, 900_000_004):
            known = {(f"hk-{n}", name): Fraction(1, 2) for n in range(len(qualities) + 20)}
            reports = [
                Report("v1", f"hk-{n}", name, "t1", 0, 0, (), role, Fraction(nano, NANO))
                for n, (role, nano) in enumerate(
                    [("primary", q) for q in qualities] + [("auditor", 1_000_000)] * 20
                )
            ]
            levels_before = {name: (Fraction(1, 2), Fraction(old, NANO))}
            yield _closing(rule_set, {0: known}, reports, levels_before, f"top-{old}")


def _late(rule_set: str) -> tuple[Json, Json]:
    """Perfect answers that came late beside others that did not (E96)."""
    name = _TYPES[0]
    known = {(f"hk-{n}", name): Fraction(1, 2) for n in range(8)}
    reports = [
        Report("v1", f"hk-{n}", name, "t1", 0, 0, events, "primary", Fraction(nano, NANO))
        for n, (events, nano) in enumerate(
            [((), n * 10**8) for n in (6, 7, 8)] + [(("missed_deadline",), NANO)] * 5
        )
    ]
    return _closing(rule_set, {0: known}, reports, {name: (Fraction(1, 4), Fraction(1, 2))}, "late")


def _reputation(rng: random.Random) -> Fraction:
    return rng.choice(
        [Fraction(1, 20), Fraction(1), Fraction(1, 2), Fraction(rng.randint(5 * 10**7, NANO), NANO)]
    )


def _nano(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(0, NANO), NANO)


def _reports(rng: random.Random, owners: Sequence[tuple[str, str]]) -> Iterator[Report]:
    """A record, perhaps with an event about it that came late, perhaps of several validators."""
    hotkey, skill_type = rng.choice(owners)
    task, epoch = f"t{rng.randint(0, 99)}", rng.choice([0, 1, 2, 2])
    validators = rng.sample(["v1", "v2", "v3"], rng.choice([1, 1, 2]))
    for validator in validators:
        about = (validator, hotkey, skill_type, task, epoch, epoch)
        events = tuple(sorted(rng.choices(_EVENTS, k=rng.choice([0, 1, 1, 2, 3]))))
        role = rng.choice(["primary", "primary", "auditor"])
        scored = rng.random() < 0.8
        yield Report(*about, events, role, _nano(rng) if scored else None)
        if rng.random() < 0.3:
            yield Report(*about, (rng.choice(_EVENTS),))


def _event(report: Report, mark: str, *, with_emission: bool) -> Json:
    """The state event of a report, as a canonical line has it; its emission is its quality."""
    found: Json = {
        "validator": report.validator,
        "hotkey": report.hotkey,
        "skill_type": report.skill_type,
        "task_id": report.task_id,
        "round": report.round,
        "epoch": report.epoch,
        "events": list(report.events),
        "missed": "missed_deadline" in report.events and report.role is not None,
    }
    if report.role is None:
        return found | {"id": mark}
    scored = {} if report.quality is None else {"quality": text(report.quality)}
    if with_emission and not found["missed"]:
        scored["emission"] = text(report.quality or Fraction(0))
    return found | {"role": report.role, "record": "sha256:" + 64 * "0"} | scored


def _state(
    epoch: int,
    known: Mapping[tuple[str, str], Fraction],
    old: Mapping[str, tuple[Fraction, Fraction]],
) -> Json:
    hotkeys = sorted({hotkey for hotkey, _ in known})
    miners = {
        hotkey: {
            "uid": uid,
            "types": sorted(t for h, t in known if h == hotkey),
            "reputation": {t: text(value) for (h, t), value in known.items() if h == hotkey},
            "flags": 0,
        }
        for uid, hotkey in enumerate(hotkeys)
    }
    named = {t: {"baseline": text(b), "novel": text(n)} for t, (b, n) in old.items()}
    return {"epoch": epoch, "miners": miners, "thresholds": named}


# -------------------------------------------------------------------------------------- groups


def _groups(rule_set: str) -> Iterator[tuple[Json, Json]]:
    rng = random.Random(7)
    for size in (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 12, 12):
        candidates = [
            Candidate(
                rng.choice(["hk", "é", "😀", "\uffff"]) + f"-{number}",
                rng.choice(
                    [Fraction(n, 100) for n in (5, 19, 20, 20, 50, 50, 77)]
                    + [Fraction(199_999_999, NANO)]
                ),
                rng.choice([0, 0, 0, 2, 3]),
                rng.random() < 0.95,
                rng.random() < 0.95,
                rng.choice([0, 0, 2, 3, 4]),
            )
            for number in range(size)
        ]
        dispatch = rng.choice([0, 7, 2**63]), rng.choice(["", "block-4242", "é😀"])
        found = select(candidates, rule_set, "mcp_server", dispatch)
        given = [
            {
                "hotkey": c.hotkey,
                "reputation": text(c.reputation),
                "flags": c.flags,
                "declared": c.declared,
                "slot": c.slot,
                "streak": c.streak,
            }
            for c in candidates
        ]
        asked = {"type": "mcp_server", "round": str(dispatch[0]), "seed": dispatch[1]}
        yield (
            {"candidates": given, **asked},
            {
                "primaries": found.primaries,
                "auditor_pool": found.auditor_pool,
                "auditors": found.auditors,
                "consensus": len(found.primaries) + len(found.auditors) >= 3,
            },
        )


def _bands() -> Iterator[tuple[Json, Json]]:
    yield from (
        ("0.000000000", "consensus_fail"),
        ("0.399999999", "consensus_fail"),
        ("0.400000000", "consensus_weak"),
        ("0.699999999", "consensus_weak"),
        ("0.700000000", "consensus_pass"),
        ("1.000000000", "consensus_pass"),
    )


# -------------------------------------------------------------------- round scores and weights


def _rounds(rule_set: str) -> Iterator[tuple[Json, Json]]:
    rng = random.Random(9)
    for size in (0, 1, 1, 2, 3, 5, 8):
        tasks = [
            {
                "type": rng.choice(list(BASE_WEIGHTS)),
                "emission": text(Fraction(rng.randint(0, 3 * NANO), NANO)),
                "reputation": text(Fraction(rng.randint(1, NANO), NANO)),
                "missed": rng.random() < 0.25,
            }
            for _ in range(size)
        ]
        yield tasks, text(_score_of(rule_set, tasks))
    lone = {
        "type": "declarative",
        "emission": "1.000000000",
        "reputation": "0.500000000",
        "missed": True,
    }
    yield [lone], text(Fraction(0))
    for size in (2, 3, 5, 9):
        shared = []
        for name in range(size):
            said = {"type": rng.choice(list(BASE_WEIGHTS)), "task": f"t{name}"}
            said["reputation"] = text(Fraction(rng.randint(1, NANO), NANO))
            shared += [
                said
                | {
                    "emission": text(Fraction(rng.randint(0, 3 * NANO), NANO)),
                    "missed": rng.random() < 0.2,
                }
                for _ in range(rng.choice([1, 1, 2, 3]))
            ]
        rng.shuffle(shared)
        yield shared, text(_score_of(rule_set, shared))


def _score_of(rule_set: str, tasks: Sequence[Mapping[str, Any]]) -> Fraction:
    """E36 to E38, and E97 where one task has several validators."""
    corrected = rule_set != "skills@1.0.0"
    found = [
        Task(
            Fraction(each["emission"]),
            BASE_WEIGHTS[each["type"]],
            Fraction(each["reputation"]),
            each["missed"],
            each.get("task", str(place)),
        )
        for place, each in enumerate(tasks)
    ]
    return round_score(
        found,
        twice=not corrected,
        missed_is_zero=corrected,
        task_once=rule_set == "skills@1.2.0",
    )


def _windows() -> Iterator[tuple[Json, Json]]:
    rng = random.Random(11)
    for size in (0, 1, 2, 3, 99, 100, 101, 130):
        tasks = [
            [rng.randint(0, NANO) for _ in range(rng.choice([1, 1, 2, 3]))] for _ in range(size)
        ]
        yield _window(tasks)
    yield _window([[1, 2], [0]])
    yield _window([[1], [2]])
    yield _window([[1, 2, 2], [3]])
    yield _window([[NANO]] + [[0]] * 100)


def _window(tasks: Sequence[Sequence[int]]) -> tuple[Json, Json]:
    means = [Fraction(sum(each), len(each) * NANO) for each in tasks][-100:]
    mean = sum(means, Fraction(0)) / len(means) if means else Fraction(0)
    return [[text(Fraction(n, NANO)) for n in each] for each in tasks], text(published(mean))


def _weights() -> Iterator[tuple[Json, Json]]:
    rng = random.Random(13)
    for size in (0, 1, 2, 5, 6, 7, 8, 20):
        yield _weighed([rng.choice([0, 1, rng.randint(0, NANO), NANO]) for _ in range(size)])
        yield _weighed([rng.randint(1, NANO) ** 3 // NANO**2 + 1 for _ in range(size)])
    yield _weighed([0, 0, 0])
    yield _weighed([1, 1, 1, 0, 0, 0, 0, 0])
    yield _weighed([NANO] + [1] * 6)
    yield _weighed([900, 500, 100, 100, 100, 100, 100, 50, 50, 50])
    yield _weighed([15, 15, 15, 15, 15, 15, 10])
    yield _weighed([150_000_001, *[106_250_000] * 7, 106_249_999])


def _weighed(scores: Sequence[int]) -> tuple[Json, Json]:
    named = {f"hk-{number:02}": score for number, score in enumerate(scores)}
    found = {name: text(published(share)) for name, share in _capped(named).items()}
    return {name: text(Fraction(score, NANO)) for name, score in named.items()}, found


def _capped(scores: Mapping[str, int]) -> dict[str, Fraction]:
    """Water is poured over all until the tallest stands at the limit; what is over goes on."""
    total = sum(scores.values())
    if not total:
        return {}
    limit = max(Fraction(15, 100), Fraction(1, sum(score > 0 for score in scores.values())))
    shares = {name: Fraction(score, total) for name, score in scores.items()}
    while any(share > limit for share in shares.values()):
        spilled = sum((share - limit for share in shares.values() if share > limit), Fraction(0))
        below = sum((share for share in shares.values() if share < limit), Fraction(0))
        shares = {
            name: limit if share >= limit else share + spilled * share / below
            for name, share in shares.items()
        }
    return shares


def _uint16() -> Iterator[tuple[Json, Json]]:
    for weights in (
        {},
        {3: 0},
        {7: NANO},
        {3: 500_000_000, 1: 250_000_000, 2: 3_000, 9: 0},
        {1: 2, 2: 1},
        {0: 131_070, 5: 1, 6: 3, 4: 5},
        {10: 131_070, 9: 131_069, 100: 7},
        {2: 150_000_000, 10: 149_999_999, 1: 1144},
    ):
        largest = max(weights.values(), default=0)
        found = (
            {u: round(Fraction(w * 65535, largest)) for u, w in weights.items()} if largest else {}
        )
        kept = sorted((uid, weight) for uid, weight in found.items() if weight)
        yield [[u, text(Fraction(w, NANO))] for u, w in weights.items()], [list(p) for p in kept]


def seeds(rule_set: str, names: Iterable[str]) -> Json:
    """The thresholds of a state that begins, by type."""
    found = {}
    for name in names:
        _, _, novel = thresholds(name, rule_set)
        found[name] = {"baseline": text(BASELINES[name]), "novel": text(novel)}
    return found
