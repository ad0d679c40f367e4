"""Regular expressions take time that grows as the text does, whatever a stranger writes.

Every pattern of the engine and the plugins is found here by itself: what calls ``re``, and the
``pattern`` of each schema. It is judged by its structure (`project.backtracking`).
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packages import PACKAGES, module_of, sources
from project.backtracking import Automaton

from tallystick.io import text as text_module

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "engine", ROOT / "plugins")
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
DYNAMIC: dict[tuple[str, str], tuple[str, ...]] = {
    # of facts, in the dialect of docs/formulas.md: those of our plugins are tried by themselves
    ("tallystick.formula.facts.text", "pattern"): (),
    ("tallystick.formula.facts.text", "arguments_of(fact)[0]"): (),
    # is compiled only, to see whether it can be
    ("tallystick.formula.facts.pattern", "pattern"): (),
    # of the rows of a plugin that is installed
    ("tallystick.plugins.commands", "self.pattern"): (
        r"[ \t]*\S.*",
        r"[a-z][a-z0-9]*(-[a-z0-9]+)*",
        r"[^\W\d]\w*(\.[^\W\d]\w*)*",
    ),
    (
        "tallystick_governance.lint.render",
        r"f'(?<![\\w/.-]){re.escape(skill_type)}(?![\\w/-])'",
    ): (r"(?<![\w/.-])code_review(?![\w/-])",),
    # of the schemas, which are tried by themselves
    ("tallystick_conformance.project", "rule['pattern']"): (),
}
"""Patterns that are made when they are used, by module and expression, with samples of them."""
REASONED: dict[str, str] = {
    "tallystick.io.text._LEFTWARD_RUN": "a match goes to the last such letter of its line",
    "tallystick.io.text._NAME": "what stands before a name is no letter of one",
    **dict.fromkeys(
        (f"tallystick.rules.toml.{name}" for name in ("_BLANK", "_KEY", "_STRING")),
        "a document is scanned by matches alone, each from where the one before ended",
    ),
    "tallystick_governance.backtest.plots": "as for names; the text is a drawing of ours",
    "tallystick_service.rule_book._STRING": "every end is optional, so a match never fails",
}
"""Patterns that the structure alone would refuse, with why they are let by."""


@dataclass(frozen=True)
class Use:
    """A pattern, and how it is used."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


@cache
def modules() -> tuple[tuple[str, str], ...]:
    """Return each module of the packages that names `re`, or patterns of facts, with its text."""
    texts = (
        (module_of(path), path.read_text("utf-8")) for name in PACKAGES for path in sources(name)
    )
    return tuple(
        (name, text) for name, text in texts if re.search(r"import re\b|from re |matches\(", text)
    )


def of_re(node: ast.AST) -> tuple[str, ast.expr] | None:
    """The function of ``re`` that a node calls with a pattern, and the pattern; a fact's, too."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]):
            return (name, pattern) if name in {*METHODS, "compile"} else None
        case ast.Call(func=ast.Name(id="matches"), args=[_, pattern]):
            return "fullmatch", pattern
    return None


def uses_of(name: str, text: str) -> Iterator[Use]:
    """The patterns of a module: those that it has a name for, and those within its functions."""
    tree, named = ast.parse(text), set[ast.AST]()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if (
                call := of_re(value)
            ) and call[0] == "compile":
                named.add(value)
                pattern = vars(import_module(name))[target]
                yield Use(f"{name}.{target}", pattern, methods_of(target, text))
    for node in ast.walk(tree):
        if node in named or (call := of_re(node)) is None:
            continue
        function, source = call
        flags = re.DOTALL if "DOTALL" in ast.unparse(node) else re.NOFLAG
        used = METHODS if function == "compile" else (function,)
        for index, pattern in enumerate(patterns_of(name, source)):
            where = f"{name}:{source.lineno}:{index}"
            yield Use(where, re.compile(pattern, flags), frozenset(used))


def methods_of(target: str, text: str) -> frozenset[str]:
    """How a module uses a pattern; in every way, if it is not seen."""
    found = re.findall(rf"\b{target}\.({'|'.join(METHODS)})\(", text)
    return frozenset(found or METHODS)


def patterns_of(name: str, source: ast.expr) -> tuple[str | bytes, ...]:
    """The value of a pattern's source; samples of one that is made when it is used."""
    try:
        value = ast.literal_eval(source)
    except ValueError:
        made = name, ast.unparse(source)
        assert made in DYNAMIC, (
            f"{name}:{source.lineno}: the pattern {made[1]} is made when it is used: "
            "write samples of it into DYNAMIC"
        )
        return DYNAMIC[made]
    assert isinstance(value, str | bytes)
    return (value,)


