"""Published values that would need themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def find_cycle(reads: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """A chain of names, each reading the next, that ends where it began; empty when there is none.

    Args:
        reads: the names that each name reads; names that are no keys read nothing.
    """
    finished: set[str] = set()
    for start in reads:
        chain = _walk(start, reads, (), finished)
        if chain:
            return chain
    return ()


def _walk(
    name: str, reads: Mapping[str, Iterable[str]], chain: tuple[str, ...], finished: set[str]
) -> tuple[str, ...]:
    if name in chain:
        return (*chain[chain.index(name) :], name)
    if name in finished:
        return ()
    for read in reads.get(name, ()):
        found = _walk(read, reads, (*chain, name), finished)
        if found:
            return found
    finished.add(name)
    return ()
