"""Process that scores posted records: one at a time, from its input to its output.

Each message has its length in eight bytes before it. The first has the place of the state and the
limit of memory. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tallystick.errors import InputError, NumberError, TallystickError
from tallystick.json_values import JsonObject, error_value
from tallystick.numbers.nano import to_decimal
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.known_rules import known_plugins, rules_named

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.stored_state import StoredState

_LENGTH = 8
_LARGEST_FILE = 64 << 20


def main() -> None:
    """Answer every message until the input ends."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # what a plugin prints is no answer
    os.dup2(2, 1)
    begin = json.loads(_read(source))
    _limit(begin["bytes"])
    state = _state(begin["place"])
    while message := _read(source):
        data = json.dumps(answered(json.loads(message), state)).encode()
        sink.write(len(data).to_bytes(_LENGTH, "big") + data)
        sink.flush()


def _read(source: IO[bytes]) -> bytes:
    return source.read(int.from_bytes(source.read(_LENGTH), "big"))


def _limit(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # enough for what a reader of SQLite writes beside a store
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))


def _state(place: str | None) -> StoredState | None:
    from tallystick_state.ledger import Ledger

    return None if place is None else Ledger.open(place)


def answered(order: JsonObject, state: StoredState | None) -> JsonObject:
    """Return the answer to an order: its value, or why it was refused.

    Args:
        order: as a message has it.
        state: whose rules score by default; None where there are none.
    """
    record = order["record"].encode("utf-8", "surrogateescape")
    try:
        with _scorer(order, state) as scorer:
            if order["do"] == "advise":
                from tallystick_service.advice import advice

                return {"value": advice(_at_thresholds(scorer, order, state), record).to_dict()}
            if order["do"] == "explain":
                return {"value": scorer.explain(record).to_dict()}
            return {"value": scorer.score(record).to_dict()}
    except TallystickError as error:
        return {"refused": error_value(error)}


@contextmanager
def _scorer(order: JsonObject, state: StoredState | None) -> Iterator[Scorer]:
    if state is None:
        raise InputError("found no rules, expected a state: it cannot be opened here")
    if order["rule_set"] is not None:
        plugins = known_plugins(state.in_force)
        yield _of_text(order["rule_set"], tuple(order["edits"]), plugins)
    elif order["rules"]:
        yield _known(order["rules"], state)
    else:
        with state.scoring() as scorer:
            yield scorer


def _at_thresholds(scorer: Scorer, order: JsonObject, state: StoredState | None) -> Scorer:
    """Return a scorer of other rules than the state's, with the thresholds of the open epoch."""
    if state is None or (order["rule_set"] is None and not order["rules"]):
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


def _known(name: str, state: StoredState) -> Scorer:
    try:
        rules = rules_named(state.in_force, name)
    except RefusedQuestionError as error:
        raise InputError(str(error)) from error
    return _of_text(rules.loaded.text, (), rules.registry)


@lru_cache(maxsize=8)
def _of_text(text: str, edits: tuple[str, ...], registry: Registry) -> Scorer:
    """Return the rule set of a text, which a stranger may have written, with other values."""
    from tallystick.rules.reading import read_text
    from tallystick.scoring.scorer import bind
    from tallystick_service.edits import with_edits

    if edits:
        text = with_edits(text, edits)

    return bind(read_text(text, Path("posted.toml"), registry), registry)


if __name__ == "__main__":
    main()
