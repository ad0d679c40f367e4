"""Running a back-test: candidates over a history, into a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
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
    Selection,
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
)
from tallystick_governance.backtest.replay import replays
from tallystick_governance.backtest.report import Written, building
from tallystick_governance.backtest.statistics import (
    Bootstrap,
    ShareChanges,
    Uncertainty,
    chance_of,
    uncertainty,
)
from tallystick_governance.revision import revise

_BOOTSTRAP = Bootstrap()


def backtest(  # noqa: PLR0913  # what a back-test is made of
    history: PathLike,
    candidates: Sequence[Candidate],
    folder: PathLike,
    *,
    with_state: bool = False,
    command: str = "",
    best_by: str = "share-moved",
    bootstrap: Bootstrap = _BOOTSTRAP,
    network: Network | None = None,
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
        best_by: of ``BEST_BY``, by what the report calls candidates better or worse.
        bootstrap: how epochs are drawn for the uncertainty of what changes.
        network: the validators of a subnet; then what happens while only some adopt a candidate
            is computed, too.
        follow_links: whether the name of the folder may be a link.
        executor: who counts and replays; by default this process.
        progress: takes the number of lines so far.

    Raises:
        InputError: the history cannot be read, or has no record of a type of the baseline.
        OutputError: the folder cannot be written; what stood there is as it was.
        StateError: the epochs are to be replayed and a rule set has none.
        EngineError: the workers cannot be used.
    """
    output = output_path(path_of(folder, "a folder for results"), follow_links=follow_links)
    reader = reader_of(path_of(history, "a file or a folder of records or facts"), candidates)
    executor = executor or InProcess()
    with building(output, [candidate.name for candidate in candidates]) as build:
        outcome, tracked = _outcome_of(
            reader,
            candidates,
            build.flips,
            build.epoch if with_state else None,
            executor,
            progress,
        )
        compared = [
            compare(outcome, position, build.distances) for position in range(1, len(candidates))
        ]
        # another pass over the history and the epochs of a network are for candidates in full alone
        chosen = Selection.of(compared, best_by).full
        intervals = _uncertainties(
            reader, outcome, candidates, chosen, bootstrap, executor, tracked
        )
        for candidate in chosen:
            compared[candidate.position - 1] = attrs.evolve(
                candidate,
                uncertainty=intervals.get(candidate.position),
                incentives=None if network is None else _incentives(candidates, candidate, network),
            )
        return outcome, build.finish(outcome, Selection.of(compared, best_by), command)


def _uncertainties(  # noqa: PLR0913, PLR0917  # as above
    reader: Reader,
    outcome: Outcome,
    candidates: Sequence[Candidate],
    chosen: Sequence[CandidateComparison],
    bootstrap: Bootstrap,
    executor: Executor,
    tracked: tuple[TrackedThresholds, ...] | None,
) -> dict[int, Uncertainty | None]:
    """Compute the uncertainties of some candidates, by position; the history is read once more.

    A miner of one stretch of epochs counts as one of its own, so the sums of all stretches are
    those of the whole history.
    """
    period = outcome.history.period
    if not bootstrap.draws or period is None or len(period.keys) < 2:
        return {}
    check_unchanged(reader.path, outcome.history.digest)
    stretches = RoundStretches.of(period.keys, len(outcome.miners))
    positions = [0, *(compared.position for compared in chosen)]
    flips = np.zeros((len(positions), stretches.count), np.int64)

    def add_flips(rows: FlipRows) -> None:
        flips[rows.candidate] += np.bincount(rows.miner_uid, minlength=stretches.count)

    aggregate = count(
        reader.source(),
        [candidates[position] for position in positions],
        executor,
        on_flips=add_flips,
        stretches=stretches,
        tracked=None if tracked is None else tuple(tracked[position] for position in positions),
    )
    hotkeys = [miner.hotkey for miner in outcome.miners]
    uncertainties = dict[int, Uncertainty | None]()
    for candidate, compared in enumerate(chosen, 1):
        before, after = (
            stretches.amounts(aggregate, number, compared.overall.measure, hotkeys)
            for number in (0, candidate)
        )
        candidate_uncertainty = uncertainty(
            bootstrap,
            hotkeys,
            before,
            after,
            flips[candidate],
            rounds=stretches.rounds,
            epochs=stretches.epochs,
        )
        changes = ShareChanges.of(before, after)
        if candidate_uncertainty is not None and changes is not None:
            chance = chance_of(bootstrap.seed, bootstrap.draws, changes)
            candidate_uncertainty = attrs.evolve(candidate_uncertainty, chance=chance)
        uncertainties[compared.position] = candidate_uncertainty
    return uncertainties


def _incentives(
    candidates: Sequence[Candidate], compared: CandidateComparison, network: Network
) -> Incentives:
    """Compute what a candidate does to a network; by a replay's thresholds, if there was one."""
    paid = compared.state.overall if compared.state else compared.overall
    before = weighed_under(candidates[0].rules, paid.miners, paid.before)
    after = weighed_under(candidates[compared.position].rules, paid.miners, paid.after)
    return incentives(paid.miners, before, after, network)


