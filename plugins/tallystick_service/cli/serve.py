"""``tallystick serve``: pages and JSON about a state."""

from __future__ import annotations

import asyncio
import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tallystick.cli.command import command, examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.options import PATH, number_option
from tallystick.cli.progress import working
from tallystick.cli.settings import Setting
from tallystick.cli.shown import show
from tallystick.errors import OutputError
from tallystick.io.text import visible
from tallystick_state.cli.options import signer_options

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from tallystick_service.settings import Settings
    from tallystick_state.ledger import Ledger
    from tallystick_state.trust.keys import Signer

_PORT = 8640
_SECRET_BYTES = 24
_UNPROTECTED = (
    "found the host {host}, which others reach, expected a proxy with TLS before it: a proof can "
    "be copied on its way; name the proxy with --proxy, and its own address with --origin"
)


@command(
    epilog=examples(
        "tallystick serve --demo",
        "tallystick serve --state subnet.db",
        "tallystick serve --operator --state subnet.db",
        "tallystick serve --origin https://board.example --proxy 127.0.0.1 \\",
        "    --state subnet.db",
    ),
)
@click.option(
    "--state",
    "where",
    cls=Setting,
    key="state",
    metavar="STATE",
    help="A file, for SQLite, or a URL such as postgresql://host/name.",
)
@click.option("--demo", is_flag=True, help="Serve a made-up network, and say how to see all of it.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@number_option("port", _PORT, "The port; 0 takes a free one.", least=0, most=65535)
@click.option("--operator", is_flag=True, help="Print a secret by which you see everything here.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A name, or NAME:PORT, by which the service may be asked; repeat for each.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="An origin by which miners ask it, such as https://board.example; repeat for each.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="A proxy whose X-Forwarded-For names the client; repeat for each.",
)
@number_option(
    "embargo",
    1,
    "Epochs that must close after one before its weights are public.",
    least=0,
    most=1000,
)
@click.option(
    "--proofs",
    type=PATH,
    metavar="DIR",
    help="A folder of answers of rules prove --json, which pages of rules show.",
)
@signer_options
def serve(  # noqa: PLR0913, PLR0917  # one argument for each option
    where: str | None,
    demo: bool,
    host: str,
    port: int,
    operator: bool,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    proxies: tuple[str, ...],
    embargo: int,
    proofs: Path | None,
    signer: Signer | None,
) -> None:
    """Serve pages and JSON about a state, which it reads and never changes.

    It listens on this machine alone unless --host says otherwise. Everyone sees what the rule set
    makes public; a miner sees its own view by a proof of its hotkey. With --operator the secret
    that is printed shows everything, to this machine alone. With --demo it makes a network up in
    a temporary folder, which is removed at the end, and prints the secret, too. A signer signs the
    checkpoint. SIGTERM ends it.
    """
    from tallystick_service.clients import is_loopback
    from tallystick_service.origins import is_origin
    from tallystick_service.server import bound, check_installed
    from tallystick_service.settings import Settings, hosts_of

    source = click.get_current_context().get_parameter_source("where")
    if demo and source is ParameterSource.COMMANDLINE:
        raise click.UsageError("--demo makes its own state: leave out --state")
    if not demo and where is None:
        raise click.UsageError("found no state, expected --state STATE, or --demo")
    if proofs is not None and not proofs.is_dir():
        raise click.UsageError(f"found no folder {proofs}, expected the one of --proofs")
    for origin in origins:
        if not is_origin(origin):
            expected = "one such as https://board.example, without a path or the usual port"
            raise click.UsageError(f"found the --origin {visible(origin)}, expected {expected}")
    if operator and not is_loopback(host):
        raise click.UsageError("--operator is for this machine alone: leave out --host")
    check_installed()
    from tallystick_service.application import application  # of the extra

    if demo:
        # one that a settings file names is not meant
        where = None
    has_operator = operator or (demo and is_loopback(host))
    settings = Settings(
        hosts=hosts_of(host, names),
        operator=secrets.token_urlsafe(_SECRET_BYTES) if has_operator else None,
        embargo=embargo,
        proofs=proofs,
        origins=tuple(dict.fromkeys(origin.lower() for origin in origins)),
        proxies=proxies,
        store=None if where is None else _place(where),
    )
    listener = bound(host, port)
    with listener, _state(where) as ledger:
        if not is_loopback(host):
            tell_refusal(_UNPROTECTED.format(host=host))
        app = application(ledger, settings, signer=signer)
        asyncio.run(_served(app, settings, listener, is_demo=demo))


def _place(where: str) -> str:
    """Return the place of a state for processes in any folder."""
    return where if "://" in where else str(Path(where).absolute())


@contextmanager
def _state(where: str | None) -> Iterator[Ledger]:
    """Give the state that is served, or a made-up one until the block is left."""
    from tallystick_state.ledger import Ledger

    if where is not None:
        with Ledger.open(where) as ledger:
            yield ledger
        return
    from tallystick_service.demo import made_up_state

    try:
        folder = tempfile.TemporaryDirectory(prefix="tallystick-demo-")
    except OSError as error:
        raise OutputError(
            f"found no temporary folder ({error}), expected one: set TMPDIR"
        ) from error
    with folder as path:
        with working("making a network up"):
            ledger = made_up_state(Path(path))
        yield ledger


async def _served(
    app: ASGIApp,
    settings: Settings,
    listener: socket.socket,
    *,
    is_demo: bool,
) -> None:
    """Serve until a signal asks to end."""
    from tallystick_service.server import address_of, serving

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with serving(app, settings, listener) as task:
        waiting = asyncio.create_task(ended.wait())
        _tell(address_of(listener), settings, is_demo=is_demo)
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()


def _tell(address: str, settings: Settings, *, is_demo: bool) -> None:
    """Say where the service is and what it shows, and the secret of the operator."""
    view, lines = {"address": address}, [address]
    if is_demo:
        from tallystick_service.demo import MINER

        lines.append("it shows what everyone sees of a subnet; the rest is asked for:")
        lines.append(f"a miner: open {address}/miners/{MINER}/own and sign; its key is //Alice")
    if settings.operator:
        view["operator"] = settings.operator
        lines.append(f"operator: open {address}/operator as the user operator, password:")
        lines.append(settings.operator)
    show(view, lines)
