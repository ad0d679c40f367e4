"""Adapters of the SDKs: real releases, each in an environment of its own, against one node.

They show what bytes go out and how answers are read, not what a chain's runtime makes of them.
"""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sdk_environment
from sdk_environment import NEWEST, OLDEST, TEN

from tallystick_chain.chain import (
    Commitment,
    Head,
    Neuron,
    PendingRow,
    Receipt,
    Refusal,
    Subnet,
)
from tallystick_chain.hotkey import Hotkey
from tallystick_state.trust.keys import PublicKey

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
RELEASES = (OLDEST, NEWEST, TEN)
HOTKEYS = [Hotkey.of_seed(bytes([number + 1]) * 32).address for number in range(20)]
US = HOTKEYS[0]
KEY, ROW = 3, ((2, 12_345), (5, 65_535), (6, 1))
FATES = (
    "finalized",
    "failed 29",
    "failed 15",
    "failed 30",
    "custom 6",
    "custom 1",
    "custom 77",
    "invalid Transaction has a bad signature",
    "invalid Transaction is outdated",
    "usurped",
    "broken",
    "dropped",
    "silent",
)
DROPPED = ("broken", "dropped")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a node."""
    program = [sdk_environment.python(OLDEST), HERE / "node.py", sdk_environment.golden()]
    with subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=sdk_environment.variables(tmp_path_factory.mktemp("node")),
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def answers(case: str, release: str, folder: Path, **question: Any) -> Any:  # noqa: ANN401  # JSON
    program = HERE / "inside.py"
    return sdk_environment.answers(release, program, {"case": case, **question}, folder)


@pytest.mark.parametrize("release", RELEASES)
def test_reads(release: str, node: str, tmp_path: Path) -> None:
    found = answers("read", release, tmp_path, url=node)
    head = eval(found.pop("head"), {"Head": Head})  # noqa: S307  # a value that our program wrote
    assert head.endpoint == node
    assert head.best - head.finalized == 2
    subnet = Subnet(
        n=20,
        tempo=360,
        last_epoch_block=50,
        next_epoch_block=410,
        rate_limit_blocks=10,
        min_allowed=2,
        max_weight_u16=65_535,
        version_key=KEY,
        commit_reveal=False,
        reveal_epochs=1,
        # the recorded runtime is older than the choice
        consensus="unknown",
        owner=HOTKEYS[4],
    )
    neurons = tuple(
        Neuron(uid, hotkey, uid < 3, uid * 11, 2**53 + 1 + uid, HOTKEYS[uid // 2])
        for uid, hotkey in enumerate(HOTKEYS)
    )
    pending = (
        PendingRow(3, 50, 800),
        PendingRow(4, 62, 901),
    )
    values = {
        "hash": f"0xb10c{60:060x}",
        "time": datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC),
        "subnet": subnet,
        "neurons": neurons,
        "last update": 60,
        "earlier update": 9,
        "update of no uid": 0,
        "update of another mechanism": 0,
        "row": ROW,
        "earlier row": ((1, 65_535),),
        "no row": (),
        "pending": pending,
        "commitments": (Commitment(US, 70, b"0x4142"),),
        "row of a watcher": ROW,
        "after its end": ROW,
    }
    assert {name: found.pop(name) for name in values} == {
        name: repr(value) for name, value in values.items()
    }
    call = read_receipt(found.pop("call of a watcher"))
    assert (call.kind, call.code) == ("refused", Refusal.OTHER)
    assert len(found.pop("genesis")) == len(repr(values["hash"]))
    assert {name: text.partition(":")[0] for name, text in found.items()} == {
        "no subnet": Refusal.NO_SUBNET,
        "no mechanism": Refusal.NO_SUBNET,
        "neurons of no subnet": Refusal.NO_SUBNET,
        "block to come": Refusal.NO_BLOCK,
        "block long gone": Refusal.NO_BLOCK,
        # no default in place of what the node did not tell
        "node that is too busy": Refusal.OTHER,
        "time of no calendar": Refusal.OTHER,
    }


@pytest.mark.parametrize("release", RELEASES)
def test_a_deadline_holds_and_nothing_is_sent_after_it(
    release: str, node: str, tmp_path: Path
) -> None:
    # each release has a hotkey of its own, whose nonce the node holds back until it is told
    seed = RELEASES.index(release) + 3
    found = answers("late", release, tmp_path, url=node, seed=seed)
    assert found.pop("again") == repr(ROW)
    assert found.pop("calls of the stalled") == []
    assert found.pop("silent").startswith("unreachable: ")
    assert found.pop("nobody").startswith("unreachable: ")
    assert found.pop("stalled").startswith("Receipt(kind='unknown', code=None")
    # a connection that was never open has sent nothing
    nobody = read_receipt(found.pop("row for nobody"))
    assert (nobody.kind, nobody.code) == ("refused", Refusal.UNREACHABLE)
    assert not found


@pytest.mark.parametrize("release", RELEASES)
def test_the_integers_of_a_row_go_out_as_they_are(release: str, node: str, tmp_path: Path) -> None:
    found = answers("rows", release, tmp_path, url=node)
    plain, sealed = found.pop("calls")
    assert plain["arguments"] == {
        "netuid": 7,
        "mecid": 1,
        "dests": [uid for uid, _ in ROW],
        "weights": [weight for _, weight in ROW],
        "version_key": KEY,
    }
    assert plain["function"] == "set_mechanism_weights"
    assert sealed["function"] == "commit_timelocked_mechanism_weights"
    for call in (plain, sealed):
        assert (call["address"], call["module"], call["period"]) == (US, "SubtensorModule", 128)
        assert call["signed"]
    receipt = read_receipt(found.pop("set"))
    assert (receipt.kind, receipt.reveal_round) == ("included", None)
    receipt, reveal_round = (
        read_receipt(found.pop("committed")),
        sealed["arguments"]["reveal_round"],
    )
    assert (receipt.kind, receipt.reveal_round) == ("committed", reveal_round)
    # what the chain would change is not sent
    assert {name: read_receipt(text).code for name, text in found.items()} == {
        "scaled": Refusal.OTHER,
        "twice": Refusal.DUPLICATE_UID,
        "descending": Refusal.OTHER,
        "empty": Refusal.TOO_FEW,
    }


@pytest.mark.parametrize("release", RELEASES)
def test_what_cannot_be_known_of_a_call_is_unknown(release: str, node: str, tmp_path: Path) -> None:
    found = answers("fates", release, tmp_path, url=node, fates=FATES)
    receipts = {fate: read_receipt(found[fate]) for fate in FATES}
    expected = {
        "finalized": ("included", None),
        "failed 29": ("refused", Refusal.TOO_SOON),
        "failed 15": ("refused", Refusal.NO_PERMIT),
        "failed 30": ("refused", Refusal.VERSION_KEY),
        "custom 6": ("refused", Refusal.TOO_SOON),
        "custom 1": ("refused", Refusal.LOW_STAKE),
        "custom 77": ("unknown", None),
        "invalid Transaction has a bad signature": ("refused", Refusal.OTHER),
        "invalid Transaction is outdated": ("unknown", None),
        "usurped": ("unknown", None),
        "broken": ("unknown", None),
        "dropped": ("unknown", None),
        "silent": ("unknown", None),
    }
    if release == TEN:
        # it has names for fewer of the pool's refusals
        unnamed = ("custom 1", "invalid Transaction has a bad signature")
        expected |= dict.fromkeys(unnamed, ("unknown", None))
    assert {fate: (receipt.kind, receipt.code) for fate, receipt in receipts.items()} == expected
    for fate, receipt in receipts.items():
        assert (receipt.block_hash is not None) is fate.startswith(("finalized", "failed")), fate


@pytest.mark.parametrize("release", RELEASES)
def test_a_call_is_signed_once(release: str, node: str, tmp_path: Path) -> None:
    """Lost with its connection, a call is never signed anew; the SDK 10 sends the same again."""
    found = answers("fates", release, tmp_path, url=node, fates=DROPPED)
    assert len({call["hash"] for call in found["calls"]}) == len(DROPPED)
    if release != TEN:
        assert len(found["calls"]) == len(DROPPED)


@pytest.mark.parametrize("release", RELEASES)
def test_the_bytes_of_a_commitment_go_out_as_they_are(
    release: str, node: str, tmp_path: Path
) -> None:
    found = answers("fates", release, tmp_path, url=node, fates=["0x4142"])
    [call] = found["calls"]
    assert (call["module"], call["function"]) == ("Commitments", "set_commitment")
    # no digits that were read as such: text that begins with 0x stays text
    fields = [{"Raw6": f"0x{b'0x4142'.hex()}"}]
    assert call["arguments"] == {"netuid": 7, "info": {"fields": fields}}
    assert call["signed"]
    fields = [{"Raw128": f"0x{bytes(range(128)).hex()}"}]
    assert found["last call"]["arguments"]["info"] == {"fields": fields}
    for name in ("too long", "empty"):
        assert read_receipt(found[name]).code == Refusal.OTHER


@pytest.mark.parametrize("release", RELEASES)
def test_the_sdk_verifies_our_statements_and_we_open_its_wallets(
    release: str, tmp_path: Path
) -> None:
    key = Hotkey.of_seed(b"\7" * 32)
    message = b"0x6869"
    found = answers(
        "keys",
        release,
        tmp_path,
        message=message.hex(),
        signature=key.sign(message).hex(),
        address=key.address,
        wallets=str(tmp_path / "wallets"),
    )
    wallets = found.pop("wallets")
    assert found == {"verified": True, "verified as wrapped": True, "another message": False}
    assert "try another" in wallets.pop("wrong password")["error"]
    assert set(wallets) == {"plain", "sealed"}
    for wallet in wallets.values():
        assert wallet["address"]
        public = PublicKey.of_text(wallet["public"])
        assert public.verifies(message, bytes.fromhex(wallet["signature"]))


def test_no_call_of_the_recorded_runtime_begins_as_a_statement_does(tmp_path: Path) -> None:
    indices = answers("tokens", OLDEST, tmp_path, golden=str(sdk_environment.golden()))
    assert 0 in indices
    assert b"<"[0] not in indices


def read_receipt(text: str) -> Receipt:
    """A receipt that our program wrote as Python writes it."""
    plain = text.replace("<Refusal.", "Refusal.")
    for code in Refusal:
        plain = plain.replace(f"Refusal.{code.name}: {code.value!r}>", f"Refusal.{code.name}")
    receipt = eval(plain, {"Receipt": Receipt, "Refusal": Refusal})  # noqa: S307  # ours
    assert isinstance(receipt, Receipt)
    return receipt
