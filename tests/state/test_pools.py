"""Pools: how the lines of a state share its weight, from the log alone."""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from state.signing import ALICE, BOB, CAROL, digest, envelope, genesis, root, written_root
from state.test_no_way_round import forgeries
from state.trusted import authority, of

from tallystick.errors import StateError, TrustError
from tallystick.json_values import json_value
from tallystick_state.authority import OPERATOR
from tallystick_state.ledger import Ledger
from tallystick_state.pools import Pools, pools_of
from tallystick_state.replay import verify

SKILLS, WORKFLOW = "skills@1.0.0", "workflow@1.1.0"
LINES = ("skills", "workflow")
SHARES = {"skills": "0.7", "workflow": "0.3"}
EVEN = {"skills": "0.5", "workflow": "0.50"}


def began(place: object, **options: Any) -> Ledger:  # noqa: ANN401  # of a ledger
    return Ledger.create(str(place), [SKILLS, WORKFLOW], pools=SHARES, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store in which epoch 1 is open."""
    place = tmp_path_factory.mktemp("made") / "state.db"
    with began(place) as ledger:
        ledger.close_epoch()
    return place.read_bytes()


def test_a_share_has_one_spelling() -> None:
    found = pools_of({"workflow": "0.300000000", "skills": Decimal("0.70")}, LINES)
    assert found == pools_of(SHARES, LINES)
    assert json_value(found) == {"idle": "proportional", "shares": SHARES}
    assert found.digest == digest(json_value(found))


@pytest.mark.parametrize(
    ("shares", "idle", "burn", "told"),
    [
        ({"skills": "0.7"}, "equal", None, "one for each line of the state: skills, workflow"),
        ({**SHARES, "other": "0.1"}, "equal", None, 'pools of "other", "skills"'),
        ({"skills": "0.7", "workflow": "0.2"}, "equal", None, "shares that sum to 0.9"),
        ({"skills": "1", "workflow": "0"}, "equal", None, 'the share "0" of "workflow"'),
        ({"skills": "1.5", "workflow": "-0.5"}, "equal", None, 'the share "-0.5" of'),
        ({"skills": "nan", "workflow": "1"}, "equal", None, 'the share "nan" of'),
        ({"skills": "0.7000000001", "workflow": "0.3"}, "equal", None, "up to nine places"),
        ({"skills": "٠.٧", "workflow": "0.3"}, "equal", None, 'of "skills"'),
        (SHARES, "somewhere", None, 'the word "somewhere" for idle lines'),
        (SHARES, "burn", None, "nobody who burns"),
        (SHARES, "equal", 3, "found 3 beside equal"),
        (SHARES, "burn", 65536, "found 65536, expected a hotkey"),
        (SHARES, "burn", "uid:7@", "expected a hotkey"),
    ],
)
def test_what_is_no_pools_is_refused(
    shares: Mapping[str, str], idle: str, burn: str | int | None, told: str
) -> None:
    with pytest.raises(StateError, match=re.escape(told)) as caught:
        pools_of(shares, LINES, idle, burn)
    assert caught.value.code == "bad-pools"


def test_one_line_has_no_pools(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="found pools of one line"):
        Ledger.create(tmp_path / "one.db", SKILLS, pools={"skills": "1"})
    assert not (tmp_path / "one.db").exists()


@pytest.mark.parametrize("burn", [0, "owner", "uid:0@55", "5Burn"])
def test_pools_hold_from_an_epoch_on(where: str, burn: str | int) -> None:
    with began(where) as ledger:
        ledger.close_epoch()
        change = ledger.share(EVEN, 3, idle="burn", burn=burn)
        assert (change.epoch, change.sequence) == (3, 1)
        assert change.previous == pools_of(SHARES, LINES).digest
        for _ in range(2):
            ledger.close_epoch()
        assert verify(ledger).entries == 5
        began_as = ledger.in_force.genesis
    with Ledger.open(where) as ledger:
        pools = ledger.in_force.pools
        assert [pools.at(epoch) for epoch in (0, 2)] == [pools_of(SHARES, LINES)] * 2
        even = {"skills": Decimal("0.5"), "workflow": Decimal("0.5")}
        assert pools.at(3) == Pools(even, "burn", burn)
        assert ledger.in_force.genesis == began_as


def test_what_was_scheduled_is_replaced(where: str) -> None:
    with began(where) as ledger:
        ledger.share(EVEN, 5)
        ledger.share(EVEN, 9, idle="equal")
        again = ledger.share(SHARES, 5)
        assert again.sequence == 3
        assert [each.epoch for each in ledger.in_force.pools.decisions] == [5]
        assert ledger.in_force.pools.at(9) == pools_of(SHARES, LINES)
        verify(ledger)


@pytest.mark.parametrize(
    ("shares", "epoch", "code"),
    [
        (EVEN, 1, "epoch-begun"),
        (EVEN, 0, "epoch-begun"),
        (SHARES, 4, "same-pools"),
        ({"skills": "1"}, 4, "bad-pools"),
    ],
)
def test_pools_that_a_state_does_not_take_change_nothing(
    made: bytes, tmp_path: Path, shares: Mapping[str, str], epoch: int, code: str
) -> None:
    (tmp_path / "state.db").write_bytes(made)
    with Ledger.open(tmp_path / "state.db") as ledger:
        before = verify(ledger).entries
        with pytest.raises(StateError) as caught:
            ledger.share(shares, epoch)
        assert caught.value.code == code
        with pytest.raises(StateError, match="expected at most 2147483647"):
            ledger.share(EVEN, 2**31)
        assert verify(ledger).entries == before


def test_a_state_of_several_lines_begins_as_before_without_pools(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "state.db", [SKILLS, WORKFLOW]) as ledger:
        with ledger.store.reading() as transaction:
            first = next(transaction.entries())
        lines = {"skills": of(SKILLS), "workflow": of(WORKFLOW)}
        assert "pools" not in first.body
        assert ledger.in_force.genesis == genesis(lines, None)
        ledger.share(SHARES, 1)
        assert ledger.in_force.pools.at(0) is None
        assert ledger.in_force.pools.at(1) == pools_of(SHARES, LINES)
        verify(ledger)


# -------------------------------------------------------------------------------------- signatures

FIRST = root()


def said(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # any keys of a predicate
    """What a council signs that shares evenly from epoch 3 on."""
    pools = json_value(pools_of(SHARES, LINES))
    lines = {"skills": of(SKILLS), "workflow": of(WORKFLOW)}
    named = {"format": 1, "lines": lines, "trust": digest(FIRST), "pools": digest(pools)}
    return {
        "format": 1,
        "genesis": digest(named),
        "network": FIRST["network"],
        "previous": digest(pools),
        "pools": {"idle": "proportional", "shares": {"skills": "0.5", "workflow": "0.5"}},
        "epoch": 3,
        "sequence": 1,
    } | changes


def signed(*signers: Any, **changes: Any) -> bytes:  # noqa: ANN401  # keys, and keys of a predicate
    what = said(**changes)
    subject = {"name": "pools", "digest": {"sha256": digest(what["pools"]).removeprefix("sha256:")}}
    return envelope("pools", what, *signers, subject=subject)


def test_a_state_with_a_trust_file_asks_for_signatures_of_pools(where: str, tmp_path: Path) -> None:
    with began(where, trust=written_root(tmp_path, FIRST), validator="val-1") as ledger:
        bad = {name: given for name, (given, _) in forgeries().items()}
        bad |= {
            "one alone": authority(signed(ALICE)),
            "another epoch": authority(signed(ALICE, BOB, epoch=4)),
            "another number": authority(signed(ALICE, BOB, sequence=2)),
            "other pools before": authority(signed(ALICE, BOB, previous=None)),
            "other pools": authority(signed(ALICE, BOB, pools=json_value(pools_of(SHARES, LINES)))),
        }
        for name, given in bad.items():
            with pytest.raises(TrustError):
                ledger.share(EVEN, 3, authority=given)
            assert ledger.in_force.pools.sequence == 0, name
        found = ledger.share(EVEN, 3, authority=authority(signed(ALICE, CAROL)))
        assert found.signed_by == ("alice", "carol")
        with pytest.raises(TrustError):
            ledger.share(SHARES, 4, authority=OPERATOR)
        verify(ledger)
    with Ledger.open(where) as ledger:
        (change,) = ledger.in_force.pools.decisions
        assert change.signed_by == ("alice", "carol")
