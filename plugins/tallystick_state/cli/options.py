"""Options that several commands on a state, its trust and its audit share, each declared once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from tallystick.cli.locked import NoLock, locked_options
from tallystick.cli.options import PATH, Decorator, one_argument
from tallystick.cli.settings import Setting
from tallystick.errors import TrustError
from tallystick.io.text import escaped
from tallystick_state.authority import read_authority

if TYPE_CHECKING:
    from tallystick.cli.locked import Held
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.ledger import Ledger
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import PublicKey, Signer

_LAST_NUMBER = 2**31 - 1
_MAX_PASSWORD_BYTES = 1024
_UID_DIGITS = 5
PASSWORD = "TALLYSTICK_KEY_PASSWORD"  # noqa: S105  # the name of a variable
"""Environment variable with the password of a key file."""
number_type = click.IntRange(0, _LAST_NUMBER)
"""Type of the number of a round or an epoch, as in a record."""
block_type = click.IntRange(0, 2**53 - 1)
"""Type of the number of a block: an integer that every reader of JSON has exactly."""

state_option = click.option(
    "--state",
    "where",
    cls=Setting,
    key="state",
    required=True,
    metavar="STATE",
    help="A file, for SQLite, or a URL such as postgresql://host/name.",
)
"""The option that names a store."""
groups_option = click.option(
    "--groups",
    type=PATH,
    metavar="FILE",
    help="The groups of the records, as `tallystick consensus` reads them: the rules compute the "
    "consensus of the records.",
)
"""The option that names the groups of records."""
# the rules of epoch 0 are those that the state begins with
at_epoch_option = click.option(
    "--at-epoch",
    "epoch",
    type=click.IntRange(1, _LAST_NUMBER),
    required=True,
    metavar="N",
    help="The first epoch of the adoption; it must not have begun.",
)
"""The option that names the epoch of an adoption."""
major_option = click.option(
    "--major", is_flag=True, help="Allow RULES to remove values that others name."
)
"""The option that allows a major change."""
as_option = click.option(
    "--as",
    "viewer",
    metavar="HOTKEY",
    help="Show it as this miner may see it, not as the operator does.",
)
"""The option that shows a state to a miner."""


def _checkpoint(path: Path | None) -> Checkpoint | None:
    """Return the checkpoint in a file, if one is named.

    Raises:
        InputError: the file cannot be read.
        TrustError: the file holds no checkpoint.
    """
    from tallystick_state.trust.checkpoint import (
        MAX_NOTE_BYTES,
        read_checkpoint,  # loads what signs
    )
    from tallystick_state.trust.encoding import read_file

    if path is None:
        return None
    return read_checkpoint(read_file(path, MAX_NOTE_BYTES, "a checkpoint"))


checkpoint_option = one_argument(
    "checkpoint",
    _checkpoint,
    {
        "checkpoint": click.option(
            "--checkpoint", type=PATH, metavar="FILE", help="A checkpoint of this state."
        )
    },
)
"""The option that names the file of a checkpoint, as the checkpoint that it holds."""
password_file_option = click.option(
    "--password-file",
    type=PATH,
    metavar="FILE",
    help=f"A file with the password of the key; else {PASSWORD}, or a prompt.",
)
"""The option that names the file with the password of a key file."""
expiry_option = click.option(
    "--expires-at-block",
    type=block_type,
    metavar="B",
    help="The block from which on it cannot be used any more.",
)
"""The option that ends what is signed at a block."""


def line_option(description: str) -> Decorator:
    """Return the option that names one line of a state of several."""
    return click.option("--line", metavar="LINE", help=description)


def trust_option(description: str) -> Decorator:
    """Return the option that names a trust file."""
    return click.option("--trust", type=PATH, metavar="FILE", help=description)


def keys_option(description: str) -> Decorator:
    """Return the option that names public keys; it can be repeated."""
    return click.option(
        "--key", "keys", multiple=True, type=public_key, metavar="TYPE:HEX", help=description
    )


def block_option(description: str) -> Decorator:
    """Return the option that names the current block of the chain."""
    return click.option("--block", type=block_type, metavar="B", help=description)


def _time(value: str) -> datetime:
    """Return a time in ISO 8601 as UTC; one without an offset is in UTC."""
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = f"found {value!r}, expected a time such as 2026-01-31T12:00:00Z"
        raise click.BadParameter(message) from None


at_option = click.option(
    "--at", type=_time, metavar="TIME", help="When, as ISO 8601; UTC without an offset."
)
"""The option that names the time of a change: no command reads a clock."""


def named_values(option: str, texts: Iterable[str], expected: str) -> dict[str, str]:
    """Return the values of a repeatable option of the form NAME=VALUE, by name.

    Raises:
        BadParameter: one has another form, or a name comes twice.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name or name in values:
            message = f"found {text[:80]!r}, expected {expected}"
            raise click.BadParameter(message, param_hint=option)
        values[name] = value
    return values