def outcome_of(  # noqa: PLR0913  # as above
    reader: Reader,
    candidates: Sequence[Candidate],
    *,
    on_flips: OnFlips | None = None,
    on_epoch: OnEpoch | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Score a history under each candidate, and write nothing.

    Args:
        reader: the history.
        candidates: the baseline first.
        on_flips: takes the flips.
        on_epoch: takes the states; with it the epochs are replayed, and all of the outcome is by
            the thresholds that the replays lead to.
        executor: who counts and replays; by default this process.
        progress: takes the number of lines so far.

    Raises:
        InputError: as `backtest`.
        StateError: as `backtest`.
    """
    executor = executor or InProcess()
    return _outcome_of(reader, candidates, on_flips, on_epoch, executor, progress)[0]


def _outcome_of(  # noqa: PLR0913, PLR0917  # as above
    reader: Reader,
    candidates: Sequence[Candidate],
    on_flips: OnFlips | None,
    on_epoch: OnEpoch | None,
    executor: Executor,
    progress: Progress | None,
) -> tuple[Outcome, tuple[TrackedThresholds, ...] | None]:
    """Return the outcome, and with a replay the thresholds of each candidate."""
    source = reader.source()
    # with a replay, flips are by the thresholds of the second count
    first_flips = on_flips if on_epoch is None else None
    aggregate = count(source, candidates, executor, on_flips=first_flips, progress=progress)
    _log_defects(reader, aggregate.defects)
    types = candidates[0].rules.types
    if not any(aggregate.records[name] for name in types):
        names = ", ".join(sorted(aggregate.records)) or "no good record"
        raise InputError(
            f"{reader.path}: found {names}, expected records of {' or '.join(types)}, the skill "
            f"types of {candidates[0].name}"
        )
    outcome = aggregate.outcome(source, reader.path, candidates)
    if on_epoch is None:
        return outcome, None
    outcome, tracked = _with_states(reader, candidates, outcome, on_epoch, executor)
    check_unchanged(reader.path, outcome.history.digest)
    aggregate = count(reader.source(), candidates, executor, on_flips=on_flips, tracked=tracked)
    replayed = tuple(
        attrs.evolve(candidate, types=aggregate.types(n, outcome.miners), seeded=candidate.types)
        for n, candidate in enumerate(outcome.candidates)
    )
    return attrs.evolve(outcome, candidates=replayed), tracked


def _with_states(
    reader: Reader,
    candidates: Sequence[Candidate],
    outcome: Outcome,
    on_epoch: OnEpoch,
    executor: Executor,
) -> tuple[Outcome, tuple[TrackedThresholds, ...]]:
    """Add the states of the candidates; the records on which replays fail are rejected."""
    failed, replayed = dict[int, Reject](), list[CandidateOutcome]()
    epochs, tracked = list[EpochState](), list[TrackedThresholds]()

    def keep(state: EpochState) -> None:
        epochs.append(state)
        on_epoch(state)

    with closing(replays(reader, candidates, outcome, keep, executor)) as states:
        for rules, candidate, state in zip(candidates, outcome.candidates, states, strict=True):
            thresholds = _ranges(rules, candidate, epochs[0], state.final)
            replayed.append(attrs.evolve(candidate, state=state, thresholds=thresholds))
            # the last is the state after the history
            tracked.append(TrackedThresholds.of(epochs[:-1], state))
            epochs.clear()
            # a line on which the replays of several candidates fail is one reject
            failed.update((reject.line, reject) for reject in state.defects)
    history = outcome.history
    if failed:
        further = [failed[line] for line in sorted(failed)]
        _log_defects(reader, further)
        rejects = Counter(history.rejects)
        rejects.update(candidate.code for candidate in further)
        history = attrs.evolve(
            history,
            rejects=dict(sorted(rejects.items())),
            defects=(*history.defects, *defects_of(further)),
        )
    replayed_outcome = attrs.evolve(outcome, history=history, candidates=tuple(replayed))
    return replayed_outcome, tuple(tracked)


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


def _log_defects(reader: Reader, rejects: Sequence[Reject]) -> None:
    """Log the defects of a history."""
    defects = DefectLog(reader.path)
    defects.tell(rejects)
    defects.close()


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
    baseline: Candidate, shown: Selection, file: Path, *, follow_links: bool = False
) -> Best:
    """Write the best candidate that a sweep made of the baseline, as `revise` revises it.

    Raises:
        TallystickError: no candidate is of a sweep alone: each is one that was given.
        OutputError: the file cannot be written.
    """
    swept = [candidate for candidate in shown.every if candidate.identity.changes]
    if not swept:
        raise TallystickError(
            "found no candidate of a sweep beside those that were given, expected one to write"
        )
    best = ranked(swept, shown.best_by)[0].identity
    revision = revise(
        baseline.rules, [(candidate.path, candidate.value) for candidate in best.changes]
    )
    revision.write(file, follow_links=follow_links)
    new = revision.loaded
    return Best(best.name, shown.best_by, new.rule_set.reference, new.digest, str(file))
