"""``tallystick rules paths``: what of a rule set can be set, with value, range and meaning."""

from __future__ import annotations

import attrs
import click

from tallystick.cli.command import examples
from tallystick.cli.options import as_json
from tallystick.cli.shown import echo, print_json, table_lines

_LONGEST = 30


@click.command(
    "paths",
    epilog=examples(
        "tallystick rules paths skills@1.1.0",
        "tallystick rules paths skills@1.1.0 multiplier",
    ),
)
@click.argument("reference", metavar="RULES")
@click.argument("word", required=False)
@as_json
def paths_command(reference: str, word: str | None, as_json: bool) -> None:
    """List the paths of RULES that rules set and --sweep take, with value, range and meaning.

    With WORD only those that have it in the path or in the meaning. A number can be swept; a text,
    and true or false, can be set alone.
    """
    from tallystick.errors import TallystickError
    from tallystick.plugins.registry import installed_plugins
    from tallystick.rules.loading import load
    from tallystick.rules.settable import settable_paths

    loaded = load(reference, installed_plugins(), lookup=True)
    every = settable_paths(loaded, loaded.registry)
    found = [each for each in every if word is None or each.names(word)]
    if not found:
        raise TallystickError(
            f"found no path with {word!r} among the {len(every)} of {loaded.rule_set.reference}, "
            "expected a word of one: without WORD all are listed"
        )
    if as_json:
        rows = [attrs.asdict(each) | {"sweep": each.can_be_swept} for each in found]
        print_json({"rule_set": loaded.rule_set.reference, "paths": rows})
        return
    cells = [(each.path, _cut(each.value), each.range, each.meaning) for each in found]
    echo(*table_lines(("path", "value", "range", "meaning"), cells))


def _cut(value: str | None) -> str:
    """Return a value as the cell of a table; --json has all of it."""
    if value is None:
        return "several"
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
