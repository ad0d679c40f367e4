"""Counts of the code: modules, sentences, names, options and tests.

Run as a script, it prints them as a table; paths below ``engine`` and ``plugins`` limit it, and
``--list COUNT`` names the places behind one count, such as ``python tests/project/house.py
--list What plugins/tallystick_yuma``. The sources are parsed, not imported.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "engine", ROOT / "plugins")
TESTS = ROOT / "tests"

OPENINGS = (
    "What",
    "So many",
    "So",
    "It",
    "Its",
    "They",
    "Both",
    "How",
    "Whether",
    "Of",
    "By",
    "As",
    "Which",
    "Who",
    "Whose",
    "Where",
    "Why",
    "Those",
    "Some",
    "Nothing",
)
"""First words of a sentence that paraphrases a thing in place of naming it."""
DIALECT = ("found", "each", "place", "given", "said", "told", "held", "known", "shown")
"""Names of locals that tell nothing of their value."""
SHARED_NAMES = ("Step", "Row", "Difference", "Miner", "Json")
"""Names that several classes or aliases had."""
CONVERTERS = ("to_dict", "to_value", "as_json", "to_json")
"""Names of functions that make JSON of one class each."""
READERS = ("json.load", "json.loads", "msgspec.json.decode", "msgspec.json.Decoder")
"""Calls that parse JSON."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | Function
_NAME = re.compile(r"(tallystick\w*(?:\.\w+)+)(?::\w+)?")


@attrs.frozen
class Source:
    """A module, parsed.

    Attributes:
        path: its file, from the root of the checkout.
        text: its text.
        tree: its syntax tree.
    """

    path: str
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The name that the module is imported by; of a file outside the packages, its path."""
        return module_name(self.path)

    @property
    def package(self) -> str:
        """The package that the module is in; of a package, its own name."""
        package = self.path.endswith("/__init__.py")
        return self.name if package else self.name.rpartition(".")[0]


@attrs.frozen
class Sentence:
    """A docstring, or the text under a constant.

    Attributes:
        path: the file.
        line: its first line there.
        name: the qualified name of its function, class or constant; empty for a module.
        kind: ``module``, ``class``, ``function`` or ``constant``.
        text: the whole text.
    """

    path: str
    line: int
    name: str
    kind: str
    text: str

    @property
    def opening(self) -> str:
        """The entry of `OPENINGS` that the text begins with, else an empty text."""
        first, second = [*re.findall(r"[\w'-]+", self.text[:80]), "", ""][:2]
        pair = f"{first} {second}"
        return pair if pair in OPENINGS else first if first in OPENINGS else ""

    @property
    def place(self) -> str:
        """File, line, name and first line, for a message."""
        return f"{self.path}:{self.line} {self.name}: {self.text.strip().splitlines()[0]}"


def module_name(path: str) -> str:
    """Return the name that a file of the packages is imported by; of another file, its path."""
    top, *parts = path.removesuffix(".py").split("/")
    if top not in {folder.name for folder in SOURCES}:
        return path
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def paths_of(*folders: Path) -> list[str]:
    """Return the paths of the modules of folders and files, from the root, sorted."""
    paths = [path for top in folders for path in ([top] if top.is_file() else top.rglob("*.py"))]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


@cache
def read_sources(*folders: Path) -> tuple[Source, ...]:
    """Return the modules of folders and files, else of all packages, sorted by path."""
    texts = {path: (ROOT / path).read_text("utf-8") for path in paths_of(*(folders or SOURCES))}
    return tuple(Source(path, text, ast.parse(text)) for path, text in texts.items())


def definitions(node: ast.AST) -> Iterator[Definition]:
    """Yield the functions and classes of a body, also those under an ``if`` or a ``with``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from definitions(child)


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield the outermost functions and methods of a tree with their qualified names."""
    for inner in definitions(node):
        if isinstance(inner, ast.ClassDef):
            yield from functions(inner, f"{prefix}{inner.name}.")
        else:
            yield f"{prefix}{inner.name}", inner


def sentences(source: Source) -> Iterator[Sentence]:
    """Yield the docstrings of a module, and the texts under its constants and attributes."""
    yield from _sentences(source.path, source.tree, "", "module")


def _sentences(
    path: str, node: ast.Module | Definition, name: str, kind: str
) -> Iterator[Sentence]:
    """Yield the texts of one definition, then those of the definitions inside."""
    prefix = f"{name}." if name else ""
    constant = ""
    for index, statement in enumerate(node.body):
        match statement:
            case ast.Expr(value=ast.Constant(value=str(text))) if index == 0:
                yield Sentence(path, statement.lineno, name, kind, text)
            case ast.Expr(value=ast.Constant(value=str(text))) if constant:
                yield Sentence(path, statement.lineno, prefix + constant, "constant", text)
        match statement:
            case (
                ast.AnnAssign(target=ast.Name(id=constant))
                | ast.Assign(
                    targets=[ast.Name(id=constant) | ast.Tuple(elts=[ast.Name(id=constant), *_])]
                )
            ):
                pass
            case _:
                constant = ""
    for inner in definitions(node):
        own = "class" if isinstance(inner, ast.ClassDef) else "function"
        yield from _sentences(path, inner, prefix + inner.name, own)


def dialect_locals(source: Source) -> Iterator[str]:
    """Yield each local of `DIALECT`, once a function, with its place."""
    for name, function in functions(source.tree):
        stored = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        stored |= {str(node.name) for node in ast.walk(function) if isinstance(node, ast.MatchAs)}
        for word in sorted(stored & {*DIALECT}):
            yield f"{source.path}:{function.lineno} {name}: {word}"


def tokens(source: Source) -> list[tokenize.TokenInfo]:
    """Return the tokens of a module."""
    return list(tokenize.generate_tokens(io.StringIO(source.text).readline))


def lines_of_code(source: Source) -> int:
    """Return how many lines are neither blank nor of a comment, a docstring or such a text."""
    texts = {
        line
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    blank = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
    lines = {
        line
        for token in tokens(source)
        if tokenize.tok_name[token.type] not in blank
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - texts)


def imports(tree: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield every module that a source imports, or names in a string, wherever that stands.

    Args:
        tree: the source.
        modules: the names of modules; ``from package import name`` imports the module of that name
            where there is one, else the package.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(value)) if (named := _NAME.fullmatch(value)) and (
                named[1] in modules
            ):
                yield named[1]
            case _:
                yield from imported(node, modules)


def imported(node: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield the modules that one import statement imports; nothing for another node."""
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            assert not level, f"a relative import hides its layer: line {node.lineno}"
            inner = (f"{module}.{alias.name}" for alias in aliases)
            yield from (name if name in modules else str(module) for name in inner)


