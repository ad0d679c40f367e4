"""The option ``--agreed`` of ``score``: the rule set that a file of the reviewers pins."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tallystick
from tallystick.cli.locked import Held
from tallystick.errors import InputError


@contextmanager
def agreed(path: str, reference: str | None, held: Held) -> Iterator[tallystick.Scorer]:
    """The scorer of the rule set that a file names as ``name@version@sha256:…``.

    Raises:
        InputError: the file names none with its digest, or the command line names another.
    """
    text = Path(path).read_text(encoding="utf-8").strip()
    if "@sha256:" not in text:
        raise InputError(f"{path}: found no pin, expected name@version@sha256:…: ask the reviewers")
    if reference is not None:
        raise InputError(f"found --rules {reference} beside --agreed, expected one of them")
    scorer = tallystick.load(text)
    held.require(scorer)
    yield scorer
