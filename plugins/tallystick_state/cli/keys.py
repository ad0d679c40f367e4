"""``tallystick keys``: a new key to sign with, and what a key file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH
from tallystick.cli.shown import show
from tallystick_state.cli.options import PASSWORD, password_file_option, password_of

if TYPE_CHECKING:
    from tallystick_state.trust.keys import PublicKey

_argument = click.argument("path", metavar="FILE", type=PATH)


@click.group(cls=CommandGroup)
def keys() -> None:
    """Make and show keys that sign."""


@keys.command(
    "new",
    epilog=examples(
        "tallystick keys new alice.pem",
        "tallystick keys new alice.pem --password-file secret.txt --json",
    ),
)
@_argument
@password_file_option
@click.option("--no-password", is_flag=True, help="Leave the key as it is, for a machine.")
def new_command(path: Path, password_file: Path | None, no_password: bool) -> None:
    """Make a key of Ed25519, in FILE: PKCS#8, encrypted by a password, for its owner alone.

    A file that is there is never replaced. Keys of sr25519 are made by wallets.
    """
    if no_password and password_file is not None:
        raise click.UsageError("--no-password and --password-file exclude each other")
    from tallystick_state.trust.signers import new_key  # loads what signs

    password = None if no_password else password_of(path, password_file, twice=True)
    if password == b"":
        message = f"found an empty password, expected one: set {PASSWORD}, or give --no-password"
        raise click.UsageError(message)
    _show(path, new_key(path, password).public)


@keys.command(
    "show",
    epilog=examples(
        "tallystick keys show alice.pem",
        "tallystick keys show ~/.bittensor/wallets/mine/hotkeys/default",
    ),
)
@_argument
@password_file_option
def show_command(path: Path, password_file: Path | None) -> None:
    """Show the public key of FILE, a key file or a plain wallet file, as a trust file has it."""
    from tallystick_state.trust.signers import (  # loads what signs
        is_key_file,
        read_key,
        read_wallet,
    )

    if is_key_file(path):
        public = read_key(path, lambda: password_of(path, password_file)).public
    else:
        public = read_wallet(path).public
    _show(path, public)


def _show(path: Path, public: PublicKey) -> None:
    from tallystick_state.trust.encoding import ss58_text  # loads what opens files

    address = ss58_text(public.data) if public.type == "sr25519" else None
    view = {
        "file": str(path),
        "key": str(public),
        "type": public.type,
        "public": public.data.hex(),
        "keyid": public.keyid,
        "address": address,
    }
    lines = [str(public), f"keyid {public.keyid}"]
    show(view, [*lines, f"address {address}"] if address else lines)
