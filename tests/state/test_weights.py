"""Weights: the cap by water-filling, against plain fractions; uint16, against `bittensor`."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.metadata import requires
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.decimals import count, published, text
from state.subnet import under
from vectors import cases

import tallystick
from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick.rules.sections import Cap
from tallystick.state import weights
from tallystick.state.rules import StateRules, state_rules_of
from tallystick.state.weights import cap_of, capped, normalised, to_uint16, weights_of

NANO = 10**9


@cache
def rules(name: str = "workflow@1.0.0") -> StateRules:
    return state_rules_of(tallystick.load(name))


def cap(share: str = "0.15") -> Cap:
    return Cap(Decimal(share), "one_over_miners", "water_filling")


def named(shares: list[int]) -> dict[str, int]:
    return {f"m{number}": share for number, share in enumerate(shares)}


SHARES = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, 100), st.integers(0, NANO)), max_size=16
).map(named)
SOME = SHARES.filter(lambda shares: any(shares.values()))
CAPS = st.sampled_from(["0.15", "0.15", "0.3", "0.05", "1"]).map(cap)


def filled(shares: Mapping[str, int], share: Fraction) -> dict[str, Fraction]:
    """E51 as it reads: cap, spread the excess over the uncapped in proportion, repeat."""
    total = sum(shares.values())
    found = {name: Fraction(each, total) for name, each in shares.items()}
    limit = max(share, Fraction(1, sum(each > 0 for each in shares.values())))
    while above := {name for name, each in found.items() if each > limit}:
        excess = sum(found[name] - limit for name in above)
        found |= dict.fromkeys(above, limit)
        takers = {name: each for name, each in found.items() if each < limit}
        room = sum(takers.values())
        found |= {name: each + excess * each / room for name, each in takers.items()}
    return found


# -------------------------------------------------------------------------------------- the cap


@pytest.mark.parametrize(
    ("row", "answer"), [pair for case in cases.load("weight_cap") for pair in case.rows()]
)
def test_weights_are_as_the_vector_says(row: cases.Row, answer: dict[str, str]) -> None:
    given_shares = {name: Fraction(share) for name, share in row["weights"].items()}
    found = weights.published(capped(given_shares, cap()))
    assert {name: to_text(nano) for name, nano in found.items()} == answer
    scores = {name: count(share) for name, share in given_shares.items()}
    assert {n: to_text(nano) for n, nano in weights_of(scores, rules()).items()} == answer


@given(SOME, CAPS)
def test_the_cap_is_filled_as_it_reads(shares: dict[str, int], limit: Cap) -> None:
    assert capped(shares, limit) == filled(shares, Fraction(limit.share))


@given(SOME, CAPS)
def test_no_weight_is_above_the_cap_and_they_sum_to_one(shares: dict[str, int], limit: Cap) -> None:
    found = capped(shares, limit)
    miners = sum(share > 0 for share in shares.values())
    assert max(found.values()) <= max(Fraction(limit.share), Fraction(1, miners))
    assert sum(found.values()) == 1
    assert min(found.values()) >= 0


@given(SOME, CAPS)
def test_water_filling_keeps_the_order_of_weights(shares: dict[str, int], limit: Cap) -> None:
    found = capped(shares, limit)
    descending = sorted(shares, key=shares.__getitem__, reverse=True)
    assert [found[name] for name in descending] == sorted(found.values(), reverse=True)
    assert all(found[a] == found[b] for a in shares for b in shares if shares[a] == shares[b])


@given(SOME, CAPS)
def test_the_uncapped_keep_their_proportions(shares: dict[str, int], limit: Cap) -> None:
    found = capped(shares, limit)
    free = [name for name, weight in found.items() if weight < max(found.values())]
    for one in free:
        for other in free:
            assert found[one] * shares[other] == found[other] * shares[one]


@given(SOME, CAPS, st.integers(1, NANO))
def test_weights_are_free_of_the_unit_of_scores(
    shares: dict[str, int], limit: Cap, unit: int
) -> None:
    scaled = {name: share * unit for name, share in shares.items()}
    assert capped(scaled, limit) == capped(shares, limit)


@given(SOME, CAPS)
def test_capping_twice_is_capping_once(shares: dict[str, int], limit: Cap) -> None:
    once = capped(shares, limit)
    assert capped(once, limit) == once


@given(SOME, CAPS)
def test_who_earned_nothing_gets_nothing_and_changes_nothing(
    shares: dict[str, int], limit: Cap
) -> None:
    found = capped({**shares, "idle": 0}, limit)
    assert found == {**capped(shares, limit), "idle": 0}


@given(SOME, CAPS)
def test_weights_are_free_of_the_order_of_miners(shares: dict[str, int], limit: Cap) -> None:
    assert capped(dict(reversed(shares.items())), limit) == capped(shares, limit)


@pytest.mark.parametrize(
    ("miners", "share", "wanted"),
    [
        (1, "0.15", "1"),
        (3, "0.15", "1/3"),
        (6, "0.15", "1/6"),
        (7, "0.15", "0.15"),
        (0, "0.15", "1"),
    ],
)
def test_the_cap_gives_way_to_an_equal_share(miners: int, share: str, wanted: str) -> None:
    assert cap_of(miners, cap(share)) == Fraction(wanted)


@pytest.mark.parametrize("shares", [[1], [9, 1], [100, 1, 1, 1, 1, 1]])
def test_too_few_miners_share_equally(shares: list[int]) -> None:
    found = capped(named(shares), cap())
    assert set(found.values()) == {Fraction(1, len(shares))}


def test_seven_miners_can_be_unequal() -> None:
    found = capped(named([100, 1, 1, 1, 1, 1, 1]), cap())
    assert found["m0"] == Fraction("0.15")
    assert found["m6"] == Fraction("0.85") / 6


def test_the_excess_can_lift_another_above_the_cap() -> None:
    found = capped(named([50, 14, 6, 6, 6, 6, 6, 6]), cap())
    assert found["m0"] == found["m1"] == Fraction("0.15")
    assert found["m2"] == Fraction("0.7") / 6


@pytest.mark.parametrize("shares", [{}, {"a": 0}, {"a": 0, "b": 0}])
def test_without_any_score_there_are_no_weights(shares: dict[str, int]) -> None:
    assert capped(shares, cap()) == normalised(shares) == weights_of(shares, rules()) == {}


@pytest.mark.parametrize("name", ["workflow@1.0.0", "skills@1.0.0"])
def test_a_negative_score_is_refused(name: str) -> None:
    with pytest.raises(StateError, match="found the share -1 of b, expected at least 0"):
        weights_of({"a": 2, "b": -1}, rules(name))


@given(SOME)
def test_weights_are_published_once(shares: dict[str, int]) -> None:
    wanted = {
        name: text(published(each)) for name, each in filled(shares, Fraction("0.15")).items()
    }
    assert {name: to_text(nano) for name, nano in weights_of(shares, rules()).items()} == wanted


@given(SOME)
def test_a_rule_set_without_a_cap_scales_only(shares: dict[str, int]) -> None:
    total = sum(shares.values())
    wanted = {name: text(published(Fraction(each, total))) for name, each in shares.items()}
    for here in (rules("skills@1.0.0"), without_aggregation()):
        assert {name: to_text(nano) for name, nano in weights_of(shares, here).items()} == wanted


def without_aggregation() -> StateRules:
    here = rules()
    return under(here, attrs.evolve(here.rule_set, aggregation=None))


# --------------------------------------------------------------------------------------- uint16


@pytest.mark.parametrize(
    ("given_weights", "uids", "values"),
    [
        ({}, [], []),
        ({3: 0}, [], []),
        ({3: 7}, [3], [65535]),
        ({9: 1, 2: 1, 4: 0}, [2, 9], [65535, 65535]),
        ({1: 2, 0: 1}, [0, 1], [32768, 65535]),  # 32767.5 goes to the even
        ({0: 131070, 1: 1, 2: 3, 3: 2}, [0, 2, 3], [65535, 2, 1]),  # 0.5 to 0, 1.5 to 2
        ({0: NANO, 1: 1}, [0], [65535]),
        ({0: 150_000_000, 1: 94_444_444}, [0, 1], [65535, 41263]),
    ],
)
def test_weights_become_uint16(
    given_weights: dict[int, int], uids: list[int], values: list[int]
) -> None:
    assert to_uint16(given_weights) == (uids, values)


@given(st.dictionaries(st.integers(0, 65535), st.integers(0, NANO), max_size=20))
def test_uint16_is_the_nearest_proportion_to_the_largest(found: dict[int, int]) -> None:
    largest = max(found.values(), default=0)
    wanted = {uid: round(Fraction(found[uid] * 65535, largest)) for uid in sorted(found) if largest}
    assert dict(zip(*to_uint16(found), strict=True)) == {u: v for u, v in wanted.items() if v}
    assert to_uint16(found)[0] == sorted(to_uint16(found)[0])


RELEASES = [
    # its pinned scalecodec is refused by the later releases of this dependency
    pytest.param(("bittensor==9.12.2", "async-substrate-interface<2"), id="9.12.2"),
    pytest.param(("bittensor>=11",), id="11"),
]
TIE = Fraction(1, 10**9)
"""So near to a tie the doubles of the package may round another way."""


@pytest.mark.slow
@pytest.mark.parametrize("packages", RELEASES)
def test_uint16_is_what_bittensor_converts(packages: tuple[str, ...], tmp_path: Path) -> None:
    vectors = [vector(random.Random(seed)) for seed in range(4000)]
    theirs = conversions(environment(tmp_path, packages), vectors, tmp_path)
    near, many = 0, 0
    for found, (uids, values) in zip(vectors, theirs, strict=True):
        ties = near_ties(found)
        near, many = near + len(ties), many + len(found)
        assert uids == sorted(uids)
        assert without(ties, zip(uids, values, strict=True)) == without(
            ties, zip(*to_uint16(found), strict=True)
        )
    assert many > 200_000
    assert near * 1000 < many


def vector(chance: random.Random) -> dict[int, int]:
    """Weights in nano by ascending uid; a subnet has up to 256 slots."""
    uids = sorted(chance.sample(range(256), chance.randint(1, 256)))
    top = chance.choice([10**3, 10**6, NANO, NANO])
    zero = chance.choice([0, 0, 0.3, 1 if chance.random() < 0.02 else 0.9])
    return {uid: 0 if chance.random() < zero else chance.randint(0, top) for uid in uids}


def near_ties(found: Mapping[int, int]) -> set[int]:
    """The uids whose exact value lies within `TIE` of the middle of two whole numbers."""
    largest = max(found.values())
    exact = {uid: Fraction(each * 65535, largest or 1) for uid, each in found.items()}
    return {uid for uid, each in exact.items() if abs(each % 1 - Fraction(1, 2)) <= TIE}


def without(uids: set[int], pairs: object) -> dict[int, int]:
    return {uid: value for uid, value in pairs if uid not in uids}  # type: ignore[attr-defined]


def environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """The interpreter of a new environment with a release that the project's extra allows."""
    home = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, extra(), *packages], check=True)
    return python


def extra() -> str:
    """What the project's extra asks for."""
    [found] = [
        each
        for each in requires("tallystick") or ()
        if "extra == 'bittensor'" in each.replace('"', "'")
    ]
    return found.partition(";")[0].strip()


def conversions(
    python: Path, vectors: list[dict[int, int]], home: Path
) -> list[tuple[list[int], list[int]]]:
    """The package keeps files in the home folder, so it is given another."""
    script = Path(__file__).with_name("bittensor_conversion.py")
    asked = [(list(each), [nano / NANO for nano in each.values()]) for each in vectors]
    done = subprocess.run(
        [python, script],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"HOME": str(home)},
    )
    return [(uids, values) for uids, values in json.loads(done.stdout)]
