"""Which claims are recorded depends on the set of claims alone, never on who was first."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import attrs
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from state import subnet
from state.chronicle import digest_of
from state.subnet import Record, event, record, written
from state.variants import put, variant

import tallystick
from tallystick.errors import RuleSetError, StateError
from tallystick_state.authority import OPERATOR
from tallystick_state.claims import AllowedValidators, Rank
from tallystick_state.entries import CloseEpoch, Register, begin
from tallystick_state.event import StateEvent
from tallystick_state.event_log import EventLog
from tallystick_state.groups import is_ejected
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.replay import verify
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.schedule import Schedule
from tallystick_state.store.store import Store

PYTHON = "executable_python"
OWN, PEER, OTHER = "val-own", "val-peer", "val-other"
KEYS, LIMITS = ("per_round", "per_epoch", "rounds_per_epoch"), (6, 9, 3)
"""Of the rule set of the property: claims of a round and of an epoch, and rounds."""


# ------------------------------------------------------------------------------ the whole outcome


@cache
def rules() -> StateRules:
    """The newest rule set, with limits that a few claims pass."""
    # as a file: a replay reads its text
    limits = [put(limit, "claims", key) for key, limit in zip(KEYS, LIMITS, strict=True)]
    with TemporaryDirectory() as folder:
        path = variant(Path(folder), "skills@1.2.0", "1.2.9", *limits)
        return state_rules_of(tallystick.load(path))


@attrs.frozen
class Said:
    """A claim, and how it comes."""

    event: StateEvent
    rank: Rank


@st.composite
def said(draw: st.DrawFn) -> Said:
    validator = draw(st.sampled_from((OWN, PEER, OTHER)))
    alone = draw(st.integers(0, 2)) == 0
    found = StateEvent(
        validator=validator,
        hotkey=draw(st.sampled_from(("hk-0", "hk-1"))),
        skill_type=PYTHON,
        task_id=draw(st.sampled_from(("t0", "t1"))),
        round=draw(st.integers(0, 3)),
        epoch=draw(st.sampled_from((0, 0, 0, 1))),
        events=draw(st.sampled_from((("collusion_flag",), ("rerun_fail",)))) if alone else (),
        id=draw(st.sampled_from(("e0", "e1"))) if alone else None,
        role=None if alone else "primary",
        quality=None if alone else draw(st.sampled_from(("0.100000000", "0.200000000"))),
        emission=None if alone else "0.100000000",
    )
    own = validator == OWN and draw(st.booleans())
    return Said(found, Rank.OWN if own else Rank.IMPORTED)


def of_own() -> RulesInForce:
    """The rules of a state of a validator."""
    return RulesInForce(
        {"skills": Schedule(rules())}, rules().registry, named=AllowedValidators(OWN)
    )


@contextmanager
def writing(store: Store) -> Iterator[EventLog]:
    with store.writing() as transaction:
        log = EventLog(transaction, of_own())
        yield log
        log.finish()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state of two miners, in its second epoch."""
    where = tmp_path_factory.mktemp("claims") / "empty.db"
    with Store.create(str(where)) as (_, transaction):
        log = EventLog(transaction, of_own())
        begin(log, [], OPERATOR)
        for uid, hotkey in enumerate(("hk-0", "hk-1")):
            log.write(Register(hotkey=hotkey, uid=uid, types=[PYTHON]))
        log.write(CloseEpoch.of(None))
        log.finish()
    return where


def began(empty: Path, name: str) -> Ledger:
    """A copy of that state."""
    where = empty.with_name(name)
    for old in (where, *(where.with_name(f"{name}-{end}") for end in ("wal", "shm"))):
        old.unlink(missing_ok=True)
    shutil.copy(empty, where)
    return Ledger(Store.open(str(where)), of_own())


def fed(ledger: Ledger, claims: Sequence[Said], random: Random) -> None:
    """Claims in a random order, in files of random sizes."""
    shuffled = random.sample(claims, len(claims))
    while shuffled:
        size = random.randint(1, len(shuffled))
        with writing(ledger.store) as log:
            for rank in random.sample((Rank.OWN, Rank.IMPORTED), 2):
                log.record([s.event for s in shuffled[:size] if s.rank is rank], rank)
        del shuffled[:size]


def outcome(ledger: Ledger) -> tuple[str, set[str], dict[str, tuple[int, dict[str, int]]]]:
    """The digest, what is recorded, and who is flagged by whom."""
    with ledger.store.reading() as transaction:
        queries = StateQueries(transaction, ledger.in_force)
        lines = {line for epoch in (1, 2) for line in transaction.event_lines(epoch)}
        miners = queries.state.miners.items()
        return queries.digest(), lines, {h: (m.flags, dict(m.flagged_by)) for h, m in miners}


