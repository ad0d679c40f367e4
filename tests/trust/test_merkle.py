"""Merkle trees against the recursion of RFC 6962 as it is written, and against published cases."""

import json
from base64 import b64decode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tallystick_state.trust.merkle import (
    EMPTY_ROOT,
    Consistency,
    Inclusion,
    MerkleError,
    TileTree,
    leaf_hash,
    node_hash,
)

PUBLISHED = json.loads((Path(__file__).parent / "vectors" / "merkle.json").read_text())

MOST = 300
DATA = [f"leaf {number}".encode() for number in range(MOST)]


def split(n: int) -> int:
    """ "Let k be the largest power of two smaller than n"."""
    k = 1
    while 2 * k < n:
        k *= 2
    return k


@cache
def mth(low: int, high: int) -> bytes:
    """MTH of RFC 6962, 2.1, of the leaves from one place to before another."""
    n = high - low
    if n == 0:
        return sha256(b"").digest()
    if n == 1:
        return sha256(b"\x00" + DATA[low]).digest()
    k = split(n)
    return sha256(b"\x01" + mth(low, low + k) + mth(low + k, high)).digest()


def path(m: int, low: int, high: int) -> list[bytes]:
    """PATH of RFC 6962, 2.1.1."""
    n = high - low
    if n == 1:
        return []
    k = split(n)
    if m < k:
        return [*path(m, low, low + k), mth(low + k, high)]
    return [*path(m - k, low + k, high), mth(low, low + k)]


def subproof(m: int, low: int, high: int, complete: bool) -> list[bytes]:
    """SUBPROOF of RFC 6962, 2.1.2."""
    n = high - low
    if m == n:
        return [] if complete else [mth(low, high)]
    k = split(n)
    if m <= k:
        return [*subproof(m, low, low + k, complete), mth(low + k, high)]
    return [*subproof(m - k, low + k, high, False), mth(low, low + k)]


def tree(size: int) -> TileTree:
    return TileTree(leaf_hash(each) for each in DATA[:size])


def hashes(first: int, count: int) -> bytes:
    return b"".join(leaf_hash(each) for each in DATA[first : first + count])


def test_roots_and_all_proofs_are_those_of_the_recursion() -> None:
    """Of every tree up to a power of two, and of some around a whole tile."""
    for size in (*range(131), 255, 256, 257, 258, MOST):
        made = tree(size)
        assert made.root() == mth(0, size)
        for index in range(size):
            found = made.inclusion(index)
            assert list(found.path) == path(index, 0, size)
            assert found.root(hashes(index, 1)) == mth(0, size)
        for old in range(1, size + 1):
            proof = made.consistency(old)
            assert made.root_at(old) == mth(0, old)
            assert list(proof.path) == subproof(old, 0, size, True)
            assert proof.holds(mth(0, old), mth(0, size))


@pytest.mark.nightly
def test_all_ranges_of_leaves_lead_to_the_root() -> None:
    for size in range(1, 41):
        made = tree(size)
        for first in range(size):
            for count in range(1, size - first + 1):
                found = made.inclusion(first, count)
                assert found.root(hashes(first, count)) == mth(0, size)
                assert len(found.path) <= 2 * size.bit_length()


@pytest.mark.nightly
def test_a_range_that_is_not_so_leads_to_another_root() -> None:
    """Leaves at another place, in another tree, fewer or more, or one of them changed."""
    for size in range(2, 24):
        made = tree(size)
        for first in range(size):
            for count in range(1, size - first + 1):
                found, leaves = made.inclusion(first, count), hashes(first, count)
                changed = leaves[:-1] + bytes([leaves[-1] ^ 1])
                assert found.root(changed) != made.root()
                for other in (
                    Inclusion(first - 1, count, size, found.path),
                    Inclusion(first + 1, count, size, found.path),
                    Inclusion(first, count, size, found.path[1:]),
                    Inclusion(first, count, size, (*found.path, made.root())),
                    Inclusion(first, count, size, (b"", *found.path[1:])),
                ):
                    assert other == found or not leads(other, leaves, made.root())


def leads(proof: Inclusion, leaves: bytes, root: bytes) -> bool:
    try:
        return proof.root(leaves) == root
    except MerkleError:
        return False


def holds(case: dict[str, Any]) -> bool:
    """Whether a published case holds as we see it."""
    hashed = tuple(b64decode(each) for each in case["proof"] or ())
    try:
        if "leafIdx" in case:
            found = Inclusion(case["leafIdx"], 1, case["treeSize"], hashed)
            return found.root(bytes_of(case["leafHash"])) == bytes_of(case["root"])
        proof = Consistency(case["size1"], case["size2"], hashed)
        return proof.holds(bytes_of(case["root1"]), bytes_of(case["root2"]))
    except MerkleError:
        return False


def bytes_of(text: str | None) -> bytes:
    return b64decode(text or "")


def test_published_cases_hold_or_do_not() -> None:
    cases = [*PUBLISHED["inclusion"], *PUBLISHED["consistency"]]
    assert len(cases) > 150
    assert [case["name"] for case in cases if holds(case) == case["wantErr"]] == []


def test_hashes_are_the_published_ones() -> None:
    """Those of rfc6962_test.go of transparency-dev/merkle."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    empty_leaf = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    leaf = "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    node = "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb"
    assert EMPTY_ROOT.hex() == TileTree(()).root().hex() == empty
    assert leaf_hash(b"").hex() == empty_leaf
    assert leaf_hash(b"L123456").hex() == leaf
    assert node_hash(b"N123", b"N456").hex() == node


def test_tiles_are_those_that_the_specification_gives_as_an_example() -> None:
    """c2sp.org/tlog-tiles: a tree of 70 000, and one of 256."""
    made = TileTree([bytes(32 * 70_000)])
    assert made.height == 3
    assert len(made.tile(0, 272)) == 256 * 32
    assert len(made.tile(0, 273)) == 112 * 32
    assert made.tile(0, 274) == b""
    assert [len(made.tile(1, 0)), len(made.tile(1, 1))] == [256 * 32, 17 * 32]
    assert len(made.tile(2, 0)) == 32
    assert made.reads == 6
    small = tree(256)
    assert small.height == 2
    assert small.tile(1, 0) == small.root()


def test_a_tile_has_the_roots_of_the_tiles_below() -> None:
    made = TileTree([sha256(bytes([n % 251])).digest() for n in range(1000)])
    below = [TileTree([made.tile(0, index)]).root() for index in range(3)]
    assert made.tile(1, 0) == b"".join(below)


def test_what_is_not_in_a_tree_has_no_proof() -> None:
    made = tree(5)
    for first, count in ((-1, 1), (5, 1), (4, 2), (0, 0), (3, -1)):
        with pytest.raises(MerkleError):
            made.inclusion(first, count)
        with pytest.raises(MerkleError):
            Inclusion(first, count, 5, ()).root(b"")
    for old in (-1, 0, 6):
        with pytest.raises(MerkleError):
            made.consistency(old)
