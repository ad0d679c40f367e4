"""What a run writes fits the published schemas, and they are as closed as they say."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import attrs
import jsonschema
import pytest
from generators import SKILL_TYPES, record
from records.mutations import MUTATIONS, mutated

import tallystick
from tallystick.plugins.registry import installed
from tallystick.resources import folder
from tallystick.rules.loading import shipped
from tallystick.scoring.result import ResultLayout

_NAMES = ("result-1", "reject-1", "receipt-1")
_ANSWER = ("submission", "checks")


def _schema(name: str) -> dict[str, Any]:
    return json.loads((folder("schemas") / f"{name}.schema.json").read_text(encoding="utf-8"))


def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_schema(name))


def _objects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _examples() -> Iterator[bytes]:
    """The examples of every type, and each once more as a missed deadline."""
    paths = dict.fromkeys(kind.examples for kind in installed().skill_types.values())
    for path in paths:
        assert path is not None
        for example in _objects(path):
            yield json.dumps(example).encode()
            left = {name: value for name, value in example.items() if name not in _ANSWER}
            yield json.dumps(left | {"events": ["missed_deadline"]}).encode()


@attrs.frozen
class Run:
    """What one run wrote."""

    results: list[dict[str, Any]]
    rejects: list[dict[str, Any]]
    receipt: dict[str, Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Every shipped rule set over examples, records with defects, and lines that are no records."""
    here = tmp_path_factory.mktemp("runs")
    rubbish = [b"", b"[]", b"\xff", b"\xef\xbb\xbf{}", b"{}", b"[" * 99, b'{"skill_type": NaN}']
    source = here / "records.jsonl"
    source.write_bytes(b"\n".join([*_examples(), *_with_defects(), *rubbish, b" " * 2**20 + b"{}"]))
    names = sorted(shipped(installed()), key=lambda name: not name.startswith("skills"))
    return [_run(name, source, here / f"{name}.jsonl") for name in names]


def _with_defects() -> Iterator[bytes]:
    random = Random(20)
    for skill_type in SKILL_TYPES:
        for name in MUTATIONS:
            made = record(random, skill_type)
            yield json.dumps(made).encode()
            if (line := mutated(made, name, random)) is not None:
                yield line.encode()


def _run(rule_set: str, source: Path, output: Path) -> Run:
    receipt = tallystick.load(rule_set).score_file(source, output)
    assert receipt.counts.rejected
    beside = output.with_name(f"{output.name}.receipt.json")
    return Run(
        _objects(output),
        _objects(output.with_name(f"{output.name}.rejects.jsonl")),
        json.loads(beside.read_text(encoding="utf-8")),
    )


def test_every_row_of_results_fits_its_schema(runs: list[Run]) -> None:
    validator = _validator("result-1")
    for run in runs:
        for row in run.results:
            validator.validate(row)


def test_the_rows_have_every_type_with_and_without_a_submission(runs: list[Run]) -> None:
    found = {(row["skill_type"], row["quality"] is None) for run in runs for row in run.results}
    assert found == {
        (name, missed) for name in (*SKILL_TYPES, "reward") for missed in (False, True)
    }


def test_every_reject_fits_its_schema(runs: list[Run]) -> None:
    validator = _validator("reject-1")
    for run in runs:
        for reject in run.rejects:
            validator.validate(reject)
    assert len({reject["code"] for run in runs for reject in run.rejects}) > 15


def test_every_receipt_fits_its_schema(runs: list[Run]) -> None:
    validator = _validator("receipt-1")
    for run in runs:
        validator.validate(run.receipt)
        counts = run.receipt["counts"]
        assert counts["records"] == counts["scored"] + counts["missed"] + counts["rejected"]


def test_the_schemas_have_the_fields_of_the_engine_in_order() -> None:
    fields = ResultLayout(measures={"m": False}, has_group=True).fields
    assert list(_schema("result-1")["properties"]) == list(fields)
    reject, receipt = attrs.fields(tallystick.Reject), attrs.fields(tallystick.Receipt)
    assert list(_schema("reject-1")["properties"]) == [field.name for field in reject]
    assert list(_schema("receipt-1")["properties"]) == ["format", *(f.name for f in receipt)]


@pytest.mark.parametrize("name", _NAMES)
def test_a_schema_is_closed_and_described(name: str) -> None:
    schema = _schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in (schema, *schema.get("$defs", {}).values(), *_declared(schema)):
        assert part["description"]
        assert part.get("type") != "object" or "additionalProperties" in part


def _declared(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every property, however deep."""
    for part in schema.get("properties", {}).values():
        yield part
        yield from _declared(part)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("result-1", {"quality": "0.5"}),
        ("result-1", {"quality": 0.5}),
        ("result-1", {"quality": "1.000000001"}),
        ("result-1", {"quality": None}),
        ("result-1", {"emission": None}),
        ("result-1", {"consensus": 0.5}),
        ("result-1", {"Early bonus": None}),
        ("result-1", {"axes": {"detection": None}}),
        ("result-1", {"axes": {"α": "0.500000000"}}),
        ("result-1", {"record": 0}),
        ("result-1", {"role": "judge"}),
        ("reject-1", {"code": "Out of range"}),
        ("reject-1", {"value": "x" * 81}),
        ("reject-1", {"line": 0}),
        ("receipt-1", {"rule_set_digest": "sha256:b8fb"}),
        ("receipt-1", {"format": 2}),
        ("receipt-1", {"counts": {"records": 1}}),
        ("receipt-1", {"snapshots": {"01": f"sha256:{'1' * 64}"}}),
        ("receipt-1", {"snapshots": {"0": "sha256:1"}}),
    ],
)
def test_a_schema_refuses_what_no_run_writes(
    runs: list[Run], name: str, change: dict[str, Any]
) -> None:
    good = _written(runs[0], name)
    assert not _validator(name).is_valid(good | change)


@pytest.mark.parametrize("name", _NAMES)
def test_a_schema_refuses_a_field_too_few_or_too_many(runs: list[Run], name: str) -> None:
    good, validator = _written(runs[0], name), _validator(name)
    assert not validator.is_valid(good | {"surprise": 1})
    factors = tallystick.load("skills@1.0.0").layout.factors if name == "result-1" else ()
    for field in good:
        # which factors there are is up to the rule set
        without = {k: v for k, v in good.items() if k != field}
        assert validator.is_valid(without) == (field in factors), field


def _written(run: Run, name: str) -> dict[str, Any]:
    """A row with an emission, a reject, or the receipt."""
    row = next(row for row in run.results if row["emission"] is not None)
    return {"result-1": row, "reject-1": run.rejects[0], "receipt-1": run.receipt}[name]
