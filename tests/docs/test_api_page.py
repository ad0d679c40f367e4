"""Every type that a public function takes or gives is on the page of the Python API."""

import ast
import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import attrs
import pytest
from manual.page import Page
from packages import PACKAGES

import tallystick
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, Snapshot, State

_PAGE = Page.of("docs/api.md").text
_DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", re.MULTILINE)
_HANDED_ON = "## Values that are handed on"
_STATE = "## A state"


@attrs.frozen
class Entry:
    """One thing on the page.

    Attributes:
        name: under which it stands.
        value: what it is.
        members: the methods that are shown; None for all.
        left_out: of those, the ones that are not.
        inherits: whether methods of classes of the project above it are shown too.
    """

    name: str
    value: Any
    members: frozenset[str] | None
    left_out: frozenset[str] = frozenset()
    inherits: bool = False

    def shows(self, name: str) -> bool:
        is_named = self.members is None or name in self.members
        return is_named and name not in self.left_out and not name.startswith("_")


def resolved(name: str) -> Any:  # noqa: ANN401  # whatever the page names
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def _listed(options: str, name: str) -> frozenset[str] | None:
    """The names of an option; None where it stands without any."""
    joined = re.sub(r"\n {6,}", " ", options)
    value = re.search(rf"^   :{name}:(.*)$", joined, re.MULTILINE)
    if value is None:
        return frozenset()
    return frozenset(re.split(r",\s*", value[1].strip())) if value[1].strip() else None


def entries(text: str) -> Iterator[Entry]:
    for kind, name, options in _DIRECTIVE.findall(text):
        members = _listed(options, "members")
        left_out = _listed(options, "exclude-members") or frozenset()
        value, inherits = resolved(name), _listed(options, "inherited-members") is None
        if kind != "module":
            yield Entry(name, value, members, left_out, inherits)
            continue
        for own, each in vars(value).items():
            if getattr(each, "__module__", "") == name and not own.startswith("_"):
                yield Entry(f"{name}.{own}", each, None)


def section(heading: str, text: str = _PAGE) -> str:
    """A section with those below it."""
    return text.partition(f"\n{heading}\n")[2].partition("\n## ")[0]


@cache
def _namespace(module: str) -> dict[str, Any]:
    """What the annotations of a module may name: its own, and what the type checker imports."""
    found = dict[str, Any]()
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            source = importlib.import_module(node.module)
            for each in node.names:
                found[each.asname or each.name] = getattr(source, each.name)
        elif isinstance(node, ast.Import):
            for each in node.names:
                if each.asname:
                    found[each.asname] = importlib.import_module(each.name)
    return {**found, **vars(sys.modules[module])}


def hints(value: Any) -> dict[str, Any]:  # noqa: ANN401  # a function or a class
    return typing.get_type_hints(value, _namespace(value.__module__))


def named_types(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        yield hint
    origin = typing.get_origin(hint)
    if isinstance(origin, type):
        yield origin
    for each in typing.get_args(hint):
        for one in each if isinstance(each, list) else (each,):
            yield from named_types(one)


def _functions(entry: Entry) -> Iterator[tuple[str, Callable[..., Any]]]:
    if inspect.isfunction(entry.value):
        yield entry.name, entry.value
    if isinstance(entry.value, type):
        every = filter(_of_the_project, entry.value.__mro__)
        for kind in every if entry.inherits else (entry.value,):
            for name, member in vars(kind).items():
                function = getattr(member, "__func__", getattr(member, "fget", member))
                if isinstance(member, cached_property):
                    function = member.func
                if entry.shows(name) and inspect.isfunction(function):
                    yield f"{entry.name}.{name}", inspect.unwrap(function)


def _attributes(entry: Entry) -> Iterator[tuple[str, object]]:
    """The attributes that the text of a class names."""
    if not isinstance(entry.value, type) or issubclass(entry.value, BaseException):
        return
    text = inspect.getdoc(entry.value) or ""
    names = set(re.findall(r"^    (\w+):", text.partition("Attributes:\n")[2], re.MULTILINE))
    is_plain = not text.partition("Attributes:\n")[2]
    own = inspect.get_annotations(entry.value)
    for name, hint in hints(entry.value).items():
        if name in names or (is_plain and name in own and entry.shows(name)):
            yield f"{entry.name}.{name}", hint


def met(entry: Entry) -> Iterator[tuple[str, type]]:
    """The types of the project that an entry takes or gives, and where."""
    for place, function in _functions(entry):
        for hint in hints(function).values():
            yield from ((place, each) for each in named_types(hint))
    for place, hint in _attributes(entry):
        yield from ((place, each) for each in named_types(hint))


def _of_the_project(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in PACKAGES


_ENTRIES = [*entries(_PAGE)]
_OPAQUE = {entry.name for entry in entries(section(_HANDED_ON))}


def test_the_page_is_read() -> None:
    names = {entry.name for entry in _ENTRIES}
    assert {
        "tallystick.Ledger",
        "tallystick_state.groups.Group",
        "tallystick.errors.StateError",
    } <= names
    (queries,) = (each for each in _ENTRIES if each.name == "tallystick.StateQueries")
    assert queries.shows("weights")
    assert not queries.shows("head")
    assert not queries.shows("closed_round")
    seen = {kind for place, kind in met(queries) if place == "tallystick.StateQueries.epochs"}
    assert tallystick.EpochInfo in seen
    (weights,) = (each for each in _ENTRIES if each.name == "tallystick.Weights")
    assert {place for place, _ in met(weights)} >= {"tallystick.Weights.uint16"}


def test_every_type_that_is_taken_or_given_is_on_the_page() -> None:
    known = {id(entry.value) for entry in _ENTRIES}
    missing = {
        f"{kind.__module__}.{kind.__qualname__}: {place}"
        for entry in _ENTRIES
        if entry.name not in _OPAQUE
        for place, kind in met(entry)
        if _of_the_project(kind) and id(kind) not in known
    }
    assert missing == set()


def test_every_short_name_is_on_the_page_and_the_other_way_round() -> None:
    short = {e.name for e in _ENTRIES if re.fullmatch(r"tallystick\.\w+", e.name)}
    own = {f"tallystick.{name}" for name in tallystick.__all__}
    errors = {name for name in own if name.endswith("Error")}
    assert short == own - errors
    assert {name.rpartition(".")[2] for name in errors} <= vars(tallystick.errors).keys()


def test_what_has_a_short_name_stands_under_it() -> None:
    short = {id(getattr(tallystick, name)): name for name in tallystick.__all__}
    for entry in _ENTRIES:
        if id(entry.value) in short and not entry.name.startswith("tallystick.errors."):
            assert entry.name == f"tallystick.{short[id(entry.value)]}"


def test_a_state_answers_in_decimals() -> None:
    """What counts in nano inside is given to nobody by a ledger."""
    inside = {State, Snapshot, StateEvent, MinerEntry}
    for entry in entries(section(_STATE)):
        for place, kind in met(entry):
            assert kind not in inside, place
        text = inspect.getdoc(entry.value) or ""
        assert not re.search(r"\bnano\b", text), entry.name
        for name, function in _functions(entry):
            assert not re.search(r"\bnano\b", inspect.getdoc(function) or ""), name


def test_dir_lists_the_public_names() -> None:
    assert dir(tallystick) == sorted(tallystick.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", tallystick.__version__)
    for name in dir(tallystick):
        assert getattr(tallystick, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tallystick.nothing
