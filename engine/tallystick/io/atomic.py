"""Atomic output: files and folders that take their names whole, or not at all.

They are written under temporary names beside their places and renamed when everything is done and
on the disk; what fails before leaves nothing, and what stood there as it was. Killed at any
instant, no file and no folder with a part of its content has the name.

Of several files the last is the commit point: it is taken away before the first of the others takes
its name, and comes when all of them have. So whoever finds it, with digests in it that are those of
the others, has a whole set.

A name that is a link is refused, so that no link of a stranger leads a run elsewhere. The folder is
opened once and everything is named within it; a rename replaces a link that came later, and never
follows it. A file that is new has the permissions that the umask leaves; one that is replaced hands
its own on.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import attrs

from tallystick.canonical import digest_of_file
from tallystick.errors import OutputError
from tallystick.io.streams import STANDARD, StreamFile, is_stream, output_stream

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@attrs.frozen
class AtomicFile:
    """A file that is written under a temporary name until it is committed.

    Attributes:
        path: its final name, as it was given.
        file: where its bytes go; they can be read back.
        folder: the number of the folder, which stays open.
        hidden: the temporary name, within the folder.
    """

    path: Path
    file: IO[bytes]
    folder: int
    hidden: str

    def write(self, data: bytes) -> None:
        """Append some bytes."""
        with output_errors(self.path):
            self.file.write(data)

    def digest(self) -> str:
        """Return ``sha256:`` and the digest of the bytes that were written."""
        with output_errors(self.path):
            self.file.flush()
            self.file.seek(0)
            return digest_of_file(self.file)

    def sync(self) -> None:
        """Write everything to the disk."""
        with output_errors(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()

    def commit(self) -> None:
        """Take the final name, in the place of a file that was there."""
        with output_errors(self.path):
            _rename(self.folder, self.hidden, self.path.name)

    def rollback(self) -> None:
        """Remove the file under its final name, if it was committed."""
        if not _stands(self.folder, self.hidden):
            with suppress(FileNotFoundError):
                os.unlink(self.path.name, dir_fd=self.folder)

    def sync_folder(self) -> None:
        """Write the names of the folder to the disk."""
        with output_errors(self.path):
            _sync_folder(self.folder)


OutputFile = AtomicFile | StreamFile
"""A file, or the stream in its place."""


@contextmanager
def atomic_files(*paths: Path) -> Iterator[tuple[OutputFile, ...]]:
    """Yield files that take their final names together, when the block ends without an error.

    The last is the commit point of the others. A name such as ``/dev/stdout`` is a stream, which is
    written at once.

    Raises:
        OutputError: a file cannot be written; nothing was left under any of the names.
    """
    with ExitStack() as stack:
        outputs = tuple(stack.enter_context(_output(path)) for path in paths)
        yield outputs
        files = [file for file in outputs if isinstance(file, AtomicFile)]
        for file in files:
            file.sync()
        if files:
            # a stream in the place of the last file leaves the others without a commit point
            seal = files[-1] if len(files) > 1 and files[-1] is outputs[-1] else None
            _commit(files, seal)


def _commit(files: Sequence[AtomicFile], seal: AtomicFile | None) -> None:
    with ExitStack() as stack:
        if seal is not None:
            stack.enter_context(_without(seal, files))
        try:
            for file in files:
                if file is seal:
                    _sync_folders(files)
                file.commit()
            _sync_folders(files)
        except BaseException:
            for file in reversed(files):
                with suppress(OSError):
                    file.rollback()
            raise


@contextmanager
def _without(seal: AtomicFile, files: Sequence[AtomicFile]) -> Iterator[None]:
    """Run the block without the file that the seal replaces; restore it if nothing has changed."""
    aside = f"{seal.hidden}.old"
    with output_errors(seal.path), suppress(FileNotFoundError):
        _rename(seal.folder, seal.path.name, aside)
    try:
        # a power cut must not bring it back beside files of another run
        seal.sync_folder()
        yield
    finally:
        with suppress(OSError):
            if all(_stands(file.folder, file.hidden) for file in files):
                _rename(seal.folder, aside, seal.path.name)
            else:
                os.unlink(aside, dir_fd=seal.folder)


def _sync_folders(files: Sequence[AtomicFile]) -> None:
    for folder_file in files:
        folder_file.sync_folder()


def _output(path: Path) -> AbstractContextManager[OutputFile]:
    return output_stream(path) if is_stream(path) and path != STANDARD else _temporary(path)


@contextmanager
def _temporary(path: Path) -> Iterator[AtomicFile]:
    mode = _mode_of_output(path)
    with output_errors(path):
        folder = os.open(path.parent, _FOLDER)
    try:
        with output_errors(path):
            hidden, number = _hidden_file(folder, path.name, mode)
        try:
            file = os.fdopen(number, "w+b")
            try:
                yield AtomicFile(path, file, folder, hidden)
            finally:
                # a file that is to stay was closed by `AtomicFile.sync`, which tells its errors
                with suppress(OSError):
                    file.close()
        finally:
            with suppress(OSError):
                os.unlink(hidden, dir_fd=folder)
    finally:
        os.close(folder)


def _hidden_file(folder: int, name: str, mode: int | None) -> tuple[str, int]:
    """Return a new file of a name that nobody can foresee, and its number.

    Args:
        folder: the number of the folder.
        name: the final name.
        mode: its permissions; None for those that the umask leaves.
    """
    while True:
        hidden = _hidden_name(name)
        with suppress(FileExistsError):
            number = os.open(hidden, _NEW_FILE, 0o666 if mode is None else 0o600, dir_fd=folder)
            if mode is not None:
                os.fchmod(number, mode)
            return hidden, number


def _hidden_name(name: str) -> str:
    return f".{name}.{secrets.token_hex(4)}.part"


@contextmanager
def atomic_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """Yield a new folder to fill, which takes its name when the block ends without an error.

    Args:
        folder: its final name.
        files: the files that it may hold. A folder of that name that holds nothing else is
            replaced; any other is refused.

    Raises:
        OutputError: the folder cannot be written, or something else has its name.
    """
    _check_replaceable(folder, files)
    # the name of a folder such as ``.`` is known by where it is; another is not followed
    has_name = folder.name not in ("", "..")
    target = Path(os.path.realpath(folder.parent if has_name else folder))
    target = target / folder.name if has_name else target
    with output_errors(folder):
        parent = os.open(target.parent, _FOLDER)
    hidden = _hidden_name(target.name)
    try:
        # made inside one that is the user's alone, it has the permissions of any new folder
        new = target.parent / hidden / "new"
        with output_errors(folder):
            os.mkdir(hidden, 0o700, dir_fd=parent)
            new.mkdir()
        yield new
        with output_errors(folder):
            _commit_folder(new, parent, hidden, target.name)
    finally:
        shutil.rmtree(target.parent / hidden, ignore_errors=True)
        os.close(parent)


def _check_replaceable(folder: Path, files: Collection[str]) -> None:
    """Refuse a name that is taken, before the work begins."""
    with output_errors(folder):
        refuse_link(folder)
        if not folder.exists():
            return
        if not folder.is_dir():
            raise OutputError(f"{folder}: found a file, expected the name of a folder to write")
        other = sorted(entry.name for entry in folder.iterdir() if entry.name not in files)
    if other:
        raise OutputError(
            f"{folder}: found {other[0]!r} in the folder, expected a new folder or an earlier "
            "result: name another one"
        )


def _commit_folder(new: Path, parent: int, hidden: str, name: str) -> None:
    """Rename a folder to its name, and away the one there; roll back if the second rename fails."""
    for path in [*sorted(new.iterdir()), new]:
        _sync(path)
    old = f"{hidden}/old"
    if _stands(parent, name):
        _rename(parent, name, old)
    try:
        _rename(parent, f"{hidden}/new", name)
    except BaseException:
        if _stands(parent, old):
            _rename(parent, old, name)
        raise
    _sync_folder(parent)


def _rename(folder: int, old: str, new: str) -> None:
    os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def _stands(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sync_names(folder: Path) -> None:
    """Write the names of a folder to the disk.

    Raises:
        OSError: the folder cannot be opened, or the disk fails.
    """
    number = os.open(folder, os.O_RDONLY)
    try:
        _sync_folder(number)
    finally:
        os.close(number)


def _sync_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # some file systems of a network know no such thing
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def output_place(path: Path) -> Path:
    """Return the real path of an output, by which two names of one file are known as one.

    Raises:
        OutputError: the name cannot be one of a file, or something else has it.
    """
    if path == STANDARD:
        raise OutputError(f"{path}: found the standard output, expected the name of a file")
    with output_errors(path):
        try:
            kind = stat.S_IFMT(path.stat().st_mode)
        except FileNotFoundError:
            kind = stat.S_IFREG
        except ValueError as error:
            raise OutputError(
                f"{path}: found a name that no file can have ({error}), expected the name of a file"
            ) from error
        if kind != stat.S_IFREG:
            obstacle = "a folder" if kind == stat.S_IFDIR else "a pipe or a device"
            raise OutputError(f"{path}: {obstacle}, expected the name of a file to write")
        return Path(os.path.realpath(path))


def _mode_of_output(path: Path) -> int | None:
    """Return the permissions of the file of that name; None where there is none.

    Raises:
        OutputError: as `output_place` and `refuse_link`.
    """
    output_place(path)
    refuse_link(path)
    with output_errors(path):
        try:
            return stat.S_IMODE(path.lstat().st_mode) & 0o777
        except FileNotFoundError:
            return None


def refuse_link(path: Path) -> None:
    """Refuse an output whose name is a link.

    Raises:
        OutputError: it is one.
    """
    if path.is_symlink():
        raise OutputError(
            f"{path}: found a link to {os.path.realpath(path)}, expected the name of the output "
            "itself: name what it leads to, or allow it with --follow-links"
        )


def output_path(path: Path, *, follow_links: bool) -> Path:
    """Return the path of an output; if links are followed, that of the link's target."""
    if follow_links and not is_stream(path) and path.is_symlink():
        return Path(os.path.realpath(path))
    return path


def write_file(path: Path, data: bytes, *, follow_links: bool = False) -> None:
    """Write a small file, whole or not at all; see `atomic_files` and `output_path`.

    Raises:
        OutputError: it cannot be written.
    """
    with atomic_files(output_path(path, follow_links=follow_links)) as (file,):
        file.write(data)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Name the output, as it was given, in every error of the block that writes it.

    Raises:
        OutputError: instead of an ``OSError`` of the block.
    """
    try:
        yield
    except BrokenPipeError:
        # whoever reads a stream has enough
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"{path}: the file cannot be written ({reason.lower()}): check the folder and the "
            "disk; nothing was left"
        ) from error
