"""A minimal good plugin, as a project in a folder, and what it is with one piece replaced.

``broken(folder)`` passes every check. Each keyword replaces one piece::

    broken(folder, formulas=FORMULAS.replace("clip(", "("))
"""

import json
import runpy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.formula.formula import Formula
from tallystick.plugins.entries import ALLOWED
from tallystick.plugins.registry import installed_plugins
from tallystick_conformance import loading
from tallystick_conformance.loading import Subject, load_subject
from tallystick_conformance.target import find

NAME, PACKAGE, TYPE = "acme", "acme_parcels", "parcel"

PYPROJECT = """
[project]
name = "acme-parcels"
version = "1.2.3"

[project.entry-points."tallystick.plugins"]
acme = "acme_parcels.plugin"
"""
PLUGIN = """
from pathlib import Path

from acme_parcels import formulas
from tallystick.plugins.author import SkillType, formulas_in, hookimpl

tallystick_api = 1

_HERE = Path(__file__).parent


@hookimpl
def tallystick_formulas():
    return formulas_in(formulas)


@hookimpl
def tallystick_skill_types():
    return [SkillType("parcel", _HERE / "parcel.schema.json", requirements=formulas.REQUIRED)]


@hookimpl
def tallystick_rule_sets():
    return [_HERE / "rules"]
"""
FORMULAS = """
from decimal import Decimal

from tallystick.plugins.author import (
    UNIT, axis, cases, clip, count, emission, integer, label, number, opaque, published, require,
    root,
)

care = number("checks.care")
grams, most = number("submission.grams"), number("task.most_grams")
stops = integer("submission.stops")
REQUIRED = ()


@axis("acme/care@1", floor=(0, Decimal("0.9")))
def careful(p):
    \"\"\"How far the care is above a floor.\"\"\"
    return clip((care - p.floor) / (1 - p.floor))


@axis("acme/load@1")
def load(p):
    \"\"\"How much of what was allowed is carried.\"\"\"
    return cases((most == 0, 0), otherwise=clip(grams / most))
"""
RULES = """
[rule_set]
name = "acme"
version = "1.0.0"
format = 1

[axes.care]
formula = "acme/care@1"
floor = 0.2

[axes.load]
formula = "acme/load@1"

[skill_types.parcel]
composite = "geometric"
weights = { care = 0.5, load = 0.5 }
"""


def closed(required: list[str], **properties: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    """The schema of an object that has these fields alone."""
    part = {"type": "object", "additionalProperties": False, "required": required}
    return {**part, "properties": properties}


def _shared(name: str) -> dict[str, str]:
    return {"$ref": f"record-1.schema.json#/$defs/{name}"}


_FIELDS = {"task_id": "id", "round": "period", "epoch": "period", "validator": "hotkey"}
_FIELDS |= {"miner": "miner", "role": "role", "consensus": "consensus", "events": "events"}
GRAMS = {"type": "number", "minimum": 0, "maximum": 1000}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **closed(
        ["skill_type", "task_id", "round", "epoch", "validator", "miner", "role", "task"],
        skill_type={"const": TYPE},
        **{name: _shared(kind) for name, kind in _FIELDS.items()},
        task=closed(["most_grams"], most_grams=GRAMS),
        submission=closed(
            ["grams", "stops", "note"],
            grams=GRAMS,
            stops={"type": "integer", "minimum": 0, "maximum": 20},
            note=_shared("text"),
            places={"type": "array", "items": _shared("id"), "maxItems": 8},
        ),
        checks=closed(["care"], care=_shared("unit")),
    ),
    "if": {
        "required": ["events"],
        "properties": {"events": {"contains": {"const": "missed_deadline"}}},
    },
    "else": {"required": ["submission", "checks"]},
}


def broken(  # noqa: PLR0913  # a keyword for each piece
    folder: Path,
    *,
    pyproject: str = PYPROJECT,
    plugin: str = PLUGIN,
    formulas: str = FORMULAS,
    schema: Mapping[str, Any] = SCHEMA,
    rules: str | None = RULES,
    released: Mapping[str, str] | None = None,
) -> Path:
    """Write the project, and give its folder.

    Args:
        folder: where to write it; it may be there.
        pyproject: of the project.
        plugin: the module that the entry point names.
        formulas: the module of the formulas.
        schema: of the records of its one skill type.
        rules: its one rule set; None is none.
        released: the digests of ``released.json``; by default the true ones of ``formulas``.
    """
    package = folder / PACKAGE
    files = {
        folder / "pyproject.toml": pyproject,
        package / "__init__.py": "",
        package / "plugin.py": plugin,
        package / "formulas.py": formulas,
        package / "parcel.schema.json": json.dumps(schema),
    }
    (package / "rules").mkdir(parents=True, exist_ok=True)
    if rules is not None:
        files[package / "rules" / NAME / "1.0.0.toml"] = rules
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    digests = true_digests(package / "formulas.py") if released is None else released
    (package / "released.json").write_text(json.dumps({"formulas": digests}), encoding="utf-8")
    return folder


def true_digests(module: Path) -> dict[str, str]:
    """The digest of each formula of a module; none if it cannot be imported."""
    try:
        offers = runpy.run_path(str(module), run_name=f"{module.parent.name}.formulas").values()
    except Exception:  # noqa: BLE001  # what is wrong with it is for the kit to say
        return {}
    return {each.name: each.digest for each in offers if isinstance(each, Formula)}


@contextmanager
def loaded(folder: Path) -> Iterator[Subject | Diagnostic]:
    """The plugin of a project in this process, without others."""
    # what is installed is remembered as it is without the environment below
    installed_plugins()
    target, before = attrs.evolve(find(str(folder)), others=()), set(sys.modules)
    with (
        mock.patch.object(sys, "path", [*map(str, target.paths), *sys.path]),
        mock.patch.dict("os.environ", {ALLOWED: NAME}),
        # no import here changes a name of the engine, and there are very many
        mock.patch.object(loading, "names_of_modules", dict),
    ):
        try:
            yield load_subject(target)
        finally:
            for name in set(sys.modules) - before:
                if name.startswith(NAME):
                    del sys.modules[name]


def with_fact(body: str, imports: str = "") -> Mapping[str, str]:
    """The pieces of a plugin whose rule set has an axis over an opaque fact."""
    lines = body.replace("\n", "\n    ")
    text = (
        f"{imports}\n{FORMULAS}\n\n"
        f'@opaque("measured", low=0, high=20)\ndef measured(record):\n    {lines}\n\n\n'
        '@axis("acme/measure@1")\ndef measure(p):\n    """A share."""\n    return measured / 20\n'
    )
    rules = RULES.replace(
        "[axes.load]", '[axes.measure]\nformula = "acme/measure@1"\n\n[axes.load]'
    )
    return {
        "formulas": text,
        "rules": rules.replace("load = 0.5 }", "load = 0.4, measure = 0.1 }"),
    }
