"""The packages of the project; whatever else lists packages is compared with these."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "engine"
PLUGINS = ROOT / "plugins"
CORE = "tallystick"
SKILL_TYPES = ("tallystick_reward", "tallystick_skills", "tallystick_workflow")
"""The plugins of skill types: what they import is what anyone's plugin may."""
FLOORS = (
    "tallystick_allocation",
    "tallystick_yuma",
    "tallystick_consensus",
    "tallystick_state",
    "tallystick_conformance",
    "tallystick_simulation",
    "tallystick_governance",
    "tallystick_chain",
    "tallystick_service",
    "tallystick_validator",
)
"""From the lowest: a floor imports modules of the core, itself and floors below it."""
PACKAGES = (CORE, *sorted((*FLOORS, *SKILL_TYPES)))
"""Every package that the wheel carries."""


def folder_of(package: str) -> Path:
    """The folder of a package."""
    return (ENGINE if package == CORE else PLUGINS) / package


def sources(package: str) -> list[Path]:
    """The modules of a package, as files."""
    found = sorted(folder_of(package).rglob("*.py"))
    assert found, f"{package} holds no source"
    return found


def module_of(path: Path) -> str:
    """The name that a file of a package is imported by."""
    folder = ENGINE if path.is_relative_to(ENGINE) else PLUGINS
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
