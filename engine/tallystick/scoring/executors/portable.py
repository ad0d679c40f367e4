"""Portable functions: what this process has at hand, a worker makes again and checks.

A function of scoring holds proofs and generated code, which do not travel. Its specification does:
a rule set goes to a worker as its text; plugins do not go, they must be there. The worker refuses
the work when its engine, a plugin or the rule set is not the same, told by version and digest, by
those of their files too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs

from tallystick.canonical import digest
from tallystick.errors import EngineError
from tallystick.plugins.code import Code, package_files
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.rules.reading import read_text
from tallystick.scoring.bound_rules import BoundRules, bind_rules, from_epochs

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class PortableFunction(ABC, Generic[Task, Answer]):
    """A function as a value that can be pickled and hashed; a worker makes it when it is called."""

    @abstractmethod
    def make(self) -> Callable[[Task], Answer]:
        """Return the function.

        Raises:
            EngineError: the worker is not like the process that began it.
        """

    def __call__(self, task: Task) -> Answer:
        """Return the answer to one task.

        Raises:
            EngineError: the worker is not like the process that sent the function.
        """
        answer: Answer = _made(self)(task)
        return answer


@lru_cache(maxsize=2)
def _made(function: PortableFunction[Any, Any]) -> Callable[[Any], Any]:
    return function.make()


@attrs.frozen
class Installation:
    """The engine and the plugins of a process.

    Attributes:
        plugins: the names of the plugins.
        sections: the names of the sections of the rule sets that plugins bring.
        package: the package of what a plugin does with scores, such as a back-test; empty for none.
        certificate: by what it is called in a sentence, the version of the engine, the distribution
            and version of each plugin, the digests of their files, of the engine's that score and
            of the package's, and the versions of what they rest on.
    """

    plugins: tuple[str, ...]
    sections: tuple[str, ...]
    package: str
    certificate: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls, registry: Registry, sections: Iterable[str] = (), package: str = ""
    ) -> Installation:
        """Return the installation with some plugins and sections, and a package."""
        sections, plugins = tuple(sorted({*sections})), sorted(registry.plugins.items())
        # what a plugin does with scores is in no closure
        package = package.partition(".")[0]
        files = package_files(package) if package else None
        certificate = (
            ("the engine tallystick", version("tallystick")),
            *((f"the plugin {name}", f"{p.distribution} {p.version}") for name, p in plugins),
            *Code.of(registry, sections).parts(),
            *(() if files is None else ((f"the files of {package}", files.digest),)),
        )
        return cls(tuple(name for name, _ in plugins), sections, package, certificate)

    def registry(self) -> Registry:
        """Return the plugins of these names as they are installed here; no other is imported.

        Raises:
            EngineError: the engine, a plugin or what they rest on is not the same here.
        """
        return _checked(self)


@lru_cache(maxsize=4)
def _checked(installation: Installation) -> Registry:
    registry = installed_plugins().of(installation.plugins)
    there = Installation.of(registry, installation.sections, installation.package)
    here = dict(there.certificate)
    for what, wanted in installation.certificate:
        if here.get(what) != wanted:
            raise EngineError(
                f"found {what} to be {here.get(what, 'missing')}, expected {wanted}: install the "
                "same on every worker"
            )
    return registry


def used_sections(rules: BoundRules) -> set[str]:
    """Return the names of the sections of rule sets that plugins bring."""
    return {name for rules_of_line in rules.each() for name in rules_of_line.rule_set.sections}


def code_of(rules: BoundRules) -> Code:
    """Return the code that results are made with under some rules.

    Raises:
        PluginError: a file of it cannot be read, or is shadowed.
    """
    return Code.of(rules.registry, used_sections(rules))


@attrs.frozen
class RuleSetSpec:
    """One bound rule set, as a value that can be pickled and hashed.

    Attributes:
        path: its file, as it was given.
        text: what it says.
        digest: of what it means.
        thresholds: of each skill type, by name, in nano.
    """

    path: str
    text: str = attrs.field(repr=False)
    digest: str
    thresholds: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    @classmethod
    def of(cls, rules: BoundRules) -> RuleSetSpec:
        """Return the specification of a rule set."""
        loaded = rules.loaded
        thresholds = ((name, tuple(nano.items())) for name, nano in rules.thresholds.items())
        return cls(str(loaded.path), loaded.text, loaded.digest, tuple(thresholds))

    def rules(self, registry: Registry) -> BoundRules:
        """Return the rule set, bound.

        Raises:
            EngineError: it is not the same here.
        """
        loaded = read_text(self.text, Path(self.path), registry)
        if loaded.digest != self.digest:
            raise EngineError(
                f"found the rule set {loaded.rule_set.reference} to be {loaded.digest}, expected "
                f"{self.digest}: install the same engine and plugins on every worker"
            )
        thresholds = {name: dict(nano) for name, nano in self.thresholds}
        return attrs.evolve(bind_rules(loaded, registry), thresholds=thresholds)


@attrs.frozen
class BoundRulesSpec:
    """Bound rules, without their snapshots, as a value that can be pickled and hashed.

    Attributes:
        installation: the engine and the plugins that they were bound with.
        spans: the rule sets, one of each line, and from which epoch on they hold; from 0.
    """

    installation: Installation
    spans: tuple[tuple[int, tuple[RuleSetSpec, ...]], ...]

    @classmethod
    def of(cls, rules: BoundRules, package: str = "") -> BoundRulesSpec:
        """Return the specification of rules; `package` is as of `of_each`."""
        (spec,) = cls.of_each([rules], package)
        return spec

    @classmethod
    def of_each(cls, every: Iterable[BoundRules], package: str = "") -> tuple[BoundRulesSpec, ...]:
        """Return the specifications of several rules; the files of what they share are read once.

        Args:
            every: the rules.
            package: of what a plugin does with scores, such as a back-test; empty for none.
        """
        installation = cache(Installation.of)
        return tuple(
            cls(
                installation(rules.registry, frozenset(used_sections(rules)), package),
                tuple(
                    (epoch, tuple(map(RuleSetSpec.of, span.lines or (span,))))
                    for epoch, span in rules.spans()
                ),
            )
            for rules in every
        )

    @property
    def digest(self) -> str:
        """The digest of the meaning of the rules: that of the rule set, where it is one."""
        digests = [[epoch, [line.digest for line in lines]] for epoch, lines in self.spans]
        alone = len(digests) == len(self.spans[0][1]) == 1
        return self.spans[0][1][0].digest if alone else digest(digests)

    def rules(self) -> BoundRules:
        """Return the rules, bound once in a process.

        Raises:
            EngineError: the engine, a plugin or a rule set is not the same here.
        """
        return _bound(self)


@lru_cache(maxsize=4)
def _bound(spec: BoundRulesSpec) -> BoundRules:
    registry = spec.installation.registry()
    bound_by_spec = {line: line.rules(registry) for _, lines in spec.spans for line in lines}
    return from_epochs([(epoch, [bound_by_spec[line] for line in of]) for epoch, of in spec.spans])
