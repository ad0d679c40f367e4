"""History of the chain: the newest finalized block that the daemon acted on, and its hash.

Finalized blocks stay. A chain that has another hash there, or ends before it, is another chain or
one that was begun again: nothing is closed by it. As each block names the one before, the hash of
the newest one stands for the blocks of all closed epochs.
"""

from __future__ import annotations

import json
from typing import Protocol

from tallystick.io.text import visible
from tallystick_chain.chain import ChainError, Refusal
from tallystick_validator.health import Problem
from tallystick_validator.intake import Intake

LAGGING_BLOCKS = 10
"""Number of finalized blocks by which another node of the same chain may be behind."""
_NAME = "finalized"


class Hashes(Protocol):
    """The hashes of a chain's blocks."""

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""


class ChainHistory:
    """The newest finalized block that was acted on, durable in the intake."""

    def __init__(self, chain: Hashes, intake: Intake) -> None:
        """Take the chain, and read the block.

        Args:
            chain: whose blocks they are.
            intake: keeps the block.

        Raises:
            StoreError: the intake cannot be read.
        """
        self._chain, self._intake = chain, intake
        text = intake.noted(_NAME)
        self._newest: tuple[int, str] | None = None if text is None else tuple(json.loads(text))

    def look(self, finalized: int) -> tuple[Problem, ...]:
        """Return what is wrong with a finalized block; without anything it may be acted on.

        Raises:
            ChainError: the chain gives no answer.
            StoreError: the intake cannot be written.
        """
        if self._newest is not None:
            problems = self._problems(finalized, *self._newest)
            if problems or finalized == self._newest[0]:
                return problems
        newest = (finalized, self._chain.block_hash(finalized))
        self._intake.note(_NAME, json.dumps(newest))
        self._newest = newest
        return ()

    def _problems(self, finalized: int, block: int, digest: str) -> tuple[Problem, ...]:
        if finalized < block:
            message = (
                f"found the finalized block {finalized}, expected {block} or a later one, "
                "which was finalized before"
            )
            is_other = block - finalized > LAGGING_BLOCKS
            return (Problem.of("chain-went-back", message, failing=is_other),)
        try:
            found = self._chain.block_hash(block)
        except ChainError as error:
            if error.code is not Refusal.NO_BLOCK:
                raise
            # a node that keeps no such block tells nothing about it
            return ()
        if found == digest:
            return ()
        message = (
            f"found the hash {visible(found)[:80]} of the finalized block {block}, expected "
            f"{visible(digest)[:80]} as before"
        )
        return (Problem.of("chain-went-back", message, failing=True),)
