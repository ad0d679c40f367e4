"""The native front accepts no line that Python rejects, and takes the same facts of the others."""

import os
from collections.abc import Iterator

import attrs
import numpy as np
import pytest
from generators import SKILL_TYPES, lines
from native.fronts import block, differences, native
from native.mutated_lines import mutated_lines

import tallystick
from tallystick.plugins.front import NativeFront
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.catalog import bound_selection, catalog_of
from tallystick.scoring.facts.extraction import Extractor, every_fact

CATALOGS = catalog_of(installed())
RULE_SETS = (
    *("skills@1.0.0", "skills@1.1.0", "skills@1.2.0"),
    *("workflow@1.0.0", "workflow@1.1.0", "workflow@1.2.0"),
)
PAGE, PARTS = 4_000, 4


@pytest.fixture(scope="module")
def front() -> NativeFront:
    return native()


def both(front: NativeFront) -> Iterator[tuple[Extractor, Extractor]]:
    """The extractors of all facts, and of each rule set's, by Python and by the front."""
    yield every_fact(CATALOGS), every_fact(CATALOGS, front)
    for name in RULE_SETS:
        bound = tallystick.load(name).types.values()
        pair = [Extractor(map(bound_selection, bound), front=each) for each in (None, front)]
        yield pair[0], pair[1]


def compare(front: NativeFront, seed: int, count: int) -> int:
    """Compare mutated lines; the number of those that the front accepts."""
    python, by_front = every_fact(CATALOGS), every_fact(CATALOGS, front)
    accepted = 0
    for start in range(0, count, PAGE):
        page = [*mutated_lines(seed + start, min(PAGE, count - start))]
        found, expected = by_front.facts(block(page), start + 1), python.facts(page, start + 1)
        assert found.native
        told = [*differences(found, expected)]
        assert not told, (seed + start, told[:5])
        reader = by_front._line_reader
        assert reader is not None
        proposal = reader.read(block(page), 1)
        assert proposal is not None
        accepted += len(page) - len(proposal.declined)
    return accepted


def test_mutated_lines_have_the_same_facts_and_rejects(front: NativeFront) -> None:
    count = 4_000
    assert compare(front, 1, count) > count // 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_very_many_mutated_lines_have_the_same_facts_and_rejects(
    part: int, front: NativeFront
) -> None:
    count = int(os.environ.get("TALLYSTICK_NATIVE_LINES", "20000")) // PARTS
    seed = int(os.environ.get("TALLYSTICK_NATIVE_SEED", "1")) * 10**9 + part * count
    assert compare(front, seed, count) > count // 10


def test_every_type_of_every_rule_set_has_a_program_and_the_same_facts(front: NativeFront) -> None:
    page = [line.rstrip(b"\n") for line in lines(31, 400, SKILL_TYPES)]
    for python, by_front in both(front):
        reader = by_front._line_reader
        assert reader is not None
        assert {*reader.types} == python._plans.keys()
        found = by_front.facts(block(page), 7)
        assert found.native
        assert found.types
        assert not [*differences(found, python.facts(page, 7))]


def test_most_good_lines_are_read_by_the_front(front: NativeFront) -> None:
    page = [line.rstrip(b"\n") for line in lines(32, 400, SKILL_TYPES)]
    reader = every_fact(CATALOGS, front)._line_reader
    assert reader is not None
    proposal = reader.read(block(page), 1)
    assert proposal is not None
    assert proposal.lines == len(page)
    assert len(proposal.declined) < len(page) // 2


def test_a_wrong_acceptance_and_another_fact_would_be_found() -> None:
    page = [line.rstrip(b"\n") for line in lines(33, 60, SKILL_TYPES)]
    batch = every_fact(CATALOGS).facts([*page, b"bad"])
    assert not [*differences(batch, batch)]
    name, rows = next(iter(batch.types.items()))
    digest, column = next(iter(rows.facts.items()))
    other = attrs.evolve(rows, facts={**rows.facts, digest: column + 1})
    assert [*differences(attrs.evolve(batch, types={**batch.types, name: other}), batch)]
    assert [*differences(attrs.evolve(batch, rejects=()), batch)]
    fewer = rows.select(np.arange(len(rows)) > 0)
    assert [*differences(attrs.evolve(batch, types={**batch.types, name: fewer}), batch)]


def test_blocks_end_where_lines_do_and_anywhere_else(front: NativeFront) -> None:
    page = [line.rstrip(b"\n") for line in lines(34, 3, SKILL_TYPES)]
    python, by_front = every_fact(CATALOGS), every_fact(CATALOGS, front)
    for tail in (b"", b"\n", b"\n\n", b"\n \n", b"\nx", b"\r\n", b"\n" + page[0][:-1]):
        text = block(page)
        text.text = text.text[:-1] + tail
        again = block([])
        again.text = text.text
        expected = python.facts([*again], 1)
        assert not [*differences(by_front.facts(text, 1), expected)], tail


def test_a_line_that_is_too_long_is_rejected_as_by_python(front: NativeFront) -> None:
    (line,) = (line.rstrip(b"\n") for line in lines(35, 1, SKILL_TYPES))
    page = [line, line + b" " * (1 << 20), line]
    python, by_front = every_fact(CATALOGS), every_fact(CATALOGS, front)
    expected = python.facts([*block(page)], 1)
    assert [reject.code for reject in expected.rejects] == ["line-too-long"]
    assert not [*differences(by_front.facts(block(page), 1), expected)]
