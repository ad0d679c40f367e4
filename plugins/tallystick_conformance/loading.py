"""Loading a plugin for its checks: its import, its hooks, its names, the rule sets that concern it.

Who names a plugin imports it, and some commands import all of them. What an import prints would end
up in their output, and what it changes, such as the working directory, holds for all.
"""

from __future__ import annotations

import io
import os
import random
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from decimal import getcontext
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FloatError, RuleSetError, SchemaError
from tallystick.formula.formula import Requirement
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node
from tallystick.plugins.entries import RefusedPluginError, allowed_names, own_packages
from tallystick.plugins.registry import Plugin, Registry, joined, load, registry
from tallystick.records.schema import load_schema
from tallystick.rules.digest import used_formulas
from tallystick.rules.loading import load as load_rule_set
from tallystick.rules.loading import shipped
from tallystick.scoring.scorer import Scorer, bind
from tallystick_conformance.report import finding
from tallystick_conformance.target import Target

_ENGINE = own_packages()
"""The packages of the engine and of its own plugins, whose names nobody else's code changes."""
_FOLDERS = tuple(
    Path(spec.origin).parent
    for name in sorted(_ENGINE)
    if (spec := find_spec(name)) is not None and spec.origin is not None
)


@attrs.frozen(eq=False, slots=False)
class Subject:
    """One plugin under test.

    Attributes:
        plugin: what it offers.
        registry: the plugin and all others that are installed.
        folder: where its module is.
        scorers: by reference, the rule sets that load and that it ships, or that score one of its
            skill types or use one of its formulas.
        touched: what its import left changed in the process.
    """

    plugin: Plugin
    registry: Registry
    folder: Path
    scorers: Mapping[str, Scorer] = attrs.field(factory=dict)
    touched: tuple[str, ...] = ()

    @cached_property
    def schemas(self) -> Mapping[str, Schema]:
        """The record schemas of every known skill type that can be used, by type."""
        schemas = {}
        for name, skill_type in self.registry.skill_types.items():
            try:
                schemas[name] = load_schema(skill_type.schema)
            except SchemaError:
                continue
        return schemas

    def trees(self) -> Iterator[tuple[str, Node]]:
        """Yield every tree of the plugin over facts, with the name of what it belongs to."""
        for formula in self.plugin.formulas:
            yield formula.name, formula.tree
            if formula.applies is not None:
                yield formula.name, formula.applies
        for requirement in self.requirements():
            yield requirement.name, requirement.condition

    def requirements(self) -> Iterator[Requirement]:
        """Every requirement of the plugin: those of its skill types, and those that it offers."""
        every = [r for skill_type in self.plugin.skill_types for r in skill_type.requirements]
        yield from {id(r): r for r in (*every, *self.plugin.requirements)}.values()


def load_subject(target: Target) -> Subject | Diagnostic:
    """Return the plugin ready to be checked, or why it cannot be used at all."""
    try:
        with side_effects() as touched:
            # what it prints is a finding too
            plugin = load(target.entry, sys.stdout)
        plugin = attrs.evolve(plugin, distribution=target.distribution, version=target.version)
        every = joined(registry(target.others, allowed_names()), plugin)
    except RefusedPluginError as error:
        return _refusal(target, error)
    scorers = scorers_of(plugin, every)
    return Subject(plugin, every, _folder(target), scorers, tuple(touched))


def _folder(target: Target) -> Path:
    file = getattr(sys.modules.get(target.entry.module), "__file__", None)
    return Path(file).parent if file else Path.cwd()


def _refusal(target: Target, error: RefusedPluginError) -> Diagnostic:
    cause = error.__cause__
    code = "float-in-formula" if isinstance(cause, FloatError) else error.code
    return finding(code, _place(cause) or target.entry.value or target.name, str(error))


