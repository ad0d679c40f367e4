"""The scorer: rules, ready to score. This is what a validator embeds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import InputError, RecordError, TallystickError
from tallystick.formula.facts import attribute_name
from tallystick.io.paths import PathLike
from tallystick.io.sources import item_of
from tallystick.numbers.nano import exact_nano, to_decimal
from tallystick.plugins.registry import Registry, installed_plugins, with_modules
from tallystick.records.defects import DefectLog, internal_errors
from tallystick.records.identity import identity_of
from tallystick.records.rejects import Reject
from tallystick.records.struct_builder import Record, is_answered
from tallystick.rules.loading import load as load_rule_set
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules, bind_rules, without_rules
from tallystick.scoring.result import Result, shown_measure
from tallystick.scoring.scores import Scores, score_facts, thresholds_of
from tallystick.scoring.threshold_snapshots import Snapshots, ThresholdSnapshot

if TYPE_CHECKING:
    from tallystick.records.decoding import Decoded, Item
    from tallystick.scoring.executors.executor import Executor
    from tallystick.scoring.explanation import Explanation
    from tallystick.scoring.facts.results import ChunkScorer
    from tallystick.scoring.receipt import Receipt
    from tallystick.scoring.run_files import Progress
    from tallystick.scoring.table import ResultTable

_LOG = logging.getLogger(__name__)

RecordLike = Mapping[str, Any] | str | bytes
"""A record: a mapping of JSON values, or a line of JSON."""
Number = Decimal | int | str
"""An exact number of at most nine places; floats are not exact."""


def load(
    reference: PathLike,
    *,
    registry: Registry | None = None,
    modules: Mapping[str, str] | None = None,
    lookup: bool = False,
) -> Scorer:
    """Load, check and bind a rule set.

    Args:
        reference: ``name@version``, a path, or a ``sha256:`` digest; the first two can be pinned
            as ``…@sha256:…``. An ``os.PathLike`` is always a path.
        registry: the plugins to use; by default the installed ones, of which those are imported
            that the rule set names.
        modules: by the name of a plugin, a module that is used for it beside the installed ones,
            installed or not: ``{"acme": "acme_rules.plugin"}``. Without ``registry`` alone.
        lookup: whether nothing is scored, so that a digest may be shortened to 12 digits.

    Raises:
        InputError: the reference is neither text nor a path.
        RuleSetError: the rule set does not load; ``problems`` holds everything that was found.

    >>> import tallystick
    >>> tallystick.load("skills@1.1.0").rule_set.reference
    'skills@1.1.0'
    """
    plugins = registry or (with_modules(modules) if modules else installed_plugins())
    loaded = load_rule_set(reference, plugins, lookup=lookup)
    return bind(loaded, loaded.registry)


def bind(loaded: LoadedRuleSet, registry: Registry) -> Scorer:
    """Bind a rule set that is loaded.

    Raises:
        RuleSetError: its formulas, types and schemas do not fit; ``problems`` holds all of it.
    """
    return Scorer.of(bind_rules(loaded, registry))


@attrs.frozen(eq=False, slots=False, repr=False)
class Scorer(BoundRules):
    """A rule set, and those that hold in its place later, ready to score records."""

    @classmethod
    def of(cls, rules: BoundRules) -> Scorer:
        """Return the scorer of bound rules."""
        return cls(**{field.name: getattr(rules, field.name) for field in attrs.fields(BoundRules)})

    def with_thresholds(self, thresholds: Mapping[str, Mapping[str, Number]]) -> Scorer:
        """The same rule set with other tier thresholds for some types, such as those of a state.

        Args:
            thresholds: by skill type, thresholds by name; those that are left out follow from the
                baseline, which is the seed if it is left out too.

        Raises:
            TallystickError: a skill type or a threshold is unknown, or this is no such mapping.
        """
        nano: dict[str, dict[str, int]] = {}
        for name, own in _of_kind(thresholds, Mapping, "thresholds by skill type").items():
            _of_kind(own, Mapping, f"thresholds of {name} by name")
            nano[name] = {threshold: exact_nano(value) for threshold, value in own.items()}
        for name in nano:
            if not any(name in rules.types for _, rules in self.spans()):
                _bound_type(self, name)
        moved = self.timeline.map(lambda rules: _with_thresholds(rules, nano))
        return attrs.evolve(self, thresholds=moved.first.thresholds, later=moved.later)

    def with_snapshots(self, snapshots: Mapping[int, ThresholdSnapshot]) -> Scorer:
        """The same rule set, where a record is scored by the snapshot of the epoch that it names.

        Records of other epochs are scored by ``thresholds``, and so are types that a snapshot
        leaves out.

        Args:
            snapshots: by epoch, in place of any before; thresholds of a type that are left out
                follow from the baseline, which is the seed if it is left out too. A snapshot is
                asked for when the first record names its epoch; if it has an unknown skill type or
                threshold, a TallystickError is raised then.
        """
        return attrs.evolve(self, pinned=Snapshots(snapshots, self._completed))

    def score(self, record: RecordLike, *, line: int = 1) -> Result:
        """Return the result of one record.

        Raises:
            RecordError: the record cannot be scored; it has a code, a path and an expectation.
        """
        with internal_errors():
            _, result, _ = self._scored(item_of(record), line)
            return result

    def score_many(self, records: Iterable[RecordLike]) -> Iterator[Result | Reject]:
        """Return the result of each record, or why it was rejected, in order.

        Raises:
            InputError: what is given is no iterable of records; one record is none.
        """
        if isinstance(records, str | bytes | Mapping):
            raise InputError(f"found one {type(records).__name__}, expected an iterable of records")
        return self._score_each(_of_kind(records, Iterable, "an iterable of records"))

    def _score_each(self, records: Iterable[RecordLike]) -> Iterator[Result | Reject]:
        defects = DefectLog("records")
        try:
            for number, record in enumerate(records, 1):
                try:
                    result: Result | Reject = self.score(record, line=number)
                except RecordError as error:
                    result = Reject.of(error, number, identity_of(item_of(record)))
                    defects.tell([result])
                yield result
        finally:
            defects.close()

    def score_file(  # noqa: PLR0913  # what a run needs
        self,
        source: PathLike,
        output: PathLike,
        *,
        format_name: str | None = None,
        rejects: PathLike | None = None,
        receipt: PathLike | None = None,
        follow_links: bool = False,
        progress: Progress | None = None,
        executor: Executor | None = None,
        settings: str | None = None,
    ) -> Receipt:
        """Score a JSONL file of records, or their facts, or a folder of them, into results.

        Args:
            source: the records; those of a folder are numbered over all its files in name order.
                ``-`` is the standard input.
            output: where the results go; rejects and a receipt go beside it. ``-`` is the standard
                output; then rejects go to the error output, and the receipt nowhere.
            format_name: ``jsonl``, ``parquet`` or ``csv``; by default by the name of the output.
            rejects: where rejected records go instead.
            receipt: where the receipt goes instead.
            follow_links: whether the name of an output may be a link; what it leads to is written.
            progress: told after every chunk how many bytes of how many were read.
            executor: who scores the records, such as ``Local(2)``; by default this process, and the
                files are the same.
            settings: the settings file that counted, for the receipt. A program has none, as only
                commands read one.

        Raises:
            InputError: the file cannot be read.
            OutputError: a file cannot be written; nothing is left under its final name.
            EngineError: the workers cannot be used; as above.
        """
        from tallystick.scoring.executors.executor import InProcess
        from tallystick.scoring.run import score_run  # loads NumPy
        from tallystick.scoring.run_files import run_files

        with run_files(
            source, output, rejects, receipt, follow_links=follow_links, progress=progress
        ) as files:
            result = score_run(self, files, format_name, executor or InProcess(), settings)
        counts = attrs.asdict(result.counts)
        _LOG.info("scored a file", extra={"source": source, "output": output, **counts})
        return result

    def score_lines(self, lines: Sequence[bytes], first: int = 1) -> ResultTable:
        """The results of consecutive lines of JSON, as columns; ``first`` is the first's number."""
        return _told(self.score_decoded(self.decoder.records(lines, first), lines, first))

    def score_decoded(
        self, records: Iterable[tuple[int, Decoded]], items: Sequence[Item], first: int = 1
    ) -> ResultTable:
        """Return the results of records that are decoded, as columns.

        Args:
            records: what ``decoder`` made of the items, or of some of them, with their numbers in
                order; it is read once.
            items: consecutive lines or mappings.
            first: the number of the first.
        """
        return self._columns.records(records, items, first)

    def explain(self, record: RecordLike, *, line: int = 1) -> Explanation:
        """Return every step behind the result of one record.

        Raises:
            RecordError: the record cannot be scored.
        """
        from tallystick.scoring.explanation import Explanation, explain

        with internal_errors():
            rules, result, scores = self._scored(item_of(record), line)
            own = rules.line_of(result.skill_type)
            start = Explanation(result, own.rule_set.reference, own.digest)
            return start if scores is None else explain(scores, start)

    @cached_property
    def _columns(self) -> ChunkScorer:
        from tallystick.scoring.facts.results import ChunkScorer  # loads NumPy

        return ChunkScorer(self)

    def _scored(self, item: Item, line: int) -> tuple[BoundRules, Result, Scores | None]:
        """Return the rules, the result and the scores of a record; None without a submission."""
        decoded, scores = self.decoder.decode(item, line), None
        if isinstance(decoded, Reject):
            raise decoded.to_error()
        rules = self.rules_at(decoded.epoch)
        if decoded.skill_type not in rules.types:
            raise without_rules(decoded.skill_type, decoded.epoch, rules.types)
        bound, answered = rules.types[decoded.skill_type], is_answered(decoded)
        facts = bound.facts_of(decoded) if answered else bound.task_facts_of(decoded)
        bound.check(facts, item, answered=answered)
        if answered:
            thresholds = self.thresholds_at(decoded.skill_type, decoded.epoch)
            scores = score_facts(bound, facts, thresholds)
        return rules, self._result(decoded, line, bound, scores), scores

    def _result(
        self, decoded: Record, line: int, bound: BoundType, scores: Scores | None
    ) -> Result:
        """Return the result of a record; without scores, of one without a submission."""
        values: dict[str, Any] = {"axes": {}, "measures": {}}
        if scores is not None:
            values = _values(bound, scores)
        if not self.layout.measures:
            values["measures"] = None
        # every row of a rule set has the same fields
        factors: dict[str, Any] = values.pop("factors", {})
        return Result(
            record=line,
            skill_type=decoded.skill_type,
            task_id=decoded.task_id,
            miner_uid=decoded.miner.uid,
            miner_hotkey=decoded.miner.hotkey,
            role=decoded.role,
            group=None if bound.group is None else getattr(decoded, attribute_name(bound.group)),
            factors={name: factors.get(name) for name in self.layout.factors},
            **values,
        )

    def _completed(self, epoch: int, snapshot: ThresholdSnapshot) -> ThresholdSnapshot:
        rules, before = self.rules_at(epoch), [s for begin, s in self.spans() if begin <= epoch]
        completed = {
            name: thresholds_of(
                _bound_type(rules, name),
                nano,
                (s.types[name] for s in before if name in s.types),
            )
            for name, nano in snapshot.thresholds.items()
        }
        return attrs.evolve(snapshot, thresholds=completed)