def recorded(claims: Sequence[Said]) -> set[str]:
    """What has to be recorded of claims in one epoch, from their definition."""
    ranks = dict[StateEvent, Rank]()
    for each in claims:
        ranks[each.event] = max(each.rank, ranks.get(each.event, each.rank))
    rivals = defaultdict[bytes, list[StateEvent]](list)
    for found in ranks:
        rivals[found.identity].append(found)

    def is_within(found: StateEvent) -> bool:
        rank = ranks[found]
        beside = [
            each
            for each, of_each in ranks.items()
            if (each.validator, each.epoch) == (found.validator, found.epoch) and of_each >= rank
        ]
        rounds = Counter(each.round for each in beside)
        # of a round with too many claims one above the limit counts in the epoch
        kept = sum(min(number, LIMITS[0] + 1) for number in rounds.values())
        within = (rounds[found.round], kept, len(rounds))
        return all(number <= limit for number, limit in zip(within, LIMITS, strict=True))

    def is_clear(found: StateEvent) -> bool:
        # what is above a limit stands against nothing
        others = [each for each in rivals[found.identity] if each != found and is_within(each)]
        return is_within(found) and all(ranks[each] < ranks[found] for each in others)

    clear = [found for found in ranks if is_clear(found)]
    tasks = {(each.task, each.epoch) for each in clear if each.is_record}
    return {
        each.to_line()
        for each in clear
        if each.is_record or ranks[each] is Rank.OWN or (each.task, each.epoch) in tasks
    }


def check_arrival(empty: Path, first: list[Said], later: list[Said], seed: int) -> Ledger:
    """Two states that were fed the same in other orders; one of them."""
    random, found = Random(seed), []
    for name in ("one.db", "other.db"):
        ledger = began(empty, name)
        fed(ledger, first, random)
        told = outcome(ledger)
        assert told[1] == recorded(first)
        with writing(ledger.store) as log:
            log.write(CloseEpoch.of(None))
        # what is counted in the closed epoch stays, whatever comes now
        fed(ledger, later, random)
        assert told[1] <= outcome(ledger)[1]
        found.append((told, outcome(ledger)))
    assert found[0] == found[1]
    return ledger


def made(rank: Rank, tasks: range, number: int = 0) -> list[Said]:
    """Claims about tasks of a round that nobody else says."""
    about = {"validator": OWN, "hotkey": "hk-0", "skill_type": PYTHON, "role": "primary"}
    about |= {"quality": "0.100000000", "emission": "0.100000000"}
    return [
        Said(StateEvent(**about, round=number, epoch=0, task_id=f"{rank}-{n}"), rank) for n in tasks
    ]


PASSED = [
    *made(Rank.OWN, range(3)),
    *made(Rank.IMPORTED, range(8)),
    *made(Rank.IMPORTED, range(2), 1),
]
"""More claims of a round than may be; those that are refused do not count in the epoch."""
CLAIMS = {
    "first": st.lists(said(), max_size=24),
    "later": st.lists(said(), max_size=8),
    "seed": st.integers(0, 2**32),
}


@examples(60)
@given(**CLAIMS)
@example(first=PASSED, later=[], seed=0)
@example(first=PASSED, later=[], seed=1)
def test_the_outcome_does_not_depend_on_arrival(
    first: list[Said], later: list[Said], seed: int, empty: Path
) -> None:
    check_arrival(empty, first, later, seed)


@pytest.mark.nightly
@examples(150)
@given(**CLAIMS)
def test_neither_does_it_after_a_replay_of_what_came_in_any_order(
    first: list[Said], later: list[Said], seed: int, empty: Path
) -> None:
    assert verify(check_arrival(empty, first, later, seed)).entries


# ------------------------------------------------------------------------------------ the attacks


def begun(folder: Path, name: str = "skills@1.2.0", **named: object) -> Ledger:
    """A state with two miners."""
    return subnet.begun(folder / "state.db", name, ("hk-1", "hk-2"), **named)


def reasons(ledger: Ledger, **chosen: object) -> list[str | None]:
    with ledger.queries() as queries:
        return [each.reason for each in queries.quarantine(**chosen)]  # type: ignore[arg-type]


def numbers(ledger: Ledger, reason: str) -> list[int]:
    with ledger.queries() as queries:
        return [each.seq for each in queries.quarantine(reasons=[reason])]


@pytest.mark.parametrize("name", ["skills@1.0.0", "skills@1.1.0", "skills@1.2.0"])
def test_a_forged_record_that_comes_first_does_not_block_the_round_of_its_validator(
    name: str, tmp_path: Path
) -> None:
    honest = [record("t1", validator=OWN), record("t2", "hk-2", validator=OWN)]
    forged = [record("t1", validator=OWN, consensus=0.0), event("e", "rerun_fail", "t1")]
    with begun(tmp_path, name, validator=OWN) as ledger:
        ledger.import_events(written(tmp_path / "forged.jsonl", forged))
        (closed,), found = ledger.close_round(written(tmp_path / "own.jsonl", honest))
        assert (found.events, found.displaced, found.is_whole) == (2, 1, True)
        assert reasons(ledger, validator=OWN) == ["outranked"]
        verify(ledger)
        digest = digest_of(ledger)
    (tmp_path / "alone").mkdir()
    with begun(tmp_path / "alone", name) as ledger:
        ledger.import_events(written(tmp_path / "event.jsonl", forged[1:]))
        (alone,), _ = ledger.close_round(tmp_path / "own.jsonl")
        # who the state is of, and what was forged, is no part of it
        assert (alone.scores, digest_of(ledger)) == (closed.scores, digest)