def of_schemas() -> Iterator[Use]:
    """The patterns of all schemas, which search in a text."""
    found = dict[str, str]()
    for folder in (ROOT / "schemas", *SOURCES):
        for path in sorted(folder.rglob("*.json")):
            for pattern in patterns_in(json.loads(path.read_text(encoding="utf-8"))):
                found.setdefault(pattern, f"{path.name}:{pattern}")
    for pattern, where in found.items():
        yield Use(where, re.compile(pattern), frozenset({"search"}))


def patterns_in(schema: object) -> Iterator[str]:
    match schema:
        case dict():
            if isinstance(schema.get("pattern"), str):
                yield schema["pattern"]
            for each in schema.values():
                yield from patterns_in(each)
        case list():
            for each in schema:
                yield from patterns_in(each)


@cache
def all_uses() -> tuple[Use, ...]:
    return (*(use for name, text in modules() for use in uses_of(name, text)), *of_schemas())


def use(pattern: str, *methods: str) -> Use:
    return Use("planted", re.compile(pattern), frozenset(methods))


def is_slow(use: Use) -> bool:
    automaton = Automaton(use.pattern)
    return any(map(automaton.is_slow, use.methods))


@pytest.mark.nightly
def test_a_pattern_takes_time_that_grows_as_a_hostile_text_does() -> None:
    slow = {use.where.partition(":")[0] for use in all_uses() if is_slow(use)}
    assert slow == {*REASONED}, (
        "a run of letters can be read in ways that are as many as its pairs of letters: repeat "
        "possessively, or say where a match may begin"
    )


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        # what this test was written for
        (r"([\w%]+)(\s*=\s*)(?:'[^']*'|[^\s&;'\"]+)", "sub"),
        (r"(:/{1,2}[^\s/:@]*:)[^\s]*@", "sub"),
        (f"\u2068([^\u2068\n]*[{text_module._LEFTWARD}][^\u2068\n]*)\u2069", "split"),
        (r"(a+)+b", "match"),
        (r"(?:a|a)*b", "fullmatch"),
        (r"a*a*b", "match"),
        (r"\s+$", "search"),
        (r"\[[^\]]*(?:&&|~~)", "search"),
        (r"<!--.*?-->", "findall"),
        (r"x(?=.*y)", "finditer"),
    ],
)
def test_a_planted_pattern_is_found(pattern: str, method: str) -> None:
    assert is_slow(use(pattern, method))


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<![\w%])[\w%]++\s*+=",
        r"a++a",
        r"[a-z]+@[a-z]+\Z",
        r"^(?:[0-9a-f]{2})*$",
        r"a{3,5}b",
        r"(?:ab|cd)*+e",
    ],
)
def test_a_linear_pattern_is_left_alone(pattern: str) -> None:
    assert not is_slow(use(pattern, "match"))


def test_every_pattern_is_looked_at() -> None:
    names = {each.where for each in all_uses()}
    assert {
        "tallystick.io.text._NAME",
        "tallystick.rules.toml._STRING",
        "tallystick.formula.facts.pattern._DOUBLED",
        "facts-receipt-1.schema.json:^tallystick [^ ]+$",
    } <= names
    for name, text in modules():
        for node in ast.walk(ast.parse(text)):
            assert not (isinstance(node, ast.ImportFrom) and node.module == "re"), (
                f"{name}:{node.lineno}: import re itself, so that its patterns are found"
            )
            if isinstance(node, ast.Import):
                assert all(e.name != "re" or e.asname is None for e in node.names), name


def test_a_pattern_that_is_made_when_it_is_used_needs_a_sample() -> None:
    text = "import re\ndef f(name, text):\n    return re.search(f'{name}+', text)\n"
    with pytest.raises(AssertionError, match="write samples of it into DYNAMIC"):
        list(uses_of("planted", text))
