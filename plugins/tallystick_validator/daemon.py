"""The daemon: one process around a `Validator`, with its signals, its logs and its service.

SIGTERM and SIGINT end it within ten seconds, whatever it is doing: a step that is not done by then
is left as a kill would leave it, which loses nothing. SIGHUP reads the configuration again. Two
daemons cannot share a folder or a state. systemd is told of readiness, and kept informed by its
watchdog.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick.cli.locked import Held
from tallystick.errors import InputError, TallystickError
from tallystick.io.text import visible
from tallystick.plugins.logger import logger_of
from tallystick_chain.connect import connect
from tallystick_service.clients import is_loopback
from tallystick_service.health import Problem
from tallystick_state.trust.encoding import ss58_text
from tallystick_validator.configuration import LEVELS, Configuration, reread
from tallystick_validator.health import problem_of
from tallystick_validator.sources import posts_taken
from tallystick_validator.systemd import Supervisor
from tallystick_validator.validator import Step, Validator

if TYPE_CHECKING:
    from tallystick_chain.network import Network
    from tallystick_service.health import Health
    from tallystick_state.trust.keys import Signer

LOOK_SECONDS = 5.0
"""Longest wait for the chain before records are taken, in seconds."""
END_SECONDS = 8.0
"""Time from a signal to the end of the process, whatever is under way, in seconds."""
HEALTH_FILE = "health.json"
"""Name of the file with the newest health, in the folder of the daemon."""

_LOG = logger_of(__name__)
_ENGINE_LOG = "tallystick"


class Daemon:
    """The process of a validator."""

    def __init__(
        self,
        configuration: Configuration,
        held: Held,
        is_last: Callable[[Step], bool] = lambda _: False,
    ) -> None:
        """Take the configuration; nothing is opened yet.

        Args:
            configuration: of the daemon.
            held: the lock that its rules must have.
            is_last: returns whether the run ends after a step; by default it goes on.

        Raises:
            TallystickError: a file that it names cannot be read.
        """
        self.configuration, self._is_last = configuration, is_last
        self._supervisor = Supervisor.of()
        signer = configuration.signer()
        key = str(configuration.key) if signer is None else ss58_text(signer.public.data)
        self.validator = Validator(
            configuration.state,
            configuration.network,
            lambda: connect(configuration.url, signer or key),
            configuration.folder,
            hotkey=key,
            options=configuration,
            signer=signer,
            checkpoint_signer=configuration.checkpoint_signer(),
            held=held,
            deadline_s=configuration.deadline_seconds,
        )
        _check_exchange(configuration, self.validator.network, signer)
        self.validator.watch.put("exchange", _alone(configuration, self.validator.network))
        self._is_ended = False
        self._reading: asyncio.Future[None] | None = None

    async def run(self) -> tuple[Health, bool]:
        """Run until the end, or a signal; give the last health, and whether a signal came.

        Raises:
            TallystickError: it cannot begin.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        async with self.validator, AsyncExitStack() as stack:
            # so that the first records are judged by the chain; one that is silent keeps nobody out
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self.validator.look()), LOOK_SECONDS)
            await self._listen(stack)
            self._supervisor.ready("began")
            # no sign of life is asked for before
            await stack.enter_async_context(self._watchdog())
            _LOG.info("ready", extra={"hotkey": self.validator.hotkey})
            await self.validator.run(self._after)
            self._supervisor.stopping()
        return self.validator.health(), self._is_ended

    async def _listen(self, stack: AsyncExitStack) -> None:
        """Open what others send to, until the end."""
        configuration, validator = self.configuration, self.validator
        if configuration.socket is not None:
            await stack.enter_async_context(posts_taken(configuration.socket, validator.intake))
        if configuration.serves:
            await stack.enter_async_context(self._service())

    @asynccontextmanager
    async def _service(self) -> AsyncIterator[None]:
        """Serve the pages, the answers and what peers ask for, while the block runs."""
        from tallystick_service.server import address_of, bound, check_installed, serving

        check_installed()
        from tallystick_service.application import application
        from tallystick_service.settings import Settings, hosts_of
        from tallystick_state.ledger import Ledger

        configuration, validator = self.configuration, self.validator
        hosts = hosts_of(configuration.host, configuration.allow_hosts)
        settings = Settings(hosts=hosts, store=configuration.state)
        try:
            listener = bound(configuration.host, configuration.port)
        except InputError as error:
            what = str(error).partition(": choose others")[0]
            expected = "choose others as host and port under [service]"
            raise InputError(f"{configuration.path}: {what}: {expected}") from error
        # another ledger: what the service reads is none of the loop's business
        with listener, Ledger.open(configuration.state) as ledger:
            app = application(
                ledger,
                settings,
                health=validator.health,
                observations=validator.observations,
                routes=validator.agreement.routes(),
            )
            async with serving(app, settings, listener):
                address = address_of(listener)
                validator.watch.know(address=address)
                _LOG.info("serving", extra={"address": address})
                yield

    @asynccontextmanager
    async def _watchdog(self) -> AsyncIterator[None]:
        """Tell the supervisor that the event loop is alive, while the block runs."""
        period = self._supervisor.watchdog_s
        if period is None:
            yield
            return

        async def tell() -> None:
            while True:
                self._supervisor.alive()
                await asyncio.sleep(period / 3)

        task = asyncio.create_task(tell())
        try:
            yield
        finally:
            task.cancel()

    def _after(self, step: Step) -> bool:
        health = self.validator.health()
        status = f"{health.status}, epoch {step.open_epoch}, block {step.finalized}"
        self._supervisor.status(status)
        text = json.dumps(attrs.asdict(health), indent=1, default=str)
        write_beside(self.validator.folder / HEALTH_FILE, text)
        return not self._is_last(step)

    def _end(self) -> None:
        """End after the step under way, or without it."""
        if self._is_ended:
            return
        self._is_ended = True
        _LOG.info("ending")
        self._supervisor.stopping()
        # a thread, as nothing else may run any more
        timer = threading.Timer(END_SECONDS, _leave)
        timer.daemon = True
        timer.start()
        self.validator.stop()

    def _reload(self) -> None:
        """Read the configuration again, after what is read already."""
        self._reading = asyncio.ensure_future(self._read_again(self._reading))

    async def _read_again(self, before: asyncio.Future[None] | None) -> None:
        """Read the configuration, in a thread, and change what can be changed."""
        if before is not None:
            await before
        self._supervisor.reloading()
        try:
            read = await asyncio.to_thread(reread, self.configuration)
        except TallystickError as error:
            _LOG.error("the configuration stays: %s", visible(str(error)))
        else:
            self.configuration, live, rest = read
            set_level(self.configuration.log_level)
            self.validator.options = self.configuration
            self.validator.wake()
            _LOG.info("read the configuration", extra={"changed": live, "needs_restart": rest})
            if rest:
                _LOG.warning("a restart is needed for %s", ", ".join(rest))
        self._supervisor.ready("read the configuration")


