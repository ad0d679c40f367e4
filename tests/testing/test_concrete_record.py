"""A concrete record has the facts that were asked for, and is a record that scores."""

import random
from collections.abc import Mapping

import pytest
from examples import fast_rows

import tallystick
from tallystick.plugins.skill_type import SkillType
from tallystick.records.struct_builder import Record
from tallystick_conformance.testing.concrete_record import bases, concrete_record_of
from tallystick_conformance.testing.record_checker import FactReader

RULE_SETS = ("skills@1.1.0", "workflow@1.1.0")


def made_of(scorer: tallystick.Scorer, name: str) -> tuple[SkillType, FactReader]:
    """A skill type, and what takes the facts of its records."""
    bound = scorer.types[name]
    return scorer.registry.skill_types[name], FactReader(bound.schema, bound.facts)


def facts(scorer: tallystick.Scorer, skill_type: str, record: object) -> Mapping[str, int]:
    bound = scorer.types[skill_type]
    found = scorer.decoder.decode(record, 1)
    assert isinstance(found, Record), found
    return bound.facts_of(found)


@pytest.mark.parametrize("reference", fast_rows(RULE_SETS, -1))
def test_a_record_is_found_for_facts_and_the_base_is_left_as_it_was(reference: str) -> None:
    scorer, choices = tallystick.load(reference), random.Random(7)
    for skill_type in scorer.types:
        reader = made_of(scorer, skill_type)[1]
        base, *others = bases(*made_of(scorer, skill_type))
        before = facts(scorer, skill_type, base)
        for other in others:
            every = facts(scorer, skill_type, other)
            made = concrete_record_of(reader, every, base)
            assert made is not None, (skill_type, other)
            assert facts(scorer, skill_type, made) == every
            some = dict(choices.sample(sorted(every.items()), 5))
            made = concrete_record_of(reader, some, base)
            if made is not None:
                assert facts(scorer, skill_type, made).items() >= some.items()
        assert facts(scorer, skill_type, base) == before


def rag_facts(scorer: tallystick.Scorer) -> Mapping[tuple[object, object], str]:
    """The digests of facts by what they read and how."""
    return {
        (fact.data[0], fact.data[1]): fact.digest for fact in scorer.types["rag_knowledge"].facts
    }


def test_facts_that_contradict_each_other_have_no_record() -> None:
    scorer = tallystick.load("skills@1.0.0")
    skill_type, reader = made_of(scorer, "rag_knowledge")
    base, named = next(bases(skill_type, reader)), rag_facts(scorer)
    mine = named["distinct", "submission.recommended_policy"]
    shared = named["overlap", "submission.recommended_policy"]
    assert concrete_record_of(reader, {mine: 1, shared: 1}, base) is not None
    assert concrete_record_of(reader, {mine: 1, shared: 2}, base) is None


def test_items_are_repeated_where_more_are_counted_than_differ() -> None:
    scorer = tallystick.load("skills@1.0.0")
    skill_type, reader = made_of(scorer, "rag_knowledge")
    base, named = next(bases(skill_type, reader)), rag_facts(scorer)
    reported = named["count", "submission.findings[category=canary_match]"]
    injected = named["distinct", "task.injected_canaries"]
    made = concrete_record_of(reader, {reported: 2, injected: 2}, base)
    assert made is not None
    first, second = made["submission"]["findings"]
    assert first == second
    assert len(set(made["task"]["injected_canaries"])) == 2
