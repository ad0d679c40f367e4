"""The pages over HTTP: complete, safe, and the numbers of the command line."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from html import unescape
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import pytest
from cli.command import run
from markup import Markup
from service.live import AS_OPERATOR, EPOCHS, HOSTILE, OTHER, OWN, TYPES, Live, Reply, history, live

import tallystick
from tallystick.io.text import printable, visible
from tallystick_service.assets import FOLDER
from tallystick_service.health import Health, Problem
from tallystick_service.metrics import Observations
from tallystick_state.queries import NO_LINE

HTML = {"accept": "text/html"}
REFERENCE = "skills@1.2.0"


class Page(Markup):
    """A page as it was answered."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body.decode())
        self.reply = reply
        self.links = self.values("href", "src", "hx-get")
        self.ids = self.values("id")


def page(service: Live, path: str, **headers: str) -> Page:
    reply = service.ask(path, {**HTML, **headers})
    assert reply.status == 200, (path, reply.body[:300])
    return Page(reply)


def rows(reply: Reply) -> list[dict[str, str]]:
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(reply.body.decode())))


def address(hotkey: str) -> str:
    return f"/miners/{quote(hotkey, safe='')}"


PATHS = (
    "/",
    "/miners",
    "/miners?q=nobody-is-called-so",
    address(OWN),
    "/rules",
    f"/rules/{REFERENCE}",
    "/rules/skills@1.0.0",
    "/rules/diff",
    "/rules/diff?old=skills@1.1.0&new=skills@1.2.0",
    "/network",
    "/network/validators",
    "/network/epochs/1",
    f"/network/epochs/{EPOCHS}",
    "/playground",
    "/playground?other=skills@1.0.0",
)


def test_every_page_is_whole_has_nothing_inline_and_leads_somewhere(service: Live) -> None:
    """Every page and file that can be reached from these."""
    state = service.ask("/api/v1/state").json()
    hostile = {unquote(address(name)): name for name in HOSTILE}
    waiting, seen = [*PATHS], set[str]()
    waiting += [f"/miners?{urlencode({'q': name[:-1]})}" for name in HOSTILE]
    while waiting:
        path = waiting.pop()
        if path in seen or (path not in PATHS and path.startswith("/playground?")):
            continue
        seen.add(path)
        reply = service.ask(path, {**HTML, **AS_OPERATOR})
        assert reply.status == 200, (path, reply.body[:200])
        if not reply.headers["content-type"].startswith("text/html"):
            continue
        found = Page(reply)
        assert (path, found.inline) == (path, [])
        assert "img" not in found.tags, path
        assert not re.search("[\u202a-\u202e\u2066\u2067\0]", reply.body.decode()), path
        if name := hostile.get(unquote(path)):
            assert visible(name) in found.text or printable(name) in found.text
        assert (path, found.tags.count("h1"), len(found.ids)) == (path, 1, len({*found.ids}))
        assert {"main", "nav", "header", "footer"} <= {*found.tags}, path
        policy = reply.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert state["digest"] in found.text, path
        assert state["rules_digest"] in found.text, path
        for link in found.links:
            assert link.startswith(("/", "#")), (path, link)
            if link.startswith("#"):
                assert link[1:] in found.ids, (path, link)
        own = (link.partition("#")[0] for link in found.links)
        waiting += [link for link in own if link]
    assert {unquote(path) for path in seen} >= {*hostile}
    assert len(seen) > 40


def test_the_numbers_of_a_miner_are_those_of_the_command_line(service: Live, state: Path) -> None:
    found = page(service, address(OWN), **AS_OPERATOR)
    told = run("state", "board", TYPES[0], "--state", str(state), "--json")
    (own,) = [row for row in told.json()["board"] if row["hotkey"] == OWN]
    assert own["reputation"] in found.text
    weights = run("weights", "--state", str(state), "--explain", OWN, "--json").json()
    for step in weights["explanation"]["steps"]:
        assert step["step"] in found.text
        assert step["value"] is None or step["value"] in found.text
    weight = weights["explanation"]["weight"]
    assert weight is None or weight in found.text