def test_flags_for_tasks_that_never_were_or_of_one_validator_alone_eject_nobody(
    tmp_path: Path,
) -> None:
    """The tasks of the one are known here: it made them up as well."""

    def flags(task: str, *validators: str) -> list[Record]:
        return [event(f"{task} {v}", "collusion_flag", task, validator=v) for v in validators]

    with begun(tmp_path) as ledger:
        for task in ("t1", "t2", "t3"):
            ledger.import_events([record(task), *flags(task, "val-1")])
        never = ledger.import_events(flags("never", "v1", "v2", "v3"))
        assert (never.events, never.quarantined) == (0, {"unknown-task": 3})
        with ledger.queries() as queries:
            miner = queries.state.miners["hk-1"]
        assert (miner.flags, dict(miner.flagged_by)) == (3, {"val-1": 3})
        assert not is_ejected(ledger.rules, miner)
        ledger.import_events([record("t1", validator="val-2"), *flags("t1", "val-2")])
        with ledger.queries() as queries:
            assert is_ejected(ledger.rules, queries.state.miners["hk-1"])


# ------------------------------------------------------------------------------------- quarantine


def test_a_claim_is_accepted_where_nothing_stands_against_it(tmp_path: Path) -> None:
    lines = [record("t1"), record("t1", consensus=0.0)]
    with begun(tmp_path, "skills@1.0.0") as ledger:
        assert not ledger.import_events(lines).is_whole
        one, other = numbers(ledger, "conflict")
        with pytest.raises(StateError, match=rf"^found that {other} says something else"):
            ledger.accept([one])
        with pytest.raises(StateError, match=r"^found two claims about the same"):
            ledger.accept([one, other])
        # what stood against it alone is recorded
        assert ledger.drop([other]) == 1
        assert reasons(ledger) == []
        assert numbers(ledger, "dropped") == [other]
        with pytest.raises(StateError, match=f"^found that {one} is recorded"):
            ledger.accept([other])
        again = ledger.import_events([lines[1]])
        assert (again.duplicates, again.quarantined) == (1, {})
        verify(ledger)


def test_what_the_operator_accepts_stands_above_what_others_say(tmp_path: Path) -> None:
    with begun(tmp_path, validator=OWN) as ledger:
        ledger.import_events([event("e", "collusion_flag", "never", validator=OWN)])
        ledger.accept(numbers(ledger, "unknown-task"))
        with ledger.queries() as queries:
            assert queries.state.miners["hk-1"].flags == 1
        other = event("e", "rerun_fail", "never", validator=OWN)
        assert ledger.import_events([other]).quarantined == {"outranked": 1}
        # but not above the own validator
        _, found = ledger.close_round([record("t1", validator=OWN), other])
        assert (found.events, found.displaced) == (2, 1)
        with ledger.queries() as queries:
            assert queries.state.miners["hk-1"].flags == 0
        verify(ledger)


def test_who_claims_too_much_of_a_round_is_taken_nothing_of_it(tmp_path: Path) -> None:
    limited = variant(tmp_path, "skills@1.2.0", "1.2.9", put(2, "claims", "per_round"))
    with begun(tmp_path, str(limited)) as ledger:
        ledger.import_events([record("t1"), record("t2"), record("t1", round=1)])
        found = ledger.import_events([record("t3"), record("t4"), record("t1", validator="v")])
        assert (found.events, found.displaced) == (1, 2)
        assert (found.quarantined, found.refused) == ({"over-quota": 1}, {"over-quota": 1})
        # the operator can make room, or decide for some
        ledger.accept(numbers(ledger, "over-quota")[:2])
        assert reasons(ledger) == ["over-quota"]
        with pytest.raises(StateError, match="stays in quarantine"):
            ledger.accept(numbers(ledger, "over-quota"))
        ledger.drop(numbers(ledger, "over-quota"))
        assert ledger.import_events([record("t1"), record("t2")]).duplicates == 2
        verify(ledger)


QUORUM = ("reputation", "collusion", "quorum")


@pytest.mark.parametrize("path", [*(("claims", key) for key in KEYS), QUORUM])
def test_a_limit_of_nothing_is_refused(path: tuple[str, ...], tmp_path: Path) -> None:
    none = variant(tmp_path, "skills@1.2.0", "1.2.9", put(0, *path))
    with pytest.raises(RuleSetError, match=path[-1]):
        tallystick.load(none)
