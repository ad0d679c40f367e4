"""``tallystick simulate``: what miners would do under a rule set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import (
    EXECUTOR_NAMES,
    executor_options,
    follow_links_option,
    markdown_option,
    number_option,
    output_option,
)
from tallystick.cli.progress import progress_bar
from tallystick.cli.shown import echo, print_json, print_text, wants_json
from tallystick.errors import InputError
from tallystick.io.documents import parse_json
from tallystick_governance.cli.repetition import repeating_command

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor
    from tallystick_state.model import State

_LARGEST = 1 << 20
"""Maximum size of a line of counterexamples, in bytes."""
_ELSEWHERE = ("follow_links", "markdown", *EXECUTOR_NAMES)
"""The options that change no result."""


@command(
    "simulate",
    epilog=examples(
        "tallystick simulate mine.toml --against skills@1.2.0 -o simulated",
        "tallystick simulate workflow@1.2.0 --strategy rush -o simulated",
        "tallystick simulate mine.toml --against skills@1.2.0 --state subnet.db \\",
        "    --epochs 50 --workers 2 -o simulated",
    ),
)
@click.argument("reference", metavar="RULES")
@click.option("--against", metavar="OLD", help="The rules in force: every gain is compared.")
@click.option("--state", "where", metavar="STATE", help="Begin as the open epoch of this state.")
@number_option("seed", 0, "The seed of the first network.", least=0)
@number_option("seeds", 3, "Networks for each strategy, which differ by their seed.", most=1000)
@number_option("epochs", 12, "Epochs of a network.", most=10_000)
@number_option("miners", 16, "Miners of a network.", least=4, most=1024)
@number_option("rounds", 2, "Rounds of an epoch.", most=1000)
@click.option(
    "--type", "types", multiple=True, metavar="NAME", help="Only this skill type; repeatable."
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    metavar="NAME",
    help="Only this strategy, beside honest work; repeatable.",
)
@click.option(
    "--assumptions",
    "assumed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Costs and accuracies, as TOML; what it leaves out is as shipped.",
)
@click.option(
    "--counterexamples",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Records as `rules prove --save` writes them: each is a strategy, to answer like it.",
)
@click.option(
    "--proofs",
    "proved",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What `rules prove --json` printed of RULES or OLD: its counterexamples are strategies, "
    "and are not tried where the same is proved; repeatable.",
)
@output_option("The folder of results.")
@follow_links_option
@executor_options
@markdown_option
def simulate(  # noqa: PLR0913, PLR0917  # one argument for each option
    reference: str,
    against: str | None,
    where: str | None,
    seed: int,
    seeds: int,
    epochs: int,
    miners: int,
    rounds: int,
    types: tuple[str, ...],
    strategies: tuple[str, ...],
    assumed: Path | None,
    counterexamples: Path | None,
    proved: tuple[Path, ...],
    output: Path,
    follow_links: bool,
    executor: Executor,
    markdown: bool,
) -> None:
    """Simulate what each strategy of miners pays under RULES, beside honest work.

    In made-up networks one miner has a strategy: it rushes, does nothing, fills its lists, copies,
    splits into several hotkeys … All others do honest work. Groups, scores, reputations and weights
    are the engine's own. The best deviation is printed for each skill type, with its gain, the
    price of work and the rate of detection at which honest work pays, the mixture that miners who
    follow pay come to, and how long a newcomer takes. Costs and accuracies are assumptions: read
    the result as a change, with --against. The same seed gives the same bytes.
    """
    from tallystick.io.atomic import output_path
    from tallystick.scoring.scorer import load
    from tallystick_governance.simulation import report, text
    from tallystick_governance.simulation.proofs import read_proofs
    from tallystick_governance.simulation.study import study
    from tallystick_simulation.assumptions import read_assumptions, shipped_assumptions
    from tallystick_simulation.response import Setting

    if wants_json() and markdown:
        raise click.UsageError("found --json and --markdown, expected one of them")
    folder = output_path(output, follow_links=follow_links)
    rules = [load(name) for name in (against, reference) if name is not None]
    setting = Setting(
        miners=miners,
        epochs=epochs,
        rounds=rounds,
        seeds=seeds,
        seed=seed,
        state=None if where is None else _state(where),
    )
    assumptions = shipped_assumptions() if assumed is None else read_assumptions(assumed)
    proofs = read_proofs(proved, {bound.digest: bound.rule_set.reference for bound in rules})
    records = {} if counterexamples is None else _examples(counterexamples)
    studies = []
    for bound in rules:
        with progress_bar("simulating") as progress:
            studies.append(
                study(
                    bound,
                    setting,
                    assumptions,
                    strategies=strategies,
                    types=[name for name in types if name in bound.types or bound is rules[-1]],
                    examples={**records, **proofs.examples},
                    retired=proofs.retired(bound.digest),
                    executor=executor,
                    progress=progress,
                )
            )
    after, before = studies[-1], studies[0] if against is not None else None
    report.write(folder, after, before, command=repeating_command(_ELSEWHERE))
    if wants_json():
        print_json({**text.as_json(after, before), "folder": str(output)})
    elif markdown:
        print_text(text.as_markdown(after, before))
    else:
        print_text(text.as_text(after, before))
        echo(f"results  {output}")


def _state(where: str) -> State:
    """Return the state in which the open epoch of a store began."""
    from tallystick_state.ledger import Ledger

    with Ledger.open(where) as ledger, ledger.queries() as queries:
        return queries.state


def _examples(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a file of JSON lines, each by the name of its strategy.

    Raises:
        InputError: the file cannot be read, or a line is no record of a skill type.
    """
    records = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    for number, line in enumerate(lines, 1):
        try:
            record = parse_json(line) if len(line) <= _LARGEST else None
        except ValueError:
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("skill_type"), str):
            raise InputError(
                f"{path}:{number}: found no record, expected one as `tallystick rules prove "
                "--save` writes it"
            )
        records[f"example:{number}"] = record
    return records
