"""Process that scores posted records, one at a time."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from tallystick.errors import InputError, NumberError, TallystickError
from tallystick.json_values import JsonObject, error_value
from tallystick.numbers.nano import to_decimal
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.known_rules import rules_named

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.stored_state import StoredState

_LARGEST_FILE = 64 << 20


Verb: TypeAlias = Literal["explain", "score", "advise"]
"""Every step of a score, the scores alone, or every step with the moves that would earn more."""


@attrs.frozen(kw_only=True)
class Order:
    """An order to a process: one record, and the rules that score it.

    Attributes:
        do: ``explain``: every step of a score; ``score``: the scores alone; ``advise``: every step,
            distances and moves, where tiers begin as in the open epoch, whatever the rules.
        record: one line of JSON, as it was posted.
        rules: reference or digest of a known rule set; empty for the rules of the state.
        edits: other values of that rule set, as ``PATH=VALUE``.
    """

    do: Verb
    record: bytes
    rules: str = ""
    edits: tuple[str, ...] = ()


@attrs.define
class RecordScorer:
    """The function of a process that scores posted records, by the rules of a state.

    Attributes:
        place: of the state; None where nothing can be scored.
        memory: maximum number of bytes of the process.
    """

    place: str | None = attrs.field(repr=False)
    memory: int
    _state: StoredState | None = None

    def __call__(self, order: Order) -> JsonObject:
        """Return the answer to an order; the first one opens the state and limits the process."""
        if self._state is None and self.place is not None:
            from tallystick_state.ledger import Ledger

            self._state = Ledger.open(self.place)
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # enough for what a reader of SQLite writes beside a store
            resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
        return answered(order, self._state)


def answered(order: Order, state: StoredState | None) -> JsonObject:
    """Return the answer to an order: its value, or why it was refused.

    Args:
        order: what is scored, and by which rules.
        state: whose rules score by default; None where there are none.
    """
    try:
        with _scorer(order, state) as scorer:
            if order.do == "advise":
                from tallystick_service.advice import advice

                at_thresholds = _at_thresholds(scorer, order, state)
                return {"value": advice(at_thresholds, order.record)}
            if order.do == "explain":
                return {"value": scorer.explain(order.record).to_dict()}
            return {"value": scorer.score(order.record).to_dict()}
    except TallystickError as error:
        return {"refused": error_value(error)}


@contextmanager
def _scorer(order: Order, state: StoredState | None) -> Iterator[Scorer]:
    if state is None:
        raise InputError("found no rules, expected a state: it cannot be opened here")
    if order.rules:
        try:
            rules = rules_named(state.in_force, order.rules)
        except RefusedQuestionError as error:
            raise InputError(str(error)) from error
        yield _of_text(rules.loaded.text, order.edits, rules.registry)
    else:
        with state.scoring() as scorer:
            yield scorer


def _at_thresholds(scorer: Scorer, order: Order, state: StoredState | None) -> Scorer:
    """Return a scorer of other rules than the state's, with the thresholds of the open epoch."""
    if state is None or not order.rules:
        return scorer
    with state.queries() as queries:
        tracked = queries.state.thresholds
    thresholds = {
        name: {key: to_decimal(nano) for key, nano in tracked[name].items() if key in names}
        for name, bound in scorer.types.items()
        if bound.tiers is not None and name in tracked
        for names in [{*bound.tiers.tracked, *bound.tiers.formulas}]
    }
    try:
        return scorer.with_thresholds(thresholds)
    except NumberError:
        # rules under which no state could have these begin with their own
        return scorer


@lru_cache(maxsize=8)
def _of_text(text: str, edits: tuple[str, ...], registry: Registry) -> Scorer:
    """Return the rule set of a text, with other values, which a stranger may have written."""
    from tallystick.rules.reading import read_text
    from tallystick.scoring.scorer import bind
    from tallystick_service.edits import with_edits

    if edits:
        text = with_edits(text, edits)

    return bind(read_text(text, Path("posted.toml"), registry), registry)
