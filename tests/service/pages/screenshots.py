"""Pictures of the pages of a made-up network, at 1280 pixels: ``python screenshots.py FOLDER``."""

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from browser import FLAGS
from needs import tool
from service.live import Live, live

from tallystick_service.demo import MINER, made_up_state
from tallystick_service.settings import Settings

_WIDTH, _HEIGHT = 1280, 800
_QUERY = "skill_type=rag_knowledge&other=skills@1.1.0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=_WIDTH)
    parser.add_argument("--scheme", choices=("light", "dark"), default="light")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with made_up_state(Path(folder)) as ledger, ledger.queries() as queries:
            skill_type = next(t for t in sorted(queries.rules.type_rules) if queries.board(t))
            best = queries.board(skill_type)[1].hotkey
        settings = Settings(rate=10_000, burst=10_000)
        with live(Path(folder) / "demo.db", settings) as service, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=tool("chromium"), args=list(FLAGS))
            paths = {
                "home": "/",
                "miners": "/miners",
                "miner": f"/miners/{best}",
                "challenge": f"/miners/{MINER}/own",
                "rules": "/rules",
                "rule-set": "/rules/skills@1.2.0#formulas",
                "rules-diff": "/rules/diff?old=skills@1.1.0&new=skills@1.2.0",
                "network": "/network",
                "epoch": "/network/epochs/3",
                "playground": f"/playground?{_QUERY}",
            }
            for name, path in paths.items():
                take(browser, service, path, asked.folder / f"{name}.png", asked)
            browser.close()


def take(browser: Browser, service: Live, path: str, file: Path, asked: argparse.Namespace) -> None:
    page = browser.new_page(
        viewport={"width": asked.width, "height": _HEIGHT}, color_scheme=asked.scheme
    )
    page.goto(service.address + path)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=file)
    page.screenshot(path=file.with_stem(f"{file.stem}-whole"), full_page=True)
    page.close()


if __name__ == "__main__":
    main()