def test_what_everyone_sees_of_a_miner_is_what_machines_are_told(service: Live) -> None:
    found, number = page(service, address(OWN)), EPOCHS - 2
    (line,) = service.ask(f"/api/v1{address(OWN)}/epochs/{number}/weight").json()["lines"].values()
    for step in line["steps"]:
        assert step["step"] in found.text
        assert step["value"] is None or step["value"] in found.text
    told = {n: service.ask(f"/api/v1/epochs/{n}/weights").json() for n in range(number + 1)}
    for n, of_epoch in told.items():
        weights = dict(zip(of_epoch["uids"], of_epoch["weights"], strict=True))
        assert f"{n}{weights[0]}" in re.sub(r"\s", "", found.text)
    assert line["weight"] == told[number]["weights"][told[number]["uids"].index(0)]


def table_of(service: Live, query: str = "", **headers: str) -> list[list[str]]:
    """The cells of the miners' table."""
    body = page(service, f"/miners{query}", **headers).reply.body.decode()
    rows = re.findall("<tr><th scope=.row.>(.*?)</tr>", body, re.DOTALL)
    return [_cells(row) for row in rows]


def _cells(row: str) -> list[str]:
    """The cells of a row: of a number every digit, which its title has."""
    cells = re.split("</t[hd]><td>|</t[hd]>", row)
    titles = (re.search('title="([^"]*)"', cell) for cell in cells)
    return [
        unescape(found[1]) if found else re.sub("<[^>]*>", "", cell).strip()
        for found, cell in zip(titles, cells, strict=True)
    ]


def test_the_miners_are_a_table_of_the_weights_that_machines_are_told(service: Live) -> None:
    number = EPOCHS - 2
    now, before = (service.ask(f"/api/v1/epochs/{n}/weights").json() for n in (number, number - 1))
    weights, earlier = (dict(zip(e["uids"], e["weights"], strict=True)) for e in (now, before))
    found = table_of(service)
    shown = {int(uid): (weight, change) for _, uid, weight, change, *_ in found}
    for uid, (weight, change) in shown.items():
        assert weight == weights.get(uid, "–")
        difference = Decimal(weights.get(uid, 0)) - Decimal(earlier.get(uid, 0))
        assert change == ("–" if {weight, change} == {"–"} else f"{abs(difference):.9f}")
    assert {*weights} <= {*shown}
    by_weight = [Decimal(weight) for _, _, weight, *_ in found if weight != "–"]
    assert by_weight == sorted(by_weight, reverse=True)
    assert [int(row[1]) for row in table_of(service, "?sort=uid")] == sorted(shown)
    names = [name for name, *_ in table_of(service, "?sort=miner") if name.startswith("5")]
    assert names == sorted(names)
    types = {row[0]: row[4] for row in found}
    assert types[OWN] == "mcp server, rag knowledge"
    assert types[OTHER] == "–"


def test_who_took_a_slot_since_the_epoch_closed_has_none_in_its_table(own_state: Path) -> None:
    with tallystick.Ledger.open(own_state) as ledger:
        ledger.register("5Newcomer", 0, TYPES)
    with live(own_state) as service:
        slots = {row[0]: row[1] for row in table_of(service)}
    assert slots["5Newcomer"] == "–"
    assert [*slots.values()].count("0") == 1