@attrs.frozen
class PoolOptions:
    """The values of `pools_options`.

    Attributes:
        shares: the share of each line, as text; empty without pools.
        idle: the rule for the share of a line without weights.
        burn: the recipient that burns such a share.
    """

    shares: Mapping[str, str]
    idle: str = "proportional"
    burn: str | int | None = None

    @classmethod
    def read(cls, shares: Sequence[str], idle: str | None) -> PoolOptions:
        """Return the pools of the options.

        Raises:
            UsageError: an option has another form, or a line comes twice.
        """
        by_line = named_values("--pool", shares, "LINE=SHARE, such as skills=0.7, each line once")
        if idle is not None and not by_line:
            raise click.UsageError("--idle goes with --pool")
        rule, _, recipient = (idle or "proportional").partition(":")
        is_slot = recipient.isascii() and recipient.isdigit() and len(recipient) <= _UID_DIGITS
        return cls(by_line, rule, int(recipient) if is_slot else recipient or None)


pools_options = one_argument(
    "pools",
    PoolOptions.read,
    {
        "shares": click.option(
            "--pool",
            "shares",
            multiple=True,
            metavar="LINE=SHARE",
            help="Of several lines, the share of all weight that one gives out, such as "
            "skills=0.7; repeat for each.",
        ),
        "idle": click.option(
            "--idle",
            metavar="WHERE",
            help="Where the share of a line goes in which nobody has a weight: proportional (the "
            "default) or equal to the others, or burn:RECIPIENT, such as burn:owner.",
        ),
    },
)
"""The options that share the weight of a state out to its lines, as the one argument ``pools``."""


_AUTHORITY: Mapping[str, Decorator] = {
    "signed": click.option(
        "--signed",
        type=PATH,
        metavar="FILE",
        help="The envelope that allows it; a state with a trust file asks for one.",
    ),
    "block": block_option("The current block; signatures may expire by blocks."),
}
authority_options = one_argument("authority", read_authority, _AUTHORITY)
"""The options of who allows a change, as the one argument ``authority``."""
gated_authority_options = one_argument(
    "authority",
    read_authority,
    {
        **_AUTHORITY,
        "gate_receipt": click.option(
            "--gate-receipt",
            type=PATH,
            metavar="FILE",
            help="The receipt of `rules gate`; a trust file that names a policy asks for one.",
        ),
    },
)
"""The same of a change of rules, which a gate may have to pass."""


def opened(where: str, held: Held | None = None) -> Ledger:
    """Open a state; of a command that is held to a lock, one whose rules in force it has.

    Raises:
        StoreError: there is no state.
        TrustError: the lock lacks its rules.
    """
    from tallystick_state.ledger import Ledger

    ledger = Ledger.open(where)
    if held is not None and not isinstance(held, NoLock):
        with ledger.queries() as queries:
            for rules in queries.in_force.at(queries.state.epoch).lines:
                held.require(rules)
    return ledger


ledger_option = one_argument("ledger", opened, {"where": state_option})
"""The option that names a store, as the one argument ``ledger``: for commands that read."""
locked_ledger_options = one_argument(
    "ledger", opened, {"where": state_option, "held": locked_options}
)
"""The options of a state and of a lock that it is held to, as the one argument ``ledger``."""


@contextmanager
def scoring_by_state(where: str, named: str | None, held: Held) -> Iterator[Scorer]:
    """Open a scorer by the rules and the snapshots of a state, for commands of the core.

    Raises:
        RuleSetError: the rule set that is named does not load.
        StateError: the state never follows it.
        TrustError: the lock lacks the rules.
    """
    from tallystick.scoring.scorer import load

    ledger, rules = opened(where, held), None if named is None else load(named)
    if rules is not None:
        held.require(rules)
    with ledger.scoring(rules) as scorer:
        yield scorer


