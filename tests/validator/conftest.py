"""Asynchronous tests run on the event loop that daemons have."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
