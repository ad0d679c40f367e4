"""Every place that tells a figure of a back-test tells the same, which plain Python makes of rows.

The terminal, its JSON, ``summary.json`` and the page are compared with shares that are divided here
from the amounts of the table of miners; that these are sums of scores, `test_counting` says.
"""

import json
import random
import re
from decimal import Decimal
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import attrs
import pyarrow.parquet as pq
import pytest
from cli.command import run
from examples import fast_rows
from governance.backtest.histories import made, written

from tallystick.io.text import short

pytestmark = pytest.mark.usefixtures("undrawn")

RULES = ("skills@1.0.0", "skills@1.1.0", "skills@1.2.0")
NAMES = ("fast", "slow", "<b>bold</b>", "a & b", "x" * 48)
Row = dict[str, Any]
Shares = dict[str, Fraction]


@pytest.fixture(scope="module")
def proposals(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Candidates: the shipped rule sets, and two that change tiers."""
    folder = tmp_path_factory.mktemp("proposals")
    changes = {
        "lower": ["tiers.thresholds.novel.headroom=0.2"],
        "steeper": ["tiers.levels[2].multiplier=1.7", "tiers.thresholds.optimised.headroom=0.05"],
    }
    for name, values in changes.items():
        found = run("rules", "set", RULES[1], *values, "-o", folder / f"{name}.toml")
        assert found.status == 0, found.err
    return (*RULES, *(str(folder / f"{name}.toml") for name in changes))


def history(seed: int, chance: random.Random) -> list[Row]:
    """Records of a few epochs, some missed or late, and some of them twice."""
    hotkeys = chance.sample(NAMES, chance.randint(2, 5))
    rows = sorted(chance.sample(made(seed), 30), key=lambda row: row["round"])
    for row in rows:
        uid = row["miner"]["uid"] % len(hotkeys)
        row["miner"] = {"uid": uid, "hotkey": hotkeys[uid]}
    return rows + chance.sample(rows, chance.choice([0, 0, 2]))


def published(value: Fraction) -> Decimal:
    """Nine places, half to even."""
    return Decimal(round(value * 10**9)).scaleb(-9)


def percent(value: Decimal, places: int = 2) -> str:
    return f"{Decimal(round(value * 10 ** (2 + places))).scaleb(-places):f} %".replace("-", "−")


@attrs.frozen
class Truth:
    """Figures of the rows of the tables.

    Attributes:
        old: the shares under the baseline.
        new: the shares under the candidate.
        flips: how many records change their tier.
    """

    old: Shares
    new: Shares
    flips: int

    @classmethod
    def of(cls, folder: Path) -> "Truth | None":
        """Read the tables; None where nobody has anything under one of the rule sets."""
        rows = pq.read_table(folder / "miners.parquet").to_pylist()
        sides = list[Shares]()
        for side in ("baseline", "candidate"):
            amounts = {
                row["miner_hotkey"]: Fraction(row[f"{side}_amount"])
                for row in rows
                if row["skill_type"] is None
            }
            whole = sum(amounts.values())
            if not whole:
                return None
            sides.append({hotkey: amount / whole for hotkey, amount in amounts.items()})
        flips = pq.read_table(folder / "flips.parquet").to_pylist()
        return cls(*sides, sum(row["baseline_tier"] != row["candidate_tier"] for row in flips))

    @property
    def moved(self) -> Decimal:
        return published(sum(abs(self.new[key] - self.old[key]) for key in self.old) / 2)

    @property
    def changes(self) -> dict[str, Decimal]:
        return {key: published(self.new[key]) - published(self.old[key]) for key in self.old}

    @property
    def extremes(self) -> dict[str, str]:
        """Who gains and who loses most, of those who do; by hotkey among equals."""
        changes = self.changes
        gain = min(changes, key=lambda key: (-changes[key], key))
        loss = min(changes, key=lambda key: (changes[key], key))
        return {
            name: key
            for name, key, sign in (("gain", gain, 1), ("loss", loss, -1))
            if sign * changes[key] > 0
        }

    @property
    def sides(self) -> tuple[int, int]:
        """How many miners have a larger share, and how many a smaller one."""
        changes = self.changes.values()
        return sum(each > 0 for each in changes), sum(each < 0 for each in changes)


def check(seed: int, proposals: tuple[str, ...], folder: Path) -> bool:
    """Compare what one history is told to give; whether anybody has anything."""
    chance = random.Random(seed)
    rows, with_state = history(seed, chance), bool(seed % 2)
    references = chance.sample(proposals, 2)
    path = written(folder / "history.jsonl", rows)
    words = [path, "--rules", references[0], "--rules", references[1], "--bootstrap", "39"]
    words += ["--with-state"] if with_state else []
    text = run("backtest", *words, "-o", folder / "out").out
    told = run("backtest", *words, "-o", folder / "again", "--json").json()
    summary = json.loads((folder / "out" / "summary.json").read_text())
    kind = "replayed" if with_state else "seed"
    assert summary["thresholds"] == told["thresholds"] == kind
    first = text.splitlines()[0]
    assert first.startswith("thresholds  those of ")
    assert ("a new network" in first) is not with_state
    (found,), (result,) = summary["candidates"], told["results"]
    truth = Truth.of(folder / "out")
    if truth is None:
        assert found["overall"]["share_moved"] is result["share_moved"] is None
        return False
    check_json(truth, found, result)
    check_tables(truth, found, folder / "out")
    check_texts(truth, found, text, (folder / "out" / "report.html").read_text())
    return True


def check_json(truth: Truth, found: Row, result: Row) -> None:
    overall = found["overall"]
    assert Decimal(overall["share_moved"]) == Decimal(result["share_moved"]) == truth.moved
    assert found["flips"]["tier"] == result["flips"]["tier"] == truth.flips
    assert (result["gaining"], result["losing"]) == truth.sides
    for side, key in (("winners", "gain"), ("losers", "loss")):
        named = overall[side][0] if overall[side] else None
        assert named == result[f"largest_{key}"]
        assert (named and named["hotkey"]) == truth.extremes.get(key)
        if named is not None:
            assert Decimal(named["share_change"]) == truth.changes[named["hotkey"]]
            assert Decimal(named["candidate_share"]) == published(truth.new[named["hotkey"]])
    if found["state"] is not None:
        state = found["state"]["overall"]
        assert {name: overall[name] for name in state} == state
    if found["uncertainty"] is not None:
        ends = found["uncertainty"]["share_moved"]
        assert result["uncertainty"]["share_moved"] == ends
        assert Decimal(ends[0]) <= truth.moved <= Decimal(ends[1])


def check_tables(truth: Truth, found: Row, folder: Path) -> None:
    table = pq.read_table(folder / "miners.parquet").to_pylist()
    every = {row["miner_hotkey"]: row for row in table if row["skill_type"] is None}
    assert {key: row["candidate_share"] for key, row in every.items()} == {
        key: published(share) for key, share in truth.new.items()
    }
    assert {key: row["share_change"] for key, row in every.items()} == truth.changes
    assert pq.read_table(folder / "flips.parquet").num_rows == found["flips"]["records"]


def check_texts(truth: Truth, found: Row, text: str, html: str) -> None:
    page = " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
    moved, flips, many = percent(truth.moved), found["flips"]["records"], len(truth.changes)
    assert f"{moved} changes hands" in text
    between = ""
    if found["uncertainty"] is not None:
        between = " ({} to {})".format(*found["uncertainty"]["flips"])
    assert f"; {flips} record{'s' * (flips != 1)} change tier or gate{between}\n" in text
    assert f"changes hands {moved}" in page
    assert f"records that flip {flips:,}" in page
    larger, smaller = truth.sides
    assert f"miners with a larger share {larger} of {many}" in page
    assert f"miners with a smaller share {smaller} of {many}" in page
    for hotkey in truth.extremes.values():
        sides = (truth.old[hotkey], truth.new[hotkey])
        values = [percent(published(share), 3) for share in sides]
        assert " ".join(values) in page
    weight = found["weight"]
    if weight["share_moved"] is not None:
        assert f"{percent(Decimal(weight['share_moved']))} of all weight changes hands" in text
        assert f"of all weight changes hands {percent(Decimal(weight['share_moved']))}" in page
    for side, key in (("winners", "gain"), ("losers", "loss")):
        for named in weight[side][:1]:
            shares = (Decimal(named[f"{which}_share"]) for which in ("baseline", "candidate"))
            # nobody and whoever is no miner of the history have no uid
            slot = f" (uid {named['uid']})" if named["uid"] >= 0 else ""
            assert f"largest {key}  {short(named['hotkey'])}{slot}: " in text
            assert " → ".join(percent(share, 3) for share in shares) in text
    if found["uncertainty"] is not None:
        low, high = (percent(Decimal(each)) for each in found["uncertainty"]["share_moved"])
        assert f"{moved} changes hands ({low} to {high})" in text
        assert f"{moved} {low} to {high}" in page


@pytest.mark.parametrize("seed", fast_rows(range(8), 1))
def test_every_place_tells_what_the_rows_sum_to(
    seed: int, proposals: tuple[str, ...], tmp_path: Path
) -> None:
    check(seed, proposals, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("tens", range(1, 25))
def test_every_place_tells_what_the_rows_of_many_histories_sum_to(
    tens: int, proposals: tuple[str, ...], tmp_path: Path
) -> None:
    paid = 0
    for seed in range(10 * tens, 10 * tens + 10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        paid += check(seed, proposals, folder)
    assert paid > 5
