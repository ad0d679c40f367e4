"""Pages in a real browser: Chromium, what it complains of, and what axe-core finds.

``make browser`` installs what is needed; without it the tests are left out.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import needed, tool
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""No sandbox, as its pages are our own and a container has none, nor much memory to share; and
nothing asks for a network."""
PATIENCE = 600_000
"""Milliseconds: a loaded machine takes any time."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    needed("axe-core", AXE)
    program = tool("chromium")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=list(FLAGS), timeout=PATIENCE)
        yield opened
        opened.close()


class Opened:
    """A page that is open, and what the browser complained of."""

    def __init__(
        self,
        browser: Browser,
        address: str,
        width: int,
        scheme: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page: Page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            extra_http_headers=headers,
        )
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def violations(self, **scope: list[str]) -> list[str]:
        """What axe-core finds wrong; a picture without a text alternative is of these.

        Args:
            scope: selectors of what to look at (`include`) or what to leave out (`exclude`).
        """
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("scope => axe.run(scope)", scope)["violations"]
        return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]

    def too_wide(self) -> int:
        """By how much the page is wider than the window."""
        wide: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wide
