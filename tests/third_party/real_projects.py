"""The plugins of two real subnets: where their projects are, and how their cases are asked."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tallystick

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors" / "subnets.json"
NANO = 10**9

Case = dict[str, Any]
GONE = object()


def project(name: str) -> Path:
    return HERE / f"tallystick-{name}"


@cache
def module(name: str, part: str) -> ModuleType:
    """A module of a plugin, whose folder need not stay on the path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(project(name))
        return import_module(f"tallystick_{name}.{part}")


@cache
def rules(name: str) -> tallystick.Scorer:
    found = module(name, "__main__")
    return tallystick.load(found.RULES, modules=found.MODULES)


def answer(name: str, kind: str, given: Any) -> Any:  # noqa: ANN401  # JSON
    """What the driver of a plugin says of a case, which it finds well formed."""
    case = {"id": f"{name}-own", "subnet": name, "kind": kind, "input": given}
    checked = module(name, "cases").checked(json.loads(json.dumps(case)), 1)
    return module(name, "__main__").Answers(rules(name)).to(checked)


def cases_of(name: str) -> dict[str, Case]:
    """The public cases of a subnet, by their ids."""
    cases = json.loads(VECTORS.read_bytes())["cases"]
    return {each["id"]: each for each in cases if each["subnet"] == name}


def mutated(case: Case, path: str, value: object) -> Case:
    """A case with something else at a path such as ``input.tasks.0.verdict``."""
    found = deepcopy(case)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    inner: Any = found
    for step in way:
        inner = inner[step]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return found


def told(name: str, document: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:  # noqa: ANN401
    """The status of a driver, the lines that it prints, and those on its error output."""
    path = tmp_path / "cases.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["driver", str(path)])
        status = module(name, "__main__").main()
    captured = capsys.readouterr()
    lines = [json.loads(line) for line in captured.out.splitlines()]
    return status, {each["id"]: each["exact_nano"] for each in lines}, captured.err.splitlines()


def nano(value: Fraction) -> int:
    """A number in whole nano, rounded half-even once."""
    scaled = value * NANO
    low, rest = divmod(scaled.numerator, scaled.denominator)
    over = 2 * rest - scaled.denominator
    return low + (over > 0 or (over == 0 and low % 2 == 1))
