"""Sources: what Python code can reach, read from its text; nothing of it is run.

Two digests rest on it. ``.ci/closures.py`` follows imports from module to module, for the files
that a lock pins. An opaque fact follows names from definition to definition, within the package
that its function is in: a helper, a class or a constant counts, and what no line leads to does not.
As only texts count, every machine and every version of Python finds the same.

Where a text leaves open what is meant, every candidate counts: a module that is used as a value or
imported by ``*`` counts whole, a name counts whatever scope it is read in, and so does each
statement at the top of a module that binds it or changes what it holds.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from types import FunctionType
from typing import Any

import attrs

_PLAIN = (int, float, complex, str, bytes, type(None))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CHANGES = (ast.Store, ast.Del)
_ALL = "*"


def executed(node: ast.AST, left_out: Collection[str] = ()) -> Iterator[ast.AST]:
    """Yield a node and those below it, but what only the type checker sees.

    Args:
        node: where to begin.
        left_out: names of functions that are passed over.
    """
    if isinstance(node, ast.FunctionDef) and node.name in left_out:
        return
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children = node.orelse
    for child in children:
        yield from executed(child, left_out)


def imported(node: ast.AST, package: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the names that an import binds: each with its module and what is taken of that.

    Args:
        node: any node; of another kind it binds nothing.
        package: what relative imports begin from.
    """
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, alias.name if alias.asname else top, ""
        case ast.ImportFrom(module=home, names=aliases, level=level):
            outer = package.split(".")[: len(package.split(".")) + 1 - level] if level else []
            module = ".".join([*outer, *([home] if home else [])])
            for alias in aliases:
                yield alias.asname or alias.name, module, alias.name


def outermost(module: str) -> ModuleSpec | None:
    """Return the spec of a module's outermost package that is no namespace, or of the module."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:length]))
        except (ImportError, ValueError):
            return None  # a module that was made in memory
        if spec is None or spec.has_location:
            return spec
    return None


def reached(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return what decides the value of a function: texts by the names of definitions, sorted.

    A definition in the package of the function has its source, and a name that is imported what it
    stands for. A value that the function closes over has its ``repr`` where it is a number, a text
    or nothing, of a function what that reaches, and of anything else the name of its class.

    Raises:
        OSError: the function has no source.
        TypeError: it is no function of Python.
    """
    home = function.__module__ or ""  # code that was put together has none
    spec = outermost(home)
    walk = _Walk(home if spec is None else spec.name)
    walk.add_function(function)
    return dict(sorted(walk.texts.items()))


@attrs.frozen(eq=False, slots=False)
class _Module:
    """The source of one module, and what the names at its top stand for."""

    name: str
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def bound(self) -> Mapping[str, list[ast.stmt]]:
        """The statements that bind each name, or change what it holds."""
        bound: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in dict.fromkeys(_bound_by(statement)):
                bound.setdefault(name, []).append(statement)
        return bound

    @cached_property
    def imports(self) -> Mapping[str, list[tuple[str, ...]]]:
        """The paths that each name is imported from, anywhere in the module."""
        package = self.name if self.is_package else self.name.rpartition(".")[0]
        imports: dict[str, list[tuple[str, ...]]] = {}
        for node in executed(self.tree):
            for name, *path in imported(node, package):
                imports.setdefault(name, []).append(tuple(filter(None, path)))
        return imports

    def source(self, statement: ast.stmt) -> str:
        return "\n".join(self.text.splitlines()[_first_line(statement) - 1 : statement.end_lineno])


