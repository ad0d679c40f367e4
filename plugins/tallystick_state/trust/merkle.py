"""Merkle trees of RFC 6962 (section 2.1), and their proofs.

A leaf is hashed as ``sha256(0x00 ‖ data)``, a node as ``sha256(0x01 ‖ left ‖ right)``; a tree of
n > 1 leaves is split at the largest power of two below n. Hashes are 32 bytes; several of them
stand one after the other in one value of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

HASH_SIZE = 32
"""Bytes of a hash."""
EMPTY_ROOT = sha256().digest()
"""The root of a tree without leaves."""
_PAIR = 2 * HASH_SIZE


class MerkleError(ValueError):
    """A proof that has not the form that its tree asks for."""


class Tree:
    """A tree over the hashes of leaves; it takes 64 bytes for each.

    >>> tree = Tree([leaf_hash(b"first"), leaf_hash(b"second")])
    >>> tree.root() == node_hash(leaf_hash(b"first"), leaf_hash(b"second"))
    True

    Attributes:
        size: number of leaves.
    """

    def __init__(self, leaves: Iterable[bytes]) -> None:
        """Make the tree of the hashes of some leaves; several may stand in one value."""
        # by height, the hashes of all subtrees that are whole
        self._nodes = [b"".join(leaves)]
        while len(self._nodes[-1]) >= _PAIR:
            self._nodes.append(_joined(self._nodes[-1]))
        self.size = len(self._nodes[0]) // HASH_SIZE

    @property
    def leaves(self) -> list[bytes]:
        """The hashes of the leaves."""
        hashes = self._nodes[0]
        return [hashes[start : start + HASH_SIZE] for start in range(0, len(hashes), HASH_SIZE)]

    def root(self) -> bytes:
        """Return the root: what a checkpoint signs."""
        return self.root_at(self.size)

    def root_at(self, size: int) -> bytes:
        """Return the root that the tree had when it had no more than its first leaves."""
        return self._hash(0, size) if size else EMPTY_ROOT

    def path(self, index: int, size: int | None = None) -> tuple[bytes, ...]:
        """Return the path of a leaf in the tree, or in that of its first leaves: PATH of 2.1.1.

        That is the hashes of the subtrees beside it, the lowest first.

        Raises:
            MerkleError: the leaf is not in it.
        """
        size = self.size if size is None else size
        if not 0 <= index < size <= self.size:
            raise MerkleError(f"found the leaf {index}, expected one of a tree of {size}")
        return tuple(self._path(index, 0, size))

    def _path(self, index: int, low: int, high: int) -> Iterator[bytes]:
        if high - low == 1:
            return
        middle = low + _split(high - low)
        if index < middle:
            yield from self._path(index, low, middle)
            yield self._hash(middle, high)
        else:
            yield from self._path(index, middle, high)
            yield self._hash(low, middle)

    def _hash(self, low: int, high: int) -> bytes:
        """Return the hash of the subtree of the leaves from one place to before another."""
        count = high - low
        if count & (count - 1):
            middle = low + _split(count)
            return node_hash(self._hash(low, middle), self._hash(middle, high))
        height = count.bit_length() - 1
        index = low >> height
        return self._nodes[height][index * HASH_SIZE : (index + 1) * HASH_SIZE]


def root_of(leaf: bytes, index: int, size: int, path: Iterable[bytes]) -> bytes:
    """Return the root of the tree that has a leaf at a place, by the path that proves it.

    Args:
        leaf: its hash.
        index: its place, from 0.
        size: number of leaves of the tree.
        path: as `Tree.path` gives it.

    Raises:
        MerkleError: the path has not the length that the tree asks for, or the place is not in it.
    """
    if not 0 <= index < size:
        raise MerkleError(f"found the leaf {index} in a tree of {size}, expected one that is in it")
    if len(leaf) != HASH_SIZE:
        raise MerkleError(f"found a hash of {len(leaf)} bytes, expected {HASH_SIZE}")
    nodes = iter(path)
    root = _subtree(leaf, index, size, nodes)
    if next(nodes, None) is not None:
        raise MerkleError("found a path that is too long, expected a hash for each step")
    return root


def _subtree(leaf: bytes, index: int, size: int, nodes: Iterator[bytes]) -> bytes:
    """Return the root of a subtree that has the leaf, at a place in it."""
    if size == 1:
        return leaf
    middle = _split(size)
    if index < middle:
        inner = _subtree(leaf, index, middle, nodes)
        return node_hash(inner, _next(nodes))
    inner = _subtree(leaf, index - middle, size - middle, nodes)
    return node_hash(_next(nodes), inner)


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node."""
    return sha256(b"\x01" + left + right).digest()


def _joined(hashes: bytes) -> bytes:
    """Return the hashes of the nodes over each two from the left."""
    pairs = range(0, len(hashes) // _PAIR * _PAIR, _PAIR)
    return b"".join([sha256(b"\x01" + hashes[at : at + _PAIR]).digest() for at in pairs])


def _split(size: int) -> int:
    """Return the largest power of two below a size above 1."""
    return 1 << ((size - 1).bit_length() - 1)


def _next(path: Iterator[bytes]) -> bytes:
    node = next(path, None)
    if node is None:
        raise MerkleError("found a path that is too short, expected a hash for each step")
    if len(node) != HASH_SIZE:
        raise MerkleError(f"found a hash of {len(node)} bytes, expected {HASH_SIZE}")
    return node
