"""The consensus of a file of groups, and the records of these groups with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import OutputError
from tallystick.io.atomic import OutputFile, atomic_files, output_path, output_place
from tallystick.io.streams import STANDARD, standard_error, standard_output
from tallystick.io.text import json_text
from tallystick.json_values import json_value
from tallystick.records.defects import DefectLog
from tallystick.records.rejects import Reject
from tallystick_consensus.join import Join
from tallystick_consensus.run import GroupFile, GroupScorer

if TYPE_CHECKING:
    from tallystick.scoring.bound_rules import BoundRules
    from tallystick_consensus.group import GroupConsensus

_REJECTS = ".rejects.jsonl"


@attrs.frozen
class ConsensusPaths:
    """Paths that are read and written.

    Attributes:
        groups: the groups that are read.
        output: a line for each of them; ``-`` is the standard output.
        rejects: why others have none; by default beside the output, or the error output.
        reruns: whose submissions are to be run again, if that is wanted.
        records: the records of the groups, if there are any.
        filled: where these go with their consensus; by default beside the output. Rejected ones
            are told beside it.
    """

    groups: Path
    output: Path
    rejects: Path | None = None
    reruns: Path | None = None
    records: Path | None = None
    filled: Path | None = None

    def written(self, *, follow_links: bool) -> dict[str, Path]:
        """Return the files that are written, by what they hold; the output is the last.

        Raises:
            OutputError: two of all files are one, or one has no name of a file.
        """
        beside = {} if self.output == STANDARD else {"rejects": _beside(self.output, _REJECTS)}
        outputs = beside if self.rejects is None else {"rejects": self.rejects}
        if self.reruns is not None:
            outputs["reruns"] = self.reruns
        if self.records is not None:
            if self.filled is None and self.output == STANDARD:
                raise OutputError("-: found no name for the records, expected one beside -o -")
            filled = self.filled or _beside(self.output, ".records.jsonl")
            outputs |= {"filled": filled, "refused": _beside(filled, _REJECTS)}
        if self.output != STANDARD:
            outputs["output"] = self.output
        read = [path for path in (self.groups, self.records) if path not in (None, STANDARD)]
        places = [output_place(path) for path in (*outputs.values(), *filter(None, read))]
        if len(set(places)) < len(places):
            raise OutputError(
                f"{self.output}: found two of all inputs and outputs in one file, expected a file "
                "for each"
            )
        return {
            what: output_path(path, follow_links=follow_links) for what, path in outputs.items()
        }


@attrs.define
class ConsensusCounts:
    """Numbers of groups and records.

    Attributes:
        groups: those that are no rejects.
        without: those of them that have too few valid members.
        breakdowns: those of them that broke down.
        diverging: members that diverge.
        rejected: lines that are no groups.
        records: records that were read; None where there were none to read.
        filled: those of them that got a consensus.
        records_rejected: those of them that contradict their group, or are no records.
        internal_errors: rejects on which the engine fails.
    """

    groups: int = 0
    without: int = 0
    breakdowns: int = 0
    diverging: int = 0
    rejected: int = 0
    records: int | None = None
    filled: int = 0
    records_rejected: int = 0
    internal_errors: int = 0


def consensus_file(
    rules: BoundRules, paths: ConsensusPaths, *, seed: str = "", follow_links: bool = False
) -> ConsensusCounts:
    """Write the consensus of every group of a file, whole or not at all.

    Args:
        rules: of the epochs that groups name.
        paths: what is read and written.
        seed: of the draw among those whose submission may be run again.
        follow_links: whether the name of an output may be a link.

    Raises:
        RuleSetError: no rules have a consensus.
        InputError: a file cannot be read.
        OutputError: a file cannot be written; nothing is left under its final name.
    """
    # two groups of one record would leave open which consensus it gets
    scorer = GroupScorer(rules, seed, unique=paths.records is not None)
    counts = ConsensusCounts()
    join = Join() if paths.records is not None else None
    with _opened(paths.written(follow_links=follow_links)) as files:
        defects = DefectLog(paths.groups)
        for group in scorer.each(GroupFile(paths.groups).lines()):
            if isinstance(group, Reject):
                counts.rejected += 1
                files["rejects"].write(group.to_json() + b"\n")
                defects.tell([group])
                continue
            _count(group, counts)
            files["output"].write(json_text(json_value(group)).encode() + b"\n")
            if "reruns" in files and group.rerun:
                files["reruns"].write(json_text(group.rerun_request()).encode() + b"\n")
            if join is not None:
                join.add(group)
        defects.close()
        counts.internal_errors = defects.count
        if join is not None and paths.records is not None:
            _fill(paths.records, join, rules, files, counts)
    return counts


def _count(found: GroupConsensus, counts: ConsensusCounts) -> None:
    counts.groups += 1
    counts.without += not any(member.components for member in found.members)
    counts.breakdowns += found.breakdown
    counts.diverging += sum(member.diverging for member in found.members)


def _fill(
    records: Path,
    join: Join,
    rules: BoundRules,
    files: dict[str, OutputFile],
    counts: ConsensusCounts,
) -> None:
    from tallystick.scoring.sources import source_of  # loads NumPy

    defects, counts.records = DefectLog(records), 0
    for chunk in source_of(records):
        items = chunk.items()
        numbered = enumerate(items, chunk.first)
        for number, item, decoded in join.filled(numbered, rules.decoder):
            counts.records += 1
            if isinstance(decoded, Reject):
                counts.records_rejected += 1
                files["refused"].write(decoded.to_json() + b"\n")
                defects.tell([decoded])
                continue
            counts.filled += item is not items[number - chunk.first]
            line = item if isinstance(item, bytes) else json_text(item).encode()
            files["filled"].write(line + b"\n")
    defects.close()
    counts.internal_errors += defects.count


def _beside(path: Path, ending: str) -> Path:
    if not path.name:
        raise OutputError(f"{path}: a folder, expected the name of a file to write")
    return path.with_name(f"{path.name}{ending}")


@contextmanager
def _opened(paths: dict[str, Path]) -> Iterator[dict[str, OutputFile]]:
    """The files by what they hold, which take their names together; the output is the last."""
    streams: dict[str, OutputFile] = {"output": standard_output(), "rejects": standard_error()}
    with atomic_files(*paths.values()) as files:
        yield streams | dict(zip(paths, files, strict=True))
