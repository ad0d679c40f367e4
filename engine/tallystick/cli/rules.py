"""``tallystick rules``: list, show, check and digest rule sets, and list what can be set."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import examples
from tallystick.cli.log import tell_refusal
from tallystick.cli.open_group import OpenGroup
from tallystick.cli.progress import working
from tallystick.cli.shown import echo, print_json, show, table_lines, wants_json
from tallystick.errors import RuleSetError, TallystickError
from tallystick.json_values import error_value, json_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.plugins.registry import Registry

_LONGEST = 30
"""Maximum letters of a value in the table of paths."""
argument = click.argument("reference", metavar="RULES")


@click.group(cls=OpenGroup, path=("rules",))
def rules() -> None:
    """Rule sets: list, show, check, digest, lint, prove, diff, paths, set.

    RULES is name@version, a path, or a sha256: digest; the first two can be pinned to a digest
    with @sha256:….
    """


@rules.command(
    "list",
    epilog=examples(
        "tallystick rules list",
    ),
)
def list_command() -> None:
    """The rule sets that are installed, with their digests; exit status 1 if one does not load."""
    from tallystick.plugins.registry import installed
    from tallystick.rules.loading import shipped

    registry = installed()
    rows = [_listed(name, registry) for name in shipped(registry)]
    show({"rule_sets": rows}, _lines(rows))
    sys.exit(1 if any("error" in row for row in rows) else 0)


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    width = max((len(row["name"]) for row in rows), default=0) + 2
    if rows:
        yield f"{'rule set':{width}} digest, and what it is for"
    for row in rows:
        yield f"{row['name']:{width}} {row.get('digest') or 'error: ' + row['error']}"
        if row.get("summary"):
            yield f"{'':{width}} {' '.join(row['summary'].splitlines())}"


@rules.command(
    "show",
    epilog=examples(
        "tallystick rules show skills@1.2.0",
    ),
)
@argument
def show_command(reference: str) -> None:
    """The rule set with the formulas that it uses, as text.

    With --json its canonical form, which the digest covers, and the trees of its formulas and
    requirements, from which any language can score.
    """
    from tallystick.canonical import canonical_bytes
    from tallystick.cli.rule_text import lines_of, view_of
    from tallystick.rules.digest import canonical_form
    from tallystick.scoring.scorer import load
    from tallystick.scoring.trees import trees_of

    scorer = load(reference, lookup=True)
    if wants_json():
        form = json.loads(canonical_bytes(canonical_form(scorer.rule_set, scorer.registry)))
        shown = {"digest": scorer.digest, "canonical": form, **trees_of(scorer)}
        # what a section adds takes the place of nothing
        print_json({**shown, **view_of(scorer), **shown})
    else:
        echo(*lines_of(scorer))


@rules.command(
    "check",
    epilog=examples(
        "tallystick rules check mine.toml",
    ),
)
@argument
def check_command(reference: str) -> None:
    """Load RULES and prove its formulas; exit status 1 with every problem that was found.

    The exit status is 2 when there is no such file, or it cannot be read.
    """
    from tallystick.plugins.registry import installed_plugins
    from tallystick.rules.loading import find
    from tallystick.rules.section import sections_of
    from tallystick.scoring.scorer import load

    resolved = find(reference, installed_plugins())
    try:
        with working("proving the formulas"):
            scorer = load(reference)
            for section, _ in sections_of(scorer.rule_set):
                section.asked("the proof", partial(section.prove, scorer))
    except RuleSetError as error:
        if not resolved.is_readable:
            raise
        if wants_json():
            print_json({"valid": False, **error_value(error)})
        else:
            tell_refusal(str(error))
        sys.exit(1)
    result = {"valid": True, "rule_set": scorer.rule_set.reference, "digest": scorer.digest}
    show(result, [f"{result['rule_set']} is valid", scorer.digest])


@rules.command(
    "digest",
    epilog=examples(
        "tallystick rules digest skills@1.2.0",
    ),
)
@argument
def digest_command(reference: str) -> None:
    """Print the digest of the meaning of RULES: its values and formulas, not its spelling.

    With --json also the digests of the code: the files of the engine and of the plugins that it
    names, and the versions of the libraries they use.
    """
    from tallystick.plugins.code import Code
    from tallystick.plugins.registry import installed_plugins
    from tallystick.rules.loading import load

    loaded = load(reference, installed_plugins(), lookup=True)
    if wants_json():
        code = Code.of(loaded.registry, loaded.rule_set.sections)
        named = {"rule_set": loaded.rule_set.reference, "digest": loaded.digest}
        print_json({**named, "code": {**json_value(code), "sections": dict(code.sections)}})
    else:
        echo(loaded.digest)


def _listed(name: str, registry: Registry) -> dict[str, Any]:
    from tallystick.rules.loading import load

    try:
        loaded = load(name, registry)
    except TallystickError as error:
        return {"name": name, "error": str(error)}
    summary = loaded.rule_set.rule_set.summary
    return {"name": name, "digest": loaded.digest, "summary": summary, "path": str(loaded.path)}


@rules.command(
    "paths",
    epilog=examples(
        "tallystick rules paths skills@1.2.0",
        "tallystick rules paths skills@1.2.0 multiplier",
    ),
)
@click.argument("reference", metavar="RULES")
@click.argument("word", required=False)
def paths_command(reference: str, word: str | None) -> None:
    """List the paths of RULES that rules set and --sweep take, with value, range and meaning.

    With WORD only those that have it in the path or in the meaning. A number can be swept; a text,
    and true or false, can be set alone.
    """
    import attrs

    from tallystick.plugins.registry import installed_plugins
    from tallystick.rules.loading import load
    from tallystick.rules.settable import settable_paths

    loaded = load(reference, installed_plugins(), lookup=True)
    every = settable_paths(loaded, loaded.registry)
    paths = [path for path in every if word is None or path.names(word)]
    if not paths:
        raise TallystickError(
            f"found no path with {word!r} among the {len(every)} of {loaded.rule_set.reference}, "
            "expected a word of one: without WORD all are listed"
        )
    rows = [attrs.asdict(path) | {"sweep": path.can_be_swept} for path in paths]
    cells = [(path.path, _cut(path.value), path.range, path.meaning) for path in paths]
    lines = table_lines(("path", "value", "range", "meaning"), cells)
    show({"rule_set": loaded.rule_set.reference, "paths": rows}, lines)


def _cut(value: str | None) -> str:
    """Return a value as the cell of a table; --json has all of it."""
    if value is None:
        return "several"
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
