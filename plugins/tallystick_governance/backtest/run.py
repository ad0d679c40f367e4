"""Running a back-test: candidates over a history, into a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

import attrs
import numpy as np

from tallystick.errors import InputError, TallystickError
from tallystick.io.atomic import output_path
from tallystick.io.paths import PathLike, path_of
from tallystick.records.defects import DefectLog, defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick_governance.backtest.candidates import Candidate, all_thresholds
from tallystick_governance.backtest.comparison import (
    CandidateComparison,
    compare,
    ranked,
)
from tallystick_governance.backtest.history import (
    Progress,
    Reader,
    RoundStretches,
    check_unchanged,
    count,
    reader_of,
)
from tallystick_governance.backtest.incentive import (
    Incentives,
    Network,
    Weighed,
    incentives,
    weighed_under,
)
from tallystick_governance.backtest.outcome import (
    CandidateOutcome,
    EpochState,
    FlipRows,
    OnEpoch,
    OnFlips,
    Outcome,
    ThresholdRange,
    TrackedThresholds,
    WeightOutcome,
)
from tallystick_governance.backtest.replay import Start, replays
from tallystick_governance.backtest.report import Building, Written, building
from tallystick_governance.backtest.statistics import (
    Bootstrap,
    Uncertainty,
    uncertainty,
)
from tallystick_governance.backtest.weights import WeightComparison, compare_weights
from tallystick_governance.revision import revise

_BOOTSTRAP = Bootstrap()
_TOGETHER = 12
"""Candidates whose intervals are computed in one pass: each has all miners of all stretches."""


def backtest(  # noqa: PLR0913  # what a back-test is made of
    history: PathLike,
    candidates: Sequence[Candidate],
    folder: PathLike,
    *,
    with_state: bool = False,
    command: str = "",
    bootstrap: Bootstrap = _BOOTSTRAP,
    network: Network | None = None,
    start: Start | None = None,
    groups: PathLike | None = None,
    weighs: bool = True,
    follow_links: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> tuple[Outcome, Written]:
    """Score a history under many rule sets and write what differs.

    Args:
        history: a facts file, a file of records, or a folder of either.
        candidates: from ``candidates_of``, the baseline first.
        folder: where the results go; one that is there must be an earlier back-test.
        with_state: whether to replay the epochs, with reputations and tracked thresholds.
        command: how to do it again, for the report.
        bootstrap: how epochs are drawn for the uncertainty of what changes.
        network: the validators of a subnet; then what happens while only some adopt a candidate
            is computed, too.
        start: what the network is as the first epoch begins; by default a new one.
        groups: a file of the groups of the history's records, of which each candidate computes
            their consensus; by default they keep the one that they have.
        weighs: whether to weigh the miners of each epoch, which takes most of the time.
        follow_links: whether the name of the folder may be a link.
        executor: who counts and replays; by default this process.
        progress: takes the number of lines so far.

    Raises:
        InputError: the history cannot be read, or has no record of a type of the baseline.
        OutputError: the folder cannot be written; what stood there is as it was.
        StateError: the epochs are to be replayed, and one cannot be closed under a rule set.
        EngineError: the workers cannot be used.
    """
    output = output_path(path_of(folder, "a folder for results"), follow_links=follow_links)
    reader = reader_of(
        path_of(history, "a file or a folder of records or facts"),
        candidates,
        None if groups is None else path_of(groups, "a file of groups"),
    )
    run = BacktestRun(reader, executor or InProcess(), progress, start)
    with building(output, [candidate.name for candidate in candidates]) as build:
        outcome = run.outcome(build.flips, build.epoch if with_state else None)
        weights = dict[int, WeightComparison]()
        if weighs:
            weights = _compared_weights(run.weights(outcome), outcome, bootstrap, build)
        compared = [
            attrs.evolve(compare(outcome, position, build.distances), weight=weights.get(position))
            for position in range(1, len(candidates))
        ]
        intervals = dict[int, Uncertainty | None]()
        for begin in range(0, len(compared), _TOGETHER):
            chosen = compared[begin : begin + _TOGETHER]
            intervals |= run.uncertainties(outcome, chosen, bootstrap)
        compared = [
            attrs.evolve(
                candidate,
                uncertainty=intervals.get(candidate.position),
                incentives=None if network is None else _incentives(candidates, candidate, network),
            )
            for candidate in compared
        ]
        return outcome, build.finish(outcome, compared, command)


def _compared_weights(
    every: Iterator[WeightOutcome], outcome: Outcome, bootstrap: Bootstrap, build: Building
) -> dict[int, WeightComparison]:
    """Compare the weights of each candidate with those of the baseline; keep no others."""
    baseline = next(every)
    build.weights(0, baseline, outcome.miners)
    compared = {}
    for position, weights in enumerate(every, 1):
        build.weights(position, weights, outcome.miners)
        compared[position] = compare_weights(outcome.miners, baseline, weights, bootstrap)
    return compared


def _incentives(
    candidates: Sequence[Candidate], compared: CandidateComparison, network: Network
) -> Incentives:
    """Compute what a candidate does to a network.

    It sets the mean share of weight of the epochs. Where that is not known, each miner has what the
    last steps of the rule set make of what it has of everything.
    """
    weight = compared.weight
    if weight is not None and weight.distribution is not None:
        shares = weight.shares
        before, after = (
            Weighed({hotkey: pair[side] for hotkey, pair in shares.items()}, refused=reason)
            for side, reason in enumerate(weight.reasons)
        )
        miners = [miner for miner in weight.distribution.miners if miner.hotkey in shares]
        return incentives(miners, before, after, network)
    paid = compared.overall
    before = weighed_under(candidates[0].rules, paid.miners, paid.before)
    after = weighed_under(candidates[compared.position].rules, paid.miners, paid.after)
    return incentives(paid.miners, before, after, network)


@attrs.frozen(eq=False)
class BacktestRun:
    """A history under some candidates; nothing of it is written.

    Attributes:
        reader: the history, and the candidates.
        executor: who counts and replays; by default this process.
        progress: takes the number of lines so far.
        start: what the network is as the first epoch begins; None for a new one.
    """

    reader: Reader
    executor: Executor = attrs.field(factory=InProcess)
    progress: Progress | None = None
    start: Start | None = None

    def outcome(self, on_flips: OnFlips | None = None, on_epoch: OnEpoch | None = None) -> Outcome:
        """Return the outcome.

        Args:
            on_flips: takes the flips.
            on_epoch: takes the states; with it the epochs are replayed, and all of the outcome is
                by the thresholds that the replays lead to.

        Raises:
            InputError: as `backtest`.
            StateError: as `backtest`.
        """
        reader, candidates = self.reader, self.reader.candidates
        # with a replay, flips are by the thresholds of the second count
        first_flips = on_flips if on_epoch is None else None
        aggregate = count(reader, self.executor, on_flips=first_flips, progress=self.progress)
        if reader.groups is not None:
            reader.groups.check_joined()
        self._log_defects(aggregate.defects)
        types = candidates[0].rules.types
        if not any(aggregate.records[name] for name in types):
            names = ", ".join(sorted(aggregate.records)) or "no good record"
            raise InputError(
                f"{reader.path}: found {names}, expected records of {' or '.join(types)}, the "
                f"skill types of {candidates[0].name}"
            )
        outcome = aggregate.outcome(reader)
        if on_epoch is None:
            return outcome
        outcome = self._replayed(outcome, on_epoch)
        self._check_unchanged(outcome)
        aggregate = count(
            reader,
            self.executor,
            on_flips=on_flips,
            tracked=_tracked(outcome.candidates),
        )
        counted = tuple(
            attrs.evolve(candidate, types=aggregate.types(n), seeded=candidate.types)
            for n, candidate in enumerate(outcome.candidates)
        )
        return attrs.evolve(outcome, candidates=counted)

    def _replayed(self, outcome: Outcome, on_epoch: OnEpoch) -> Outcome:
        """Add the states of the candidates; the records on which replays fail are rejected."""
        failed, replayed = dict[int, Reject](), list[CandidateOutcome]()
        found = replays(
            self.reader,
            outcome,
            self.executor,
            follows=True,
            start=self.start,
        )
        with closing(found) as every:
            for rules, candidate, replay in zip(
                self.reader.candidates, outcome.candidates, every, strict=True
            ):
                state, epochs = replay.state, replay.epochs
                assert state is not None  # noqa: S101  # it follows
                for epoch in epochs:
                    on_epoch(epoch)
                thresholds = _ranges(rules, candidate, epochs[0], state.final)
                replayed.append(
                    attrs.evolve(
                        candidate,
                        state=state,
                        thresholds=thresholds,
                        # the last is the state after the history
                        tracked=TrackedThresholds.of(epochs[:-1], state),
                        weights=replay.weights,
                    )
                )
                # a line on which the replays of several candidates fail is one reject
                failed.update((reject.line, reject) for reject in state.defects)
        history = outcome.history
        if failed:
            further = [failed[line] for line in sorted(failed)]
            self._log_defects(further)
            rejects = Counter(history.rejects)
            rejects.update(candidate.code for candidate in further)
            history = attrs.evolve(
                history,
                rejects=dict(sorted(rejects.items())),
                defects=(*history.defects, *defects_of(further)),
            )
        return attrs.evolve(outcome, history=history, candidates=tuple(replayed))

    def weights(self, outcome: Outcome) -> Iterator[WeightOutcome]:
        """Yield the weights of each candidate; without a replay those of a new network."""
        known = [candidate.weights for candidate in outcome.candidates if candidate.weights]
        if known:
            yield from known
            return
        self._check_unchanged(outcome)
        found = replays(self.reader, outcome, self.executor, follows=False)
        with closing(found) as replayed:
            for replay in replayed:
                yield replay.weights

    def uncertainties(
        self, outcome: Outcome, chosen: Sequence[CandidateComparison], bootstrap: Bootstrap
    ) -> dict[int, Uncertainty | None]:
        """Compute the uncertainties of some candidates, by position; the history is read once more.

        A miner of one stretch of epochs counts as one of its own, so the sums of all stretches are
        those of the whole history.
        """
        period = outcome.history.period
        if not bootstrap.draws or period is None or len(period.keys) < 2:
            return {}
        self._check_unchanged(outcome)
        stretches = RoundStretches.of(period.keys, len(outcome.miners))
        positions = [0, *(compared.position for compared in chosen)]
        flips = np.zeros((len(positions), stretches.count), np.int64)

        def add_flips(rows: FlipRows) -> None:
            flips[rows.candidate] += np.bincount(rows.miner_uid, minlength=stretches.count)

        aggregate = count(
            self.reader.of(positions),
            self.executor,
            on_flips=add_flips,
            stretches=stretches,
            tracked=_tracked(outcome.candidates[position] for position in positions),
        )
        hotkeys = [miner.hotkey for miner in outcome.miners]

        @cache
        def amounts(candidate: int, measure: str) -> list[list[int]]:
            return stretches.amounts(aggregate, candidate, measure, hotkeys)

        return {
            compared.position: uncertainty(
                bootstrap,
                hotkeys,
                amounts(0, compared.overall.measure),
                amounts(candidate, compared.overall.measure),
                flips[candidate],
                rounds=stretches.rounds,
                epochs=stretches.epochs,
            )
            for candidate, compared in enumerate(chosen, 1)
        }

    def _check_unchanged(self, outcome: Outcome) -> None:
        check_unchanged(self.reader.path, outcome.history.digest)

    def _log_defects(self, rejects: Sequence[Reject]) -> None:
        """Log the defects of the history."""
        defects = DefectLog(self.reader.path)
        defects.tell(rejects)
        defects.close()


def _tracked(candidates: Iterable[CandidateOutcome]) -> tuple[TrackedThresholds, ...] | None:
    """Return the thresholds of some candidates; None without a replay."""
    tracked = tuple(own.tracked for own in candidates if own.tracked is not None)
    return tracked or None


def _ranges(
    candidate: Candidate, outcome: CandidateOutcome, first: EpochState, last: EpochState
) -> dict[str, dict[str, ThresholdRange]]:
    """Return every threshold of a candidate from its first state to its last, by type."""
    ranges = dict[str, dict[str, ThresholdRange]]()
    for name in outcome.types:
        begin, end = (
            all_thresholds(
                candidate.rules.rules_at(state.epoch), name, state.thresholds.get(name, {})
            )
            for state in (first, last)
        )
        both = {key: ThresholdRange(begin.get(key, nano), nano) for key, nano in end.items()}
        if both:
            ranges[name] = both
    return ranges


@attrs.frozen
class Best:
    """The best candidate, as it was written.

    Attributes:
        candidate: its name in the back-test.
        by: by what it is the best.
        rule_set: the ``name@version`` of the file: the version is raised.
        digest: of that rule set.
        file: where it is.
    """

    candidate: str
    by: str
    rule_set: str
    digest: str
    file: str


def best_of(
    baseline: Candidate,
    comparisons: Iterable[CandidateComparison],
    best_by: str,
    file: Path,
    *,
    follow_links: bool = False,
) -> Best:
    """Write the best candidate that a sweep made of the baseline, as `revise` revises it.

    Args:
        baseline: which the sweeps change.
        comparisons: of every other candidate.
        best_by: of ``BEST_BY``, by what one is the best.
        file: to write.
        follow_links: whether the name of the file may be a link.

    Raises:
        TallystickError: no candidate is of a sweep alone: each is one that was given.
        OutputError: the file cannot be written.
    """
    swept = [candidate for candidate in comparisons if candidate.identity.changes]
    if not swept:
        raise TallystickError(
            "found no candidate of a sweep beside those that were given, expected one to write"
        )
    best = ranked(swept, best_by)[0].identity
    revision = revise(
        baseline.rules, [(candidate.path, candidate.value) for candidate in best.changes]
    )
    revision.write(file, follow_links=follow_links)
    new = revision.loaded
    return Best(best.name, best_by, new.rule_set.reference, new.digest, str(file))
