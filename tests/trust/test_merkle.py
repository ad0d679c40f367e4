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
    MerkleError,
    Tree,
    leaf_hash,
    node_hash,
    root_of,
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


def tree(size: int) -> Tree:
    return Tree(leaf_hash(each) for each in DATA[:size])


def test_roots_and_all_proofs_are_those_of_the_recursion() -> None:
    """Of every tree up to a power of two, and of some around a whole tile."""
    for size in (*range(131), 255, 256, 257, 258, MOST):
        made = tree(size)
        assert made.root() == mth(0, size)
        for index in range(size):
            found = made.path(index)
            assert list(found) == path(index, 0, size)
            assert root_of(leaf_hash(DATA[index]), index, size, found) == mth(0, size)
            assert made.path(index, index + 1) == tuple(path(index, 0, index + 1))
            assert made.root_at(index) == mth(0, index)


def leads(leaf: bytes, index: int, size: int, nodes: tuple[bytes, ...], root: bytes) -> bool:
    try:
        return root_of(leaf, index, size, nodes) == root
    except MerkleError:
        return False


def holds(case: dict[str, Any]) -> bool:
    """Whether a published case holds as we see it."""
    hashed = tuple(b64decode(each) for each in case["proof"] or ())
    root = bytes_of(case["root"])
    return leads(bytes_of(case["leafHash"]), case["leafIdx"], case["treeSize"], hashed, root)


def bytes_of(text: str | None) -> bytes:
    return b64decode(text or "")


def test_published_cases_hold_or_do_not() -> None:
    cases = PUBLISHED["inclusion"]
    assert len(cases) > 50
    assert [case["name"] for case in cases if holds(case) == case["wantErr"]] == []


def test_hashes_are_the_published_ones() -> None:
    """Those of rfc6962_test.go of transparency-dev/merkle."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    empty_leaf = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    leaf = "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    node = "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb"
    assert EMPTY_ROOT.hex() == Tree(()).root().hex() == empty
    assert leaf_hash(b"").hex() == empty_leaf
    assert leaf_hash(b"L123456").hex() == leaf
    assert node_hash(b"N123", b"N456").hex() == node


def test_what_is_not_in_a_tree_has_no_proof() -> None:
    made = tree(5)
    for index, size in ((-1, 5), (5, 5), (3, 3), (0, 0), (0, 6)):
        with pytest.raises(MerkleError):
            made.path(index, size)
    for index in (-1, 5):
        with pytest.raises(MerkleError):
            root_of(b"", index, 5, ())
