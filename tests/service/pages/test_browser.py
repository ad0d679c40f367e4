"""The pages in a real browser: nothing on the console, nothing too wide, usable by everyone."""

from urllib.parse import quote, urlsplit

import pytest
from browser import Opened, browser
from playwright.sync_api import Browser
from service.live import AS_OPERATOR, OWN, TYPES, Live
from trust.council import signer

__all__ = ["browser"]

PAGES = {
    "home": "/",
    "miners": "/miners",
    "challenge": f"/miners/{quote(OWN, safe='')}/own",
    "miner": f"/miners/{quote(OWN, safe='')}",
    "rules": "/rules",
    "rule set": "/rules/skills@1.2.0",
    "difference": "/rules/diff?old=skills@1.1.0&new=skills@1.2.0",
    "network": "/network",
    "validators": "/network/validators",
    "epoch": "/network/epochs/1",
    "playground": f"/playground?skill_type={TYPES[1]}",
    "side by side": f"/playground?skill_type={TYPES[1]}&other=skills@1.1.0",
    "refused": "/playground?record=%7B",
    "error": "/nothing",
}
FOCUSABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
SEEN = f"""() => Array.from(document.querySelectorAll("{FOCUSABLE}"))
  .filter((each) => each.checkVisibility({{contentVisibilityAuto: true}}))
  .map((each, n) => (each.dataset.n = n))"""
NOTED = """() => { window.reached = [];
  document.addEventListener('focusin', (event) => reached.push(event.target.dataset.n)); }"""


def opened(
    browser: Browser, service: Live, path: str, width: int = 1280, scheme: str = "light"
) -> Opened:
    return Opened(browser, service.address + path, width, scheme, AS_OPERATOR)


def check(found: Opened, service: Live, *, status: int = 200) -> None:
    found.page.wait_for_load_state("networkidle")
    expected = [] if status == 200 else [each for each in found.complaints if "404" in each]
    assert found.complaints == expected
    assert found.too_wide() == 0
    origin = urlsplit(service.address).netloc
    assert {urlsplit(each).netloc for each in found.requests} == {origin}
    assert found.violations() == []


def check_keyboard(found: Opened) -> None:
    wanted = found.page.evaluate(SEEN)
    found.page.evaluate(NOTED)
    for _ in range(len(wanted)):
        found.page.keyboard.press("Tab")
    assert found.page.evaluate("reached") == [str(number) for number in wanted]


@pytest.mark.process
def test_every_page_can_be_used_by_everyone_by_keys_and_without_a_script(
    browser: Browser, service: Live
) -> None:
    for number, (name, path) in enumerate(PAGES.items()):
        # each width and each scheme; all of them with every page at night
        width, scheme = ((375, "dark"), (1280, "light"))[number % 2]
        found = opened(browser, service, path, width, scheme)
        found.page.wait_for_load_state("networkidle")
        check_keyboard(found)
        check(found, service, status=404 if name == "error" else 200)
        found.page.close()
    check_forms_without_a_script(browser, service)
    check_a_strangers_pages(browser, service)


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_used_in_every_width_and_scheme(
    browser: Browser, service: Live, name: str, width: int, scheme: str
) -> None:
    found = opened(browser, service, PAGES[name], width, scheme)
    found.page.wait_for_load_state("networkidle")
    # what is folded away is looked at too
    found.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    check(found, service, status=404 if name == "error" else 200)
    found.page.close()


@pytest.mark.nightly
def test_the_first_key_leads_past_the_navigation(browser: Browser, service: Live) -> None:
    found = opened(browser, service, "/")
    found.page.keyboard.press("Tab")
    found.page.keyboard.press("Enter")
    assert found.page.evaluate("document.activeElement.id") == "main"
    found.page.close()


@pytest.mark.nightly
def test_a_change_in_the_playground_is_explained_at_once(browser: Browser, service: Live) -> None:
    found = opened(browser, service, PAGES["playground"])
    before = found.page.inner_text("#result")
    record = found.page.input_value("#record")
    found.page.fill("#record", record.replace('"risk_score": 0.', '"risk_score": 0.1'))
    found.page.wait_for_function(
        "before => document.querySelector('#result').innerText !== before", arg=before
    )
    assert "record=" in found.page.url
    told = found.page.inner_text("#result")
    again = opened(browser, service, found.page.url.removeprefix(service.address))
    assert again.page.inner_text("#result") == told
    assert found.complaints == []
    again.page.close()
    found.page.close()


def check_a_strangers_pages(browser: Browser, service: Live) -> None:
    """A miner that proves its hotkey, and is refused first."""
    found = Opened(browser, f"{service.address}/miners/{OWN}", 375, "light")
    check(found, service)
    found.page.get_by_role("link", name="Sign a text").click()
    found.page.fill("#signature", "00" * 64)
    found.page.get_by_role("button", name="Show my view").click()
    assert "a signature that does not hold" in found.page.inner_text("main")
    found.page.get_by_role("link", name="Begin again").click()
    text = found.page.locator("pre").first.inner_text()
    signature = signer("own miner", "sr25519").sign(text.encode())
    found.complaints.clear()
    found.page.fill("#signature", signature.hex())
    found.page.get_by_role("button", name="Show my view").click()
    found.page.get_by_text("What it is paid").first.wait_for()
    assert found.page.get_by_role("img", name="Reputation by epoch").count() == len(TYPES)
    check(found, service)
    found.page.close()


def check_forms_without_a_script(browser: Browser, service: Live) -> None:
    context = browser.new_context(java_script_enabled=False, extra_http_headers=AS_OPERATOR)
    page = context.new_page()
    page.goto(f"{service.address}{PAGES['playground']}")
    page.fill("#other_edits", "axes.policy.beta=0.8")
    page.get_by_role("button", name="Explain").click()
    assert page.get_by_role("heading", name="Side by side").is_visible()
    assert page.locator(".moves li").count() > 0
    page.goto(f"{service.address}/")
    page.fill("#q", OWN)
    page.get_by_role("button", name="Find").click()
    assert page.locator("h1").inner_text().endswith(OWN)
    page.goto(f"{service.address}/rules")
    page.get_by_role("button", name="Compare").click()
    assert "→" in page.locator("h1").inner_text()
    context.close()


@pytest.mark.nightly
def test_the_validators_come_into_the_page_of_the_network(browser: Browser, service: Live) -> None:
    found = opened(browser, service, PAGES["network"])
    found.page.wait_for_function(
        "document.querySelector('#agreement').innerText.includes('Health')"
    )
    assert found.complaints == []
    found.page.close()
