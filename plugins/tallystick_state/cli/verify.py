"""``tallystick verify``: whether a signed file holds, with nothing else at hand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from tallystick.cli.command import examples
from tallystick.cli.options import PATH, as_json
from tallystick.cli.shown import show
from tallystick.errors import InputError
from tallystick_state.cli.options import block_option, keys_option, trust_option

if TYPE_CHECKING:
    from tallystick_state.trust.keys import PublicKey
    from tallystick_state.trust.verification import Against, Verified

_START = 1 << 17
"""Number of bytes that tell the kind of a file: a checkpoint may take half of them."""
_PROOF = re.compile(rb'\{"checkpoint":"([^"\\]|\\.)*","format":1,"leaf":')


@attrs.frozen
class Kind:
    """A kind of file that can be verified.

    Attributes:
        begins: whether a file that begins with some bytes is one.
        home: where its function is, ``module:name``; it takes a path and what to verify against.
    """

    begins: Callable[[bytes], bool]
    home: str

    def verify(self, path: Path, against: Against) -> Verified:
        """Verify a file of this kind; its module is loaded now."""
        module, _, name = self.home.partition(":")
        result: Verified = getattr(import_module(module), name)(path, against)
        return result


def _is_object(start: bytes) -> bool:
    return start.lstrip(b" \t\r\n").startswith(b"{")


def _is_proof(start: bytes) -> bool:
    # the canonical form of proof-1
    return _PROOF.match(start) is not None


def _is_note(start: bytes) -> bool:
    return b"\n\n\xe2\x80\x94 " in start


KINDS: tuple[Kind, ...] = (
    Kind(_is_proof, "tallystick_state.trust.verification:verify_proof"),
    # any other object of JSON: its members may have any order
    Kind(_is_object, "tallystick_state.trust.verification:verify_envelope"),
    Kind(_is_note, "tallystick_state.trust.verification:verify_note"),
)
"""The kinds of files that can be verified; the first that fits counts."""


@click.command(
    "verify",
    epilog=examples(
        "tallystick verify adoption.json --trust trust.toml --block 4711000",
        "tallystick verify receipt.json --key \\",
        "    ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        'tallystick verify proof.json --row \'["5Miner","mcp_server"]\' \\',
        "    --trust trust.toml",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@trust_option("A trust file: its groups, or its validators, must have signed.")
@keys_option("A key that must have signed; repeatable.")
@block_option("The block of the chain now, where something expires.")
@click.option(
    "--row",
    "row",
    metavar="KEY",
    help="The row that a proof must show: a hotkey, or its key as a JSON array.",
)
@as_json
def verify(  # noqa: PLR0913, PLR0917  # one argument for each option
    path: Path,
    trust: Path | None,
    keys: tuple[PublicKey, ...],
    block: int | None,
    row: str | None,
    as_json: bool,
) -> None:
    """Verify the signatures of FILE, whatever kind it is.

    A proof of another row than --row names does not hold. Exit status 0 if it
    holds, 1 if it does not or if there is nothing to verify it by, 2 if it cannot be read.
    """
    from tallystick_state.trust.trust_file import read  # loads what signs
    from tallystick_state.trust.verification import Against

    root = None if trust is None else read(trust)
    against = Against(root, keys, block, None if row is None else _row_key(row))
    kind = kind_of(path)
    if row is not None and kind.begins is not _is_proof:
        raise click.UsageError(f"--row is a row of a proof, and {path} is none")
    result = kind.verify(path, against)
    show(result.view, result.lines, as_json=as_json)
    sys.exit(0 if result.checked else 1)


def _row_key(text: str) -> tuple[object, ...]:
    """Return the parts with which a row begins: those of an array, or a hotkey alone."""
    if not text.startswith("["):
        return (text,)
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = []
    if not parts:
        message = f'found {text[:60]!r}, expected a hotkey, or an array such as ["5Miner", …]'
        raise click.BadParameter(message, param_hint="--row")
    return tuple(parts)


def kind_of(path: Path) -> Kind:
    """Return the kind of a file by its first bytes.

    Raises:
        InputError: it cannot be read, or is none of them.
    """
    from tallystick.io.inputs import start_of  # loads what opens files

    try:
        start = start_of(path, _START)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be read ({reason}): check the name") from error
    for kind in KINDS:
        if kind.begins(start):
            return kind
    raise InputError(
        f"{path}: found nothing that is signed, expected an envelope, a note or a proof"
    )
