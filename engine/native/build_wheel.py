"""Builds the shared library with cargo and puts it into the wheel, with its digest."""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = "tallystick_native"


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # of any configuration
    """The hook that hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library; the wheel serves every Python 3 of this platform."""
        del version
        root = Path(self.root)
        names = {"darwin": f"lib{_PACKAGE}.dylib", "win32": f"{_PACKAGE}.dll"}
        name = names.get(sys.platform, f"lib{_PACKAGE}.so")
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")).absolute()
        # paths of the machine that builds are no part of the library
        flags = f"--remap-path-prefix={root}=. {os.environ.get('RUSTFLAGS', '')}".strip()
        subprocess.run(
            [
                shutil.which("cargo") or "cargo",
                "build",
                "--release",
                "--offline",
                "--locked",
                "--quiet",
            ],
            cwd=root,
            env={**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)},
            check=True,
        )
        library = target / "release" / name
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        built = target / "_built.py"
        text = f'"""What was built."""\n\nNAME = "{name}"\nDIGEST = "sha256:{digest}"\n'
        built.write_text(text, encoding="utf-8")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][str(library)] = f"{_PACKAGE}/{name}"
        build_data["force_include"][str(built)] = f"{_PACKAGE}/_built.py"
