"""History of the chain: its first block, and the newest finalized one that the daemon acted on.

Finalized blocks stay, so a chain that has another hash at one of them, or ends before it, is
another chain, one that was begun again, or told of wrongly: nothing is closed by it. As each block
names the one before, the hash of the newest one stands for the blocks of all closed epochs.

The first block says which chain it is, and never changes. What an endpoint told of the newest one
is corrected by another endpoint of the same chain that the operator names in its place.
"""

from __future__ import annotations

import attrs
import msgspec

from tallystick.io.text import visible
from tallystick.plugins.logger import logger_of
from tallystick_chain.chain import Chain, ChainError, Refusal
from tallystick_service.health import Problem
from tallystick_validator.health import problem_of
from tallystick_validator.intake import Intake

LAGGING_BLOCKS = 10
"""Number of finalized blocks by which another node of the same chain may be behind."""
_NAME, _FIRST = "finalized", "first block"
_LOG = logger_of(__name__)


@attrs.frozen
class _Newest:
    """The newest finalized block that was acted on, and the endpoint that told of it."""

    block: int
    hash: str
    endpoint: str


class ChainHistory:
    """The first block, and the newest finalized one that was acted on, durable in the intake."""

    def __init__(self, chain: Chain, intake: Intake) -> None:
        """Take the chain, and read the blocks.

        Args:
            chain: whose blocks they are.
            intake: keeps the blocks.

        Raises:
            StoreError: the intake cannot be read.
        """
        self._chain, self._intake = chain, intake
        text = intake.noted(_NAME)
        self._newest = None if text is None else msgspec.json.decode(text, type=_Newest)
        self._first = intake.noted(_FIRST)
        self._compared: str | None = None
        self._has_first = False

    def look(self, finalized: int, endpoint: str) -> tuple[Problem, ...]:
        """Return what is wrong with a finalized block; without anything it may be acted on.

        Args:
            finalized: the block.
            endpoint: the node that told of it.

        Raises:
            ChainError: the chain gives no answer.
            StoreError: the intake cannot be written.
        """
        # once for each endpoint: behind the same one another chain differs at the newest block too
        if endpoint != self._compared:
            first = self._hash(0)
            if first is not None and self._first not in {None, first}:
                return (_differs("first block", first, str(self._first)),)
            if first is not None and self._first is None:
                self._intake.note(_FIRST, first)
                self._first = first
            self._compared, self._has_first = endpoint, first is not None
        if self._newest is not None:
            problems = self._problems(finalized, self._newest)
            # nobody names another endpoint by accident
            if problems and endpoint != self._newest.endpoint and self._has_first:
                message = "%s; the endpoint is %s now, so what it says counts from here on"
                _LOG.warning(message, problems[0].message, visible(endpoint))
            elif problems or finalized == self._newest.block:
                return problems
        self._newest = _Newest(finalized, self._chain.block_hash(finalized), endpoint)
        self._intake.note(_NAME, msgspec.json.encode(self._newest).decode())
        return ()

    def _problems(self, finalized: int, newest: _Newest) -> tuple[Problem, ...]:
        if finalized < newest.block:
            message = (
                f"found the finalized block {finalized}, expected {newest.block} or a later one, "
                f"which {visible(newest.endpoint)} said was finalized"
            )
            is_other = newest.block - finalized > LAGGING_BLOCKS
            return (problem_of("chain-went-back", message, failing=is_other),)
        found = self._hash(newest.block)
        if found in {None, newest.hash}:
            return ()
        return (_differs(f"finalized block {newest.block}", str(found), newest.hash),)

    def _hash(self, block: int) -> str | None:
        """Return the hash of a block; None where the node keeps no such block."""
        try:
            return self._chain.block_hash(block)
        except ChainError as error:
            if error.code is not Refusal.NO_BLOCK:
                raise
            return None


def _differs(which: str, found: str, expected: str) -> Problem:
    message = (
        f"found the hash {visible(found)[:80]} of the {which}, expected "
        f"{visible(expected)[:80]} as before"
    )
    return problem_of("chain-went-back", message, failing=True)
