"""Metrics are what the state and the daemon say, in names that begin with the project's."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from service.live import AS_OPERATOR, EPOCHS, Live, live

from tallystick_service.answers import HealthAnswer
from tallystick_service.health import Health, Problem
from tallystick_service.metrics import Observations

HOSTILE = 'peer"\n\\} 1\u202e'


def samples(service: Live) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = service.ask("/metrics").body.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def one(found: dict[Any, float], name: str, **labels: str) -> float:
    return found[f"tallystick_{name}", tuple(sorted(labels.items()))]


def test_metrics_are_what_the_state_has(service: Live) -> None:
    # the first answer is one that the second counts
    state, found = service.ask("/api/v1/state").json(), samples(service)
    assert all(name.startswith("tallystick_") for name, _ in found)
    assert one(found, "epochs_closed") == EPOCHS
    digests = {"state_digest": state["digest"], "rules_digest": state["rules_digest"]}
    assert one(found, "state_info", **digests) == 1
    assert one(found, "health", status="ok") == 1
    assert one(found, "http_answers_total", status="200") > 0


def test_metrics_are_what_a_daemon_observed(service: Live, observations: Observations) -> None:
    observations.rejected("bad-hotkey", 3)
    observations.received("committed")
    observations.took("close", 0.25)
    observations.took("close", 0.5)
    observations.last_block, observations.blocks_behind = 1234, 5
    observations.unpaid = 2
    observations.peers = {"a": True, HOSTILE: False}
    found = samples(service)
    assert one(found, "rejected_records_total", code="bad-hotkey") == 3
    assert one(found, "chain_receipts_total", kind="committed") == 1
    assert one(found, "step_seconds_count", step="close") == 2
    assert one(found, "step_seconds_sum", step="close") == pytest.approx(0.75)
    assert one(found, "finalized_block") == 1234
    assert one(found, "blocks_behind") == 5
    assert one(found, "unpaid") == 2
    assert (one(found, "peers"), one(found, "peers_differing")) == (2, 1)
    assert one(found, "peer_differs", peer="a") == 0
    hostile = [dict(labels) for name, labels in found if name == "tallystick_peer_differs"]
    assert all("\u202e" not in labels["peer"] for labels in hostile)
    # each scrape says it once
    assert samples(service).keys() >= found.keys()


@pytest.mark.parametrize(("status", "http"), [("ok", 200), ("degraded", 200), ("failing", 503)])
def test_health_is_what_the_daemon_says(state: Path, status: Any, http: int) -> None:  # noqa: ANN401
    problem = Problem("peer-differs", "found another digest, expected ours", "compare the epochs")
    health = Health(status, () if status == "ok" else (problem,))
    with live(state, health=lambda: health) as service:
        reply, found = service.ask("/healthz"), samples(service)
    assert reply.status == http
    assert reply.json()["status"] == status
    # messages and remedies may have paths and addresses
    shown = [{"code": problem.code} for problem in health.problems]
    assert reply.json()["problems"] == shown
    msgspec.json.decode(reply.body, type=HealthAnswer)
    assert one(found, "health", status=status) == 1
    if health.problems:
        assert one(found, "problem", code="peer-differs") == 1


def test_the_messages_of_health_are_the_operators(state: Path) -> None:
    problem = Problem("chain", "found no answer of ws://10.0.0.7", "look at /srv/x")
    health = Health("degraded", (problem,))
    with live(state, health=lambda: health) as service:
        for address in ("/healthz", "/network/validators"):
            seen, whole = service.ask(address), service.ask(address, AS_OPERATOR)
            for hidden in (b"10.0.0.7", b"/srv/x"):
                assert hidden not in seen.body
                assert hidden in whole.body
        wrong = service.ask("/healthz", {"authorization": "Bearer x"})
    assert wrong.status == 401
