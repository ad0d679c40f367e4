"""Certificates that cannot be used are told before anyone is asked."""

import os
from pathlib import Path

import pytest
from cli.command import SKILLS, message_of, run
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from scoring.executors.tls import make_certificates, of_client

from tallystick.errors import EngineError
from tallystick.scoring.executors.certificates import Certificates
from tallystick.scoring.executors.cluster import Cluster

pytestmark = pytest.mark.process

NOBODY = "tls://127.0.0.1:9"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("tls") / "ours")


def refusal(certificates: Certificates | None, address: str = NOBODY) -> str:
    with pytest.raises(EngineError) as caught:
        list(Cluster(address, certificates=certificates).map(abs, [-1]))
    return str(caught.value)


@pytest.mark.parametrize(
    ("part", "name", "message"),
    [
        ("authority", "absent.pem", "absent.pem: the file cannot be read"),
        ("authority", "client.key", "client.key: found no certificate"),
        ("certificate", "client.key", "client.key: the certificate cannot be used with the key "),
        ("key", "client.pem", "client.pem: the certificate cannot be used with the key "),
        ("key", "worker.key", "client.pem: the certificate cannot be used with the key "),
    ],
)
def test_files_that_cannot_be_used_are_refused(
    folder: Path, part: str, name: str, message: str
) -> None:
    of = of_client(folder, **{part: folder / name})
    assert refusal(of).startswith(f"{folder}/{message}")


def test_a_pipe_is_not_waited_for(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.pem"
    os.mkfifo(pipe)
    assert "pipe.pem: found a pipe, expected certificates" in refusal(
        of_client(folder, authority=pipe)
    )


def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(folder: Path, tmp_path: Path) -> None:
    key, locked = tmp_path / "locked.key", serialization.BestAvailableEncryption(b"secret")
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
    key.write_bytes(ec.generate_private_key(ec.SECP256R1()).private_bytes(*form))
    message = refusal(of_client(folder, key=key))
    assert message.startswith(f"{key}: found a key with a passphrase, expected one without")


def test_tls_needs_certificates_and_they_are_never_left_out(folder: Path) -> None:
    assert "found no certificates, expected --cluster-ca, " in refusal(None)
    clear = NOBODY.replace("tls://", "tcp://")
    message = refusal(of_client(folder), clear)
    assert "found certificates for an address without TLS" in message


def test_the_environment_names_the_files_of_a_cluster(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TALLYSTICK_CLUSTER", NOBODY)
    monkeypatch.setenv("TALLYSTICK_CLUSTER_CA", str(folder / "ca.pem"))
    monkeypatch.setenv("TALLYSTICK_CLUSTER_KEY", "no.key")
    score = ("score", SKILLS, "--rules", "skills@1.0.0", "-o", "results.csv")
    assert "found a part of --cluster-ca, --cluster-cert and" in run(*score).err
    monkeypatch.setenv("TALLYSTICK_CLUSTER_CERT", str(folder / "client.pem"))
    message = message_of(run(*score))
    assert message.startswith("no.key: the file cannot be read (No such file")
    assert run(*score, "--workers", 1).status == 0
