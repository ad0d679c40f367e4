"""A cluster by TLS works for certificates of its authority, and tells everyone else why not."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import SKILLS, message_of, run
from scoring.executors.tls import make_certificates

import tallystick
from tallystick.errors import EngineError
from tallystick.scoring.executors.certificates import Certificates
from tallystick.scoring.executors.cluster import Cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same names, by an authority of their own."""
    return make_certificates(tmp_path_factory.mktemp("tls") / "foreign")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Of a scheduler that takes TLS only, with one worker, in threads of this process."""
    from distributed import LocalCluster, Security  # heavy, and of few tests

    roles = {
        f"tls_{role}_{kind}": str(folder / f"{role}.{ending}")
        for role in ("scheduler", "worker", "client")
        for kind, ending in (("cert", "pem"), ("key", "key"))
    }
    security = Security(require_encryption=True, tls_ca_file=str(folder / "ca.pem"), **roles)
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        security=security,
        dashboard_address=None,
        silence_logs=50,
    ) as found:
        yield found.scheduler_address


def of(folder: Path, **others: Path) -> Certificates:
    """The client's own of a folder, with some files from elsewhere."""
    files = {
        "authority": folder / "ca.pem",
        "certificate": folder / "client.pem",
        "key": folder / "client.key",
    }
    return Certificates(**files | others)


def asked(address: str, certificates: Certificates | None) -> list[int]:
    return list(Cluster(address, patience=600, certificates=certificates).map(abs, [-1, -2]))


def test_the_files_are_those_of_one_process(
    scorer: tallystick.Scorer, address: str, folder: Path, tmp_path: Path
) -> None:
    executor = Cluster(address, patience=600, certificates=of(folder))
    for name, given in (("one", None), ("two", executor)):
        (tmp_path / name).mkdir()
        scorer.score_file(SKILLS, tmp_path / name / "out.csv", executor=given)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert one == two


def test_a_client_of_another_authority_is_refused(
    address: str, folder: Path, foreign: Path
) -> None:
    reason = "the cluster cannot be reached .*TLS.*signed by the same authority"
    client = {"certificate": foreign / "client.pem", "key": foreign / "client.key"}
    with pytest.raises(EngineError, match=reason):
        asked(address, of(folder, **client))


def test_a_scheduler_of_another_authority_is_refused(address: str, foreign: Path) -> None:
    with pytest.raises(EngineError, match=r"TLS certificate does not match.*same authority"):
        asked(address, of(foreign))


def test_a_client_without_certificates_is_refused(address: str) -> None:
    with pytest.raises(EngineError, match=r"found no certificates, expected --cluster-ca, "):
        asked(address, None)
    clear = address.replace("tls://", "tcp://")
    with pytest.raises(
        EngineError, match=r"or tls://host:8786 where it takes no other connections"
    ):
        asked(clear, None)


def test_certificates_are_never_left_out(address: str, folder: Path) -> None:
    clear = address.replace("tls://", "tcp://")
    with pytest.raises(EngineError, match=r"found certificates for an address without TLS"):
        asked(clear, of(folder))


def test_a_refusal_is_one_line(address: str, folder: Path, foreign: Path, tmp_path: Path) -> None:
    score = ("score", SKILLS, "--rules", "skills@1.0.0", "-o", tmp_path / "results.csv")
    by = ("--cluster", address, "--cluster-ca", folder / "ca.pem")
    client = ("--cluster-cert", foreign / "client.pem", "--cluster-key", foreign / "client.key")
    found = message_of(run(*score, *by, *client))
    assert found.startswith(f"{address}: the cluster cannot be reached (")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("part", "name", "said"),
    [
        ("authority", "absent.pem", "absent.pem: the file cannot be read"),
        ("authority", "client.key", "client.key: found no certificate"),
        ("certificate", "client.key", "client.key: the certificate cannot be used with the key "),
        ("key", "client.pem", "client.pem: the certificate cannot be used with the key "),
        ("key", "worker.key", "client.pem: the certificate cannot be used with the key "),
    ],
)
def test_files_that_cannot_be_used_are_told_before_anyone_is_asked(
    folder: Path, part: str, name: str, said: str
) -> None:
    with pytest.raises(EngineError) as caught:
        asked("tls://127.0.0.1:9", of(folder, **{part: folder / name}))
    assert str(caught.value).startswith(f"{folder}/{said}")


def test_a_pipe_is_not_waited_for(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.pem"
    os.mkfifo(pipe)
    with pytest.raises(EngineError, match=r"pipe.pem: found a pipe, expected certificates"):
        asked("tls://127.0.0.1:9", of(folder, authority=pipe))


def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(folder: Path, tmp_path: Path) -> None:
    key = tmp_path / "locked.key"
    lock = ["openssl", "ec", "-in", folder / "client.key", "-aes256", "-passout", "stdin"]
    subprocess.run([*lock, "-out", key], input=b"secret", check=True, capture_output=True)
    with pytest.raises(EngineError, match=r"locked.key: found a key with a passphrase, expected"):
        asked("tls://127.0.0.1:9", of(folder, key=key))


def test_the_environment_names_the_files_of_a_cluster(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TALLYSTICK_CLUSTER", "tls://127.0.0.1:9")
    monkeypatch.setenv("TALLYSTICK_CLUSTER_CA", str(folder / "ca.pem"))
    monkeypatch.setenv("TALLYSTICK_CLUSTER_KEY", "no.key")
    score = ("score", SKILLS, "--rules", "skills@1.0.0", "-o", "results.csv")
    assert "found a part of --cluster-ca, --cluster-cert and" in run(*score).err
    monkeypatch.setenv("TALLYSTICK_CLUSTER_CERT", str(folder / "client.pem"))
    found = message_of(run(*score))
    assert found.startswith("no.key: the file cannot be read (No such file")
    assert run(*score, "--workers", 1).status == 0
