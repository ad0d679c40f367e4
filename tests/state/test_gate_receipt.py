"""A trust file can name the policy of a gate: rules are adopted with its receipt, or not at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cli.command import run
from examples import fast_rows
from state.signing import ALICE, BOB, Said, digest, root, written_root
from state.subnet import standing_of
from state.trusted import (
    FIRST,
    NEW,
    NEWER,
    OLD,
    OWN,
    adoption,
    authority,
    began,
    begun,
    forge,
    of,
    rotation,
    signed_adoption,
    successor,
)

from tallystick import load
from tallystick.errors import DamagedError, TrustError
from tallystick_state.authority import Authority
from tallystick_state.ledger import Ledger
from tallystick_state.trust.gate_receipt import GateReceipt

POLICY, OTHER = (f"sha256:{digit * 64}" for digit in "ab")
GATED = root(gate=POLICY)
"""A trust file that names a policy."""


def receipt(*outcomes: str, **changes: Any) -> Said:  # noqa: ANN401  # any keys of a receipt
    """Return the receipt that a gate writes of the change from the old rules to the new ones."""
    clauses = [
        {"clause": f"weight.clause_{letter}", "outcome": outcome, "limit": "", "figure": "0"}
        | {"details": []}
        for letter, outcome in zip("abc", outcomes or ("kept",), strict=False)
    ]
    said: Said = {
        "format": 1,
        "policy": {"name": "council", "digest": POLICY},
        "old": {"reference": OLD, "digest": of(OLD)},
        "new": {"reference": NEW, "digest": of(NEW)},
        "measured_on": {"kind": "nothing"},
        "clauses": clauses,
        "passed": "broken" not in outcomes,
        "engine": "tallystick 0.1.0",
        "plugins": {},
    }
    return said | changes


def vote(said: Said | None, root_said: Said = GATED, **changes: Any) -> Authority:  # noqa: ANN401  # of an adoption
    """Return the signatures of the adoption, with the receipt of a gate if there is one."""
    signed = signed_adoption(ALICE, BOB, genesis=began(root_said), **changes)
    envelope = authority(signed).envelope
    return Authority(envelope, None, None if said is None else GateReceipt.of(said, "the test"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return begun(tmp_path / "state.db", tmp_path, GATED)


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(TrustError) as caught:
        act()
    return caught.value.code


def test_rules_are_adopted_with_the_receipt_of_the_policy(ledger: Ledger, tmp_path: Path) -> None:
    adopted = ledger.adopt(NEW, 3, authority=vote(receipt("kept", "not asked")))
    assert adopted.gate_receipt is not None
    assert adopted.gate_receipt.digest == digest(receipt("kept", "not asked"))
    again = Ledger.open(tmp_path / "state.db")
    (held,) = again.in_force.schedules["skills"].decisions
    assert held.gate_receipt == adopted.gate_receipt
    again.verify()


@pytest.mark.parametrize(
    ("said", "code"),
    fast_rows(
        [
            (None, "gate-missing"),
            (receipt(policy={"name": "council", "digest": OTHER}), "gate-other-policy"),
            (receipt(old={"reference": NEWER, "digest": of(NEWER)}), "gate-other-rules"),
            (receipt(new={"reference": NEWER, "digest": of(NEWER)}), "gate-other-rules"),
            (receipt("kept", "broken"), "gate-not-passed"),
        ],
        0,
        2,
        4,
    ),
)
def test_a_receipt_that_is_not_asked_for_is_refused(
    ledger: Ledger, said: Said | None, code: str
) -> None:
    before = standing_of(ledger)
    assert refusal(lambda: ledger.adopt(NEW, 3, authority=vote(said))) == code
    assert standing_of(ledger) == before


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {},
        receipt("kept", "broken", passed=True),
        receipt(passed=False),
        receipt(format=2),
        receipt(surprise=1),
        receipt("perhaps"),
        receipt(policy={"name": "council", "digest": "sha256:b8fb"}),
        receipt(measured_on={"kind": "dreams"}),
        receipt(engine=0.1),
        {name: value for name, value in receipt().items() if name != "clauses"},
    ],
)
def test_a_forged_receipt_is_none(said: Any) -> None:  # noqa: ANN401  # any JSON
    assert refusal(lambda: GateReceipt.of(said, "the test")) == "bad-gate-receipt"


def test_a_receipt_that_is_too_large_is_none(tmp_path: Path) -> None:
    details = ["x" * 1000] * 50
    clause = {"clause": "a.b", "outcome": "kept", "limit": "", "figure": "", "details": details}
    said, path = receipt(clauses=[clause] * 6), tmp_path / "gate.json"
    path.write_text(json.dumps(said))
    for read in (lambda: GateReceipt.of(said, "the test"), lambda: GateReceipt.read(path)):
        assert refusal(read) == "too-large"


def test_a_receipt_where_nothing_asks_for_one_is_refused(tmp_path: Path) -> None:
    ledger = begun(tmp_path / "plain.db", tmp_path)
    code = refusal(lambda: ledger.adopt(NEW, 3, authority=vote(receipt(), FIRST)))
    assert code == "no-gate"
    alone = Ledger.create(tmp_path / "alone.db", OLD, validator=OWN)
    own = Authority(gate_receipt=GateReceipt.of(receipt(), "the test"))
    assert refusal(lambda: alone.adopt(NEW, 3, authority=own)) == "no-gate"


def test_the_policy_is_that_of_the_trust_file_in_force(tmp_path: Path) -> None:
    """A rotation brings a policy, and the next one takes it away."""
    ledger = begun(tmp_path / "state.db", tmp_path)
    second = successor(FIRST, gate=POLICY)
    ledger.rotate_trust(
        written_root(tmp_path, second), authority=authority(rotation(second, ALICE, BOB))
    )
    assert refusal(lambda: ledger.adopt(NEW, 3, authority=vote(None, FIRST))) == "gate-missing"
    third = {k: v for k, v in successor(second, 3).items() if k != "gate"}
    ledger.rotate_trust(
        written_root(tmp_path, third), authority=authority(rotation(third, ALICE, BOB))
    )
    assert ledger.adopt(NEW, 3, authority=vote(None, FIRST)).gate_receipt is None
    ledger.verify()


def test_the_rules_before_are_those_that_are_scheduled_last(ledger: Ledger) -> None:
    ledger.adopt(NEW, 3, authority=vote(receipt()))
    change: Said = {"previous": of(NEW), "rule_set": of(NEWER), "epoch": 5, "sequence": 2}
    newer = {"reference": NEWER, "digest": of(NEWER)}
    wrong = vote(receipt(new=newer), **change)
    assert refusal(lambda: ledger.adopt(NEWER, 5, authority=wrong)) == "gate-other-rules"
    right = receipt(old={"reference": NEW, "digest": of(NEW)}, new=newer)
    ledger.adopt(NEWER, 5, authority=vote(right, **change))
    ledger.verify()


def test_a_withdrawal_asks_no_gate(ledger: Ledger) -> None:
    ledger.adopt(NEW, 3, authority=vote(receipt()))
    said = adoption(action="withdraw", genesis=began(GATED), sequence=2)
    signed = signed_adoption(ALICE, BOB, **said)
    assert ledger.withdraw(authority=authority(signed)).epoch == 3
    ledger.verify()


@pytest.mark.usefixtures("ledger")
def test_the_commands_take_a_policy_and_a_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gate.json").write_bytes(rfc8785.dumps(receipt()))
    Path("broken.json").write_bytes(rfc8785.dumps(receipt("broken")))
    Path("vote.json").write_bytes(signed_adoption(ALICE, BOB, genesis=began(GATED)))
    words = ("state", "adopt", NEW, "--at-epoch", "3", "--state", "state.db")
    words += ("--signed", "vote.json", "--json")
    assert run(*words).json()["code"] == "gate-missing"
    refused = run(*words, "--gate-receipt", "broken.json")
    assert (refused.status, refused.json()["code"]) == (1, "gate-not-passed")
    assert "broke weight.clause_a" in refused.err
    assert run(*words, "--gate-receipt", "vote.json").json()["code"] == "bad-gate-receipt"
    assert run(*words, "--gate-receipt", "none.json").status == 2
    pools = ("state", "adopt", "--pool", "skills=1", *words[3:7])
    assert "with --pool" in run(*pools, "--gate-receipt", "gate.json").err
    done = run(*words, "--gate-receipt", "gate.json")
    assert (done.status, done.json()["gate_receipt"]) == (0, digest(receipt()))
    (line,) = run("state", "rules", "--state", "state.db", "--json").json()["lines"]
    assert [each.get("gate_receipt") for each in line["rules"]] == [None, digest(receipt())]


def test_a_new_trust_file_names_a_policy_and_its_successor_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    signer = f"ann=ed25519:{ALICE.public.hex()}"
    words = ("--network", "subnet-42", "--signer", signer, "--gate", POLICY, "--json")
    assert run("trust", "new", "trust.toml", *words).json()["gate"] == POLICY
    assert (
        run("trust", "new", "next.toml", "--after", "trust.toml", "--json").json()["gate"] == POLICY
    )
    assert POLICY in run("trust", "check", "trust.toml", "next.toml").out
    assert run("trust", "new", "bad.toml", *words[:4], "--gate", "default").status == 1


def test_a_receipt_is_signed_with_the_rules_that_it_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gate.json").write_bytes(rfc8785.dumps(receipt()))
    assert run("keys", "new", "key.pem", "--no-password").status == 0
    signed = run("sign", "receipt", "gate.json", "--key", "key.pem", "-o", "signed.json", "--json")
    assert signed.json()["predicate"]["receipt"] == receipt()
    key = run("keys", "show", "key.pem", "--json").json()["key"]
    verified = run("verify", "signed.json", "--key", key, "--json").json()
    assert [each["name"] for each in verified["subject"]] == [OLD, NEW]


@pytest.mark.parametrize(
    ("forged", "holds"),
    fast_rows(
        [
            (receipt(), True),
            (None, False),
            ({}, False),
            (receipt("broken"), False),
            (receipt(policy={"name": "council", "digest": OTHER}), False),
            (receipt(old={"reference": NEWER, "digest": of(NEWER)}), False),
        ],
        0,
        1,
        4,
    ),
)
def test_an_entry_that_was_written_itself_holds_only_with_its_receipt(
    tmp_path: Path, forged: Said | None, holds: bool
) -> None:
    """Its log is chained anew, and what was signed is sound."""
    place = tmp_path / "state.db"
    ledger = begun(place, tmp_path, GATED)
    envelope = vote(None).envelope
    assert envelope is not None
    with_text = {"digest": of(NEW), "reference": NEW, "text": load(NEW).loaded.text}
    body: Said = {"epoch": 3, "line": "skills", "previous": of(OLD), "sequence": 1}
    body |= {"rule_set": with_text, "statement": envelope.statement_digest}
    body |= {} if forged is None else {"gate_receipt": forged}
    with ledger.store.writing() as transaction:
        transaction.put_envelope(envelope)
    forge(ledger, "rules", body)
    if holds:
        Ledger.open(place).verify()
        return
    with pytest.raises(DamagedError, match="gate"):
        Ledger.open(place)
    with pytest.raises(TrustError):
        ledger.verify()
