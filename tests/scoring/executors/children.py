"""The processes that a process has begun, as the system tells them."""

from pathlib import Path


def workers_of(pid: int) -> set[int]:
    """The worker processes among the children of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = {int(child) for task in tasks for child in said(task / "children").split()}
    return {child for child in children if b"spawn_main" in said(Path(f"/proc/{child}/cmdline"))}


def said(path: Path) -> bytes:
    """What the system says of a thread or a process; nothing once it has ended."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
