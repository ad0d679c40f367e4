"""Site: what all answers of a service have in common, and the answers that are kept.

Every answer about a state is a function of the end of its log, of the rules and of who asks. The
end of the log has all that the state's digest has, and the times beside it. Whether the state has
changed is seen by its file's stamp, so that an answer that is kept needs no look into the store.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

from tallystick.io.text import printable, short, visible
from tallystick.json_values import JsonObject
from tallystick.numbers.text import counted, grouped
from tallystick_service.access import Viewer
from tallystick_service.answer import HTML
from tallystick_service.assets import Asset, read_assets
from tallystick_service.filters import FILTERS
from tallystick_service.health import Health, HealthSource
from tallystick_service.metrics import Observations
from tallystick_service.settings import Settings

if TYPE_CHECKING:
    from tallystick_state.queries import StateQueries
    from tallystick_state.step_roots import EpochLeaf
    from tallystick_state.stored_state import StoredState
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import Signer

_T = TypeVar("_T")
TEMPLATES = Path(__file__).parent / "templates"
_FILTERS = (counted, grouped, short, visible)
"""Functions by which templates show values, each under its own name."""
_RECHECK = 1.0
"""Seconds after which the log is looked at though no stamp has changed; of PostgreSQL, always."""
_POSTGRESQL_RECHECK = 1 / 8
_HEALTHY = Health()
_MOST_REMEMBERED = 512
_MOST_VALUES = 1024


@attrs.define(eq=False)
class Version:
    """A state between two changes.

    Attributes:
        log: hash of the last entry of its log.
        digest: of the state.
        rules: digest of the rules in force and scheduled.
        epoch: the open one.
    """

    log: str
    digest: str
    rules: str
    epoch: int
    _values: dict[object, Any] = attrs.field(factory=dict, repr=False)

    def once(self, key: object, compute: Callable[[], _T]) -> _T:
        """Return a value that is computed once; two threads may both compute it."""
        if key in self._values:
            known: _T = self._values[key]
            return known
        value = compute()
        # what strangers ask for names keys, too
        if len(self._values) < _MOST_VALUES:
            self._values[key] = value
        return value


class Site:
    """The things that all answers of a service have in common.

    Attributes:
        state: which is read.
        settings: of the service.
        assets: the files of the pages, by address.
        leaves: those of closed epochs that were read or computed.
        health: returns the health of now.
        observations: of the daemon; empty where there is none.
        scoring: scores posted records.
        signer: signs the checkpoint; None where nobody does.
        kept: the answers that are kept.
        description: of the answers for machines, OpenAPI.
        answered: how many answers there were, by status.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # as the application
        self,
        state: StoredState,
        settings: Settings,
        health: HealthSource | None = None,
        observations: Observations | None = None,
        signer: Signer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read templates and assets, and nothing of the state."""
        from tallystick_service.scoring import ScoringProcesses

        self.state, self.settings = state, settings
        self.leaves: dict[tuple[int, str], EpochLeaf] = {}
        self.signer = signer
        self.health: HealthSource = health or (lambda: _HEALTHY)
        self.observations = observations or Observations()
        named = read_assets()
        self.assets = {asset.address: asset for asset in named.values()}
        self.kept = KeptAnswers(settings.cache_bytes)
        self.scoring = ScoringProcesses(settings, place_of(state, settings))
        self.templates = environment(named)
        self.build = build_digest(self.assets, settings.proofs)
        self.description: JsonObject = {}
        self.answered: Counter[str] = Counter()
        self._version: Version | None = None
        self._stamp: object = None
        self._clock, self._looked = clock, float("-inf")
        self._lock = Lock()
        self._remembered: OrderedDict[object, Any] = OrderedDict()
        self._note: tuple[Checkpoint, Checkpoint] | None = None

    def page(
        self, template: str, status: int, version: Version | None, /, **values: object
    ) -> Response:
        """Return a page.

        Args:
            template: its name in the folder of templates.
            status: of HTTP.
            version: of the state that it is about, which templates read as ``version``.
            values: what the template reads beside that.
        """
        text = self.templates.get_template(template).render(
            version=version, settings=self.settings, **values
        )
        return Response(text.encode(), status, media_type=HTML)

    async def version_now(self, limiter: CapacityLimiter | None = None) -> Version:
        """Return the version of the state; a thread looks into its store if it may have changed.

        Args:
            limiter: of the threads; by default that of all.

        Raises:
            TallystickError: the store cannot be read.
        """
        path = self.state.store.path
        most = _POSTGRESQL_RECHECK if path is None else _RECHECK
        is_recent = self._clock() - self._looked < most
        if self._version is not None and is_recent and self._stamp == _stamp(path):
            return self._version
        return await to_thread.run_sync(self._look, limiter=limiter)

    def _look(self) -> Version:
        with self._lock:
            # before the look: what changes meanwhile is seen by the next one
            stamp, now = _stamp(self.state.store.path), self._clock()
            with self.state.queries() as queries:
                current = self.version_of(queries)
            self._version, self._stamp, self._looked = current, stamp, now
            return current

    def version_of(self, queries: StateQueries) -> Version:
        """Return the version of the state that queries see."""
        log = queries.transaction.log_hash() or ""
        known = self._version
        if known is not None and known.log == log:
            return known
        return Version(log, queries.digest(), queries.rules_digest(), queries.state.epoch)

    def remembered(self, key: object, compute: Callable[[], _T]) -> _T:
        """Return a value that is computed once, and the same in every version of the state.

        Args:
            key: names all that it depends on; of a closed epoch by the snapshot that ends it.
            compute: returns it.
        """
        with self._lock:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                known: _T = self._remembered[key]
                return known
        value = compute()
        with self._lock:
            self._remembered[key] = value
            while len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return value

    def signed(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint, signed where there is a signer: once, as each time differs."""
        if self.signer is None:
            return checkpoint
        with self._lock:
            if self._note is None or self._note[0] != checkpoint:
                self._note = checkpoint, checkpoint.signed(self.signer)
            return self._note[1]

    def etag(self, state: Version, viewer: Viewer) -> str:
        """Return the strong tag of every answer to somebody about a version of the state."""
        embargo = str(self.settings.embargo)
        parts = (state.log, state.digest, state.rules, viewer.key, self.build, embargo)
        return f'"{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:32]}"'