class _Walk:
    """The definitions that a function reaches, collected from one to the next.

    Attributes:
        package: the name of the package within which definitions are followed.
        texts: what was reached.
    """

    def __init__(self, package: str) -> None:
        self.package, self.texts = package, dict[str, str]()
        self._modules: dict[str, _Module | None] = {}
        self._added = set[tuple[str, ...]]()

    def add_function(self, function: Callable[..., Any]) -> None:
        """Add a function that exists, with what it closes over."""
        function = inspect.unwrap(function)
        home, name = function.__module__, f"{function.__module__}.{function.__qualname__}"
        lines, _ = inspect.findsource(function)
        module = _Module(home, "".join(lines))
        self._modules.setdefault(home, module)
        self.texts[name] = textwrap.dedent(inspect.getsource(function))
        code = function.__code__
        for node in ast.walk(module.tree):
            if isinstance(node, _FUNCTIONS) and _first_line(node) == code.co_firstlineno:
                decorators = getattr(node, "decorator_list", ())
                self._follow(module, [n for n in ast.iter_child_nodes(node) if n not in decorators])
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = cell.cell_contents
            items = value if type(value) is tuple else (value,)
            is_plain = all(isinstance(item, _PLAIN) for item in items)
            self.texts[f"{name}.{variable}"] = repr(value) if is_plain else _name(value)
            if isinstance(value, FunctionType) and _name(value) not in self.texts:
                self.add_function(value)

    def _follow(self, module: _Module, nodes: Iterable[ast.AST]) -> None:
        """Add what some nodes of a module read."""
        for name, *attributes in (use for node in nodes for use in _uses(node)):
            full = f"{module.name}.{name}"
            statements, imports = module.bound.get(name, []), module.imports.get(name, [])
            if full not in self.texts and (statements or imports):
                paths = (":".join(path) for path in imports)
                self.texts[full] = "\n".join([*paths, *map(module.source, statements)])
                self._follow(module, statements)
            for home, *path in imports:
                self._add(home, [*path, *attributes])
        for home, _ in module.imports.get(_ALL, ()):
            self._add(home, [])

    def _add(self, home: str, path: Sequence[str]) -> None:
        """Add what a path of names stands for, within a module."""
        module = self._module(home)
        if module is None or (home, *path) in self._added:
            return
        self._added.add((home, *path))
        if path and (path[0] in module.bound or path[0] in module.imports):
            self._follow(module, [ast.parse(".".join(path), mode="eval")])
        elif path and self._module(f"{home}.{path[0]}") is not None:
            self._add(f"{home}.{path[0]}", path[1:])
        elif home not in self.texts:
            self.texts[home] = module.text
            self._follow(module, module.tree.body)

    def _module(self, name: str) -> _Module | None:
        """Return a module of the package; None of another, and where there is no source."""
        if name not in self._modules:
            is_own = name == self.package or name.startswith(f"{self.package}.")
            self._modules[name] = _found(name) if is_own else None
        return self._modules[name]


def _found(name: str) -> _Module | None:
    try:
        spec = importlib.util.find_spec(name)
        if spec is None or not isinstance(spec.loader, InspectLoader):
            return None
        text = spec.loader.get_source(name)
    except (ImportError, ValueError):
        return None
    is_package = spec.submodule_search_locations is not None
    return None if text is None else _Module(name, text, is_package)


def _name(value: object) -> str:
    """Return the module and the name of a function or class, or of the class of a value."""
    named = value if isinstance(value, FunctionType | type) else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _first_line(node: ast.stmt | ast.expr) -> int:
    """Return the line that a definition begins in, with its decorators."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its scope, or whose values it changes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    changed: ast.AST | None = node if isinstance(getattr(node, "ctx", None), _CHANGES) else None
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=changed))):
            pass
    while isinstance(changed, ast.Attribute | ast.Subscript):
        changed = changed.value
    if isinstance(changed, ast.Name):
        yield changed.id
    for child in ast.iter_child_nodes(node):
        yield from _bound_by(child)


def _uses(node: ast.AST) -> Iterator[list[str]]:
    """Yield each name that is read, with the attributes that are taken of it; none of types."""
    path, inner = list[str](), node
    while isinstance(inner, ast.Attribute):
        path.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        yield [inner.id, *reversed(path)]
    for field, value in ast.iter_fields(inner):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                yield from _uses(child)
