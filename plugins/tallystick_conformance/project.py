"""A new plugin project: every file of it, as text, from a name.

The files come from the folder ``template`` beside this module. The formulas do not depend on the
name, so their digests are data of the template too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from keyword import iskeyword
from pathlib import Path

import attrs
from jinja2 import Environment, StrictUndefined

from tallystick.diagnostics import nearest
from tallystick.errors import PluginError
from tallystick.plugins.registry import Registry, namespace
from tallystick.resources import schema_path
from tallystick.rules.loading import shipped

_TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 64
"""Maximum characters of a name: the format of rule sets allows no more."""
_FOLDERS = ("tests",)
"""Folders of the project beside its package, whose names the package cannot have."""
PARTS = ("tiers", "emission", "allocation", "reputation")
"""Parts that a rule set can have beside scores; with all of them it pays somebody."""
_SECTIONS: Mapping[str, str] = {
    "tiers": "tiers",
    "emission": "the emission",
    "allocation": "who is paid",
    "reputation": "reputations",
}
_FILES: Mapping[str, str] = {
    ".github/workflows/check.yml": "check.yml",
    ".gitignore": "gitignore",
    "CHANGELOG.md": "CHANGELOG.md",
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "tests/test_axes.py": "test_axes.py",
    "tests/test_rules.py": "test_rules.py",
    "{{package}}/__init__.py": "init.py",
    "{{package}}/axes.py": "axes.py",
    "{{package}}/emission.py": "emission.py",
    "{{package}}/examples.jsonl": "examples.jsonl",
    "{{package}}/facts.py": "facts.py",
    "{{package}}/generation.py": "generation.py",
    "{{package}}/plugin.py": "plugin.py",
    "{{package}}/py.typed": "py.typed",
    "{{package}}/released.json": "released.json",
    "{{package}}/rules/{{name}}/1.0.0.toml": "rules.toml",
    "{{package}}/schemas/{{schema}}": "schema.json",
}
"""The file of the template behind each file of a project."""
_OF_PART: Mapping[str, str] = {"emission.py": "emission"}
"""The part without which a file of the template is left out."""
_TEMPLATES = Environment(
    autoescape=False,  # noqa: S701  # files of text, which no browser shows
    keep_trailing_newline=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)


@attrs.frozen
class Project:
    """The names of a plugin project.

    Attributes:
        name: of the distribution, the plugin, its rule set, and the namespace of its formulas.
        skill_type: of its records.
        parts: what its rule set has beside scores, of ``PARTS``.
    """

    name: str
    skill_type: str
    parts: frozenset[str] = frozenset(PARTS)

    @property
    def package(self) -> str:
        """The name of its Python package."""
        return _package(self.name)


def project(name: str, skill_type: str | None = None, parts: Collection[str] = PARTS) -> Project:
    """Return a project of that name, if it can be one.

    Args:
        name: lower-case words and digits with hyphens, such as ``acme-translation``.
        skill_type: by default the name with underscores.
        parts: what its rule set has beside scores, of ``PARTS``.

    Raises:
        PluginError: a name is not written so, its package could not be imported, or a part is none.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise PluginError(
            f"found the name {name!r}, expected at most {_LONGEST} lower-case letters and digits, "
            "with single hyphens between them, that begin with a letter, such as acme-translation"
        )
    _refuse_unimportable(name)
    chosen = _package(name) if skill_type is None else skill_type
    rule = _rule_of_types()
    if not re.fullmatch(rule["pattern"], chosen):
        raise PluginError(f"found the skill type {chosen!r}, expected {rule['description']}")
    if namespace(chosen) not in {"", name}:
        raise PluginError(
            f"found the skill type {chosen!r}, expected none before the slash but {name!r}, the "
            "name of the plugin"
        )
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise PluginError(
            f"found the part {unknown[0]!r}{nearest(unknown[0], PARTS)}, expected some of "
            f"{', '.join(PARTS)}"
        )
    return Project(name, chosen, frozenset(parts))


def refuse_taken(
    wanted: Project, registry: Registry, plugins: Collection[str], packages: Collection[str]
) -> None:
    """Refuse a project that cannot be installed beside what is.

    Args:
        wanted: the project.
        registry: what the installed plugins offer.
        plugins: the names of all installed plugins, also of those that are not in use.
        packages: the installed packages, as they are imported.

    Raises:
        PluginError: a name is taken; says which, and by what.
    """
    owner = next(_taken(wanted, registry, plugins, packages), None)
    if owner is not None:
        raise PluginError(f"found {owner}, expected a new name: take another")


def files_of(wanted: Project) -> Mapping[str, str]:
    """Return the text of every file of a project, by its path in the project, with slashes."""
    values = _values(wanted)
    return {
        rendered(path, values): rendered(_template(file), values)
        for path, file in _FILES.items()
        if _OF_PART.get(file) in {None, *wanted.parts}
    }


def _refuse_unimportable(name: str) -> None:
    package = _package(name)
    if iskeyword(package) or package in sys.stdlib_module_names:
        clash = f"the name {name!r}, which Python has itself"
    elif package in _FOLDERS:
        clash = f"the name {name!r}, which is that of a folder of every project"
    else:
        return
    raise PluginError(f"found {clash}, expected another: its package could not be imported")


def _taken(
    wanted: Project, registry: Registry, plugins: Collection[str], packages: Collection[str]
) -> Iterator[str]:
    """Yield what has the name already, in words."""
    if wanted.name in {*plugins, *registry.plugins, *registry.refused}:
        yield f"an installed plugin of the name {wanted.name!r}"
    for plugin in registry.plugins.values():
        if any(formula.name.startswith(f"{wanted.name}/") for formula in plugin.formulas):
            yield f"formulas {wanted.name}/… of the installed plugin {plugin.name!r}"
        if any(skill_type.name == wanted.skill_type for skill_type in plugin.skill_types):
            yield f"the skill type {wanted.skill_type!r} of the installed plugin {plugin.name!r}"
    if any(reference.startswith(f"{wanted.name}@") for reference in shipped(registry)):
        yield f"installed rule sets of the name {wanted.name!r}"
    if wanted.package in packages:
        yield f"an installed package of the name {wanted.package!r}"


def _package(name: str) -> str:
    return name.replace("-", "_")


def _rule_of_types() -> Mapping[str, str]:
    """Return the rule for names of skill types, as the format of rule sets has it."""
    schema = json.loads(schema_path("rule-set-1").read_text(encoding="utf-8"))
    named = schema["properties"]["skill_types"]["propertyNames"]["$ref"].rpartition("/")[2]
    rule: Mapping[str, str] = schema["$defs"][named]
    return rule


def _values(wanted: Project) -> Mapping[str, str | bool]:
    """Return the names that templates read, and whether the rule set has each part."""
    skill_type = wanted.skill_type
    return {
        **{part: part in wanted.parts for part in PARTS},
        "name": wanted.name,
        "package": wanted.package,
        "type": skill_type,
        "type_key": skill_type if _BARE_KEY.fullmatch(skill_type) else f'"{skill_type}"',
        "sections": ", ".join(
            ["weights", "gates", "values of parameters"]
            + [text for part, text in _SECTIONS.items() if part in wanted.parts]
        ),
        "schema": f"{skill_type.rpartition('/')[2]}.schema.json",
    }


def _template(file: str) -> str:
    return (_TEMPLATE / f"{file}.txt").read_text(encoding="utf-8")


def rendered(text: str, values: Mapping[str, str | bool]) -> str:
    """Return the text that a template makes of the values of its names."""
    return _TEMPLATES.from_string(text).render(values)
