"""``tallystick verify``: whether a signed file holds, with nothing else at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import PATH
from tallystick.cli.shown import show
from tallystick_state.cli.options import block_option, keys_option, row_key, trust_option

if TYPE_CHECKING:
    from tallystick_state.trust.keys import PublicKey


@command(
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
    type=row_key,
    metavar="KEY",
    help="The row that a proof must show: a hotkey, or its key as a JSON array.",
)
def verify_command(
    path: Path,
    trust: Path | None,
    keys: tuple[PublicKey, ...],
    block: int | None,
    row: tuple[Any, ...] | None,
) -> None:
    """Verify the signatures of FILE, whatever kind it is.

    A proof of another row than --row names does not hold. Exit status 0 if it
    holds, 1 if it does not or if there is nothing to verify it by, 2 if it cannot be read.
    """
    from tallystick_state.trust.trust_file import read  # loads what signs
    from tallystick_state.trust.verification import Against, verify

    root = None if trust is None else read(trust)
    view, lines = verify(path, Against(root, keys, block, row))
    show(view, lines)
    sys.exit(0 if view["checked"] else 1)
