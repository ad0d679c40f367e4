"""Files of records and late events become events: scored, told apart, and bad lines told."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from examples import examples
from generators import SKILL_TYPES
from generators import record as generated
from hypothesis import given
from hypothesis import strategies as st
from records.making import make, spoil

import tallystick
from tallystick.io.sources import ItemChunk
from tallystick.records.schema import empties
from tallystick.resources import schema_path
from tallystick.scoring.sources import source_of
from tallystick_state.event import StateEvent
from tallystick_state.event_decoder import EventBatch, EventDecoder, events_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]
EVENT = {
    "id": "rerun-17",
    "validator": "5V",
    "hotkey": "5M",
    "skill_type": "mcp_server",
    "task_id": "t1",
    "round": 7,
    "epoch": 0,
    "event": "rerun_fail",
}

Row = dict[str, Any]


@pytest.fixture(scope="module")
def scorer() -> tallystick.Scorer:
    return tallystick.load("skills@1.0.0")


def example(**changed: object) -> Row:
    record: Row = json.loads(EXAMPLES.read_text(encoding="utf-8").splitlines()[2])
    return record | changed


def dumped(*rows: object) -> list[bytes]:
    return [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]


def taken(scorer: tallystick.Scorer, *rows: object) -> EventBatch:
    return EventDecoder(scorer).events(ItemChunk(dumped(*rows), 1))


def state_event(scorer: tallystick.Scorer, row: object) -> StateEvent:
    """The event of one good line."""
    found = taken(scorer, row)
    assert not found.rejects
    ((line, only),) = found.events
    assert line == 1
    return only


def whole(path: Path, scorer: tallystick.Scorer) -> EventBatch:
    first, *others = events_of(source_of(path), scorer)
    for batch in others:
        first.events.extend(batch.events)
        first.rejects.extend(batch.rejects)
    return first


# ---------------------------------------------------------------------------------- the digest


def spellings(row: Row) -> Iterator[bytes]:
    yield json.dumps(row, indent=1).replace("\n", "\t").encode()
    yield json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\r"
    yield json.dumps(_turned(row)).encode()
    yield json.dumps(row).replace('"round"', '"\\u0072ound"').encode()
    yield json.dumps(row).replace('"event"', '"\\u0065vent"').encode()
    yield json.dumps(row).replace(": 0.0,", ": -0.0,").replace(": 0.0}", ": -0.0}").encode()
    yield json.dumps(row).replace("{", '{"task_id":"other",', 1).encode()
    yield json.dumps(row).replace('"event"', '"event":"rerun_pass","event"').encode()
    yield json.dumps(_decimal(row)).encode()


def _turned(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """With the keys of every object the other way round."""
    if isinstance(value, dict):
        return {key: _turned(item) for key, item in reversed(value.items())}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _decimal(value: Any) -> Any:  # noqa: ANN401  # as above
    """With every whole number as a decimal."""
    if isinstance(value, dict):
        return {key: _decimal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decimal(item) for item in value]
    return float(value) if type(value) is int else value


ROWS = st.builds(
    lambda seed, skill_type: generated(Random(seed), skill_type),
    st.integers(0, 2**32),
    st.sampled_from(SKILLS),
)


@examples(50)
@given(ROWS | st.just(EVENT))
def test_a_line_has_one_digest_however_it_is_spelled(scorer: tallystick.Scorer, row: Row) -> None:
    plain = state_event(scorer, row)
    for spelled in spellings(row):
        assert state_event(scorer, spelled) == plain


@pytest.mark.parametrize("skill_type", SKILL_TYPES)
def test_the_lists_and_maps_that_are_told_as_left_out_are(skill_type: str) -> None:
    scorer = tallystick.load("workflow@1.0.0" if skill_type == "workflow" else "skills@1.0.0")
    told = empties(scorer.types[skill_type].schema)
    assert "events" in told
    for path in told:
        row = make(skill_type, seed=3)
        *way, name = path.split(".")
        part = row
        for step in way:
            part = part[step]
        part.pop(name, None)
        without = state_event(scorer, row)
        part[name] = {} if name == "error_handling" else []
        assert state_event(scorer, row) == without, path


# --------------------------------------------------------------------------------- late events


def test_lines_keep_their_numbers_in_mixed_files(scorer: tallystick.Scorer, tmp_path: Path) -> None:
    random, rows = Random(4), list[object]()
    for number in range(500):
        late = EVENT | {"id": f"e{number}", "round": number}
        bad = random.choice([b"", {"event": 1}, {**late, "round": -1}, {**example(), "role": "x"}])
        rows.append(random.choice([late, example(round=number), bad]))
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b"\n".join(dumped(*rows)) + b"\n")
    found = whole(path, scorer)
    good = [number for number, row in enumerate(rows, 1) if _is_good(row)]
    assert [line for line, _ in found.events] == good
    for line, one in found.events:
        assert one.round == line - 1
        assert one.id == (f"e{line - 1}" if "event" in rows[line - 1] else None)  # type: ignore[operator]
    assert sorted([*good, *(reject.line for reject in found.rejects)]) == list(range(1, 501))
    assert [reject.line for reject in found.rejects] == sorted(r.line for r in found.rejects)


def _is_good(row: object) -> bool:
    return isinstance(row, dict) and row.get("round", -1) >= 0 and row.get("role") != "x"


@pytest.mark.parametrize("text", ["event", '"event"', '{"event": 1}', "\u00e9vent"])
def test_a_record_that_speaks_of_events_is_a_record(scorer: tallystick.Scorer, text: str) -> None:
    row = example(task_id=text)
    row["submission"]["findings"] = [
        dict.fromkeys(("id", "category", "severity", "description", "evidence_ref"), "event")
    ]
    assert state_event(scorer, row).task_id == text
    assert state_event(scorer, row).is_record


TYPES = "one of " + ", ".join(sorted(SKILLS))
BAD = [
    *(
        ({k: v for k, v in EVENT.items() if k != name}, "missing-field", name)
        for name in EVENT
        if name != "event"
    ),
    (EVENT | {"role": "primary"}, "unknown-field", "role"),
    (EVENT | {"Event": "rerun_pass"}, "unknown-field", "Event"),
    (EVENT | {"id": ""}, "too-short", "id"),
    (EVENT | {"id": "x" * 4097}, "too-long", "id"),
    (EVENT | {"id": 17}, "wrong-type", "id"),
    (EVENT | {"id": None}, "wrong-type", "id"),
    (EVENT | {"validator": ""}, "too-short", "validator"),
    (EVENT | {"validator": "x" * 65}, "too-long", "validator"),
    (EVENT | {"hotkey": "x" * 65}, "too-long", "hotkey"),
    (EVENT | {"hotkey": ["5M"]}, "wrong-type", "hotkey"),
    (EVENT | {"task_id": ""}, "too-short", "task_id"),
    (EVENT | {"skill_type": "workflow"}, "unknown-skill-type", "skill_type"),
    (EVENT | {"skill_type": ""}, "unknown-skill-type", "skill_type"),
    (EVENT | {"skill_type": 1}, "wrong-type", "skill_type"),
    (EVENT | {"round": -1}, "out-of-range", "round"),
    (EVENT | {"round": 2**31}, "out-of-range", "round"),
    (EVENT | {"epoch": 2**31}, "out-of-range", "epoch"),
    (EVENT | {"epoch": "0"}, "wrong-type", "epoch"),
    (EVENT | {"epoch": True}, "wrong-type", "epoch"),
    (EVENT | {"epoch": 0.5}, "wrong-type", "epoch"),
    (EVENT | {"event": "consensus_pass"}, "not-allowed", "event"),
    (EVENT | {"event": ""}, "not-allowed", "event"),
    (EVENT | {"event": ["rerun_fail"]}, "wrong-type", "event"),
    (EVENT | {"event": None}, "wrong-type", "event"),
    (json.dumps(EVENT)[:-9].encode(), "invalid-json", ""),
    (json.dumps(EVENT).encode() + b"}", "invalid-json", ""),
    (json.dumps([EVENT]).encode(), "not-an-object", ""),
    (b"\xef\xbb\xbf" + json.dumps(EVENT).encode(), "byte-order-mark", ""),
    (json.dumps(EVENT).replace("5V", "\xff").encode("latin-1"), "invalid-utf8", ""),
    (json.dumps(EVENT | {"id": "\ud800"}).encode(), "invalid-utf8", "id"),
    (json.dumps(EVENT | {"round": float("nan")}).encode(), "not-finite", "round"),
    (json.dumps(EVENT).replace('"round": 7', '"round": 1e999').encode(), "not-finite", "round"),
    (json.dumps(EVENT).replace("7", "[" * 40 + "]" * 40).encode(), "too-deep", ""),
    (json.dumps(EVENT | {"event": "x" * 2**20}).encode(), "line-too-long", ""),
]


@pytest.mark.parametrize(("row", "code", "path"), BAD)
def test_a_bad_event_is_told_with_its_code_its_path_and_its_line(
    scorer: tallystick.Scorer, row: object, code: str, path: str
) -> None:
    found = taken(scorer, example(), row, EVENT)
    assert [line for line, _ in found.events] == [1, 3]
    (reject,) = found.rejects
    assert (reject.line, reject.code, reject.path) == (2, code, path)
    assert reject.expected


def test_a_reject_says_what_an_event_should_have(scorer: tallystick.Scorer) -> None:
    (reject,) = taken(scorer, EVENT | {"round": -1}).rejects
    assert (reject.value, reject.expected) == ("-1", "a whole number from 0 to 2147483647")
    (reject,) = taken(scorer, EVENT | {"skill_type": "workflow"}).rejects
    assert (reject.value, reject.expected) == ('"workflow"', TYPES)
    (reject,) = taken(scorer, EVENT | {"evnt": 1}).rejects
    assert reject.expected == "event, or the field left out"


def test_the_rejects_of_records_are_those_of_scoring(scorer: tallystick.Scorer) -> None:
    random = Random(2)
    rows = [spoil(generated(random, random.choice(SKILLS)), seed) for seed in range(300)]
    data = dumped(*rows, b"", b"[]", b"\xff", b"{}")
    results, found = scorer.score_lines(data), EventDecoder(scorer).events(ItemChunk(data, 1))
    assert found.rejects == list(results.rejects)
    assert len(found.rejects) > 150
    assert [line for line, _ in found.events] == results.record.tolist()


# ---------------------------------------------------------------------------------- the schema


def test_the_definitions_of_an_event_are_those_of_a_record() -> None:
    event = json.loads(schema_path("event-1").read_bytes())
    common = json.loads(schema_path("record-1").read_bytes())
    for name in ("id", "period", "hotkey"):
        assert event["$defs"][name] == common["$defs"][name]
    described = event["$defs"]["event"]
    assert {k: v for k, v in described.items() if k != "description"} == common["$defs"]["events"][
        "items"
    ]
    assert event["required"] == list(event["properties"]) == list(EVENT)


def test_the_schema_judges_as_intake_does() -> None:
    schema = json.loads(schema_path("event-1").read_bytes())
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert validator.is_valid(EVENT)
    for row, code, _ in BAD:
        # which types there are is said by the rule set
        if isinstance(row, dict) and code != "unknown-skill-type":
            assert not validator.is_valid(row), row