def test_a_page_of_miners_follows_the_other(service: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [row[0] for row in table_of(service)]
    monkeypatch.setattr("tallystick_service.pages.miners._PAGE", 8)
    pages = [[row[0] for row in table_of(service, f"?page={n}")] for n in (1, 2, 3)]
    assert [len(rows) for rows in pages[:2]] == [8, 8]
    assert [name for rows in pages for name in rows] == whole


def test_a_type_that_a_miner_never_did_is_not_on_its_page(service: Live) -> None:
    for headers in ({}, AS_OPERATOR):
        found = page(service, address(OTHER), **headers)
        assert not [name for name in TYPES if f'id="{name}"' in found.reply.body.decode()]
        assert {*TYPES} <= {*page(service, address(OWN), **headers).ids}
        assert "What next" not in found.reply.body.decode().partition("<main")[2]


def test_a_miner_whose_name_is_no_part_of_an_address_has_no_link(own_state: Path) -> None:
    path = own_state
    with tallystick.Ledger.open(path) as ledger:
        for number, name in enumerate((".", "..", "a\0b")):
            ledger.register(name, 240 + number, TYPES)
    with live(path) as service:
        found = page(service, "/network")
    assert found.text.count("no page: no address has this name") >= 3
    assert not {"/miners/.", "/miners/..", "/miners/a%00b"} & set(found.links)


def test_what_cannot_be_seen_is_its_code_in_a_table(service: Live) -> None:
    text = service.ask(f"/network/leaderboards/{TYPES[0]}.csv").body.decode()
    assert "\u202e" not in text
    assert "\\u202eevil" in text.lower()


TABLES: dict[str, tuple[str, Callable[[Any], Iterable[tuple[object, ...]]], tuple[str, ...]]] = {
    f"{address(OWN)}/reputation.csv": (
        f"{address(OWN)}/epochs",
        lambda told: (
            (e["epoch"], *of_type) for e in told["epochs"] for of_type in e["reputation"].items()
        ),
        ("epoch", "skill_type", "reputation"),
    ),
    f"/network/leaderboards/{TYPES[0]}.csv": (
        f"/leaderboards/{TYPES[0]}",
        lambda told: ((place["rank"], place["reputation"]) for place in told["board"]),
        ("rank", "reputation"),
    ),
    "/network/epochs.csv": (
        "/epochs",
        lambda told: ((each["epoch"], each["snapshot"]) for each in told["epochs"]),
        ("epoch", "snapshot"),
    ),
    "/network/thresholds.csv": (
        "/epochs/2",
        lambda told: ((2, n, *one) for n, own in told["thresholds"].items() for one in own.items()),
        ("epoch", "skill_type", "threshold", "value"),
    ),
    "/network/weights.csv": (
        f"/epochs/{EPOCHS - 1}/weights",
        lambda told: zip(repeat(EPOCHS - 1), told["uids"], told["weights"], strict=False),
        ("epoch", "uid", "weight"),
    ),
}
"""Tables of pages: the address that has some of their rows for machines, those, their columns."""


@pytest.mark.parametrize("path", TABLES)
def test_a_table_is_what_machines_are_told(service: Live, path: str) -> None:
    source, rows_of, columns = TABLES[path]
    told = [
        tuple(map(str, row)) for row in rows_of(service.ask(f"/api/v1{source}", AS_OPERATOR).json())
    ]
    found = [tuple(row[name] for name in columns) for row in rows(service.ask(path, AS_OPERATOR))]
    assert told
    assert sorted(told) == sorted(row for row in found if row[0] in {first for first, *_ in told})


def test_a_stranger_sees_what_is_public_alone(service: Live, closed_service: Live) -> None:
    viewers = ({}, service.proof(), AS_OPERATOR)
    texts = [page(service, address(OWN), **headers).text for headers in viewers]
    assert ["Reputation by epoch" in text for text in texts] == [False, True, True]
    # the weights of the newest closed epoch are not everyone's to see yet
    assert [f"As epoch {EPOCHS - 2} closed" in text for text in texts] == [True, True, False]
    assert service.ask(f"{address(OWN)}/reputation.csv").status in (403, 404)
    hidden = page(closed_service, address(OWN), **closed_service.proof())
    assert "Reputation by epoch" not in hidden.text


def test_a_search_finds_a_hotkey_a_part_of_one_and_a_uid(service: Live, state: Path) -> None:
    with tallystick.Ledger.open(state) as ledger, ledger.queries() as queries:
        uid = queries.miner(OWN).uid
    for wanted in (OWN, str(uid)):
        reply = service.ask(f"/miners?q={quote(wanted)}", {**HTML, **AS_OPERATOR})
        assert (reply.status, reply.headers["location"]) == (303, address(OWN))
    assert address(OWN) in page(service, f"/miners?q={OWN[3:12]}").links


def test_an_unknown_page_is_a_page(service: Live) -> None:
    for path in ("/nothing", "/miners/5Nobody", "/rules/none@1.0.0", "/network/epochs/999"):
        reply = service.ask(path, HTML)
        assert reply.status == 404
        assert "What to do" in Page(reply).text


def test_every_constant_of_a_rule_set_has_its_source(service: Live) -> None:
    found = rows(service.ask(f"/rules/{REFERENCE}/constants.csv"))
    paths = run("rules", "paths", REFERENCE, "--json").json()
    listed = paths if isinstance(paths, list) else paths["paths"]
    assert [row["path"] for row in found] == [row["path"] for row in listed]
    sources = {row["path"]: row["source"] for row in found}
    assert sources["axes.policy.beta"] == "scoring.txt, π Policy: β = 0.5"
    assert sources["skill_types.rag_knowledge.weights.policy"].startswith("scoring.txt, Per Type")
    assert sources["allocation.steps[average].new"] == "E94"
    numbers = [
        row for row in found if row["value"] and row["value"][0].isdigit() and row["line"] != "0"
    ]
    assert [
        row["path"]
        for row in numbers
        if not row["source"] and not row["path"].startswith(("rule_set", "lint"))
    ] == []


def test_a_rule_set_has_its_formulas_constants_lints_and_the_way_to_proofs(service: Live) -> None:
    found = page(service, f"/rules/{REFERENCE}")
    rules = tallystick.load(REFERENCE)
    assert rules.digest in found.text
    assert found.tags.count("math") >= 25
    for bound in rules.types.values():
        for axis in bound.axes:
            assert axis.formula.name in found.text
    for silence in rules.rule_set.lint.silence:
        assert silence.reason in found.text
    assert f"tallystick rules prove {REFERENCE} --json" in found.text


def test_the_proofs_of_a_folder_are_shown(state: Path, tmp_path: Path) -> None:
    rules = tallystick.load(REFERENCE)
    answer = {"property": "in-range", "skill_type": "rag_knowledge"}
    answers = [
        {**answer, "axis": "policy", "status": "proved"},
        {**answer, "axis": "x", "status": "undecided", "reason": "hard"},
    ]
    name = f"{rules.digest.replace(':', '-')}.json"
    (tmp_path / name).write_text(json.dumps({"results": answers}))
    with live(state, proofs=tmp_path) as service:
        found = page(service, f"/rules/{REFERENCE}")
    assert "2 questions about every valid record" in found.text
    assert "in-range of rag_knowledge, x: hard" in found.text


def test_a_difference_has_every_change(service: Live) -> None:
    found = page(service, "/rules/diff?old=skills@1.1.0&new=skills@1.2.0")
    told = run("rules", "diff", "skills@1.1.0", "skills@1.2.0", "--json").json()
    for change in told["changes"]:
        assert change["path"] in found.text
    assert told["new"]["digest"] in found.text
    same = page(service, "/rules/diff?old=skills@1.2.0&new=skills@1.2.0")
    assert "no difference in meaning" in same.text


def record() -> str:
    path = tallystick.load(REFERENCE).registry.skill_types["rag_knowledge"].examples
    assert path is not None
    return path.read_text().splitlines()[0]


def test_the_playground_explains_what_its_link_holds(service: Live) -> None:
    query = urlencode({"record": record(), "other_edits": "axes.policy.beta=0.8"})
    found = page(service, f"/playground?{query}")
    explained = json.loads(
        service.ask(
            "/api/v1/explain?rules=skills@1.2.0", method="POST", body=record().encode()
        ).body
    )
    for axis in explained["axes"]:
        assert axis["value"] in found.text
    assert "Side by side" in found.text
    assert "leave out of submission.recommended_policy" in found.text
    assert "Distance of this record" in found.text
    assert "cache-control" in found.reply.headers
    assert found.reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "asked",
    [
        {"record": "{"},
        {"record": "[" * 4000},
        {"record": '{"skill_type": "<script>"}'},
        {"record": "\ud800".encode("utf-8", "replace").decode()},
        {"rules": "<b>none</b>"},
        {"edits": "no-sign"},
        {"edits": "axes.none.beta=1"},
        {"edits": "axes.policy.beta=1e9999"},
        {"edits": "\n".join(f"axes.policy.beta=0.{n}" for n in range(80))},
        {"rules": "/etc/passwd"},
        {"other": "../../x.toml"},
    ],
    ids=lambda asked: "-".join((*asked, next(iter(asked.values()))[:12])),
)
def test_what_the_playground_refuses_is_said_on_its_page(
    service: Live, asked: dict[str, str]
) -> None:
    found = page(service, f"/playground?{urlencode(asked)}")
    assert found.inline == []
    assert "Expected" in found.text
    assert "root:" not in found.text