def importers(sources: Sequence[Source]) -> dict[str, set[str]]:
    """Return, by module, the modules that import it or name it in a string."""
    names = {source.name for source in sources}
    users = defaultdict[str, set[str]](set)
    for source in sources:
        for name in imports(source.tree, names):
            if name in names and name != source.name:
                users[name].add(source.name)
    return users


def fragments(sources: Sequence[Source]) -> dict[str, str]:
    """Return the modules with one importer that is a module of the same folder, by that importer.

    Args:
        sources: every module of the project, as an importer may be anywhere.
    """
    modules = {source.name: source for source in sources}
    single = {
        name: next(iter(users)) for name, users in importers(sources).items() if len(users) == 1
    }
    return {
        name: user
        for name, user in sorted(single.items())
        if modules[name].package == modules[user].package != name
        and not modules[user].path.endswith("/__init__.py")
    }


def private_functions(source: Source) -> Iterator[tuple[str, int]]:
    """Yield the private functions and methods of a module, and how often its code names each."""
    names = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    for name, function in functions(source.tree):
        if function.name.startswith("_") and not function.name.startswith("__"):
            yield f"{source.path}:{function.lineno} {name}", names[function.name]


def names_of_classes(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the name and the place of each class and of each alias of `SHARED_NAMES`."""
    for node in ast.walk(source.tree):
        match node:
            case ast.ClassDef(name=name):
                yield name, f"{source.path}:{node.lineno} {name}"
            case ast.Assign(targets=[ast.Name(id=name)]) if name in SHARED_NAMES:
                yield name, f"{source.path}:{node.lineno} {name}"


def options(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the flag and the place of each option of a command that the module declares."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="option" | "Option") | ast.Name(id="option"), args=arguments
            ):
                texts = [text for argument in arguments for text in _texts(argument)]
                flags = [text for text in texts if text.startswith("--")]
                if flags:
                    yield flags[0], f"{source.path}:{node.lineno} {flags[0]}"


def _texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def calls(source: Source, names: Collection[str]) -> Iterator[str]:
    """Yield the place of each call of a function that is named as here, such as ``json.loads``."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in names:
            yield f"{source.path}:{node.lineno} {name}"


def places(sources: Sequence[Source], project: Sequence[Source]) -> dict[str, list[str]]:
    """Return the places of everything that is counted, by the name of its count.

    Args:
        sources: the modules that are looked at.
        project: every module of the project.
    """
    names = {source.name for source in sources}
    texts = [text for source in sources for text in sentences(source)]
    found: dict[str, list[str]] = {
        "modules": [source.path for source in sources],
        "modules with one importer, of the same folder": [
            f"{name} by {user}" for name, user in fragments(project).items() if name in names
        ],
    }
    private = [entry for source in sources for entry in private_functions(source)]
    found["private functions"] = [place for place, _ in private]
    found["private functions used once"] = [place for place, uses in private if uses <= 1]
    found["docstrings and texts of constants"] = [text.place for text in texts]
    for opening in OPENINGS:
        found[opening] = [text.place for text in texts if text.opening == opening]
    found["locals of the dialect"] = [
        place for source in sources for place in dialect_locals(source)
    ]
    classes = [entry for source in sources for entry in names_of_classes(source)]
    times = Counter(name for name, _ in classes)
    found["classes"] = [place for _, place in classes]
    found["classes that share a name"] = [place for name, place in classes if times[name] > 1]
    for shared in SHARED_NAMES:
        found[shared] = [place for name, place in classes if name == shared]
    declared = [entry for source in sources for entry in options(source)]
    found["options declared"] = [place for _, place in declared]
    found["options of different names"] = sorted({flag for flag, _ in declared})
    found["converters to JSON"] = [
        f"{source.path}:{function.lineno} {name}"
        for source in sources
        for name, function in functions(source.tree)
        if function.name in CONVERTERS
    ]
    found["readers of JSON"] = [place for source in sources for place in calls(source, READERS)]
    found["examples (>>>)"] = [
        f"{text.path}:{text.line} {text.name}"
        for text in texts
        for line in text.text.splitlines()
        if line.lstrip().startswith(">>> ")
    ]
    found["comments"] = [
        f"{source.path}:{token.start[0]}"
        for source in sources
        for token in tokens(source)
        if token.type == tokenize.COMMENT
    ]
    return found


def table(sources: Sequence[Source], found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the lines of the table of counts."""
    lines = sum(len(source.text.splitlines()) for source in sources)
    code = sum(lines_of_code(source) for source in sources)
    once, private = len(found["private functions used once"]), len(found["private functions"])
    yield "| count | of it |"
    yield "|---|---|"
    yield f"| lines | {lines} |"
    yield f"| lines of code | {code} |"
    yield f"| lines of code for each comment | {code / max(1, len(found['comments'])):.0f} |"
    yield f"| private functions used once, percent | {100 * once / max(1, private):.0f} |"
    for name, entries in found.items():
        yield f"| {name} | {len(entries)} |"


def count_tests() -> tuple[int, int, int]:
    """Return the lines of the tests' modules, the tests that always run, and the slow ones."""
    lines = sum(len(source.text.splitlines()) for source in read_sources(TESTS))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n0", "--no-header"]
    run = subprocess.run(
        [*command, "-v", "-p", "no:randomly", str(TESTS)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    summary = re.search(r"(\d+)/\d+ tests collected \((\d+) deselected\)", run.stdout)
    assert summary, f"found no summary of a collection in {run.stdout[-200:]!r}"
    return lines, int(summary[1]), int(summary[2])


def main() -> None:
    """Print the counts, or the places of one of them."""
    parser = argparse.ArgumentParser(description="Print counts of the code as a table.")
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders, else all")
    parser.add_argument("--list", metavar="COUNT", help="print the places behind one count")
    parser.add_argument("--tests", action="store_true", help="count the tests too, in a minute")
    arguments = parser.parse_args()
    project = read_sources()
    sources = project
    if arguments.paths:
        sources = read_sources(*(path.resolve() for path in arguments.paths))
    found = places(sources, project)
    if arguments.list is not None:
        if arguments.list not in found:
            parser.error(f"found no count {arguments.list!r}, expected one of {', '.join(found)}")
        print(*found[arguments.list], sep="\n")
        return
    print(*table(sources, found), sep="\n")
    if arguments.tests:
        lines, default, slow = count_tests()
        print(f"| lines of tests | {lines} |\n| tests | {default} |\n| slow tests | {slow} |")


if __name__ == "__main__":
    main()
