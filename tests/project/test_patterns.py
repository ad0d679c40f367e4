"""Regular expressions take time that grows as the text does, whatever a stranger writes.

Every pattern of the engine and the plugins is found here by itself: what calls ``re``, and the
``pattern`` of each schema. It is tried with texts that are made of its own parts, up to 10**6
letters. Costs are compared with those of another pattern on as many letters, in CPU time: a slow or
busy machine changes both.
"""

import ast
import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]  # what parses patterns
from re import _parser as parser  # type: ignore[attr-defined]  # as above
from typing import Any

import pytest
from packages import PACKAGES
from project.house import read_sources

from tallystick.io import text as text_module

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "engine", ROOT / "plugins")
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
DYNAMIC: dict[tuple[str, str], tuple[str, ...]] = {
    # of facts, in the dialect of docs/formulas.md: those of our plugins are tried by themselves
    ("tallystick.formula.facts.text", "condition"): (),
    ("tallystick.formula.facts.text", "_fits"): (),
    # is compiled only, to see whether it can be
    ("tallystick.formula.facts.pattern", "check_pattern"): (),
    ("tallystick_governance.lint.render", "_masked"): (r"(?<![\w/.-])code_review(?![\w/-])",),
    # of the schemas, which are tried by themselves
    ("tallystick_conformance.project", "project"): (),
}
"""Patterns that are made when they are used, by module and function, with samples of them."""
MOST_OF_A_LETTER = 60
"""Maximum cost of a letter, in those of the reference; a quadratic pattern is beyond thousands."""
SCREENED = 1 << 13
"""Letters with which every text is tried; the dearest ones are tried with more."""
LETTERS = 10**6
REFERENCE = re.compile("(?:ab|cd)*+e")


@dataclass(frozen=True)
class Use:
    """A pattern, and how it is used."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    @property
    def package(self) -> str:
        """The package of its module; "schemas" of a schema."""
        package = re.match(r"tallystick\w*(?=\.)", self.where)
        return package[0] if package else "schemas"


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield each module of the packages, by name."""
    yield from ((source.name, source.tree) for source in read_sources())


def of_re(node: ast.AST) -> tuple[str, ast.expr] | None:
    """The function of ``re`` that a node calls with a pattern, and the pattern; a fact's, too."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]):
            return (name, pattern) if name in {*METHODS, "compile"} else None
        case ast.Call(func=ast.Name(id="matches"), args=[_, pattern]):
            return "fullmatch", pattern
    return None


def uses_of(name: str, tree: ast.Module) -> Iterator[Use]:
    """The patterns of a module: those with a name in it, and those within its functions."""
    named = dict[ast.AST, str]()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if (
                call := of_re(value)
            ) and call[0] == "compile":
                named[value] = target
    for inside, node in with_function(tree):
        if (call := of_re(node)) is None:
            continue
        function, source = call
        if node in named and hasattr(import_module(name), named[node]):
            target = named[node]
            yield Use(
                f"{name}.{target}", vars(import_module(name))[target], methods_of(target, tree)
            )
            continue
        flags = re.DOTALL if "DOTALL" in ast.unparse(node) else re.NOFLAG
        used = methods_of(inside, tree) if function == "compile" else frozenset({function})
        for index, pattern in enumerate(patterns_of(name, inside, source)):
            where = f"{name}:{source.lineno}:{index}"
            yield Use(where, re.compile(pattern, flags), used)


def with_function(node: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Each node of a tree, and the name of the function that it is in."""
    for child in ast.iter_child_nodes(node):
        yield inside, child
        name = child.name if isinstance(child, ast.FunctionDef) else inside
        yield from with_function(child, name)


def methods_of(target: str, tree: ast.Module) -> frozenset[str]:
    """How a module uses a pattern, or what a function returns; in every way, if it is not seen."""
    names, is_passed = {target}, False
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=args):
                is_passed |= any(isinstance(e, ast.Name) and e.id == target for e in args)
    if is_passed:
        names |= {
            node.arg
            for node in ast.walk(tree)
            if isinstance(node, ast.arg)
            and node.annotation is not None
            and "re.Pattern" in ast.unparse(node.annotation)
        }
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Attribute(value=ast.Name(id=name), attr=method)
                | ast.Attribute(value=ast.Call(func=ast.Name(id=name)), attr=method)
            ) if name in names and method in METHODS:
                found.add(method)
    return frozenset(found or METHODS)


