"""The folder of a simulation: its numbers, and a page for people.

::

    DIR/summary.json          the study, with the digest of the rules, the setting, every assumption
    DIR/responses.parquet     one row a rule set, skill type, strategy and network: pay and work
    DIR/report.html           for people: one file, no network

The same rules, setting and seed give the same bytes; those of the plots depend on the extra
``report``, too. The folder takes its name whole, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from tallystick.io.atomic import atomic_folder, output_errors
from tallystick.io.text import json_text
from tallystick.numbers.nano import to_decimal
from tallystick_governance import exercised
from tallystick_governance.backtest.report import environment, plots
from tallystick_governance.backtest.tables import SUM
from tallystick_governance.simulation.study import Study, TypeStudy
from tallystick_governance.simulation.text import MADE_UP, as_json, not_exercised, type_lines
from tallystick_simulation.response import Response

SUMMARY, RESPONSES, REPORT = "summary.json", "responses.parquet", "report.html"
FILES = (SUMMARY, RESPONSES, REPORT)

_SCHEMA = pa.schema(
    {
        "rule_set": pa.string(),
        "skill_type": pa.string(),
        "strategy": pa.string(),
        "seed": pa.int64(),
        "pay": SUM,
        "work": SUM,
    }
)


@attrs.frozen
class TypeSection:
    """The section of a skill type in the page.

    Attributes:
        after: the study.
        before: that of the rules in force; None without.
    """

    after: TypeStudy
    before: TypeStudy | None

    @property
    def lines(self) -> list[str]:
        """The sentences of the study, as on a terminal."""
        return [*type_lines(self.after, self.before)]

    @property
    def rows(self) -> list[tuple[Response, Response | None]]:
        """Each strategy, the largest gain first, with the same under the rules in force."""
        earlier = {} if self.before is None else {r.strategy: r for r in self.before.responses}
        ordered = sorted(self.after.responses, key=lambda response: -(response.gain or 0))
        return [(response, earlier.get(response.strategy)) for response in ordered]


def write(folder: Path, after: Study, before: Study | None = None, *, command: str = "") -> None:
    """Write the folder of a study.

    Args:
        folder: its name; an earlier simulation there is replaced.
        after: the study.
        before: that of the rules in force.
        command: how to do it again, for the reader of the page.

    Raises:
        OutputError: the folder cannot be written, or something else has its name.
    """
    summary = {**as_json(after, before), "command": command}
    texts = {
        SUMMARY: json_text(summary, indent=2, sort_keys=True) + "\n",
        REPORT: page(after, before, command),
    }
    with atomic_folder(folder, FILES) as new, output_errors(folder):
        for name, text in texts.items():
            # a path in the command may have bytes that are no text
            (new / name).write_text(text, "utf-8", "backslashreplace", newline="\n")
        pq.write_table(_table([study for study in (before, after) if study]), new / RESPONSES)


def _table(studies: Sequence[Study]) -> pa.Table:
    """Return the pay and the work of every network of some studies."""
    rows = [
        {
            "rule_set": study.reference,
            "skill_type": response.skill_type,
            "strategy": response.strategy,
            "seed": seed,
            "pay": to_decimal(pay),
            "work": to_decimal(work),
        }
        for study in studies
        for response in study.responses
        for seed, pay, work in zip(
            study.setting.all_seeds, response.own.pay, response.own.work, strict=True
        )
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def page(after: Study, before: Study | None, command: str) -> str:
    """Return the page of a study; arguments as of `write`."""
    earlier = {} if before is None else {t.skill_type: t for t in before.types}
    template = environment().get_template("simulation.html")
    return template.render(
        study=after,
        before=before,
        sections=[TypeSection(of_type, earlier.get(of_type.skill_type)) for of_type in after.types],
        made_up=MADE_UP,
        not_exercised=[*exercised.sentence(not_exercised(after, before), exercised.NETWORK)],
        plots=plots(),
        command=command,
    )
