"""What rules ask of a round beside the records: said as an epoch is closed, and kept in the log."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scoring import parcels
from scoring.parcels import EPOCHS, TEXT, parcel
from state import subnet
from state.chronicle import digest_of
from state.resealed import reseal
from state.subnet import Record, hotkeys, written

from tallystick.errors import DamagedError, InputError, StateError
from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick_state.attributes import read_attributes
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
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
SHARES = {"slow": Fraction(1, 4), "fast": Fraction(3, 4)}
PARTS = Fraction(3, 5), Fraction(2, 5)
MINERS = 8
Averages = dict[str, Fraction]


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
            "track": random.choice(("slow", "fast")),
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


def simulated(
    lines: Sequence[Record], told: Mapping[str, Any], averages: Averages
) -> tuple[Averages, Averages]:
    """The averages after an epoch, and its weights, in fractions."""
    about = told["round"]
    for number in sorted({line["round"] for line in lines}):
        new, present = Averages(), set[str]()
        parts: dict[str, Averages] = {}
        for track in SHARES:
            sums = Averages()
            for line in lines:
                if (line["round"], line["track"]) == (number, track):
                    hotkey, units = line["miner"]["hotkey"], line["submission"]["weight"]
                    # the rate of the rule set is a half; nothing was lost
                    care = Fraction(str(line["checks"]["care"]))
                    sums[hotkey] = sums.get(hotkey, Fraction()) + Fraction(units, 2) * care
            present |= {*sums}
            first = sorted(sums, key=lambda h: (-sums[h], ticket(about["salt"], track, h)))[
                :2
            ]  # at once
            whole = sum(PARTS[: len(first)])
            parts[track] = {h: p / whole for h, p in zip(first, PARTS, strict=False)}
        active = [track for track in SHARES if parts[track]]
        spare = 1 - sum(SHARES[track] for track in active)
        for track in active:
            for hotkey, part in parts[track].items():
                share = SHARES[track] + spare / len(active)
                new[hotkey] = new.get(hotkey, Fraction()) + share * part
        helpers = {h for h in present if told["miners"].get(h, {}).get("helper")}
        if helpers:
            for hotkey in {*new} | helpers:
                part = Fraction(hotkey in helpers, len(helpers))
                new[hotkey] = Fraction(9, 10) * new.get(hotkey, Fraction()) + part / 10
        moved = {
            h: averages.get(h, Fraction())
            if h not in new
            else Fraction(3, 10) * new[h] + Fraction(7, 10) * averages.get(h, Fraction())
            for h in {*averages, *new}
        }
        whole = sum(moved.values())
        averages = {h: Fraction(round(each / whole * NANO), NANO) for h, each in moved.items()}
    share, key = Fraction(about["share"]), about["reserved"]
    weights = {h: each * (1 - share) for h, each in averages.items()}
    weights[key] = weights.get(key, Fraction()) + share
    whole = sum(weights.values())
    return averages, {h: each / whole for h, each in weights.items()}


def ticket(salt: str, track: str, hotkey: str) -> str:
    return hashlib.sha256(f"{salt}:{track}:{hotkey}".encode()).hexdigest()


def nano(found: Mapping[str, Fraction]) -> dict[str, int]:
    return {h: n for h, each in sorted(found.items()) if (n := round(each * NANO))}


def carry_of(ledger: Ledger) -> dict[str, int]:
    with ledger.queries() as queries:
        return dict(queries.state.carry.get("parcels", {}).get("smooth", {}))


def weights_of(ledger: Ledger, told: Mapping[str, Any] | None = None) -> dict[str, int]:
    with ledger.queries() as queries:
        rules = [queries.weighing("parcels")]
        given = None if told is None else read_attributes(told, rules)["parcels"]
        found = queries.line_weights("parcels", (), given)
    return {h: weight for h, weight in sorted(found.weights.items()) if weight}


@pytest.mark.nightly
def test_what_is_carried_comes_of_what_was_said_and_the_log_keeps_it(
    where: str, rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    averages, leaves = Averages(), list[str]()
    with begun(where, rules) as ledger:
        for epoch in range(3):
            ledger.import_events(written(tmp_path / "lines.jsonl", sent(epoch)))
            for number in (2 * epoch, 2 * epoch + 1):
                own = [line for line in sent(epoch) if line["round"] == number]
                ledger.close_round(own)
            averages, weights = simulated(sent(epoch), said(epoch), averages)
            assert weights_of(ledger, said(epoch)) == nano(weights)
            with pytest.raises(StateError, match="--round FILE") as caught:
                ledger.close_epoch()
            assert caught.value.code == "attribute-missing"
            assert ledger.open_epoch() == epoch
            (tmp_path / "round.json").write_text(json.dumps(said(epoch)))
            ledger.close_epoch(round=tmp_path / "round.json")
            assert carry_of(ledger) == nano(averages)
            # what was said of the last epoch holds until there are other records
            assert weights_of(ledger) == nano(weights)
        verify(ledger)
        with ledger.epoch_log() as log:
            leaves = [leaf.to_bytes().decode() for leaf in log.leaves]
            rows = [json.loads(row) for row in log.rows(2)["weights"] or ()]
        wanted = digest_of(ledger)
        export_state(ledger, tmp_path / "state.jsonl")
    told = {row[0]: row[-1]["weight"] for row in rows if row[-1]["weight"] is not None}
    assert {h: round(Fraction(text) * NANO) for h, text in told.items()} == nano(weights)
    import_state(tmp_path / "state.jsonl", tmp_path / "copy.db", registry=rules[1].registry)
    with again(tmp_path / "copy.db", rules) as copy:
        assert digest_of(copy) == wanted
        assert weights_of(copy) == nano(weights)
        with copy.epoch_log() as log:
            assert [leaf.to_bytes().decode() for leaf in log.leaves] == leaves


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
            found.add(f"{digest_of(ledger)} {roots} {carry_of(ledger)}")
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
        held = carry_of(ledger)
        ledger.close_epoch()
        assert carry_of(ledger) == held
        # nothing was said of the epoch after, so nobody knows for whom a share is reserved
        with ledger.queries() as queries:
            found = queries.weights()
        assert found.uids == ()
        assert "round.share of the round: found none" in found.reason
        assert set(found.without.values()) == {"the rules refuse what they are given"}
        assert weights_of(ledger, said(1))
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
        assert carry_of(ledger)
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