def patterns_of(name: str, inside: str, source: ast.expr) -> tuple[str | bytes, ...]:
    """The value of a pattern's source; samples of one that is made when it is used."""
    try:
        value = ast.literal_eval(source)
    except ValueError:
        assert (name, inside) in DYNAMIC, (
            f"{name}:{source.lineno}: the pattern {ast.unparse(source)} is made when it is used: "
            "write samples of it into DYNAMIC"
        )
        return DYNAMIC[name, inside]
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
    return (*(use for name, tree in modules() for use in uses_of(name, tree)), *of_schemas())


# --- texts -------------------------------------------------------------------------------------


def sample(nodes: Any, letters: set[str]) -> str:  # noqa: ANN401  # trees have no public types
    """A short text that fits a part of a pattern; its letters are collected on the way."""
    return "".join(_sample(op, argument, letters) for op, argument in nodes)


def _sample(op: Any, argument: Any, letters: set[str]) -> str:  # noqa: ANN401  # as above
    match op:
        case sre.LITERAL:
            letters.add(chr(argument))
            return chr(argument)
        case sre.NOT_LITERAL:
            return _other({chr(argument)}, letters)
        case sre.ANY:
            return _other({"\n"}, letters)
        case sre.IN:
            return _of_class(argument, letters)
        case sre.BRANCH:
            samples = [sample(branch, letters) for branch in argument[1]]
            return samples[0]
        case sre.SUBPATTERN:
            return sample(argument[3], letters)
        case sre.ATOMIC_GROUP:
            return sample(argument, letters)
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            least, _, body = argument
            return sample(body, letters) * max(1, min(least, 40))
        case sre.ASSERT | sre.ASSERT_NOT:
            sample(argument[1], letters)
    return ""


