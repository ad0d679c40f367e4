"""Alerts and a dashboard of a validator, and Prometheus that reads the real metrics."""

import json
import re
import shutil
import subprocess
import threading
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from needs import tool
from packages import ROOT
from service.live import live, made

from tallystick_service.health import Health, Problem
from tallystick_service.metrics import Observations

FILES = ROOT / "docs" / "operating"
HERE = Path(__file__).parent
READY = "ready to receive web requests"
LISTENING = re.compile('msg="Listening on" address=([0-9.:]+)')
NAME = re.compile(r"\btallystick_[a-z_]+")


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FILES / "dashboard.json").read_text())
    return found


def shown() -> Iterator[str]:
    """The expressions of the dashboard, as Prometheus is asked for them."""
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield target["expr"].replace("$job", ".+").replace("$__rate_interval", "1m")


def alerts() -> list[str]:
    lines = (FILES / "alerts.yml").read_text().splitlines()
    return [line.partition("expr: ")[2] for line in lines if "expr: " in line]


def observations() -> Observations:
    """One of each thing that a daemon observes."""
    seen = Observations()
    seen.rejected("schema")
    seen.received("set")
    seen.took("close", 0.5)
    seen.last_block, seen.blocks_behind = 900, 2
    seen.peers = {"5Agrees": True, "5Differs": False}
    return seen


def degraded() -> Health:
    return Health("degraded", (Problem("peers-differ", "found another digest", "compare"),))


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="module")
def metrics(state: Path) -> str:
    with live(state, health=degraded, observations=observations()) as service:
        return service.ask("/metrics").body.decode()


def test_alerts_and_dashboard_name_metrics_that_there_are(metrics: str) -> None:
    told = {line.split()[2] for line in metrics.splitlines() if line.startswith("# TYPE")}
    samples = {line.split("{")[0].split(" ")[0] for line in metrics.splitlines()}
    asked = {name for text in (*shown(), *alerts()) for name in NAME.findall(text)}
    assert len(asked) > 12
    assert asked <= samples | told


def test_the_dashboard_is_one_by_grafanas_own_types() -> None:
    """A key that its types do not know would be lost on the way through them."""
    read = json.loads(json.dumps(Dashboard.from_json(dashboard()), cls=JSONEncoder))
    assert_within(dashboard(), read)
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(set(ids)) == len(ids)


def assert_within(part: object, whole: object) -> None:
    """Each value of the first is in the second, at its place."""
    if isinstance(part, dict):
        assert isinstance(whole, dict)
        for key, value in part.items():
            assert key in whole
            assert_within(value, whole[key])
    elif isinstance(part, list):
        assert isinstance(whole, list)
        assert len(part) == len(whole)
        for one, other in zip(part, whole, strict=True):
            assert_within(one, other)
    else:
        assert part == whole


def test_every_alert_has_a_test_of_its_own() -> None:
    named = set(re.findall(r"alert: (\w+)", (FILES / "alerts.yml").read_text()))
    fired = re.findall(
        r"alertname: (\w+)\n +exp_alerts: \[\{", (HERE / "alerts_test.yml").read_text()
    )
    assert named == set(fired)


@pytest.mark.nightly
def test_alerts_fire_when_they_should_and_not_before(tmp_path: Path) -> None:
    promtool = tool("promtool")
    for path in (FILES / "alerts.yml", FILES / "prometheus.yml", HERE / "alerts_test.yml"):
        shutil.copy(path, tmp_path)
    run = subprocess.run
    run([promtool, "check", "config", "prometheus.yml"], cwd=tmp_path, check=True)
    run([promtool, "test", "rules", "alerts_test.yml"], cwd=tmp_path, check=True)


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """A real Prometheus that reads the metrics of a service each second; its address."""
    program = tool("prometheus")
    text = (FILES / "prometheus.yml").read_text()
    text = text.replace("validator:8640", target).replace("30s", "1s")
    (folder / "prometheus.yml").write_text(text)
    shutil.copy(FILES / "alerts.yml", folder)
    options = ["--web.listen-address=127.0.0.1:0", "--config.file=prometheus.yml"]
    process = subprocess.Popen(
        [program, *options, "--storage.tsdb.path=data"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    # what it says later is read, so that it never waits for that
    draining = threading.Thread(target=deque, args=(process.stderr, 0))
    try:
        said = "".join(takewhile(lambda line: READY not in line, process.stderr))
        place = LISTENING.search(said)
        assert place is not None, said
        draining.start()
        yield f"http://{place[1]}"
    finally:
        process.terminate()
        process.wait()
        if draining.ident is not None:
            draining.join()
        process.stderr.close()


def answer(address: str, expression: str) -> list[Any]:
    """The values of an expression."""
    words = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"{address}/api/v1/query?{words}") as response:  # noqa: S310  # our own server
        found = json.load(response)
    assert found["status"] == "success", found
    result: list[Any] = found["data"]["result"]
    return result


def has_read_twice(address: str) -> bool:
    """Whether Prometheus has what a rate needs."""
    counts = answer(address, "count_over_time(tallystick_finalized_block[1m])")
    return bool(counts) and int(counts[0]["value"][1]) > 2


@pytest.mark.nightly
def test_a_real_prometheus_answers_each_expression(state: Path, tmp_path: Path) -> None:
    with (
        live(state, health=degraded, observations=observations()) as service,
        prometheus(tmp_path, "{}:{}".format(*service.place)) as address,
    ):
        while not has_read_twice(address):
            pass
        for expression in shown():
            assert answer(address, expression), expression
        for expression in alerts():
            answer(address, expression)
