"""Options of commands that sign: by a key file, by a wallet, or by a command outside."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.errors import TrustError
from tallystick.io.text import escaped

if TYPE_CHECKING:
    from tallystick_state.trust.keys import PublicKey, Signer

PASSWORD = "TALLYSTICK_KEY_PASSWORD"  # noqa: S105  # the name of a variable
"""The variable of the environment that can hold the password of a key file."""

_LONGEST = 1024
_FILE = click.Path(path_type=Path)


def public_key(text: str) -> PublicKey:
    """The type of an option that is a public key, such as ``ed25519:d75a…``."""
    from tallystick_state.trust.keys import PublicKey  # loads what signs

    try:
        return PublicKey.of_text(text)
    except TrustError as error:
        raise click.BadParameter(str(error)) from None


def keys_option(told: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names public keys, as often as there are some."""
    return click.option(
        "--key", "keys", multiple=True, type=public_key, metavar="TYPE:HEX", help=told
    )


password_file_option = click.option(
    "--password-file",
    type=_FILE,
    metavar="FILE",
    help=f"A file with the password of the key; else {PASSWORD}, or a prompt.",
)
"""The option that says where the password of a key file is."""


def signer_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say who signs; the command takes ``signer``, None where nobody is named."""

    @click.option("--key", type=_FILE, metavar="FILE", help="Sign by a key file of `keys new`.")
    @password_file_option
    @click.option("--wallet", type=_FILE, metavar="FILE", help="Sign by a plain wallet file.")
    @click.option(
        "--sign-with",
        metavar="COMMAND",
        help="Sign by a command: it reads what to sign, and writes the signature.",
    )
    @click.option(
        "--public",
        type=public_key,
        metavar="TYPE:HEX",
        help="The public key of --sign-with.",
    )
    @wraps(command)
    def wrapper(
        *arguments: Any,  # noqa: ANN401  # of the command
        key: Path | None,
        password_file: Path | None,
        wallet: Path | None,
        sign_with: str | None,
        public: PublicKey | None,
        **options: Any,  # noqa: ANN401  # of the command
    ) -> Any:  # noqa: ANN401  # as the command has it
        signer = _signer(key, password_file, wallet, sign_with, public)
        return command(*arguments, signer=signer, **options)

    return wrapper


def signer_needed(signer: Signer | None) -> Signer:
    """The signer of a command that has to have one.

    Raises:
        click.UsageError: nobody is named.
    """
    if signer is None:
        message = "found no signer, expected --key, --wallet, or --sign-with and --public"
        raise click.UsageError(message)
    return signer


def _signer(
    key: Path | None,
    password_file: Path | None,
    wallet: Path | None,
    sign_with: str | None,
    public: PublicKey | None,
) -> Signer | None:
    named = [each for each in (key, wallet, sign_with) if each is not None]
    if len(named) > 1:
        message = "found several signers, expected one of --key, --wallet and --sign-with"
        raise click.UsageError(message)
    if (sign_with is None) != (public is None):
        raise click.UsageError("--sign-with and --public go together")
    from tallystick_state.trust.key_files import read_key, read_wallet  # loads what signs
    from tallystick_state.trust.outside_signer import OutsideSigner

    if key is not None:
        return read_key(key, lambda: password_of(key, password_file))
    if wallet is not None:
        return read_wallet(wallet)
    if sign_with is not None and public is not None:
        return OutsideSigner.of(sign_with, public)
    return None


def password_of(key: Path, file: Path | None, *, twice: bool = False) -> bytes:
    """The password of a key file: of a file, of the environment, or as it is typed.

    Args:
        key: the key file, which a prompt names.
        file: a file with the password, in its first line.
        twice: whether it must be typed twice, as for a new key.

    Raises:
        InputError: the file cannot be read.
        TrustError: others can read the file, there is none, or what was typed differs.
    """
    if file is not None:
        from tallystick_state.trust.encoding import (  # loads what opens files
            check_private,
            read_file,
        )

        check_private(file, "the password of a key")
        return read_file(file, _LONGEST, "a password").partition(b"\n")[0].removesuffix(b"\r")
    found = os.environ.get(PASSWORD)
    if found is None:
        found = _typed(key, twice=twice)
    return found.encode("utf-8", "surrogateescape")


def _typed(key: Path, *, twice: bool) -> str:
    if sys.stdin is None or not sys.stdin.isatty():
        message = f"{key}: found no password, expected --password-file, {PASSWORD} or a terminal"
        raise TrustError(message, code="wrong-password")
    try:
        found = getpass.getpass(f"Password of {escaped(str(key))}: ")
        again = getpass.getpass("The same again: ") if twice else found
    except EOFError:
        raise TrustError(f"{key}: found no password, expected one", code="wrong-password") from None
    if found != again:
        raise TrustError(f"{key}: found two passwords, expected one", code="wrong-password")
    return found
