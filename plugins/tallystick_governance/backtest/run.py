"""Running a back-test: candidates over a history, into a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

import attrs

from tallystick.errors import InputError
from tallystick.io.atomic import output_path
from tallystick.io.paths import PathLike, path_of
from tallystick.records.defects import DefectLog, defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick_governance.backtest.aggregate import Aggregate
from tallystick_governance.backtest.bootstrap import Bootstrap, Uncertainty
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.chunk_count import count_chunks
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.comparison_model import (
    CandidateOutcome,
    EpochState,
    History,
    OnEpoch,
    OnFlips,
    Outcome,
    ThresholdRange,
)
from tallystick_governance.backtest.history import Reader, check_unchanged, reader_of
from tallystick_governance.backtest.incentive import (
    Incentives,
    Network,
    incentives,
    weighed_under,
)
from tallystick_governance.backtest.output import Written, building
from tallystick_governance.backtest.parallel_replay import replays
from tallystick_governance.backtest.round_count import RoundCount
from tallystick_governance.backtest.rounds import RoundStretches, period_of
from tallystick_governance.backtest.tracked_thresholds import TrackedThresholds, completed

Progress = Callable[[int], None]
"""Told after every batch how many lines were read so far."""
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
        progress: told how far it is.

    Raises:
        InputError: the history cannot be read, or has no record of a type of the baseline.
        OutputError: the folder cannot be written; what stood there is as it was.
        StateError: the epochs are to be replayed and a rule set has none.
        EngineError: the workers cannot be used.
    """
    place = output_path(path_of(folder, "a folder for results"), follow_links=follow_links)
    reader = reader_of(path_of(history, "a file or a folder of records or facts"), candidates)
    executor = executor or InProcess()
    with building(place, [each.name for each in candidates]) as build:
        outcome, tracked = _outcome_of(
            reader,
            candidates,
            build.flips,
            build.epoch if with_state else None,
            executor,
            progress,
        )
        return outcome, build.finish(
            outcome,
            command,
            best_by=best_by,
            uncertain=lambda chosen: _uncertainties(
                reader, outcome, candidates, chosen, bootstrap, executor, tracked
            ),
            adopted=None
            if network is None
            else lambda chosen: _incentives(candidates, chosen, network),
        )


def _uncertainties(  # noqa: PLR0913, PLR0917  # as above
    reader: Reader,
    outcome: Outcome,
    candidates: Sequence[Candidate],
    chosen: Sequence[CandidateComparison],
    bootstrap: Bootstrap,
    executor: Executor,
    tracked: tuple[TrackedThresholds, ...] | None,
) -> Mapping[int, Uncertainty | None]:
    """The uncertainties of some candidates, for which the history is read once more."""
    period = outcome.history.period
    if not bootstrap.draws or period is None or len(period.keys) < 2:
        return {}
    check_unchanged(reader.path, outcome.history.digest)
    stretches = RoundStretches.of(period.keys, len(outcome.miners))
    positions = [0, *(each.position for each in chosen)]
    count = RoundCount(
        [candidates[position] for position in positions],
        outcome.miners,
        stretches,
        None if tracked is None else tuple(tracked[position] for position in positions),
    )
    count.read(reader.source(), executor)
    known = count.uncertainties(chosen, bootstrap)
    return {each.position: found for each, found in zip(chosen, known, strict=True)}


def _incentives(
    candidates: Sequence[Candidate], chosen: Sequence[CandidateComparison], network: Network
) -> Mapping[int, Incentives]:
    """What some candidates do to a network; with thresholds that follow, if these were replayed."""
    found = dict[int, Incentives]()
    for each in chosen:
        paid = each.state.overall if each.state else each.overall
        before = weighed_under(candidates[0].rules, paid.miners, paid.before)
        after = weighed_under(candidates[each.position].rules, paid.miners, paid.after)
        found[each.position] = incentives(paid.miners, before, after, network)
    return found