def _bound_type(rules: BoundRules, skill_type: str) -> BoundType:
    if skill_type not in rules.types:
        raise TallystickError(
            f"found the skill type {skill_type!r}, expected one of {', '.join(rules.types)}"
        )
    return rules.types[skill_type]


def _with_thresholds(rules: BoundRules, given: Mapping[str, Mapping[str, int]]) -> BoundRules:
    """Return the same rules with other thresholds for those of the types that they have."""
    own = {name: nano for name, nano in given.items() if name in rules.types}
    changed = {name: thresholds_of(rules.types[name], nano) for name, nano in own.items()}
    return attrs.evolve(rules, thresholds={**rules.thresholds, **changed})


def _told(table: ResultTable) -> ResultTable:
    """Return the table, whose defects are told."""
    defects = DefectLog("records")
    defects.tell(table.rejects)
    defects.close()
    return table


def _values(bound: BoundType, scores: Scores) -> dict[str, Any]:
    """Return the fields of a result that scores give."""
    decimals, factors = dict[str, Any](), dict[str, Any]()
    for value in bound.shown:
        if value.role not in {"axis", "measure", "tier"}:
            nano = scores.values[value]
            fields = factors if value.role == "factor" else decimals
            fields[value.field] = None if nano is None else to_decimal(nano)
    # sorted, as the order of the file is no part of the digest
    axes = {name: to_decimal(nano) for name, nano in sorted(scores.axes.items())}
    tier = None if scores.level is None or bound.tiers is None else bound.tiers.levels[scores.level]
    measures = {name: shown_measure(scores.measures[name]) for name in sorted(scores.measures)}
    return {"axes": axes, "measures": measures, "tier": tier, "factors": factors, **decimals}


def _of_kind(found: Any, kind: type, expected: str) -> Any:  # noqa: ANN401  # of any kind
    if not isinstance(found, kind):
        raise InputError(f"found a Python {type(found).__name__}, expected {expected}")
    return found
