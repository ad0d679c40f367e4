"""Merkle trees of RFC 6962 (section 2.1), their proofs, and their tiles.

A leaf is hashed as ``sha256(0x00 ‖ data)``, a node as ``sha256(0x01 ‖ left ‖ right)``; a tree of
n > 1 leaves is split at the largest power of two below n. Hashes are 32 bytes; several of them
stand one after the other in one value of bytes.

The tiles of a tree are those of c2sp.org/tlog-tiles: up to 256 hashes next to each other, in level
0 of leaves, in each level above of whole tiles below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

import attrs

HASH_SIZE = 32
"""The bytes of a hash."""
TILE_WIDTH = 256
"""The most hashes of a tile."""
EMPTY_ROOT = sha256().digest()
"""The root of a tree without leaves."""
_TILE_HEIGHT = 8
_TILE_SIZE = TILE_WIDTH * HASH_SIZE
_PAIR = 2 * HASH_SIZE


class MerkleError(ValueError):
    """A proof that has not the form that its tree asks for."""


@attrs.frozen
class Inclusion:
    """A proof that neighbouring leaves are in a tree, at their positions.

    Its path is PATH of RFC 6962, 2.1.1, where one leaf is shown. Of several, each half of a subtree
    that has some of them gives its own path, the left half first; one that has none gives its hash
    after the path of the other.

    Attributes:
        first: the place of the first leaf, from 0.
        count: how many leaves, at least 1.
        size: how many leaves the tree has.
        path: the hashes of the subtrees that have none of the leaves.
    """

    first: int
    count: int
    size: int
    path: tuple[bytes, ...]

    def root(self, leaves: bytes) -> bytes:
        """Return the root of the tree that has leaves with these hashes at the places.

        Raises:
            MerkleError: the path is shorter or longer than the tree asks for, or the places are not
                in it.
        """
        if not 0 <= self.first < self.first + self.count <= self.size:
            raise MerkleError(
                f"found {self.count} leaves from {self.first} in a tree of {self.size}, expected "
                "some that are in the tree"
            )
        if len(leaves) != self.count * HASH_SIZE:
            raise MerkleError(f"found {len(leaves)} bytes, expected the hashes of {self.count}")
        path = iter(self.path)
        root = self._root(0, self.size, leaves, path)
        _check_end(path)
        return root

    def _root(self, low: int, high: int, leaves: bytes, path: Iterator[bytes]) -> bytes:
        """Return the hash of a subtree that has some of the leaves."""
        first, end = max(low, self.first), min(high, self.first + self.count)
        if (first, end) == (low, high):
            return root_of(leaves[HASH_SIZE * (low - self.first) : HASH_SIZE * (high - self.first)])
        middle = low + _split(high - low)
        if end <= middle:
            inner = self._root(low, middle, leaves, path)
            return node_hash(inner, _next(path))
        if first >= middle:
            inner = self._root(middle, high, leaves, path)
            return node_hash(_next(path), inner)
        left = self._root(low, middle, leaves, path)
        return node_hash(left, self._root(middle, high, leaves, path))


@attrs.frozen
class Consistency:
    """A proof that a tree begins with all leaves of an older one: PROOF of RFC 6962, 2.1.2.

    Attributes:
        old: how many leaves the older tree has.
        new: how many the newer one has.
        path: the hashes.
    """

    old: int
    new: int
    path: tuple[bytes, ...]

    def holds(self, old_root: bytes, new_root: bytes) -> bool:
        """Return whether the tree with the new root begins with that of the old root.

        Raises:
            MerkleError: the path is shorter or longer than the trees ask for, the older tree is
                the larger one, or it is empty: with that every tree begins.
        """
        if not 0 < self.old <= self.new:
            raise MerkleError(
                f"found trees of {self.old} and {self.new} leaves, expected one that is not empty, "
                "and a later one"
            )
        path = iter(self.path)
        roots = self._roots(self.old, self.new, old_root, path, whole=True)
        _check_end(path)
        return roots == (old_root, new_root)

    def _roots(
        self, old: int, new: int, old_root: bytes, path: Iterator[bytes], *, whole: bool
    ) -> tuple[bytes, bytes]:
        """Return the old and the new hash of a subtree; ``whole`` if it was the whole tree."""
        if old == new:
            root = old_root if whole else _next(path)
            return root, root
        middle = _split(new)
        if old <= middle:
            before, after = self._roots(old, middle, old_root, path, whole=whole)
            return before, node_hash(after, _next(path))
        before, after = self._roots(old - middle, new - middle, old_root, path, whole=False)
        left = _next(path)
        return node_hash(left, before), node_hash(left, after)


class TileTree:
    """A tree over the hashes of leaves; it takes 64 bytes for each.

    >>> tree = TileTree([leaf_hash(b"first"), leaf_hash(b"second")])
    >>> tree.root() == node_hash(leaf_hash(b"first"), leaf_hash(b"second"))
    True

    Attributes:
        size: number of leaves.
        reads: number of tiles that `tile` has read.
    """

    def __init__(self, leaves: Iterable[bytes]) -> None:
        """Make the tree of the hashes of some leaves; several may stand in one value."""
        # by height, the hashes of all subtrees that are whole
        self._nodes = [b"".join(leaves)]
        while len(self._nodes[-1]) >= _PAIR:
            self._nodes.append(_joined(self._nodes[-1]))
        self.size, self.reads = len(self._nodes[0]) // HASH_SIZE, 0

    @property
    def height(self) -> int:
        """The number of levels of tiles, at least 1."""
        return (len(self._nodes) - 1) // _TILE_HEIGHT + 1

    def root(self) -> bytes:
        """Return the root: what a checkpoint signs."""
        return self._hash(0, self.size) if self.size else EMPTY_ROOT

    def tile(self, level: int, index: int) -> bytes:
        """Return the hashes of a tile, at most `TILE_WIDTH`; none behind the last."""
        self.reads += 1
        return self._nodes[level * _TILE_HEIGHT][index * _TILE_SIZE : (index + 1) * _TILE_SIZE]

    def leaf(self, index: int) -> bytes:
        """Return the hash of a leaf."""
        return self._nodes[0][index * HASH_SIZE : (index + 1) * HASH_SIZE]

    def inclusion(self, first: int, count: int = 1) -> Inclusion:
        """Return the proof that neighbouring leaves are in the tree.

        Raises:
            MerkleError: they are not in it.
        """
        if not 0 <= first < first + count <= self.size:
            raise MerkleError(
                f"found {count} leaves from {first}, expected some of a tree of {self.size}"
            )
        path = tuple(self._path(first, first + count, 0, self.size))
        return Inclusion(first, count, self.size, path)

    def consistency(self, old: int) -> Consistency:
        """Return the proof that the tree begins with its first leaves, when it had no more.

        Raises:
            MerkleError: it has fewer leaves, or the older tree has none.
        """
        if not 0 < old <= self.size:
            raise MerkleError(f"found a tree of {old}, expected one of 1 to {self.size}")
        return Consistency(old, self.size, tuple(self._proof(old, 0, self.size, whole=True)))

    def root_at(self, size: int) -> bytes:
        """Return the root that the tree had when it had no more than its first leaves."""
        return self._hash(0, size) if size else EMPTY_ROOT

    def _path(self, first: int, end: int, low: int, high: int) -> Iterator[bytes]:
        if first <= low and high <= end:
            return
        middle = low + _split(high - low)
        if first < middle:
            yield from self._path(first, end, low, middle)
        if end > middle:
            yield from self._path(first, end, middle, high)
        if first >= middle:
            yield self._hash(low, middle)
        if end <= middle:
            yield self._hash(middle, high)

    def _proof(self, old: int, low: int, high: int, *, whole: bool) -> Iterator[bytes]:
        """Yield SUBPROOF of RFC 6962, 2.1.2, of a range of leaves."""
        if old == high - low:
            if not whole:
                yield self._hash(low, high)
            return
        middle = _split(high - low)
        if old <= middle:
            yield from self._proof(old, low, low + middle, whole=whole)
            yield self._hash(low + middle, high)
        else:
            yield from self._proof(old - middle, low + middle, high, whole=False)
            yield self._hash(low, low + middle)

    def _hash(self, low: int, high: int) -> bytes:
        """Return the hash of the subtree of the leaves from one place to before another."""
        count = high - low
        if count & (count - 1):
            middle = low + _split(count)
            return node_hash(self._hash(low, middle), self._hash(middle, high))
        height = count.bit_length() - 1
        index = low >> height
        return self._nodes[height][index * HASH_SIZE : (index + 1) * HASH_SIZE]


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node."""
    return sha256(b"\x01" + left + right).digest()


def root_of(hashes: bytes) -> bytes:
    """Return the root of the tree whose leaves have these hashes.

    Two by two from the left, what is left alone goes up as it is: that splits every tree at the
    largest power of two.
    """
    if not hashes:
        return EMPTY_ROOT
    while len(hashes) > HASH_SIZE:
        alone = hashes[len(hashes) // _PAIR * _PAIR :]
        hashes = _joined(hashes) + alone
    return hashes


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


def _check_end(path: Iterator[bytes]) -> None:
    if next(path, None) is not None:
        raise MerkleError("found a path that is too long, expected a hash for each step")