def _of_class(argument: Any, letters: set[str]) -> str:  # noqa: ANN401  # as above
    members = set[str]()
    for op, value in argument:
        match op:
            case sre.LITERAL:
                members.add(chr(value))
            case sre.RANGE:
                members.add(chr(value[0]))
            case sre.CATEGORY:
                members.add({"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(value.name, "a"))
    letters.update(sorted(members)[:4])
    if argument[0][0] is sre.NEGATE:
        return _other(members, letters)
    return min(members)


def _other(members: set[str], letters: set[str]) -> str:
    other = next(c for c in "xa0 -\x01" if c not in members)
    letters.add(other)
    return other


def units(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """What texts are made of: a beginning, what is repeated, and an end that fits nothing."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("l1")
    tree = parser.parse(source, pattern.flags & ~re.UNICODE)
    letters = {"a", " "}
    nodes = flat(tree)
    beginnings = ["", *(sample(nodes[:end], letters) for end in range(1, len(nodes) + 1))]
    beginnings = list(dict.fromkeys(beginnings))[:12]
    alphabet = sorted(letters)[:12]
    for beginning, letter in product(beginnings, alphabet):
        yield beginning, letter, ""
        yield beginning, letter, "\x00"
    for pair in product(alphabet, repeat=2):
        yield "", "".join(pair), "\x00"
    for beginning, letter in product(beginnings[1:], ["", *alphabet]):
        yield "", beginning + letter, "\x00"


def flat(tree: Any) -> list[Any]:  # noqa: ANN401  # as above
    """The parts of a pattern in a row, those of its groups too."""
    nodes = list[Any]()
    for op, argument in tree:
        if op is sre.SUBPATTERN:
            nodes += flat(argument[3])
        else:
            nodes.append((op, argument))
    return nodes


def text_of(unit: tuple[str, str, str], letters: int) -> str:
    beginning, repeated, end = unit
    return beginning + repeated * (letters // len(repeated)) + end


# --- costs -------------------------------------------------------------------------------------


def run(use: Use, text: str) -> None:
    subject = text if isinstance(use.pattern.pattern, str) else text.encode("utf-8", "replace")
    for method in use.methods:
        if method in {"sub", "subn"}:
            getattr(use.pattern, method)(subject[:0], subject)
        elif method == "finditer":
            deque(use.pattern.finditer(subject), maxlen=0)
        else:
            getattr(use.pattern, method)(subject)


def cost(work: Callable[[], object]) -> int:
    begun = time.process_time_ns()
    work()
    return time.process_time_ns() - begun


@cache
def reference(letters: int) -> int:
    """The cost of as many letters of a pattern that goes through them once, letter by letter."""
    text = "ab" * (letters // 2)
    return max(1, min(cost(lambda: REFERENCE.match(text)) for _ in range(9)))


def per_letter(use: Use, unit: tuple[str, str, str], letters: int) -> float:
    text = text_of(unit, letters)
    limit = MOST_OF_A_LETTER * len(use.methods) * reference(len(text))
    costs = list[int]()
    # another process may take the cache, and a collection of garbage the time
    while len(costs) < 4 and (not costs or min(costs) > limit):
        costs.append(cost(lambda: run(use, text)))
    return min(costs) / limit


def too_slow(use: Use) -> tuple[str, str, str] | None:
    """What a text is made of whose cost grows faster than the text; None if there is none."""
    costs = dict[tuple[str, str, str], float]()
    for unit in dict.fromkeys(units(use.pattern)):
        letters = 8
        while letters <= SCREENED:
            costs[unit] = per_letter(use, unit, letters)
            if costs[unit] > 1:
                return unit
            letters *= 2
    dearest = sorted(costs, key=lambda unit: costs[unit])[-2:]
    more = (1 << 15, 1 << 17, LETTERS)
    return next((u for u, n in product(dearest, more) if per_letter(use, u, n) > 1), None)


# --- tests -------------------------------------------------------------------------------------


def use(pattern: str, *methods: str) -> Use:
    return Use("planted", re.compile(pattern), frozenset(methods or ("search",)))


@pytest.mark.parametrize("package", [*PACKAGES, "schemas"])
def test_a_pattern_takes_time_that_grows_as_a_hostile_text_does(package: str) -> None:
    uses = [use for use in all_uses() if use.package == package]
    slow = {use.where: unit for use in uses if (unit := too_slow(use)) is not None}
    assert slow == {}, (
        "each costs more a letter in a longer text made of these parts: repeat possessively, or "
        "say where a match may begin"
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
    assert too_slow(use(pattern, method)) is not None


@pytest.mark.parametrize(
    "pattern",
    [r"(?<![\w%])[\w%]++\s*+=", r"a++a", r"[a-z]+@[a-z]+\Z", r"^(?:[0-9a-f]{2})*$", "a{3,5}b"],
)
def test_a_linear_pattern_is_left_alone(pattern: str) -> None:
    assert too_slow(use(pattern, "match")) is None


def test_every_pattern_is_looked_at() -> None:
    names = {each.where for each in all_uses()}
    assert {
        "tallystick.io.text._NAME",
        "tallystick.rules.toml._STRING",
        "tallystick.canonical._KEY",
        "tallystick.formula.facts.pattern._DOUBLED",
        "tallystick_skills.axes:221:0",
        "facts-receipt-1.schema.json:^tallystick [^ ]+$",
    } <= names
    for name, tree in modules():
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.ImportFrom) and node.module == "re"), (
                f"{name}:{node.lineno}: import re itself, so that its patterns are found"
            )
            if isinstance(node, ast.Import):
                assert all(e.name != "re" or e.asname is None for e in node.names), name


def test_a_pattern_that_is_made_when_it_is_used_needs_a_sample() -> None:
    tree = ast.parse("import re\ndef f(name, text):\n    return re.search(f'{name}+', text)\n")
    with pytest.raises(AssertionError, match="write samples of it into DYNAMIC"):
        list(uses_of("planted", tree))
    assert set(DYNAMIC) <= {
        (name, inside)
        for name, tree in modules()
        for inside, node in with_function(tree)
        if of_re(node)
    }, "a sample of a pattern that is gone"