def test_a_record_that_is_too_long_for_a_link_is_refused(service: Live) -> None:
    reply = service.ask(f"/playground?record={'x' * 9000}", HTML)
    assert reply.status == 400


def test_validators_that_agree_and_differ_are_named(state: Path) -> None:
    observations = Observations()
    observations.peers = {"5Agrees": True, "5<b>Differs": False}
    observations.last_block, observations.blocks_behind = 1234, 2
    problem = Problem("behind", "2 blocks are not acted upon", "wait, or look at the chain")
    health = Health("degraded", (problem,))
    with live(state, observations=observations, health=lambda: health) as service:
        found = page(service, "/network/validators")
    assert "1 validator of 2 has other digests" in found.text
    assert "5<b>Differs" in found.text
    assert problem.code in found.text
    assert "1,234" in found.text


def test_lines_that_share_all_weight_have_one_and_each_its_own(tmp_path: Path) -> None:
    with pooled(tmp_path) as ledger, ledger.queries() as queries:
        shared = queries.shared_weights()
        assert shared is not None
        uid = shared.uids[0]
        hotkey = next(m.hotkey for m in queries.state.miners.values() if m.uid == uid)
    with live(tmp_path / "two.db", embargo=0) as service:
        # the operator's is that of now, that of everyone as the epoch closed
        pages = [page(service, address(hotkey), **headers) for headers in (AS_OPERATOR, {})]
    for found in pages:
        assert str(shared.weights[0]) in found.text
        assert f"takes as {shared.uint16[uid]:,} of 65,535" in found.text
        assert found.text.count("of 65,535") == 1
        for line in ("all lines", "skills", "workflow"):
            assert f"Weight in {line}" in found.text


