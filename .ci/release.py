"""Rehearse a release: write the notes and the hashes of what is built in a folder.

The folder has the source distribution, the wheels and the bill of materials of `make release`; the
wheel of the native front where there is `cargo`.
Added are ``NOTES.md``, the section of CHANGELOG.md about the version, and ``SHA256SUMS``, which
`sha256sum --check` reads. No clock and no chance have a part in them, so whoever builds the same
commit compares their bytes. Nothing is uploaded.
"""

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path

from packaging.utils import parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
NATIVE = "tallystick_native-"
NOTES, SUMS = "NOTES.md", "SHA256SUMS"
BILL = "tallystick.cdx.json"
UNRELEASED = "Unreleased"
_SECTION = re.compile(r"^## \[([^\]]+)\].*?$\n(.*?)(?=^## \[|\Z)", re.MULTILINE | re.DOTALL)
_INNER_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def version_of(root: Path) -> str:
    """The version that pyproject.toml declares."""
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(declared["project"]["version"])


def notes(changelog: str, version: str) -> tuple[str, str]:
    """The name and the text of the section about a version, or else of what is unreleased."""
    sections = {name: text.strip() for name, text in _SECTION.findall(changelog)}
    name = version if version in sections else UNRELEASED
    if not sections.get(name):
        raise SystemExit(
            f"CHANGELOG.md: found no entries under [{version}] and none under [{UNRELEASED}], "
            "expected what the release brings: write it for users"
        )
    # a link into the checkout leads nowhere from elsewhere, so its text alone stays
    return name, _INNER_LINK.sub(r"\1", sections[name])


def artefacts(folder: Path, version: str) -> list[Path]:
    """The files that a release consists of, each of which has to be of the version."""
    files = sorted(folder.glob("tallystick*"))
    sources = [each for each in files if each.name.endswith(".tar.gz")]
    wheels = [each for each in files if each.suffix == ".whl"]
    fronts = [each for each in wheels if each.name.startswith(NATIVE)]
    if not (sources and len(wheels) > len(fronts) and folder / BILL in files):
        raise SystemExit(
            f"{folder}: found {', '.join(each.name for each in files) or 'nothing'}, expected a "
            f"source distribution, a wheel and {BILL}: run `make release`"
        )
    versions = {parse_sdist_filename(each.name)[1] for each in sources}
    versions |= {parse_wheel_filename(each.name)[1] for each in wheels}
    if {str(each) for each in versions} != {version}:
        found = ", ".join(sorted(map(str, versions)))
        raise SystemExit(
            f"{folder}: found files of {found}, expected {version}: run `make release`"
        )
    listed = digests_in_bill(folder / BILL)
    for front in fronts:
        if digest_of(front) not in listed:
            raise SystemExit(f"{folder / BILL}: found no {front.name}: run `make release`")
    return files


def digests_in_bill(bill: Path) -> set[str]:
    """The digests of the files of every component."""
    components = json.loads(bill.read_text(encoding="utf-8"))["components"]
    references = [each for part in components for each in part["externalReferences"]]
    return {entry["content"] for each in references for entry in each["hashes"]}


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sums(files: list[Path]) -> str:
    """A line a file, as `sha256sum --check` reads them."""
    return "".join(f"{digest_of(each)}  {each.name}\n" for each in files)


def main() -> None:
    """Write notes and hashes, and print what a release would publish."""
    folder = Path(sys.argv[1])
    version = version_of(ROOT)
    section, text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    files = artefacts(folder, version)
    (folder / NOTES).write_text(f"# Tallystick {version}\n\n{text}\n", encoding="utf-8")
    files.append(folder / NOTES)
    (folder / SUMS).write_text(sums(files), encoding="utf-8")
    told = f"tallystick {version}: a rehearsal, nothing is uploaded\n"
    if section != version:
        told += f"CHANGELOG.md has no section [{version}]; the notes are those of [{section}]\n"
    if not any(each.name.startswith(NATIVE) for each in files):
        told += "without the native front, as there is no cargo\n"
    sys.stdout.write(told + sums(files))


if __name__ == "__main__":
    main()