def outcome_of(  # noqa: PLR0913  # as above
    reader: Reader,
    candidates: Sequence[Candidate],
    *,
    on_flips: OnFlips | None = None,
    on_epoch: OnEpoch | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """What a history comes to under each candidate.

    Args:
        reader: the history.
        candidates: the baseline first.
        on_flips: takes the flips.
        on_epoch: given, the epochs are replayed, and it takes the states; everything is then by the
            thresholds that the replays lead to.
        executor: who counts and replays; by default this process.
        progress: told how far it is.

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
    """The outcome, and with a replay the thresholds of each candidate."""
    aggregate, source = Aggregate(), reader.source()
    # flips are told by the thresholds that count
    first_flips = on_flips if on_epoch is None else None
    # workers end with the block, whatever ends it
    with closing(count_chunks(source, candidates, executor, aggregate, first_flips)) as counted:
        for _ in counted:
            if progress is not None:
                progress(aggregate.lines)
    _tell(reader, aggregate.defects)
    _check_types(reader, candidates, aggregate)
    read = History(
        str(reader.path),
        source.digest,
        aggregate.lines,
        dict(sorted(aggregate.records.items())),
        dict(sorted(aggregate.rejects.items())),
        period_of(aggregate.rounds),
        tuple(aggregate.defects),
    )
    outcome = aggregate.outcome(read, candidates)
    if on_epoch is None:
        return outcome, None
    outcome, tracked = _with_states(reader, candidates, outcome, on_epoch, executor)
    return _recounted(reader, candidates, outcome, tracked, on_flips, executor), tracked


def _with_states(
    reader: Reader,
    candidates: Sequence[Candidate],
    outcome: Outcome,
    on_epoch: OnEpoch,
    executor: Executor,
) -> tuple[Outcome, tuple[TrackedThresholds, ...]]:
    """An outcome with the states of its candidates; what the replays fail on is rejected too."""
    failed, replayed = dict[int, Reject](), list[CandidateOutcome]()
    epochs, tracked = list[EpochState](), list[TrackedThresholds]()

    def keep(state: EpochState) -> None:
        epochs.append(state)
        on_epoch(state)

    with closing(replays(reader, candidates, outcome, keep, executor)) as states:
        for rules, each, state in zip(candidates, outcome.candidates, states, strict=True):
            thresholds = _ranges(rules, each, epochs[0], state.final)
            replayed.append(attrs.evolve(each, state=state, thresholds=thresholds))
            # the last is the state after the history
            tracked.append(TrackedThresholds.of(epochs[:-1], state))
            epochs.clear()
            # a line on which the replays of several candidates fail is one reject
            failed.update((reject.line, reject) for reject in state.defects)
    history = outcome.history
    if failed:
        further = [failed[line] for line in sorted(failed)]
        _tell(reader, further)
        rejects = Counter(history.rejects)
        rejects.update(each.code for each in further)
        history = attrs.evolve(
            history,
            rejects=dict(sorted(rejects.items())),
            defects=(*history.defects, *defects_of(further)),
        )
    found = attrs.evolve(outcome, history=history, candidates=tuple(replayed))
    return found, tuple(tracked)


def _ranges(
    candidate: Candidate, outcome: CandidateOutcome, first: EpochState, last: EpochState
) -> dict[str, dict[str, ThresholdRange]]:
    """Every threshold of a candidate from its first state to its last, by type."""
    found = dict[str, dict[str, ThresholdRange]]()
    for name in outcome.types:
        begin, end = (
            completed(candidate.rules.rules_at(state.epoch), name, state.thresholds.get(name, {}))
            for state in (first, last)
        )
        both = {key: ThresholdRange(begin.get(key, nano), nano) for key, nano in end.items()}
        if both:
            found[name] = both
    return found


def _recounted(  # noqa: PLR0913, PLR0917  # as above
    reader: Reader,
    candidates: Sequence[Candidate],
    outcome: Outcome,
    tracked: tuple[TrackedThresholds, ...],
    on_flips: OnFlips | None,
    executor: Executor,
) -> Outcome:
    """An outcome whose records are scored by the thresholds of their epochs."""
    check_unchanged(reader.path, outcome.history.digest)
    aggregate = Aggregate()
    counted = count_chunks(
        reader.source(), candidates, executor, aggregate, on_flips, tracked=tracked
    )
    with closing(counted) as parts:
        for _ in parts:
            pass
    found = tuple(
        attrs.evolve(each, types=aggregate.types(place, outcome.miners), seeded=each.types)
        for place, each in enumerate(outcome.candidates)
    )
    return attrs.evolve(outcome, candidates=found)


def _tell(reader: Reader, rejects: Sequence[Reject]) -> None:
    """Tell the defects of a history."""
    defects = DefectLog(reader.path)
    defects.tell(rejects)
    defects.close()


def _check_types(reader: Reader, candidates: Sequence[Candidate], aggregate: Aggregate) -> None:
    types = candidates[0].rules.types
    if not any(aggregate.records[name] for name in types):
        held = ", ".join(sorted(aggregate.records)) or "no good record"
        raise InputError(
            f"{reader.path}: found {held}, expected records of {' or '.join(types)}, the skill "
            f"types of {candidates[0].name}"
        )
