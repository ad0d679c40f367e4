"""A gallery of broken plugins: each a whole project, with one thing wrong and names of its own.

An exhibit is the good plugin of ``broken`` with one piece replaced. All of them can be installed
side by side, so that what each of them does to the others shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from broken import FORMULAS, NAME, PACKAGE, PLUGIN, RULES, broken, true_digests

_SHARED = ("acme-parcels", "acme_parcels", "acme", "parcels", "parcel")
"""The names in the good plugin, which every exhibit has its own for."""
_DIVIDED = "cases((most == 0, 0), otherwise=clip(grams / most))"


@attrs.frozen
class Exhibit:
    """One broken plugin.

    Attributes:
        name: of the plugin, of its rule set and of the namespace of its formulas.
        codes: of everything that the kit finds.
        pieces: what is replaced, as keywords of ``broken``.
        refused: part of the reason why the registry refuses it; empty where it is in use.
        entry: the name of its entry point, if it is another than its own.
    """

    name: str
    codes: tuple[str, ...]
    pieces: Mapping[str, Any]
    refused: str = ""
    entry: str = ""

    @property
    def plugin(self) -> str:
        """The name that the plugin is known by."""
        return self.entry or self.name

    @property
    def skill_type(self) -> str:
        """The name of its skill type."""
        return self.name.replace("-", "_")

    @property
    def package(self) -> str:
        """The name of its Python package."""
        return f"broken_{self.skill_type}"

    def write(self, folder: Path) -> Path:
        """Write the project, and the metadata of its installation, and give its folder."""
        broken(folder, **self.pieces, released={})
        (folder / PACKAGE).rename(folder / self.package)
        rules = folder / self.package / "rules" / NAME
        if rules.exists():
            rules.rename(rules.with_name(self.name))
        for file in [path for path in folder.rglob("*") if path.is_file()]:
            file.write_text(self._renamed(file.read_text(encoding="utf-8")), encoding="utf-8")
        digests = true_digests(folder / self.package / "formulas.py")
        text = json.dumps({"formulas": digests})
        (folder / self.package / "released.json").write_text(text, encoding="utf-8")
        self._install(folder)
        return folder

    def _renamed(self, text: str) -> str:
        own = (f"broken-{self.name}", self.package, self.name, self.name, self.skill_type)
        marks = [f"\0{place}\0" for place in range(len(own))]
        # in two steps, for a name of an exhibit may hold one that is replaced
        for old, new in (*zip(_SHARED, marks, strict=True), *zip(marks, own, strict=True)):
            text = text.replace(old, new)
        text = text.replace(f"{self.skill_type}.schema.json", "parcel.schema.json")
        return text.replace(f'\n{self.name} = "', f'\n{self.plugin} = "')

    def _install(self, folder: Path) -> None:
        about = folder / f"{self.package}-1.2.3.dist-info"
        about.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: broken-{self.name}\nVersion: 1.2.3\n"
        (about / "METADATA").write_text(metadata)
        entry = f"[tallystick.plugins]\n{self.plugin} = {self.package}.plugin\n"
        (about / "entry_points.txt").write_text(entry)


def _formula(before: str, after: str) -> Mapping[str, str]:
    assert before in FORMULAS, before
    return {"formulas": FORMULAS.replace(before, after)}


def _steps(*steps: str) -> Mapping[str, str]:
    """The pieces of a plugin whose rule set makes weights of the mean quality ``x``."""
    first = '{ name = "x", do = "collect", value = "quality", as = "mean", empty = 0 }'
    listed = ",\n".join([first, *steps])
    return {"rules": f"{RULES}\n[allocation]\nsteps = [\n{listed}\n]\n"}


def _type(extra: str) -> Mapping[str, str]:
    """The pieces of a plugin whose skill type has one more attribute."""
    known = "requirements=formulas.REQUIRED)"
    assert known in PLUGIN
    plugin = PLUGIN.replace(known, f"{known[:-1]}, {extra})")
    return {"plugin": plugin.replace("import SkillType", "import Generator, SkillType")}


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


def _fails(line: str) -> Mapping[str, str]:
    """The pieces of a plugin whose import comes to a line."""
    return {"plugin": f"{PLUGIN}\n{line}\n"}


_OF_ZONE = 'Fraction(len(os.environ.get("TZ", "")) % 10, 10))'
_MAKES = (
    "lambda _: {'most_grams': id(object()) % 999}, "
    "lambda *_: {'grams': 1, 'stops': 1, 'note': ''}, lambda *_: {'care': 1}"
)

GALLERY = (
    # what cannot be used at all
    Exhibit(
        "import-error",
        ("import-failed",),
        _fails("import not_there_at_all"),
        refused="its import failed: ModuleNotFoundError",
    ),
    Exhibit(
        "system-exit",
        ("import-failed",),
        _fails("raise SystemExit(0)"),
        refused="its import failed: SystemExit",
    ),
    Exhibit(
        "recursion",
        ("import-failed",),
        _fails("def again():\n    return again()\n\n\nagain()"),
        refused="its import failed: RecursionError",
    ),
    Exhibit(
        "memory",
        ("import-failed",),
        _fails("raise MemoryError"),
        refused="its import failed: MemoryError",
    ),
    Exhibit(
        "api-version",
        ("api-version",),
        {"plugin": PLUGIN.replace("tallystick_api = 1", "tallystick_api = 99")},
        refused="found tallystick_api = 99",
    ),
    Exhibit(
        "hook-error",
        ("hook-failed",),
        {"plugin": PLUGIN.replace("return formulas_in(formulas)", "return 1 // 0")},
        refused="one of its hooks failed: ZeroDivisionError",
    ),
    Exhibit(
        "plugin-name",
        ("name-taken",),
        {
            "formulas": FORMULAS.replace("acme/", "skills/"),
            "rules": RULES.replace("acme/", "skills/"),
        },
        entry="skills",
        refused="both offer a plugin of this",
    ),
    Exhibit(
        "formula-name",
        ("foreign-name",),
        {"formulas": FORMULAS.replace("acme/load@1", "skills/load@1")},
        refused="found that it offers skills/load@1, expected names that begin with formula-name/",
    ),
    Exhibit(
        "float-in-formula",
        ("float-in-formula",),
        _formula("most == 0", "most == 0.5"),
        refused="its import failed: FormulaError",
    ),
    # formulas, and steps
    Exhibit("out-of-range", ("axis-out-of-range",), _formula("clip(grams / most)", "grams / most")),
    Exhibit(
        "power-of-a-negative",
        ("outside-domain",),
        {
            "formulas": FORMULAS.replace("opaque, ", "opaque, root, ").replace(
                _DIVIDED, "clip(root(grams - most, 2))"
            )
        },
    ),
    Exhibit(
        "nobody-paid",
        ("allocation-pays-nobody",),
        _steps(
            '{ name = "kept", do = "filter", of = "x", above = 1 }',
            '{ name = "weight", do = "share", of = "kept", publish = true }',
        ),
    ),
    Exhibit(
        "worst-first",
        ("allocation-inverts",),
        _steps('{ name = "weight", do = "by_rank", of = "x", parts = [0.1, 0.9], publish = true }'),
    ),
    Exhibit(
        "tight-cap",
        ("allocation-fails",),
        _steps(
            '{ name = "part", do = "share", of = "x", zero = "zero" }',
            '{ name = "weight", do = "cap", of = "part", share = 0.1, excess = "water_filling", '
            "publish = true }",
        ),
    ),
    Exhibit(
        "flat-score",
        ("allocation-fails",),
        # all alike have the z-score 0, and nobody a share of nothing
        _steps(
            '{ name = "z", do = "z_score", of = "x", deviation = "population" }',
            '{ name = "lifted", do = "lift", of = "z", lowest = 0 }',
            '{ name = "weight", do = "share", of = "lifted", publish = true }',
        ),
    ),
    Exhibit(
        "lost-part",
        ("allocation-sum",),
        _steps(
            '{ name = "half", do = "share", of = "x", zero = "zero" }',
            '{ name = "best", do = "filter", of = "x", above = 1 }',
            '{ name = "rest", do = "equal", of = "best" }',
            '{ name = "weight", do = "mix", of = { half = 0.5, rest = 0.5 }, publish = true }',
        ),
    ),
    Exhibit(
        "later-step",
        ("rule-set-invalid",),
        _steps(
            '{ name = "kept", do = "filter", of = "part", above = 0 }',
            '{ name = "part", do = "share", of = "x" }',
            '{ name = "weight", do = "share", of = "kept", publish = true }',
        ),
    ),
    Exhibit("zero-division", ("division-by-zero",), _formula(_DIVIDED, "clip(grams / most)")),
    Exhibit(
        "unstable-formula",
        ("formula-unstable",),
        {
            "formulas": "import os\nfrom fractions import Fraction\n"
            + FORMULAS.replace("0)", _OF_ZONE)
        },
    ),
    # what another process shows
    Exhibit(
        "set-order",
        ("opaque-unstable",),
        with_fact('return hash(record["submission"]["note"]) % 21'),
    ),
    Exhibit(
        "unstable-generator",
        ("generator-unstable",),
        _type(f"generator=Generator({_MAKES})"),
    ),
    Exhibit("crash", ("crashed",), with_fact("os._exit(3)", "import os")),
)
