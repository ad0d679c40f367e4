"""Signing and verifying by command: what is signed is what the state takes, and what others see."""

import json
import os
from pathlib import Path

import pytest
from cli.command import Finished, message_of, run
from state.signing import Key
from state.store.test_round_groups import HOTKEYS, PYTHON, of_round
from state.subnet import event, record, written
from trust.council import hotkey, key, key_file, root, signer, tables, toml

from tallystick_state.authority import Authority
from tallystick_state.ledger import Ledger
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.trust_file import read

pytestmark = pytest.mark.usefixtures("private_files")

STATE = ("--state", "subnet.db")
EVE = hotkey("eve")


@pytest.fixture(autouse=True)
def folder(private_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001  # first
    """Key files of a council, a wallet, and a trust file that names them."""
    monkeypatch.chdir(tmp_path)
    for name in ("alice", "bob", "mallory"):
        Path(f"{name}.pem").write_bytes(key_file(name))
    Path("eve").write_text(json.dumps({"secretSeed": f"0x{Key('eve').seed.hex()}"}))
    Path("trust.toml").write_text(toml(tables()))
    return tmp_path


@pytest.fixture
def ledger() -> Ledger:
    """A state of the council."""
    return Ledger.create("subnet.db", "skills@1.0.0", trust="trust.toml")


def council(*first: str, output: str = "out.json") -> Envelope:
    """Sign by a command as alice and as bob, each alone; return the joined envelope."""
    for name in ("alice", "bob"):
        assert run(*first, "--key", f"{name}.pem", "-o", f"by-{name}.json").status == 0
    assert run("sign", "join", "by-alice.json", "by-bob.json", "-o", output).status == 0
    return Envelope.of_json(Path(output).read_bytes(), output)


def test_an_adoption_and_its_withdrawal(ledger: Ledger) -> None:
    signed = council("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", *STATE)
    assert run("verify", "out.json", "--trust", "trust.toml").status == 0
    adopted = ledger.adopt("skills@1.1.0", 2, authority=Authority(signed))
    assert (adopted.sequence, adopted.statement) == (1, signed.statement_digest)
    back = council("sign", "withdrawal", *STATE, "--expires-at-block", "9")
    ledger.withdraw(authority=Authority(back, 8))
    # the same again is another number
    again = council("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", *STATE)
    assert again.statement_digest != signed.statement_digest
    assert ledger.adopt("skills@1.1.0", 2, authority=Authority(again, 8)).sequence == 3


@pytest.mark.usefixtures("ledger")
def test_who_signs_apart_is_joined() -> None:
    council("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", *STATE)
    twice = ("by-alice.json", "by-bob.json", "by-alice.json")
    joined = run("sign", "join", *twice, "-o", "again.json", "--json")
    assert (joined.status, len(joined.json()["keyids"])) == (0, 2)
    assert run("verify", "by-alice.json", "--trust", "trust.toml").status == 1
    other = ("sign", "rule-set", "skills@1.1.0", "--key", "bob.pem", "-o", "other.json")
    assert run(*other).status == 0
    refused = run("sign", "join", "by-alice.json", "other.json", "-o", "no.json", "--json")
    assert (refused.status, refused.json()["code"]) == (1, "other-subject")
    assert not Path("no.json").exists()


def test_a_batch_of_events(ledger: Ledger) -> None:
    ledger.register("hk-1", 1, ["executable_python"])
    late = event("e1", "rerun_fail", "t1") | {"validator": EVE}
    lines = [record("t1", validator=EVE), late]
    written(Path("events.jsonl"), lines)
    made = ("sign", "events", "events.jsonl", "--validator", EVE, *STATE)
    found = run(*made, "--wallet", "eve", "-o", "batch.json")
    assert found.status == 0
    assert "events: 2 in all" in found.out
    batch = Envelope.of_json(Path("batch.json").read_bytes(), "batch.json")
    assert ledger.import_events("events.jsonl", authority=Authority(batch)).events == 2
    assert run("verify", "batch.json", "--trust", "trust.toml").status == 0


def test_a_batch_of_records_with_groups_has_the_consensus_of_these(ledger: Ledger) -> None:
    for uid, name in enumerate(HOTKEYS):
        ledger.register(name, uid, [PYTHON])
    records, group = of_round(0, validator=EVE)
    written(Path("round.jsonl"), records)
    written(Path("groups.jsonl"), [group])
    made = ("sign", "events", "round.jsonl", "--validator", EVE, *STATE, "--wallet", "eve")
    assert run(*made, "--groups", "groups.jsonl", "-o", "batch.json").status == 0
    assert run(*made, "-o", "other.json").status == 0
    other, batch = (
        Authority(Envelope.of_json(Path(name).read_bytes(), name))
        for name in ("other.json", "batch.json")
    )
    refused = ledger.import_events("round.jsonl", authority=other, groups=[group])
    assert (refused.events, refused.refused) == (0, {"not-in-batch": len(HOTKEYS)})
    assert ledger.import_events("round.jsonl", authority=batch, groups=[group]).events == 5


def test_a_batch_is_of_one_validator(ledger: Ledger) -> None:
    assert ledger.in_force.root is not None
    written(Path("events.jsonl"), [record("t1", validator=EVE), record("t2", validator="other")])
    made = ("sign", "events", "events.jsonl", "--validator", EVE, *STATE)
    found = run(*made, "--wallet", "eve", "-o", "batch.json", "--json")
    assert (found.status, found.json()["code"]) == (1, "other-validator")
    assert "events.jsonl:2" in found.json()["message"]
    Path("events.jsonl").write_text("{}\n")
    assert run(*made, "--wallet", "eve", "-o", "batch.json").status == 1
    assert not Path("batch.json").exists()


def test_a_state_without_a_trust_file_asks_for_nothing() -> None:
    Ledger.create("subnet.db", "skills@1.0.0").close()
    written(Path("events.jsonl"), [record("t1", validator=EVE)])
    for made in (
        ("adoption", "skills@1.1.0", "--at-epoch", "2"),
        ("events", "events.jsonl", "--validator", EVE),
    ):
        found = run("sign", *made, *STATE, "--key", "alice.pem", "-o", "out.json", "--json")
        assert (found.status, found.json()["code"]) == (2, "no-root")


def test_what_the_state_refuses_is_not_signed(ledger: Ledger) -> None:
    assert ledger.open_epoch() == 0
    made = ("sign", "adoption", "skills@1.0.0", "--at-epoch", "2", *STATE)
    found = run(*made, "--key", "alice.pem", "-o", "out.json", "--json")
    assert (found.status, found.json()["code"]) == (2, "same-rules")
    assert not Path("out.json").exists()


def test_a_rotation() -> None:
    old = read(Path("trust.toml"))
    keys = {name: key(name) for name in ("alice", "bob", "dave")}
    group = {"keys": ["alice", "bob", "dave"], "threshold": 2}
    new = tables(version=2, previous=old.digest, keys=keys, groups={"council": group})
    Path("new.toml").write_text(toml(new))
    council("sign", "trust", "new.toml")
    for trusted in ("trust.toml", "new.toml"):
        assert run("verify", "out.json", "--trust", trusted).status == 0
    assert run("trust", "check", "trust.toml", "new.toml").status == 0
    found = run("trust", "check", "new.toml", "trust.toml", "--json")
    assert (found.status, found.json()["code"]) == (1, "rollback")


def test_a_receipt(folder: Path) -> None:
    written(folder / "records.jsonl", [record("t1")])
    run("score", "records.jsonl", "--rules", "skills@1.1.0", "-o", "results.jsonl")
    made = ("sign", "receipt", "results.jsonl.receipt.json", "--key", "alice.pem")
    assert run(*made, "-o", "out.json").status == 0
    found = run("verify", "out.json", "--key", str(signer("alice").public), "--json").json()
    receipt = json.loads(Path("results.jsonl.receipt.json").read_text())
    assert found["predicate"]["receipt"] == receipt
    digests = [f"sha256:{each['digest']['sha256']}" for each in found["subject"]]
    assert digests == [receipt["output_digest"], receipt["rejects_digest"]]
    Path("other.json").write_text("{}")
    assert run("sign", "receipt", "other.json", "--key", "alice.pem", "-o", "x").status == 1


def verified(*options: str) -> Finished:
    return run("verify", "out.json", *options)


def test_who_verifies_needs_something_to_verify_by() -> None:
    council("sign", "rule-set", "skills@1.1.0")
    alice, mallory = (str(signer(name).public) for name in ("alice", "mallory"))
    found = verified()
    assert found.status == 1
    assert "no signature was verified" in found.out
    assert verified("--json").json()["checked"] is False
    assert verified("--key", alice).out.endswith(f"signed by {alice}\n")
    assert verified("--trust", "trust.toml").out.endswith("signed by alice\nsigned by bob\n")
    assert verified("--key", alice, "--key", mallory).status == 1
    Path("others.toml").write_text(
        toml(tables(keys={name: key(f"{name}!") for name in ("alice", "bob", "carol")}))
    )
    refused = verified("--trust", "others.toml", "--json")
    assert (refused.status, refused.json()["code"]) == (1, "threshold-not-met")


def test_what_expires_needs_a_block(ledger: Ledger) -> None:
    assert ledger.in_force.root is not None
    made = ("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", "--expires-at-block", "9")
    council(*made, *STATE)
    trusted = ("--trust", "trust.toml")
    assert verified(*trusted, "--block", "8").status == 0
    for block, code in ((("--block", "9"), "expired-statement"), ((), "block-needed")):
        assert verified(*trusted, *block, "--json").json()["code"] == code


def test_a_file_that_is_nothing_signed() -> None:
    Path("text").write_text("some text")
    for name in ("text", "nowhere", "."):
        found = run("verify", name)
        assert (found.status, found.out) == (2, "")
        assert message_of(found).startswith(f"{name}: ")


def test_a_password_comes_from_a_file_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("secret").write_text("geheim…\r\nmore\n")
    assert run("keys", "new", "new.pem", "--password-file", "secret").status == 0
    shown = run("keys", "show", "new.pem", "--password-file", "secret")
    assert shown.status == 0
    found = run("keys", "show", "new.pem", "--json")
    assert (found.status, found.json()["code"]) == (1, "wrong-password")
    monkeypatch.setenv("TALLYSTICK_KEY_PASSWORD", "geheim…")
    assert run("keys", "show", "new.pem") == shown
    monkeypatch.setenv("TALLYSTICK_KEY_PASSWORD", "")
    assert run("keys", "new", "other.pem").status == 2
    assert not Path("other.pem").exists()
    both = ("--no-password", "--password-file", "secret")
    assert run("keys", "new", "other.pem", *both).status == 2


def test_a_key_and_its_address_are_shown() -> None:
    found = run("keys", "show", "eve", "--json").json()
    public = signer("eve", "sr25519").public
    assert (found["type"], found["public"]) == ("sr25519", public.data.hex())
    assert (found["address"], found["keyid"]) == (EVE, public.keyid)
    assert run("keys", "show", "eve").out.splitlines()[-1] == f"address {EVE}"


def test_a_trust_file_is_written(ledger: Ledger) -> None:
    keys = {name: run("keys", "show", f"{name}.pem").out.split()[0] for name in ("alice", "bob")}
    signers = [part for name, key in keys.items() for part in ("--signer", f"{name}={key}")]
    made = ("trust", "new", "new.toml", "--network", "subnet-7", "--json")
    shown = run(*made, *signers, "--validator", EVE).json()
    assert run("trust", "check", "new.toml", "--json").json()["roots"] == [shown]
    root = read(Path("new.toml"))
    assert (root.version, root.network, root.previous, root.events) == (1, "subnet-7", None, (EVE,))
    assert {name: str(key.public) for name, key in root.keys.items()} == keys
    assert (root.groups["council"].threshold, root.adopt, root.root) == (2, *2 * (("council",),))
    # never replaced, and nothing is left of one that cannot be
    assert run(*made, *signers).status == 2
    for name, *options in (
        ("no.toml", "--threshold", "3", *signers),
        ("no.toml", "--expires-at-block", "7"),
        ("no.toml", "--signer", "alice"),
        ("no.toml", "--signer", f"a={keys['bob']}", "--signer", f"a={keys['alice']}"),
    ):
        assert run("trust", "new", name, "--network", "x", *options).status in {1, 2}
        assert not Path(name).exists()
    assert ledger.in_force.root is not None


def test_a_trust_file_follows_the_one_in_force(ledger: Ledger) -> None:
    text = Path("trust.toml").read_text()
    Path("trust.toml").write_text(f"# why these\n{text}")
    made = run("trust", "new", "next.toml", "--after", "trust.toml", "--expires-at-block", "99")
    assert made.status == 0
    assert run("trust", "check", "trust.toml", "next.toml").status == 0
    assert Path("next.toml").read_text().startswith("# why these\n")
    council("sign", "trust", "next.toml")
    rotated = ("trust", "rotate", "next.toml", "--signed", "out.json", "--block", "1", *STATE)
    assert run(*rotated).status == 0
    root = ledger.in_force.root
    assert root is not None
    assert (root.version, root.expires_at_block, len(root.keys)) == (2, 99, 3)
    fewer = ("trust", "new", "fewer.toml", "--after", "next.toml", "--threshold", "1")
    assert run(*fewer).status == 0
    assert read(Path("fewer.toml")).groups["council"].threshold == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o601, 0o620])
