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

from tallystick.errors import InputError, TallystickError
from tallystick.json_values import JsonObject, error_value
from tallystick.plugins.registry import installed
from tallystick.rules.loading import shipped

if TYPE_CHECKING:
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
        data = json.dumps(_answered(json.loads(message), state)).encode()
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


def _answered(order: JsonObject, state: StoredState | None) -> JsonObject:
    record = order["record"].encode("utf-8", "surrogateescape")
    try:
        with _scorer(order, state) as scorer:
            if order["do"] == "explain":
                return {"value": scorer.explain(record).to_dict()}
            return {"value": scorer.score(record).to_dict()}
    except TallystickError as error:
        return {"refused": error_value(error)}


@contextmanager
def _scorer(order: JsonObject, state: StoredState | None) -> Iterator[Scorer]:
    if order["rule_set"] is not None:
        yield _of_text(order["rule_set"])
    elif order["rules"]:
        yield _shipped(order["rules"])
    elif state is not None:
        with state.scoring() as scorer:
            yield scorer
    else:
        raise InputError("found no rules, expected a reference: the state cannot be opened here")


@lru_cache(maxsize=8)
def _shipped(reference: str) -> Scorer:
    from tallystick.scoring.scorer import load

    # a reference may be a path, and a stranger's is none
    if reference not in shipped(installed()):
        known = ", ".join(shipped(installed()))
        raise InputError(f"found the rule set {reference[:60]}, expected one of {known}")
    return load(reference)


@lru_cache(maxsize=8)
def _of_text(text: str) -> Scorer:
    """Return the rule set of a text, which a stranger may have written."""
    from tallystick.rules.reading import read_text
    from tallystick.scoring.scorer import bind

    registry = installed()
    return bind(read_text(text, Path("posted.toml"), registry), registry)


if __name__ == "__main__":
    main()
