"""Rules of measures and groups, with what they ask of a round beside the records.

It is said as an epoch is closed, and kept in the log.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scoring import parcels
from scoring.parcels import EPOCHS, TEXT, parcel
from state import subnet
from state.chronicle import digest_of
from state.resealed import reseal
from state.subnet import Record, carry_of, hotkeys, weights_of, written

import tallystick
from tallystick.errors import DamagedError, InputError, StateError
from tallystick.numbers.nano import from_text
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocate import Allocation
from tallystick_state import views
from tallystick_state.attributes import read_attributes
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.step_roots import result_row
from tallystick_state.transfer import export_state, import_state

ALLOCATION = """
[allocation]
group = "track"
groups = { slow = 0.25, fast = 0.75 }
steps = [
  { name = "sums", do = "collect", value = "units", as = "sum", records = "round" },
  { name = "placed", do = "top", of = "sums", k = 2, ties = "digest", salt = "round.salt" },
  { name = "split", do = "by_rank", of = "placed", parts = [0.6, 0.4] },
  { name = "earned", do = "pools", of = "split", idle = "equal" },
  { name = "helpers", do = "equal", of = "sums", where = "miner.helper" },
  { name = "new", do = "mix", of = { earned = 0.9, helpers = 0.1 }, empty = "fold" },
  { name = "smooth", do = "average", of = "new", new = 0.3, leaver = "keep", normalise = true },
  { name = "weight", do = "reserve", of = "smooth", key = "round.reserved", share = "round.share", publish = true },
]
"""  # noqa: E501  # as a rule set has it
TRACKS = ("slow", "fast")
MINERS = 8


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scorer]:
    """The file of the rule set, and it loaded."""
    folder = tmp_path_factory.mktemp("parcels")
    return folder / "parcels.toml", parcels.load(folder, TEXT + ALLOCATION + EPOCHS)


def name(number: int) -> str:
    return f"hk-{number}"


def begun(place: object, rules: tuple[Path, Scorer]) -> Ledger:
    return subnet.begun(place, rules[0], hotkeys(MINERS), ["parcel"], registry=rules[1].registry)


def again(place: object, rules: tuple[Path, Scorer]) -> Ledger:
    return Ledger.open(str(place), registry=rules[1].registry)


def sent(epoch: int, seed: int = 5) -> list[Record]:
    """The parcels of two rounds of an epoch; many weigh the same, so that the salt decides."""
    random, found = Random(f"{seed} {epoch}"), []
    for line in range(1, 25):
        values = {
            "hotkey": name(random.randrange(MINERS)),
            "track": random.choice(TRACKS),
            "weight": random.choice((2, 4)),
            "lost": 0,
            "round": 2 * epoch + line % 2,
            "epoch": epoch,
            "task_id": f"t-{epoch}-{line}",
        }
        found.append(parcel(line, **values))
    return found


def said(epoch: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401  # of a file
    """What is told of the rounds of an epoch."""
    helpers = {name(n): {"helper": (n + epoch) % 3 == 0} for n in range(MINERS)}
    about = {"salt": f"seed-{epoch}", "reserved": "hk-2", "share": "0.05"} | changes
    return {"format": 1, "round": about, "miners": helpers}


def allocated(
    scorer: Scorer, lines: Sequence[Record], told: Mapping[str, Any], carry: Allocation | None
) -> Allocation:
    """Weights that `tallystick.allocate` makes of the rounds of an epoch, one after the other."""
    for number in sorted({line["round"] for line in lines}):
        units = defaultdict[tuple[str, str], list[str]](list)
        for found in scorer.score_many([line for line in lines if line["round"] == number]):
            row = found.to_dict()
            units[row["miner_hotkey"], row["group"]].append(row["measures"]["units"])
        miners = [
            {"hotkey": name(n), "uid": n, "track": track, "units": units[name(n), track]}
            for n in range(MINERS)
            for track in TRACKS
        ]
        carry = tallystick.allocate(scorer, miners, round=told, carry=carry)
    assert carry is not None
    return carry


def smooth_of(ledger: Ledger) -> dict[str, int]:
    return carry_of(ledger, "parcels").get("smooth", {})


def weights_with(ledger: Ledger, told: Mapping[str, Any]) -> dict[str, int]:
    """The weights with what is told of the last round."""
    return weights_of(ledger, "parcels", read_attributes(told, [ledger.rules])["parcels"])


def test_what_is_carried_comes_of_what_was_said_and_the_log_keeps_it(
    where: str, rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    expected, leaves = None, list[str]()
    with begun(where, rules) as ledger:
        for epoch in range(3):
            ledger.import_events(written(tmp_path / "lines.jsonl", sent(epoch)))
            for number in (2 * epoch, 2 * epoch + 1):
                own = [line for line in sent(epoch) if line["round"] == number]
                ledger.close_round(own)
            expected = allocated(rules[1], sent(epoch), said(epoch), expected)
            weights = {h: n for h, n in sorted(expected.weights.items()) if n}
            assert weights_with(ledger, said(epoch)) == weights
            with pytest.raises(StateError, match="--round FILE") as caught:
                ledger.close_epoch()
            assert caught.value.code == "attribute-missing"
            assert ledger.open_epoch() == epoch
            (tmp_path / "round.json").write_text(json.dumps(said(epoch)))
            ledger.close_epoch(round=tmp_path / "round.json")
            assert smooth_of(ledger) == dict(expected.carry["smooth"])
            # what was said of the last epoch holds until there are other records
            assert weights_of(ledger, "parcels") == weights
        verify(ledger)
        with ledger.epoch_log() as log:
            leaves = [leaf.to_bytes().decode() for leaf in log.leaves]
            rows = [json.loads(row) for row in log.rows(2)["weights"] or ()]
        wanted = digest_of(ledger)
        export_state(ledger, tmp_path / "state.jsonl")
    told = {row[0]: row[-1]["weight"] for row in rows if row[-1]["weight"] is not None}
    assert {h: from_text(text) for h, text in told.items()} == weights
    import_state(tmp_path / "state.jsonl", tmp_path / "copy.db", registry=rules[1].registry)
    with again(tmp_path / "copy.db", rules) as copy:
        assert digest_of(copy) == wanted
        assert weights_of(copy, "parcels") == weights
        with copy.epoch_log() as log:
            assert [leaf.to_bytes().decode() for leaf in log.leaves] == leaves


def test_a_state_keeps_measures_and_groups_and_shows_no_quality(
    where: str, rules: tuple[Path, Scorer]
) -> None:
    lines = [*sent(0), parcels.missed(99, hotkey=name(0), track="fast")]
    with begun(where, rules) as ledger:
        ledger.import_events(lines)
        with ledger.store.reading() as transaction:
            found = {event.task_id: event for event in transaction.events(0)}
        for line in lines:
            event = found[line["task_id"]]
            wanted = parcels.expected(line) if "submission" in line else {}
            assert event.group == line["track"]
            assert event.measures == {n: text for n, text in wanted.items() if text is not None}
            assert result_row(event)[-1].get("measures", {}) == event.measures
            assert (event.quality, event.emission) == (None, None)
        ledger.close_epoch(round=said(0))
        with ledger.queries() as queries:
            profile = queries.profile(name(0))
    assert (profile.reputation, profile.rank) == ({}, {"parcel": None})
    assert "quality" not in json.dumps(views.profile(profile, ()))


def test_neither_order_nor_batches_matter_to_what_is_said_nor_does_an_adoption(
    where: str, rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    text = rules[0].read_text().replace(', ties = "digest", salt = "round.salt"', "")
    (tmp_path / "later.toml").write_text(text.replace('"1.0.0"', '"1.1.0"', 1))
    found = set[str]()
    for place, in_order in ((where, True), (tmp_path / "other.db", False)):
        with begun(place, rules) as ledger:
            ledger.adopt(tmp_path / "later.toml", 1)
            for epoch in range(2):
                lines = sent(epoch)
                for part in [lines] if in_order else [lines[15:], lines[14::-1]]:
                    ledger.import_events(part)
                told = said(epoch)
                if epoch:
                    # the rules since then ask for none
                    with pytest.raises(InputError, match="found salt"):
                        ledger.close_epoch(round=told)
                    del told["round"]["salt"]
                ledger.close_epoch(round=told)
            verify(ledger)
            with ledger.epoch_log() as log:
                roots = [leaf.steps["weights"] for leaf in log.leaves]
            found.add(f"{digest_of(ledger)} {roots} {smooth_of(ledger)}")
    assert len(found) == 1


def test_one_meaning_has_one_entry(rules: tuple[Path, Scorer], tmp_path: Path) -> None:
    hashes = set[str]()
    spellings = ("0.05", "0.050", 0.05)
    for number, share in enumerate(spellings):
        told = said(0, share=share)
        told["miners"] = dict(reversed(told["miners"].items())) | {"hk-9": {}}
        with begun(tmp_path / f"{number}.db", rules) as ledger:
            ledger.import_events(sent(0))
            (tmp_path / "round.json").write_text(json.dumps(told))
            ledger.close_epoch(round=tmp_path / "round.json")
            with ledger.queries() as queries:
                hashes.add(queries.head.hash)
    assert len(hashes) == 1


def test_an_epoch_without_records_asks_for_nothing(
    rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    with begun(tmp_path / "state.db", rules) as ledger:
        ledger.close_epoch()
        ledger.import_events(sent(1))
        ledger.close_epoch(round=said(1))
        held = smooth_of(ledger)
        ledger.close_epoch()
        assert smooth_of(ledger) == held
        # nothing was said of the epoch after, so nobody knows for whom a share is reserved
        with ledger.queries() as queries:
            found = queries.weights()
        assert found.uids == ()
        assert "round.share of the round: found none" in found.reason
        assert set(found.without.values()) == {"the rules refuse what they are given"}
        assert weights_with(ledger, said(1))
        verify(ledger)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"salt": 7}, "round.salt: found 7, expected a text"),
        ({"share": "0.1234567891"}, "expected a decimal of at most nine places"),
        ({"share": True}, "round.share: found True, expected a number"),
        ({"sault": "a"}, "round: found sault, expected a key that the rules read"),
        ({"salt": "\ud800"}, "without lone surrogates"),
    ],
)
def test_what_is_said_wrong_closes_nothing(
    rules: tuple[Path, Scorer], tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    with begun(tmp_path / "state.db", rules) as ledger:
        ledger.import_events(sent(0))
        before = digest_of(ledger)
        with pytest.raises((InputError, StateError), match=told):
            ledger.close_epoch(round=said(0, **change))
        assert (digest_of(ledger), ledger.open_epoch()) == (before, 0)


def test_a_file_that_was_forgotten_is_missed_though_flags_need_not_be_said(
    rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    text = rules[0].read_text().replace(', ties = "digest", salt = "round.salt"', "")
    (tmp_path / "flags.toml").write_text(text)
    with begun(tmp_path / "state.db", (tmp_path / "flags.toml", rules[1])) as ledger:
        ledger.import_events(sent(0))
        with pytest.raises(StateError, match=r"nothing said of miner\.helper, on which"):
            ledger.close_epoch()
        ledger.close_epoch(round={"format": 1})
        assert smooth_of(ledger)
        verify(ledger)


def test_a_closed_epoch_stays_with_what_was_said(
    rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    with begun(tmp_path / "state.db", rules) as ledger:
        ledger.import_events(sent(0))
        closed = ledger.close_epoch(0, round=said(0))
        for same in (None, said(0), said(0, share=0.05)):
            found = ledger.close_epoch(0, round=same)
            assert (found.already, found.snapshot) == (True, closed.snapshot)
        with pytest.raises(StateError) as caught:
            ledger.close_epoch(0, round=said(0, salt="other"))
        assert caught.value.code == "other-attributes"


def test_attributes_in_a_log_are_those_that_the_epoch_was_closed_with(
    rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    with begun(tmp_path / "state.db", rules) as ledger:
        ledger.import_events(sent(0))
        ledger.close_epoch(round=said(0))
    for old, new in (
        ("seed-0", "seed-1"),
        ('"share":"0.050000000"', '"share":"0.05"'),
        ('"salt"', '"sault"'),
    ):
        copy = tmp_path / "copy.db"
        copy.write_bytes((tmp_path / "state.db").read_bytes())
        with sqlite3.connect(copy) as connection:
            changed = connection.execute(
                "UPDATE tallystick_log SET body = replace(body, ?, ?) WHERE kind = 'epoch'",
                (old, new),
            )
            assert changed.rowcount == 1
        reseal(copy)
        with again(copy, rules) as ledger, pytest.raises(DamagedError):
            verify(ledger)


def test_every_column_is_explained_in_a_state(rules: tuple[Path, Scorer], tmp_path: Path) -> None:
    with begun(tmp_path / "state.db", rules) as ledger:
        for number in (0, 1):
            ledger.close_round([line for line in sent(0) if line["round"] == number])
        told = read_attributes(said(0), [ledger.rules])["parcels"]
        with ledger.queries() as queries:
            found = queries.line_weights("parcels", (), told)
    for number in range(MINERS):
        explanation = found.explained(name(number))
        assert explanation is not None
        assert [each.name for each in explanation.steps if not each.is_computed] == []
