"""A state keeps the measures of its records and the groups of their miners, without a quality."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from oracle.decimals import published
from scoring import parcels
from scoring.parcels import EPOCHS, GROUPS, TEXT, expected, missed, parcel
from state import subnet
from state.subnet import Record, hotkeys, written

from tallystick.scoring.scorer import Scorer
from tallystick_state import views
from tallystick_state.event import StateEvent
from tallystick_state.ledger import Ledger
from tallystick_state.step_roots import result_row

MINERS = 4


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scorer]:
    """The file of the rule set, and it loaded."""
    folder = tmp_path_factory.mktemp("parcels")
    return folder / "parcels.toml", parcels.load(folder, TEXT + GROUPS + EPOCHS)


def records(seed: int = 1, count: int = 24) -> list[Record]:
    random = Random(seed)
    found = []
    for line in range(1, count + 1):
        values = {
            "sent": random.randint(0, 50),
            "lost": random.randint(0, 50),
            "care": round(random.random(), 9),
            "hotkey": f"hk-{line % MINERS}",
            "track": random.choice(["slow", "fast"]),
            "round": line // 8,
        }
        values |= {} if line % 3 else {"delay": 0.5}
        found.append(parcel(line, **values) if line % 7 else missed(line, **values))
    return found


def begun(where: str, rules: tuple[Path, Scorer]) -> Ledger:
    path, scorer = rules
    return subnet.begun(where, path, hotkeys(MINERS), ["parcel"], registry=scorer.registry)


def events(ledger: Ledger) -> dict[str, StateEvent]:
    """The state events of the first epoch, by task."""
    with ledger.store.reading() as transaction:
        return {event.task_id: event for event in transaction.events(0)}


def test_a_state_keeps_measures_and_groups(
    where: str, rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    with begun(where, rules) as ledger:
        ledger.import_events(written(tmp_path / "lines.jsonl", records()))
        found = events(ledger)
    for record in records():
        event = found[record["task_id"]]
        wanted = expected(record) if "submission" in record else {}
        assert event.group == record["track"]
        assert event.measures == {n: text for n, text in wanted.items() if text is not None}
        assert result_row(event)[-1].get("measures", {}) == event.measures
        assert (event.quality, event.emission) == (None, None)


def test_weights_follow_from_the_measures_by_group(
    where: str, rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    """Each miner has its part of what its track carried, and each track its part of all weight."""
    lines = [
        parcel(n, hotkey=f"hk-{n % 3}", lost=0, weight=n, track=("slow", "fast")[n % 2])
        for n in range(1, 13)
    ]
    wanted: dict[str, Fraction] = dict.fromkeys(("hk-0", "hk-1", "hk-2"), Fraction(0))
    for track, share in (("slow", Fraction(1, 4)), ("fast", Fraction(3, 4))):
        carried = {n: line for n, line in enumerate(lines, 1) if line["track"] == track}
        for n, line in carried.items():
            wanted[line["miner"]["hotkey"]] += share * n / sum(carried)
    with begun(where, rules) as ledger:
        ledger.import_events(written(tmp_path / "lines.jsonl", lines))
        with ledger.queries() as queries:
            found = queries.weights()
    assert found.weights == tuple(published(each) for each in wanted.values())
    assert set(found.without) == {"hk-3"}


def test_nothing_of_a_state_shows_a_quality(rules: tuple[Path, Scorer], tmp_path: Path) -> None:
    with begun(str(tmp_path / "state.db"), rules) as ledger:
        ledger.import_events(written(tmp_path / "lines.jsonl", records()))
        ledger.close_epoch()
        with ledger.queries() as queries:
            profile = queries.profile("hk-1")
    assert (profile.reputation, profile.rank) == ({}, {"parcel": None})
    assert "quality" not in json.dumps(views.profile(profile, ()))
