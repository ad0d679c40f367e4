"""Write the bill of materials of an installation: CycloneDX JSON, to the file that is named.

It has what `tallystick` needs in this environment, and what its extras need (as optional): versions
and hashes of the lock, licences as the installed packages state them. No clock and no chance have a
part in it.
"""

import json
import sys
import uuid
from collections.abc import Iterable, Iterator
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).parent / "lock" / "test.txt"
PROJECT = "tallystick"
EXTRAS = ("chain", "cluster", "postgres", "prove", "report", "serve", "trust")
"""The extras of users; the others are for who changes the project."""


def locked() -> dict[str, tuple[str, list[str]]]:
    """The version and the hashes of each package that the lock has for this environment."""
    found = {}
    for line in LOCK.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            asked, *hashes = line.split(" --hash=sha256:")
            wanted = Requirement(asked)
            if wanted.marker is None or wanted.marker.evaluate():
                (pin,) = wanted.specifier
                found[wanted.name] = (pin.version, [each.strip() for each in hashes])
    return found


def needs(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    """What an installed package with some extras needs here."""
    for text in metadata(name).get_all("Requires-Dist") or ():
        wanted = Requirement(text)
        environments = [{"extra": extra} for extra in ("", *extras)]
        if wanted.marker is None or any(map(wanted.marker.evaluate, environments)):
            yield wanted


def graph(extras: Iterable[str]) -> dict[str, list[str]]:
    """Each package that an installation with some extras has, with those that it needs itself."""
    found: dict[str, set[str]] = {}
    waiting = [Requirement(f"{PROJECT}[{','.join(extras)}]")]
    while waiting:
        asked = waiting.pop()
        wanted = list(needs(asked.name, asked.extras))
        name, names = canonicalize_name(asked.name), {canonicalize_name(n.name) for n in wanted}
        if name not in found or not names <= found[name]:
            found.setdefault(name, set()).update(names)
            waiting += wanted
    return {name: sorted(names) for name, names in sorted(found.items())}


def licences(name: str) -> list[dict[str, Any]]:
    """The licence as the package states it: an expression of SPDX, or else its name."""
    stated = metadata(name)
    if expression := stated.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = stated.get_all("Classifier") or []
    names = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License :: ")]
    if not names and (text := stated.get("License")):
        names = [text.splitlines()[0]]
    if not names:
        raise SystemExit(f"{name}: found no licence in its metadata, expected one: look it up")
    return [{"license": {"name": each}} for each in names]


def reference(name: str, release: str) -> str:
    """The address of a package (https://github.com/package-url/purl-spec)."""
    return f"pkg:pypi/{name}@{release}"


def component(name: str, release: str) -> dict[str, Any]:
    """What is said of every package."""
    purl = reference(name, release)
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": release,
        "purl": purl,
        "licenses": licences(name),
    }


def dependency(name: str, hashes: list[str], scope: str) -> dict[str, Any]:
    """A package of the lock, with the hashes of all its files, of which one is installed."""
    files = {
        "type": "distribution",
        "url": f"https://pypi.org/project/{name}/{version(name)}/#files",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }
    return {**component(name, version(name)), "scope": scope, "externalReferences": [files]}


def document() -> dict[str, Any]:
    """The whole bill of materials."""
    pins, required, whole = locked(), graph(()), graph(EXTRAS)
    components = []
    for name in whole:
        if name == PROJECT:
            continue
        if name not in pins or pins[name][0] != version(name):
            expected = f"{name} {pins[name][0]}" if name in pins else f"{name} to be in the lock"
            raise SystemExit(f"found {name} {version(name)}, expected {expected}: run `make test`")
        scope = "required" if name in required else "optional"
        components.append(dependency(name, pins[name][1], scope))
    references = {name: reference(name, version(name)) for name in whole}
    found: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(PROJECT, version(PROJECT))},
        "components": components,
        "dependencies": [
            {"ref": references[name], "dependsOn": [references[each] for each in names]}
            for name, names in whole.items()
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(found))
    return {**found, "serialNumber": f"urn:uuid:{serial}"}


def main() -> None:
    """Write the file."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