def test_a_private_key_that_others_can_use_is_refused(mode: int) -> None:
    Path("my secret").write_text("word")
    assert run("keys", "new", "locked.pem", "--password-file", "my secret").status == 0
    locked = ("--key", "locked.pem", "--password-file", "my secret")
    for name, *options in (
        ("alice.pem", "--key", "alice.pem"),
        ("eve", "--wallet", "eve"),
        ("locked.pem", *locked),
        ("my secret", *locked),
    ):
        Path(name).chmod(mode)
        found = run("sign", "rule-set", "skills@1.1.0", *options, "-o", "out.json")
        assert found.status == 1
        assert f"(mode {mode:04o})" in found.err
        remedy = found.err.rpartition("run ")[2].strip()
        assert remedy in {f"chmod 600 {name}", f"chmod 600 '{name}'"}
        assert not Path("out.json").exists()
        Path(name).chmod(0o600)
        assert run("sign", "rule-set", "skills@1.1.0", *options, "-o", "out.json").status == 0
        Path("out.json").unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can give a file away")
def test_a_private_key_of_another_user_is_refused() -> None:
    os.chown("alice.pem", 12345, 12345)
    found = run("keys", "show", "alice.pem", "--json")
    assert (found.status, found.json()["code"]) == (1, "readable-key")
    assert "another user (uid 12345)" in found.json()["message"]