def _place(cause: BaseException | None) -> str:
    """The last line of code outside the engine and the standard library that had a part in it."""
    if isinstance(cause, SyntaxError) and cause.filename:
        return f"{cause.filename}:{cause.lineno}"
    frames = traceback.extract_tb(cause.__traceback__) if cause else []
    own = [frame for frame in frames if not _is_machinery(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def _is_machinery(filename: str) -> bool:
    library = Path(traceback.__file__).parent
    path = Path(filename)
    return filename.startswith("<") or any(
        path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts
        for folder in (*_FOLDERS, library)
    )


def scorers_of(plugin: Plugin, every: Registry) -> Mapping[str, Scorer]:
    """Return the rule sets that load and that the plugin ships or takes part in, by reference."""
    scorers = {}
    own = with_own_rule_sets(plugin, every)
    ships = shipped(own)
    for name in shipped(every):
        try:
            scorer = bind(load_rule_set(name, own if name in ships else every), every)
        except (
            RuleSetError,
            SchemaError,
        ):  # ``check_rule_sets`` says why, if it is the plugin's own
            continue
        if name in ships or _takes_part(plugin, scorer):
            scorers[name] = scorer
    return scorers


def with_own_rule_sets(plugin: Plugin, every: Registry) -> Registry:
    """Return the registry with the rule sets of the plugin alone."""
    return attrs.evolve(every, rule_set_folders={plugin.name: plugin.rule_sets})


def _takes_part(plugin: Plugin, scorer: Scorer) -> bool:
    types = {skill_type.name for skill_type in plugin.skill_types}
    formulas = {formula.name for formula in plugin.formulas}
    return bool(types & scorer.types.keys() or formulas & set(used_formulas(scorer.rule_set)))


@contextmanager
def side_effects() -> Iterator[list[str]]:
    """Note what changes while the context lasts; the list is filled at its end."""
    touched, printed = list[str](), io.StringIO()
    # looked up now: an import may replace them
    state_of, names_of = _state, names_of_modules
    before, names, threads = state_of(), names_of(), set(threading.enumerate())
    with redirect_stdout(printed):
        yield touched
        if sys.stdout is not printed or printed.closed or printed.getvalue():
            touched.append("the standard output")
    after = state_of()
    touched += [name for name, value in before.items() if after[name] != value]
    # one that ends meanwhile was begun by another
    if set(threading.enumerate()) - threads:
        touched.append("the running threads")
    now = names_of()
    touched += [name for name, value in names.items() if now.get(name) is not value]


def check_import(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the import of the plugin leaves the process as it was."""
    if subject.touched:
        what = ", ".join(subject.touched)
        message = f"found that its import changes {what}, expected it to change nothing"
        yield finding("import-side-effect", str(subject.folder), message)


def _state() -> Mapping[str, object]:
    decimal = getcontext()
    return {
        "the working directory": os.getcwd(),  # noqa: PTH109  # as text, which is compared
        "os.environ": dict(os.environ),
        "sys.path": tuple(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "the trace or the profile function": (sys.gettrace(), sys.getprofile()),
        "the state of random": random.getstate(),
        "the context of decimal": (decimal.prec, decimal.rounding, decimal.Emin, decimal.Emax),
    }


def names_of_modules() -> Mapping[str, object]:
    """Return the names in the modules of our packages, and Python's functions and classes."""
    objects = dict[str, object]()
    for module_name, module in list(sys.modules.items()):
        root = module_name.partition(".")[0]
        if root not in {*_ENGINE, *sys.stdlib_module_names} or not hasattr(module, "__dict__"):
            continue
        for name, value in list(vars(module).items()):
            if root in _ENGINE or callable(value):
                objects[f"{module_name}.{name}"] = value
            if root in _ENGINE and isinstance(value, type) and value.__module__ == module_name:
                members = list(vars(value).items())
                objects |= {
                    f"{module_name}.{name}.{key}": member
                    for key, member in members
                    if callable(member)
                }
    return objects
