"""The uint16 of weights, against `bittensor`, and the shares that it drops."""

import json
import random
import subprocess
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from sdk_environment import NEWEST, OLDEST, extra, python, variables

from tallystick_allocation.uint16 import to_uint16
from tallystick_state.weights import Weights

NANO = 10**9


# --------------------------------------------------------------------------------------- uint16


@given(st.dictionaries(st.integers(0, 65535), st.integers(0, NANO), max_size=20))
def test_uint16_is_the_nearest_proportion_to_the_largest(found: dict[int, int]) -> None:
    largest = max(found.values(), default=0)
    wanted = {uid: round(Fraction(found[uid] * 65535, largest)) for uid in sorted(found) if largest}
    assert dict(zip(*to_uint16(found), strict=True)) == {u: v for u, v in wanted.items() if v}
    assert to_uint16(found)[0] == sorted(to_uint16(found)[0])


TIE = Fraction(1, 10**9)
"""So near to a tie the doubles of the package may round another way."""


@pytest.mark.nightly
@pytest.mark.parametrize("release", [OLDEST, NEWEST])
def test_uint16_is_what_bittensor_converts(release: str, tmp_path: Path) -> None:
    assert Requirement(extra()).specifier.contains(release)
    vectors = [vector(random.Random(seed)) for seed in range(4000)]
    theirs = conversions(python(release), vectors, tmp_path)
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
        env=variables(home),
    )
    return [(uids, values) for uids, values in json.loads(done.stdout)]


@given(st.dictionaries(st.integers(0, 65_535), st.integers(0, 10**9), max_size=12))
def test_what_uint16_drops_is_named(weights: dict[int, int]) -> None:
    """Of slots with a share each is given a whole number, or why it is given none."""
    hotkeys = {f"5{uid}": uid for uid in weights}
    by_hotkey = {hotkey: weights[uid] for hotkey, uid in hotkeys.items()}
    found = Weights.of(by_hotkey, hotkeys, {}, "nobody")
    uids, values = to_uint16(weights)
    assert (list(found.uint16), list(found.uint16.values())) == (uids, values)
    assert list(found.uids) == uids
    assert found.weights == tuple(Fraction(weights[uid], 10**9) for uid in uids)
    held = {uid for uid, nano in weights.items() if nano}
    assert found.dropped.keys() | found.uint16.keys() == held
    assert not found.dropped.keys() & found.uint16.keys()
    largest = max(weights.values(), default=0)
    for uid in found.dropped:
        assert 2 * 65_535 * weights[uid] <= largest


@pytest.mark.parametrize("recipient", ["owner", "5elsewhere"])
def test_without_the_slot_of_a_recipient_nothing_can_be_given_to_the_others(recipient: str) -> None:
    found = Weights.of({"5a": 160_000_000, recipient: 840_000_000}, {"5a": 3}, {}, "")
    assert (found.uids, found.weights, found.uint16) == ((3,), (Fraction(16, 100),), {})
    assert found.reason == (
        f"{recipient} has 0.840000000 of all, and the chain alone knows its slot"
    )
    bound = Weights.of({"5a": 160_000_000, "uid:7@50": 840_000_000}, {"5a": 3}, {}, "")
    assert (bound.uint16, bound.reason) == ({3: 12_483, 7: 65_535}, "")
