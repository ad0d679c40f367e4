"""Health: what is wrong with the daemon now, and what to do, as one answer.

A `Problem` has a code with a remedy; the worst of all problems is the status of a `Health`: ``ok``,
``degraded`` (it goes on, somebody should look), ``failing`` (no epoch is closed, or no row set,
until somebody acts).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any

from tallystick.plugins.logger import logger_of
from tallystick_service.health import Health, Problem

CODES: Mapping[str, str] = MappingProxyType(
    {
        "adoption-late": "take a state of another validator: its rules changed at an epoch that "
        "this one has closed",
        "adoption-refused": "correct the file in the folder of adoptions, or take it away",
        "attribute-missing": "say it in the file of validator.attributes, for a miner at least, "
        "or take rules that do not ask for it",
        "blocks-behind": "wait while it catches up; where it does not, look at its log",
        "chain-unreachable": "look at the endpoint and the network",
        "chain-went-back": "name another endpoint of the same chain, which is believed where this "
        "one told of blocks wrongly; where the chain was begun again, begin with another folder "
        "and state; nothing is closed until then",
        "closing-failed": "do what the message says; the epoch is tried again",
        "disk": "make room on the disk of the folder and of the state",
        "intake": "look at the disk and at the rights of the folder",
        "intake-full": "look why no epoch is closed; records are taken again once one is",
        "internal": "report it with the log",
        "no-peers": "name the others under exchange.peers, whose batches are asked for, and have a "
        "table [service], from which they take those of this validator",
        "no-records": "look at what sends records, and at the answers that it gets; until some "
        "come rows are made of older ones",
        "no-weights": "look at the records and the rules: no row is ever made up",
        "not-locked": "lock the rules by tallystick lock, or take the version that is locked",
        "peers": "look at the address and the network; the daemon goes on with the others",
        "recipient-lost": "name a recipient that holds a slot, by rules or pools of a later epoch; "
        "no row is sent until then, and nobody else is given the share",
        "recipient-unbound": "name a hotkey, owner, or uid:N@BLOCK in the rules and the pools",
        "record-file": "correct the file, or take it away; the others are taken meanwhile",
        "records-rejected": "correct what sends them by the answers that it gets; for "
        "other-validator name the hotkey that the records name as chain.key",
        "slot-taken-over": "wait: another row is committed as soon as the rate limit has passed; "
        "where the reveal comes first, the outcome is inherited",
        "state": "do what the message says, and start the daemon again",
        "unpaid": "look whether the miner holds its slot; a share that is too small for the chain "
        "is a matter of the rules: tallystick rules lint tells what vanishes",
        "weights": "do what the message says; the next epoch's row is sent in any case",
    }
)
"""Codes of problems with the remedy of each; others come with one of their own."""

_LOG = logger_of(__name__)


def problem_of(code: str, message: str, *, failing: bool = False) -> Problem:
    """Return the problem of a code, with its remedy; see `Problem`."""
    return Problem(code, message, CODES[code], failing)


class Watch:
    """The problems and facts of now, by where they come from; any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._problems: dict[str, tuple[Problem, ...]] = {}
        self._facts: dict[str, Any] = {}

    def put(self, source: str, problems: Iterable[Problem] = ()) -> None:
        """Replace the problems of a source; none means that it does its work.

        Each is logged once for as long as it lasts: a step is taken every few seconds.
        """
        with self._lock:
            before = self._problems.get(source, ())
            self._problems[source] = now = tuple(problems)
        for new in now:
            if new not in before:
                level = logging.ERROR if new.failing else logging.WARNING
                _LOG.log(level, "%s", new.message, extra={"stage": source, "code": new.code})

    def know(self, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Replace some facts."""
        with self._lock:
            self._facts |= facts

    def health(self) -> Health:
        """Return the health of now."""
        with self._lock:
            # one cause may be met in several parts of a step
            every = {problem: None for group in self._problems.values() for problem in group}
            facts = dict(self._facts)
        problems = tuple(sorted(every, key=lambda problem: not problem.failing))
        if not problems:
            return Health("ok", facts=facts)
        return Health("failing" if problems[0].failing else "degraded", problems, facts)
