"""Answers of the process that checks a plugin: no forged or damaged one counts, and none raises."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable

import attrs
import pytest
from attack.scale import CASES, SEED

from tallystick_conformance.answers import Answers, read, writer
from tallystick_conformance.checks import COMPARED, NAMES
from tallystick_conformance.process import _Ended, _report
from tallystick_conformance.report import finding
from tallystick_conformance.target import find

FEW = 200
"""Twenty of each kind of damage."""
KEY, OTHER = bytes(32), bytes(31) + b"\1"
TARGET = find("workflow")
ABOUT = {"folder": "/a", "formulas": {"a/b@1": "sha256:0"}, "texts": {}, "skill_types": 1}


def written(say_all: Callable[[Callable[..., None]], None], key: bytes = KEY) -> bytes:
    """What a writer of answers writes."""
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as file:
        try:
            say_all(writer(writes, key, "check"))
        finally:
            os.close(writes)
        return file.read()


def whole(say: Callable[..., None]) -> None:
    """The answers of a check that found nothing."""
    for name in NAMES:
        say(begin=name)
        if name == NAMES[0]:
            say(about=ABOUT)
        say(done=name)
    say(generated={"t": "sha256:1"}, values={"f": ["int 1"]})
    say(end=True)


GOOD = written(whole)
LINES = GOOD.splitlines(keepends=True)


def passes(data: bytes) -> bool:
    """Whether a check with these answers and the exit status 0 passes."""
    return _report(TARGET, _Ended(read(data, KEY), 0, ""), 300).passed


def test_whole_answers_pass_and_say_what_was_written() -> None:
    answers = read(GOOD, KEY)
    assert (answers.damage, answers.cut, answers.has_end) == ("", False, True)
    assert tuple(answers.begun) == tuple(answers.done) == NAMES
    assert answers.about is not None
    assert answers.about.formulas == ABOUT["formulas"]
    assert answers.values == {"f": ["int 1"]}
    assert passes(GOOD)


def test_a_finding_comes_back_as_it_was() -> None:
    found = finding("crashed", "text", "m", {"value": [1, "\udc80", float("inf")]})

    def say_all(say: Callable[..., None]) -> None:
        say(begin=NAMES[0])
        say(found=attrs.asdict(found))

    assert list(read(written(say_all), KEY).findings("x")) == [(NAMES[0], found)]


@pytest.mark.parametrize("name", [*NAMES, "unheard"])
def test_a_check_that_is_left_out_does_not_pass(name: str) -> None:
    """Neither does one that is begun alone, nor one that the parent does not know."""
    for word in ("begin", "done"):

        def say_all(say: Callable[..., None], word: str = word) -> None:
            say(about=ABOUT)
            for each in NAMES:
                if not (each == name and word == "begin"):
                    say(begin=each)
                if each != name:
                    say(done=each)
            if name not in NAMES:
                say(begin=name)
                say(done=name)
            say(generated={}, values={})
            say(end=True)

        assert not passes(written(say_all))


def test_both_lists_of_checks_begin_with_loading() -> None:
    assert COMPARED[0] == NAMES[0]
    assert set(COMPARED) <= set(NAMES)


@pytest.mark.parametrize("cases", [FEW, pytest.param(CASES, marks=pytest.mark.nightly)])
def test_no_forged_or_damaged_answers_pass(cases: int) -> None:
    draw = random.Random(SEED)
    for case in range(cases):
        lines = list(LINES)
        damage = DAMAGES[case % len(DAMAGES)]
        data = damage(draw, lines)
        assert data != GOOD, (damage.__name__, case)
        answers = read(data, KEY)
        assert isinstance(answers, Answers)
        assert not passes(data), (damage.__name__, case, SEED)


@pytest.mark.parametrize("cases", [FEW, pytest.param(CASES // 10, marks=pytest.mark.nightly)])
def test_whoever_has_the_key_gets_no_traceback_with_any_value(cases: int) -> None:
    draw = random.Random(SEED)
    for _ in range(cases):
        values = [{draw.choice(WORDS): _value(draw)} for _ in range(draw.randrange(6))]

        def say_all(say: Callable[..., None], values: list[dict[str, object]] = values) -> None:
            for value in values:
                say(**value)

        data = written(say_all)
        report = _report(TARGET, _Ended(read(data, KEY), 0, ""), 300)
        assert not report.passed
        json.dumps(report.to_dict())


WORDS = ("begin", "done", "found", "about", "generated", "values", "left", "end", "more", "")


def _value(draw: random.Random, depth: int = 3) -> object:
    plain: list[object] = [None, True, 1, -1.5, "", "text", "loading", "\ud800", float("nan")]
    if not depth or draw.random() < 0.5:
        return draw.choice([*plain, ABOUT, attrs.asdict(finding("crashed", "x", "m"))])
    if draw.random() < 0.5:
        return [_value(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice(WORDS): _value(draw, depth - 1) for _ in range(draw.randrange(4))}


def _removed(draw: random.Random, lines: list[bytes]) -> bytes:
    del lines[draw.randrange(len(lines))]
    return b"".join(lines)


def _doubled(draw: random.Random, lines: list[bytes]) -> bytes:
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    return b"".join(lines)


def _swapped(draw: random.Random, lines: list[bytes]) -> bytes:
    first, second = draw.sample(range(len(lines)), 2)
    lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def _bit(draw: random.Random, lines: list[bytes]) -> bytes:
    data = bytearray(b"".join(lines))
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


def _cut(draw: random.Random, lines: list[bytes]) -> bytes:
    data = b"".join(lines)
    return data[: draw.randrange(len(data))]


def _noise(draw: random.Random, lines: list[bytes]) -> bytes:
    data = b"".join(lines)
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.randbytes(draw.randrange(1, 40)) + data[place:]


def _plain(draw: random.Random, lines: list[bytes]) -> bytes:
    """Lines without a code, as an author would think of first."""
    forged = [json.dumps({"begin": draw.choice(NAMES)}).encode() + b"\n", b'{"end": true}\n']
    lines[draw.randrange(len(lines)) :] = forged
    return b"".join(lines)


def _other_key(draw: random.Random, lines: list[bytes]) -> bytes:
    forged = written(whole, OTHER).splitlines(keepends=True)
    start = draw.randrange(len(lines))
    return b"".join([*lines[:start], *forged[start:]])


def _other_writer(draw: random.Random, lines: list[bytes]) -> bytes:
    place = draw.randrange(len(lines))
    lines[place] = lines[place].replace(b"check", b"supervisor", 1)
    return b"".join(lines)


def _shorter_run(draw: random.Random, lines: list[bytes]) -> bytes:
    """All lines up to one, and the last, as if what is between had been done."""
    return b"".join([*lines[: draw.randrange(len(lines) - 1)], lines[-1]])


DAMAGES = (
    _removed,
    _doubled,
    _swapped,
    _bit,
    _cut,
    _noise,
    _plain,
    _other_key,
    _other_writer,
    _shorter_run,
)
