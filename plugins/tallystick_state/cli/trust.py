"""``tallystick trust``: trust files, which say whose signatures count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH
from tallystick.cli.shown import show
from tallystick.numbers.text import numbered
from tallystick_state.cli.options import (
    authority_options,
    expiry_option,
    locked_ledger_options,
    named_values,
    public_key,
)

if TYPE_CHECKING:
    from tallystick_state.authority import Authority
    from tallystick_state.ledger import Ledger
    from tallystick_state.trust.keys import PublicKey
    from tallystick_state.trust.policy import TrustRoot


@click.group(cls=CommandGroup)
def trust() -> None:
    """Write, check and rotate trust files."""


@trust.command(
    "new",
    epilog=examples(
        "tallystick trust new trust.toml --network subnet-42 --threshold 1 --signer \\",
        "ann=ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "tallystick trust new trust-2.toml --after trust.toml \\",
        "    --expires-at-block 5000000",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@click.option("--network", metavar="NAME", help="The network; by default that of --after.")
@click.option(
    "--signer",
    "signers",
    multiple=True,
    metavar="NAME=TYPE:HEX",
    help="A key of the council, as keys show prints it; repeatable.",
)
@click.option(
    "--threshold",
    type=click.IntRange(1),
    metavar="N",
    help="How many of the council have to sign; by default more than half.",
)
@click.option(
    "--validator",
    "validators",
    multiple=True,
    metavar="HOTKEY",
    help="A validator whose batches of events are accepted; repeatable.",
)
@expiry_option
@click.option(
    "--gate",
    metavar="DIGEST",
    help="The digest of the policy that a change of rules has to pass; `rules gate` prints it.",
)
@click.option(
    "--after",
    type=PATH,
    metavar="FILE",
    help="The trust file in force, which it follows; values without an option are taken from it.",
)
def new_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    path: Path,
    network: str | None,
    signers: tuple[str, ...],
    threshold: int | None,
    validators: tuple[str, ...],
    expires_at_block: int | None,
    gate: str | None,
    after: Path | None,
) -> None:
    """Write a trust file, FILE: a council, of which some have to sign, adopts rules and rotates.

    A file that is there is never replaced. Other groups are written by hand.
    """
    from tallystick_state.trust.trust_file import read, write  # loads what signs

    if after is None and not (network and signers):
        raise click.UsageError("found no --network or no --signer, expected both, or --after")
    root = write(
        path,
        None if after is None else read(after),
        network=network,
        signers=_named(signers),
        threshold=threshold,
        validators=validators,
        expires_at_block=expires_at_block,
        gate=gate,
    )
    show(root, lines_of(path, root))


def _named(signers: tuple[str, ...]) -> dict[str, PublicKey]:
    """Return the keys of options such as ``alice=ed25519:d75a…``, by name."""
    named = named_values("--signer", signers, "NAME=TYPE:HEX, each name once")
    return {name: public_key(key) for name, key in named.items()}


@trust.command(
    "check",
    epilog=examples(
        "tallystick trust check trust.toml",
        "tallystick trust check trust-1.toml trust-2.toml",
    ),
)
@click.argument("paths", metavar="FILE…", nargs=-1, required=True, type=PATH)
def check_command(paths: tuple[Path, ...]) -> None:
    """Check trust files, oldest first: each for itself, and whether it can follow the one before.

    Who has signed a file is not looked at here; see `verify`.
    """
    from tallystick_state.trust.trust_file import read  # loads what signs

    roots: list[TrustRoot] = []
    for path in paths:
        root = read(path)
        if roots:
            roots[-1].check_successor(root, held=[earlier.digest for earlier in roots])
        roots.append(root)
    lines = (each for path, root in zip(paths, roots, strict=True) for each in lines_of(path, root))
    show({"roots": roots}, lines)


@trust.command(
    "rotate",
    epilog=examples(
        "tallystick trust rotate trust.toml --state subnet.db",
        "tallystick trust rotate trust-2.toml --signed rotation.json \\",
        "    --state subnet.db",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@authority_options
@locked_ledger_options
def rotate_command(path: Path, authority: Authority, ledger: Ledger) -> None:
    """Put the trust file FILE in force in a state, at once.

    A first one is the operator's decision. From then on --signed is needed: the groups named root,
    of the trust file in force and of FILE, have to reach their thresholds.
    """
    root = ledger.rotate_trust(path, authority=authority)
    name = ledger.store.shown
    show(root, [f"{name}: holds now", *lines_of(path, root)])


def lines_of(path: Path, root: TrustRoot) -> Iterator[str]:
    """Yield a trust file as lines for people."""
    yield f"{path}: version {root.version} of {root.network}, {root.digest}"
    for name, group in root.groups.items():
        tasks = [task for task in ("adopt", "root") if name in getattr(root, task)]
        keys = numbered(len(group.keys), "key")
        yield f"  {name}: {group.threshold} of {keys}; {' and '.join(tasks) or 'decides nothing'}"
    yield f"  events: {numbered(len(root.events), 'validator')}"
    if root.gate is not None:
        yield f"  a change of rules passes the policy {root.gate}"
    if root.expires_at_block is not None:
        yield f"  expires at block {root.expires_at_block}"