def test_every_view_has_one_reason_why_a_miner_has_no_weight(tmp_path: Path) -> None:
    with pooled(tmp_path, idle="burn", burn="owner") as ledger, ledger.queries() as queries:
        assert queries.recent(OTHER).reasons == {"all lines": NO_LINE}
    with live(tmp_path / "two.db", embargo=0) as service:
        for headers in (AS_OPERATOR, {}):
            found = page(service, address(OTHER), **headers)
            assert f"There is no weight: {NO_LINE}" in found.text
            assert "There is no weight: average: no score above 0 so far" in found.text


def pooled(folder: Path, **options: Any) -> tallystick.Ledger:  # noqa: ANN401  # of a ledger
    """A state of two lines, one of them idle, with an epoch closed; `OTHER` has no record."""
    lines = ["skills@1.2.0", "workflow@1.2.0"]
    pools = {"skills": "0.7", "workflow": "0.3"}
    ledger = tallystick.Ledger.create(folder / "two.db", lines, pools=pools, **options)
    ledger.sync_miners(miners_in(folder))
    ledger.register(OTHER, 200, TYPES)
    ledger.close_round(
        [line for line in history().lines(96) if json.loads(line)["epoch"] == 0], bad="reject"
    )
    ledger.close_epoch(0)
    return ledger


def miners_in(folder: Path) -> Path:
    path = folder / "miners.csv"
    path.write_bytes(history().network.to_csv())
    return path


def test_the_script_is_the_one_that_its_licence_names() -> None:
    import hashlib

    told = (FOLDER / "htmx.LICENSE.txt").read_text()
    digest = hashlib.sha256((FOLDER / "htmx.min.js").read_bytes()).hexdigest()
    assert digest in told