class KeptAnswers:
    """Answers that are kept, as many as fit; the one that was asked for longest ago goes first."""

    def __init__(self, most: int) -> None:
        """Keep nothing yet, and never more bytes than ``most``."""
        self._most, self.size = most, 0
        self._answers: OrderedDict[tuple[str, str], Response] = OrderedDict()

    def get(self, address: str, etag: str) -> Response | None:
        """Return the answer of an address with a tag, if it is kept."""
        answer = self._answers.get((address, etag))
        if answer is not None:
            self._answers.move_to_end((address, etag))
        return answer

    def put(self, address: str, etag: str, answer: Response) -> None:
        """Keep an answer, where it is no larger than an eighth of all that is kept."""
        size = _size(address, answer)
        if size > self._most // 8 or (address, etag) in self._answers:
            return
        self._answers[address, etag] = answer
        self.size += size
        while self.size > self._most:
            (old, _), dropped = self._answers.popitem(last=False)
            self.size -= _size(old, dropped)


def _size(address: str, answer: Response) -> int:
    # what Python needs beside the bytes themselves
    return len(answer.body) + len(address) + 1024


def environment(assets: Mapping[str, Asset]) -> Environment:
    """Return the templates, which escape every value."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    templates.filters.update({function.__name__: function for function in _FILTERS})
    templates.filters.update(FILTERS)
    templates.globals["asset"] = lambda name: assets[name].address
    return templates


def _seen(value: object) -> object:
    """Return text of which every character can be seen, for a template."""
    # the type itself: what is markup already was made of such text
    return printable(value) if type(value) is str else value


def build_digest(addresses: Iterable[str], proofs: Path | None = None) -> str:
    """Return the digest of what makes answers of values: release, templates, files, proofs."""
    hashed = hashlib.sha256("\n".join([version("tallystick"), *addresses]).encode())
    shown = [] if proofs is None else sorted(proofs.glob("*.json"))
    for path in (*sorted(TEMPLATES.rglob("*.html")), *shown):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def _stamp(path: Path | None) -> object:
    """Return what changes when the file of a store does; None of PostgreSQL."""
    if path is None:
        return None
    return tuple(map(_file_stamp, (path, Path(f"{path}-wal"))))


def _file_stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    # an empty file beside a store comes and goes with connections
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status.st_size else None


def place_of(state: StoredState, settings: Settings) -> str | None:
    """Return where another process opens the state; None where nobody said."""
    path = state.store.path
    return settings.store or (None if path is None else str(path.absolute()))