def public_key(text: str) -> PublicKey:
    """Return a public key from its text, such as ``ed25519:d75a…``, as the type of an option."""
    from tallystick_state.trust.keys import PublicKey  # loads what signs

    try:
        return PublicKey.of_text(text)
    except TrustError as error:
        raise click.BadParameter(str(error)) from None


def row_key(text: str) -> tuple[Any, ...]:
    """Return the key of a row, a JSON array, as the type of an option; a text alone is a hotkey."""
    if not text.startswith("["):
        return (text,)
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = []
    if not parts:
        message = f'found {text[:60]!r}, expected a hotkey, or an array such as ["5Miner", …]'
        raise click.BadParameter(message)
    return tuple(parts)


def _signer_reader(
    key: Path | None,
    password_file: Path | None,
    wallet: Path | None,
    sign_with: str | None,
    public: PublicKey | None,
) -> Callable[[], Signer] | None:
    """Return what reads the signer that options name; None where they name none."""
    if len([option for option in (key, wallet, sign_with) if option is not None]) > 1:
        message = "found several signers, expected one of --key, --wallet and --sign-with"
        raise click.UsageError(message)
    if (sign_with is None) != (public is None):
        raise click.UsageError("--sign-with and --public go together")
    from tallystick_state.trust import signers  # loads what signs

    if key is not None:
        return lambda: signers.read_key(key, lambda: password_of(key, password_file))
    if wallet is not None:
        return lambda: signers.read_wallet(wallet)
    if sign_with is not None and public is not None:
        return lambda: signers.of_command(sign_with, public)
    return None


def _signer(*options: Any) -> Signer | None:  # noqa: ANN401  # those of `_SIGNER`
    reader = _signer_reader(*options)
    return None if reader is None else reader()


def _needed_signer(*options: Any) -> Callable[[], Signer]:  # noqa: ANN401  # as above
    reader = _signer_reader(*options)
    if reader is None:
        message = "found no signer, expected --key, --wallet, or --sign-with and --public"
        raise click.UsageError(message)
    return reader


_SIGNER: Mapping[str, Decorator] = {
    "key": click.option(
        "--key", type=PATH, metavar="FILE", help="Sign by a key file of `keys new`."
    ),
    "password_file": password_file_option,
    "wallet": click.option(
        "--wallet", type=PATH, metavar="FILE", help="Sign by a plain wallet file."
    ),
    "sign_with": click.option(
        "--sign-with",
        metavar="COMMAND",
        help="Sign by a command: it reads what to sign, and writes the signature.",
    ),
    "public": click.option(
        "--public",
        type=public_key,
        metavar="TYPE:HEX",
        help="The public key of --sign-with.",
    ),
}
signer_options = one_argument("signer", _signer, _SIGNER)
"""The options that name a signer, as the one argument ``signer``, or None."""
needed_signer_options = one_argument("read_signer", _needed_signer, _SIGNER)
"""The options of a command that always signs: the argument ``read_signer`` reads the signer once it
is asked for, so that what is signed can be shown before."""


def password_of(key: Path, file: Path | None, *, twice: bool = False) -> bytes:
    """Return the password of a key file: from a file, the environment, or a prompt.

    Args:
        key: the key file, whose name the prompt has.
        file: a file with the password in its first line.
        twice: whether the prompt asks twice, as for a new key.

    Raises:
        InputError: the file cannot be read.
        TrustError: others can read the file, or there is no password.
    """
    if file is not None:
        from tallystick_state.trust.encoding import (  # loads what opens files
            check_private,
            read_file,
        )

        check_private(file, "the password of a key")
        return (
            read_file(file, _MAX_PASSWORD_BYTES, "a password")
            .partition(b"\n")[0]
            .removesuffix(b"\r")
        )
    password = os.environ.get(PASSWORD)
    if password is None:
        if sys.stdin is None or not sys.stdin.isatty():
            problem = f"found no password, expected --password-file, {PASSWORD} or a terminal"
            raise TrustError(f"{key}: {problem}", code="wrong-password")
        password = click.prompt(
            f"Password of {escaped(str(key))}",
            default="",
            show_default=False,
            hide_input=True,
            confirmation_prompt="The same again" if twice else False,
            err=True,
        )
    return password.encode("utf-8", "surrogateescape")
