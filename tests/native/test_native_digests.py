"""The native front digests records as Python does, and a state takes the same events of both."""

import ctypes
import json
import re
from collections.abc import Iterator, Sequence

import pytest
from generators import SKILL_TYPES, lines
from native.fronts import block, native
from native.mutated_lines import mutated_lines
from vectors.whole.digests import record_digest as oracle_digest

import tallystick
from tallystick.canonical import PREFIX
from tallystick.errors import EngineError
from tallystick.io.chunks import LineChunk
from tallystick.plugins import front as fronts
from tallystick.plugins.front import NativeFront, front_of
from tallystick.plugins.registry import installed
from tallystick.records.decoding import MissedDeadline
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.scorer import Scorer
from tallystick_state.event_decoder import EventDecoder, record_digest

CATALOGS = catalog_of(installed())
COUNT, LATE = 3_000, 20
UNUSUAL = re.compile(rb"\\\\|\d[eE]-?\d")
"""Escapes, and numbers with exponents, which some made-up records have."""


@pytest.fixture(scope="module")
def front() -> NativeFront:
    return native()


@pytest.fixture(scope="module")
def extractor(front: NativeFront) -> Extractor:
    selections = [catalog.selection() for catalog in CATALOGS.values()]
    return Extractor(selections, front=front, digests=True)


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return tallystick.load("skills@1.2.0")


def digests(extractor: Extractor, page: Sequence[bytes]) -> tuple[dict[int, str], int]:
    """The digests that the front is sure of, by line, and how many lines it accepts."""
    proposal = extractor.proposal(block(page), 0)
    assert proposal is not None
    sure: dict[int, str] = {}
    for rows in proposal.types.values():
        sure |= rows.sure_digests()
    return sure, proposal.lines - len(proposal.declined)


def generated(seed: int, count: int) -> list[bytes]:
    return [line.rstrip(b"\n") for line in lines(seed, count, SKILL_TYPES)]


def test_digests_of_mutated_lines_are_those_of_python(extractor: Extractor) -> None:
    page = [*mutated_lines(41, COUNT)]
    sure, _ = digests(extractor, page)
    assert len(sure) > COUNT // 10
    for line, digest in sure.items():
        decoded = extractor._decoder.decode(page[line], line)
        record = decoded.record if isinstance(decoded, MissedDeadline) else decoded
        assert record_digest(record) == PREFIX + digest, page[line]


def test_every_ordinary_record_that_is_accepted_has_the_digest_of_the_oracle(
    extractor: Extractor,
) -> None:
    page = [line for line in generated(42, 300) if not UNUSUAL.search(line)]
    sure, accepted = digests(extractor, page)
    assert len(sure) == accepted > len(page) * 9 // 10
    for line, digest in sure.items():
        assert oracle_digest(page[line].decode()) == PREFIX + digest


@pytest.mark.parametrize(
    ("text", "is_sure"),
    [
        ("1.50", True),
        ("1.0", True),
        ("0.30000000000000004", True),
        ("0.1000000000000000055511151231257827", True),
        ("0.000001", True),
        ("0.0000001", False),
        ("1e-1", False),
    ],
)
def test_numbers_have_their_shortest_form_or_are_not_sure(
    extractor: Extractor, text: str, is_sure: bool
) -> None:
    page = generated(43, 60)
    record = next(each for each in map(json.loads, page) if each["skill_type"] == "rag_knowledge")
    record["consensus"]["findings_recall"] = "HERE"
    number = text if not text.startswith("1.") else f"0.{text[2:]}"
    line = json.dumps(record).replace('"HERE"', number).encode()
    sure, accepted = digests(extractor, [line])
    assert accepted == 1
    assert bool(sure) == is_sure
    if is_sure:
        assert sure == {0: oracle_digest(line.decode()).removeprefix(PREFIX)}


def late_events(page: Sequence[bytes]) -> Iterator[bytes]:
    """Late events about some records, and one that is none."""
    for number, record in enumerate(map(json.loads, page[:LATE])):
        names = ("validator", "skill_type", "task_id", "round", "epoch")
        about = {name: record[name] for name in names}
        event = {"id": f"late-{number}", "hotkey": record["miner"]["hotkey"], **about}
        yield json.dumps({**event, "event": "rerun_fail" if number else "none"}).encode()


def test_a_state_takes_the_same_events_of_both_fronts(front: NativeFront, scorer: Scorer) -> None:
    good = generated(44, 400)
    page = [*good, *late_events(good), *mutated_lines(44, 400), good[0].replace(b'"5', b'"\\u0035')]
    chunks = [LineChunk(each, 7) for each in (page, block(page))]
    by_python, by_front = (
        EventDecoder(scorer, front=each).events(chunk)
        for each, chunk in zip((None, front), chunks, strict=True)
    )
    assert by_front.scored.native
    assert not by_python.scored.native
    assert by_front == by_python
    assert len(by_front.events) > len(good)
    assert {*map(str, by_front.scored.results())} == {*map(str, by_python.scored.results())}


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let the front be looked for anew, before and after."""
    for each in (fronts._installed, fronts._loaded):
        each.cache_clear()
    yield
    for each in (fronts._installed, fronts._loaded):
        each.cache_clear()


def test_an_older_library_that_knows_no_digests_is_passed_over(
    front: NativeFront, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del front, fresh
    made = ctypes.CDLL

    class Older:
        def __init__(self, path: str) -> None:
            self.library = made(path)

        def __getattr__(self, name: str) -> object:
            if name == "tallystick_native_digest":
                raise AttributeError(name)
            return getattr(self.library, name)

    monkeypatch.setattr(ctypes, "CDLL", Older)
    assert front_of("auto") is None
    with pytest.raises(EngineError, match="the library cannot be loaded"):
        front_of("native")