def _check_exchange(configuration: Configuration, network: Network, signer: Signer | None) -> None:
    """Refuse a configuration that does not go with the network's exchange.

    Raises:
        InputError: there are peers and no exchange, or others reach the service of a daemon that
            has no key.
    """
    if network.exchange is None:
        if configuration.peers:
            raise InputError(
                f"{configuration.path}: exchange.peers: found peers, expected none with a "
                "network that has no [exchange]: take them out, or take the network file of the "
                "others"
            )
        return
    is_open = configuration.serves and not is_loopback(configuration.host)
    if is_open and signer is None:
        raise InputError(
            f"{configuration.path}: service.host: found {visible(configuration.host)} and no key, "
            "expected a loopback address, or a key by which peers know this validator: name the "
            "file of the hotkey as chain.key, or another host"
        )


def _alone(configuration: Configuration, network: Network) -> Iterator[Problem]:
    """Yield what a network's exchange lacks here: whom to ask, or what others ask."""
    parts = {"exchange.peers": configuration.peers, "[service]": configuration.serves}
    lacking = [name for name, is_there in parts.items() if not is_there]
    if network.exchange is not None and lacking:
        found = f"found a network with [exchange] and no {' and no '.join(lacking)}"
        yield problem_of("no-peers", f"{found}, expected both")


def set_level(name: str) -> None:
    """Log from a level on."""
    logger = logging.getLogger(_ENGINE_LOG)
    logger.setLevel(LEVELS[name])
    for handler in logger.handlers:
        handler.setLevel(LEVELS[name])


def write_beside(path: Path, text: str) -> None:
    """Write a small file whole, without waiting for the disk: the next one comes soon."""
    hidden = path.with_name(f".{path.name}.new")
    # that it is missing tells enough
    with suppress(OSError):
        hidden.write_text(text + "\n", encoding="utf-8")
        hidden.replace(path)


def _leave() -> None:
    """End the process at once, as a kill would: every step can be taken again."""
    _LOG.warning("ended in the middle of a step, which the next start takes again")
    os._exit(0)