def test_a_trust_file_is_shown_as_it_counts() -> None:
    found = run("trust", "check", "trust.toml", "--json").json()["roots"][0]
    assert found["digest"] == root().digest
    assert found["keys"]["alice"]["public"] == str(signer("alice").public)
    assert found["groups"] == {"council": {"keys": ["alice", "bob", "carol"], "threshold": 2}}
    assert "council: 2 of 3 keys; adopt and root" in run("trust", "check", "trust.toml").out


@pytest.mark.usefixtures("ledger")
def test_what_an_adoption_changes_is_shown_before_the_key_is_read() -> None:
    made = ("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", *STATE, "-o", "out.json")
    refused = run(*made, "--key", "nobody.pem")
    assert (refused.status, Path("out.json").exists()) == (2, False)
    first, second, *values = refused.out.splitlines()
    assert first == "from epoch 2 on skills@1.1.0 holds in place of skills@1.0.0; epoch 0 is open"
    assert second == f"{len(values) - 2} values differ"
    assert all(" → " in value for value in values[:-2])
    assert "  rule_set.version: 1.0.0 → 1.1.0" in values
    signed = run(*made, "--key", "alice.pem", "--json").json()
    assert [*signed["change"], ""] == refused.out.splitlines()


def test_what_is_withdrawn_and_shared_is_shown_in_words(ledger: Ledger) -> None:
    signed = council("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", *STATE)
    ledger.adopt("skills@1.1.0", 2, authority=Authority(signed))
    back = run("sign", "withdrawal", *STATE, "--key", "alice.pem", "-o", "back.json")
    assert back.out.startswith("skills@1.1.0 does not hold from epoch 2 on; skills@1.0.0 stays\n")
    rotation = run("sign", "trust", "trust.toml", "--key", "alice.pem", "-o", "rotation.json")
    assert "council: 2 of 3 keys; adopt and root" in rotation.out
