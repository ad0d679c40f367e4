"""A virtual environment with this engine, into which plugins are installed by pip."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")


class Environment:
    """A virtual environment with this engine; its dependencies are those of the tests."""

    def __init__(self, folder: Path) -> None:
        # its pip is that of the tests, as its dependencies are
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.folder, self.python = folder, folder / "bin" / "python"
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        packages = Path(self.run("-c", where).strip())
        dependencies = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        (packages / "zz_dependencies.pth").write_text("\n".join(dependencies))
        self.install(ROOT)

    def install(self, project: Path) -> None:
        self.run(*PIP, "--no-build-isolation", "--force-reinstall", str(project))

    def run(self, *arguments: str, status: int = 0) -> str:
        """Run Python in the folder of the environment with every plugin, and return its output."""
        kept = {
            k: v for k, v in os.environ.items() if k not in ("TALLYSTICK_PLUGINS", "PYTHONPATH")
        }
        done = subprocess.run(
            [self.python, *arguments],
            cwd=self.folder,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr + done.stdout
        return done.stdout

    def tallystick(self, *arguments: str, status: int = 0) -> str:
        return self.run("-m", "tallystick", *arguments, status=status)
