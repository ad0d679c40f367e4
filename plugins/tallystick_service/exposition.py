"""Exposition: the metrics of a state and of what a daemon observed, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from tallystick.io.text import visible
from tallystick_state.claims import REASONS

if TYPE_CHECKING:
    from tallystick_service.health import Health
    from tallystick_service.metrics import Observations
    from tallystick_service.route import Question
    from tallystick_service.site import Version
    from tallystick_state.answers import StateInfo

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The kind of the text format."""
_STATUSES = ("ok", "degraded", "failing")


def exposition(question: Question) -> bytes:
    """Return the metrics of now."""
    metrics = [*_metrics(question)]

    class Collector:
        def collect(self) -> Iterator[Metric]:
            yield from metrics

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    return generate_latest(registry)


def _metrics(question: Question) -> Iterator[Metric]:
    site = question.site
    if question.version is not None:
        info = question.once("info", question.queries.info)
        yield from _state_metrics(question, question.version, info)
    yield from _observed_metrics(site.observations.observed())
    yield from _health_metrics(site.health())
    yield _gauge("http_kept_bytes", "Size of the answers that are kept.", site.kept.size)
    yield _counters("http_answers", "Answers by status.", "status", dict(site.answered))


def _state_metrics(question: Question, state: Version, info: StateInfo) -> Iterator[Metric]:
    yield _info("build", "This release.", version=version("tallystick"))
    yield _info(
        "state",
        "The digests of the state and of its rules; peers compare them.",
        state_digest=state.digest,
        rules_digest=state.rules,
    )
    yield _gauge("epochs_closed", "Epochs that are closed.", info.epoch)
    yield _gauge("rounds_closed", "Rounds that are closed.", info.closed_rounds)
    yield _gauge("miners", "Hotkeys that are known.", info.miners)
    yield _gauge("slots", "Miners that hold a slot.", info.slots)
    yield _gauge("open_events", "Events of the open epoch.", info.open_events)
    yield _gauge("log_entries", "Entries of the log.", info.entries)
    reasons = question.queries.transaction.claims.reasons()
    yield _gauges(
        "quarantined_claims",
        "Claims in quarantine by reason.",
        "reason",
        {reason: reasons.get(reason, 0) for reason in REASONS},
    )


def _observed_metrics(observed: Observations) -> Iterator[Metric]:
    yield _counters("rejected_records", "Rejected records by code.", "code", observed.rejects)
    yield _counters(
        "chain_receipts", "Rows of weights by their outcome.", "kind", observed.receipts
    )
    steps = SummaryMetricFamily("tallystick_step_seconds", "Time of each step.", labels=["step"])
    for name, (count, seconds) in sorted(observed.steps.items()):
        steps.add_metric([visible(name)], count, seconds)
    yield steps
    if observed.last_block is not None:
        yield _gauge("finalized_block", "The newest finalized block.", observed.last_block)
    if observed.blocks_behind is not None:
        yield _gauge(
            "blocks_behind", "Finalized blocks not acted upon yet.", observed.blocks_behind
        )
    if observed.unpaid is not None:
        yield _gauge("unpaid", "Those whose weight is not in the newest row.", observed.unpaid)
    differing = {peer: int(not agrees) for peer, agrees in observed.peers.items()}
    yield _gauges("peer_differs", "1 of a peer with other digests.", "peer", differing)
    yield _gauge("peers", "Peers that were heard of.", len(differing))
    yield _gauge("peers_differing", "Peers with other digests.", sum(differing.values()))


def _health_metrics(health: Health) -> Iterator[Metric]:
    statuses = {status: int(status == health.status) for status in _STATUSES}
    yield _gauges("health", "1 of the status that holds.", "status", statuses)
    problems = {problem.code: 1 for problem in health.problems}
    yield _gauges("problem", "1 of each problem that there is.", "code", problems)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"tallystick_{name}", text, value=value)


def _gauges(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    return _labelled(GaugeMetricFamily(f"tallystick_{name}", text, labels=[label]), values)


def _counters(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    return _labelled(CounterMetricFamily(f"tallystick_{name}", text, labels=[label]), values)


def _labelled(family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, int]) -> Metric:
    for value, number in sorted(values.items()):
        family.add_metric([visible(value)], number)
    return family


def _info(name: str, text: str, **labels: str) -> Metric:
    return InfoMetricFamily(f"tallystick_{name}", text, value=labels)
