"""Routes: one row for each address of the service, from which its routing and its API are made.

A row's function answers a `Question`. One that reads the state runs in a thread, inside one
transaction, and its answer is a function of the state, its rules and who asks: it is kept and
answered again until one of them changes. One that is a coroutine reads no state, and is never kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from http import HTTPStatus
from inspect import getdoc
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import attrs
from starlette.responses import Response

from tallystick_service.access import Viewer
from tallystick_service.answer import CSV, HTML, JSON
from tallystick_service.site import Site, Version
from tallystick_state.epoch_log import EpochLog
from tallystick_state.queries import StateQueries

if TYPE_CHECKING:
    from starlette.requests import Request

_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class Parameter:
    """A value that a question has in its path or its query.

    Attributes:
        name: its name.
        meaning: what it is.
        kind: text, a whole number from 0, or an array of texts as JSON.
        example: a value.
        required: whether a question without it is refused; always of one in the path.
        choices: the texts that it may be; empty for any.
        longest: maximum number of its characters.
    """

    name: str
    meaning: str
    kind: Literal["text", "number", "texts"] = "text"
    example: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    longest: int = 4096


IN_PATH: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter(name="hotkey", meaning="the hotkey of a miner", example="5F…", required=True),
        Parameter(
            name="epoch",
            meaning="the number of an epoch",
            kind="number",
            example="3",
            required=True,
        ),
        Parameter(
            name="skill_type",
            meaning="the name of a skill type",
            example="translation",
            required=True,
        ),
        Parameter(
            name="reference",
            meaning="name@version or the digest of a rule set",
            example="skills@1.2.0",
            required=True,
        ),
    )
}
"""The parameters that paths have in braces, by name."""
_IN_BRACES = re.compile(r"\{(\w+)\}")


@attrs.frozen(eq=False)
class Question:
    """A request, read.

    Attributes:
        site: what answers have in common: settings, templates, processes that score.
        route: the row that answers it.
        values: the values of the parameters that it has, by name.
        viewer: who asks.
        request: as it came.
        body: of a posted question.
        address: of the request, with its query, for links to itself.
        version: of the state; None where the row reads none.
    """

    site: Site
    route: Route
    values: Mapping[str, str]
    viewer: Viewer
    request: Request
    body: bytes = b""
    address: str = ""
    version: Version | None = None
    _queries: StateQueries | None = None

    @property
    def queries(self) -> StateQueries:
        """Queries that all see the state at one instant; only where the row reads the state."""
        assert self._queries is not None  # noqa: S101  # the row says that it reads
        return self._queries

    @cached_property
    def log(self) -> EpochLog:
        """The closed epochs as `queries` see them."""
        queries = self.queries
        return EpochLog(queries.transaction, queries.in_force, known=self.site.leaves)

    async def versioned(self) -> Question:
        """Return the question of a row that reads no state, with the version of the state of now.

        Raises:
            TallystickError: the store cannot be read.
        """
        return attrs.evolve(self, version=await self.site.version_now())

    def text(self, name: str, default: str = "") -> str:
        """Return the value of a parameter."""
        return self.values.get(name, default)

    def number(self, name: str) -> int | None:
        """Return the value of a parameter that is a number; None where it is not given."""
        value = self.values.get(name)
        return None if value is None else int(value)

    def once(self, key: object, compute: Callable[[], _T]) -> _T:
        """Return a value that is computed once for this version of the state, whoever asks.

        Args:
            key: names it: a tuple of what it depends on beside the state.
            compute: returns it.
        """
        assert self.version is not None  # noqa: S101  # as `queries`
        return self.version.once(key, compute)

    def page(self, template: str, status: int = HTTPStatus.OK, /, **values: object) -> Response:
        """Return a page; see `Site.page`."""
        return self.site.page(template, status, self.version, question=self, **values)


Answering: TypeAlias = Callable[[Question], Response | Coroutine[Any, Any, Response]]
"""A function that answers questions; it raises `RefusedQuestionError`."""


def _media_type(route: Route) -> str:
    """Return JSON where an answer has a type, and else that of a page, or of a file of its rows."""
    if route.of is not None:
        return JSON
    return CSV if route.path.endswith(".csv") else HTML


@attrs.frozen
class Route:
    """An address of the service; its function is declared with it, by ``@partial(Route, …)``.

    Attributes:
        path: its path; a name in braces stands for one part, whatever it is.
        subject: what it shows, a key of `tallystick_service.access.ACCESS`.
        answer: the function that answers; its docstring begins with what that is.
        name: the name of the operation; by default the path.
        of: the type of its JSON; None of pages and files, and of text.
        media_type: of its answer; by default that of its type, or of its path.
        query: the parameters of its query; others are refused.
        posted: what the body is; empty for a route that is asked by GET.
        proves: whether the body is the proof of who asks.
        reads: whether it reads the state.
        is_kept: whether its answer is kept until the state changes; only of a row that reads it.
        refuses: the statuses with which it refuses, beside those that every route has.
    """

    path: str
    subject: str
    answer: Answering
    name: str = attrs.Factory(lambda route: route.path, takes_self=True)
    of: Any = None
    media_type: str = attrs.Factory(_media_type, takes_self=True)
    query: tuple[Parameter, ...] = ()
    posted: str = ""
    proves: bool = False
    reads: bool = True
    is_kept: bool = True
    refuses: tuple[int, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of its path, and of its query."""
        return (*(IN_PATH[name] for name in _IN_BRACES.findall(self.path)), *self.query)

    @property
    def sentence(self) -> str:
        """The sentence that says what it answers: its function's docstring begins with it."""
        return " ".join((getdoc(self.answer) or "").partition("\n\n")[0].split())


def routes_in(*modules: ModuleType) -> tuple[Route, ...]:
    """Return the routes of some modules, in the order in which they are declared."""
    values = (value for module in modules for value in vars(module).values())
    return tuple(value for value in values if isinstance(value, Route))
