"""Files of cases: which are ours, and what is wrong with one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema

Case = Mapping[str, Any]

SUBNET = "chutes"
_FORMAT = "tallystick-subnet-cases/1"
_SCHEMA = json.loads((Path(__file__).parent / "schemas" / "cases.schema.json").read_bytes())
KINDS = "features", "weights"


class CaseError(Exception):
    """A file or a case that cannot be answered: which one, where in it, and what was found."""

    def __init__(self, case: str, path: str, found: str) -> None:
        super().__init__(": ".join(part for part in (case, path, found) if part))


def cases_in(path: Path) -> list[object]:
    """The cases of a file, as they stand there.

    Raises:
        CaseError: it cannot be read, or is no file of cases.
    """
    try:
        # NaN and infinities are no numbers of JSON: as text they are refused where they stand
        document = json.loads(
            path.read_bytes(), parse_constant=str, object_pairs_hook=_with_each_key_once
        )
    except (OSError, ValueError, RecursionError) as error:
        raise CaseError(str(path), "", f"it cannot be read ({error})") from error
    if not isinstance(document, Mapping) or not isinstance(document.get("cases"), list):
        raise CaseError(str(path), "cases", "found none, expected an object with a list of cases")
    if document.get("format", _FORMAT) != _FORMAT:
        raise CaseError(str(path), "format", f"found {document['format']!r}, expected {_FORMAT!r}")
    return list(document["cases"])


class _Twice:
    """What stands for a key that an object has twice: nothing that a case may have."""

    def __repr__(self) -> str:
        return "a key that stands there twice"


def _with_each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(key for key, _ in pairs)
        found |= {key: _Twice() for key, number in times.items() if number > 1}
    return found


def checked(case: object, number: int) -> Case | None:
    """A case of this subnet; None for one of another.

    Raises:
        CaseError: it is malformed.
    """
    name = f"case {number}"
    if not isinstance(case, Mapping):
        raise CaseError(name, "", f"found {_shown(case)}, expected an object")
    name = case["id"] if isinstance(case.get("id"), str) and case["id"] else name
    if not isinstance(case.get("subnet"), str):
        raise CaseError(name, "subnet", f"found {_shown(case.get('subnet'))}, expected a name")
    if case["subnet"] != SUBNET:
        return None
    if name == f"case {number}":
        raise CaseError(name, "id", f"found {_shown(case.get('id'))}, expected a text")
    if case.get("kind") not in KINDS:
        told = f"found {_shown(case.get('kind'))}, expected one of {', '.join(KINDS)}"
        raise CaseError(name, "kind", told)
    for path, told in _problems(case):
        raise CaseError(name, path, told)
    return case


def _problems(case: Case) -> Iterator[tuple[str, str]]:
    """What the definition of its kind refuses, by path."""
    schema = {"$ref": f"#/$defs/{case['kind']}", "$defs": _SCHEMA["$defs"]}
    whole = {"type": "object", "required": ["input"], "properties": {"input": schema}}
    errors = jsonschema.Draft202012Validator(whole | {"$defs": _SCHEMA["$defs"]}).iter_errors(case)
    for error in sorted(errors, key=lambda each: [*map(str, each.absolute_path)]):
        inner = jsonschema.exceptions.best_match([error]) or error
        path = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in inner.absolute_path
        )
        if inner.validator == "required":
            missing = next(name for name in inner.validator_value if name not in inner.instance)
            yield f"{path}.{missing}".removeprefix("."), "found nothing, expected a value"
        else:
            yield path.removeprefix("."), inner.message[:200]


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, default=str)[:80]
