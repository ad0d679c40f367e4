"""The shelf: the folder of a validator's batches, and of what it needs to give them to peers.

::

    7/                  an epoch
        own             the digest of this validator's own batch
        <digest>.<hash of the hotkey>.jsonl
                        a batch, whole and valid for that validator, which alone can commit it
        chain.json      the reads of the chain at the blocks of the epoch
        closed.json     the leaf of the closed epoch, for peers to compare

Invariants: a file with its final name is whole and on the disk; ``own`` names a batch that is
there, so a validator that is killed commits to the same bytes again; what is read back is hashed
again, and damage counts as absence. Every function may be called from any thread.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import msgspec

from tallystick.io.atomic import atomic_files, output_errors
from tallystick_chain.chain import Commitment, Neuron
from tallystick_validator.attributes import ChainBlock
from tallystick_validator.batches import Batch, Committed, digest_of, parse

DIGEST = re.compile(r"[0-9a-f]{64}")
"""Pattern of the digest of a batch."""
EPOCH = re.compile(r"0|[1-9][0-9]{0,14}")
"""Pattern of the number of an epoch."""
_OWN, _CHAIN, _CLOSED, _SUFFIX = "own", "chain.json", "closed.json", ".jsonl"


@attrs.frozen
class PinnedReads:
    """The reads of the chain that decide an epoch; each is None until it was made.

    Attributes:
        end: the block at which the epoch ends, with its neurons.
        committed: the commitments at the commit block.
        voted: those at the vote block.
    """

    end: ChainBlock | None = None
    committed: tuple[Commitment, ...] | None = None
    voted: tuple[Commitment, ...] | None = None

    @property
    def neurons(self) -> tuple[Neuron, ...]:
        """The neurons at the end of the epoch; none before it was read."""
        return () if self.end is None else self.end.neurons


@attrs.frozen
class ClosedEpochDigests:
    """The digests of an epoch as it was closed here.

    Attributes:
        leaf: the leaf of the epoch, as JSON of ``epoch-leaf-1``.
        rules: the digest of the rules that were in force and scheduled then.
    """

    leaf: msgspec.Raw
    rules: str


# made here, in one thread: msgspec 0.22 crashes where two threads learn a type at the same time
_READS = msgspec.json.Decoder(PinnedReads)
_DIGESTS = msgspec.json.Decoder(ClosedEpochDigests)


class Shelf:
    """The folder of batches."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is made."""
        self._folder = folder
        with output_errors(folder):
            # peers prove who they are before they are given a batch
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, batch: Committed) -> Path:
        """Return the place of a batch, whether it is there or not.

        Nothing stands in its name as others wrote it.
        """
        whose = digest_of(batch.validator.encode())[:16]
        return self._folder / str(batch.epoch) / f"{batch.digest}.{whose}{_SUFFIX}"

    def has(self, batch: Committed) -> bool:
        """Return whether a batch is there."""
        return self.path(batch).is_file()

    def find(self, digest: str) -> Path | None:
        """Return the file of a batch of any epoch; None where it is not there."""
        paths = (path for epoch in self.epochs() for path in self._batches(epoch, digest))
        return next(paths, None)

    def is_whole(self, batch: Committed) -> bool:
        """Return whether a batch is there as it was; a damaged one is taken away."""
        path = self.path(batch)
        with suppress(OSError):
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == batch.digest:
                    return True
            path.unlink()
        return False

    def batch(self, batch: Committed) -> Batch:
        """Return a batch that is there.

        Raises:
            BatchError: it was damaged since.
        """
        return parse(self.path(batch).read_bytes(), batch.digest)

    def put(self, batch: Committed, data: bytes, *, own: bool = False) -> None:
        """Keep a batch that is whole and valid for its validator.

        Args:
            batch: which.
            data: its bytes.
            own: whether it is the own one of its epoch, which this is from now on.

        Raises:
            OutputError: it cannot be written.
        """
        content = {self.path(batch).name: data}
        if own:
            content[_OWN] = f"{batch.digest}\n".encode()
        self._write(batch.epoch, content)

    def own(self, epoch: int) -> str | None:
        """Return the digest of the own batch of an epoch; None where there is none yet."""
        try:
            text = self._folder.joinpath(str(epoch), _OWN).read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        return text if DIGEST.fullmatch(text) and any(self._batches(epoch, text)) else None

    def digests(self, epoch: int) -> list[str]:
        """Return the digests of the batches of an epoch that are there, ascending."""
        names = {path.name.partition(".")[0] for path in self._batches(epoch)}
        return sorted(filter(DIGEST.fullmatch, names))

    def epochs(self) -> list[int]:
        """Return the epochs of which something is there, newest first."""
        names = list[str]()
        with suppress(OSError):
            names = [path.name for path in self._folder.iterdir()]
        return sorted((int(name) for name in names if EPOCH.fullmatch(name)), reverse=True)

    def reads(self, epoch: int) -> PinnedReads:
        """Return the reads of the chain that were kept; none where they cannot be read."""
        reads: PinnedReads | None = self._decoded(epoch, _CHAIN, _READS)
        return reads or PinnedReads()

    def put_reads(self, epoch: int, reads: PinnedReads) -> None:
        """Keep reads of the chain, of finalized blocks, which never change.

        Raises:
            OutputError: they cannot be written.
        """
        self._write(epoch, {_CHAIN: msgspec.json.encode(reads)})

    def closed(self, epoch: int) -> ClosedEpochDigests | None:
        """Return the digests of a closed epoch; None where they were not kept."""
        digests: ClosedEpochDigests | None = self._decoded(epoch, _CLOSED, _DIGESTS)
        return digests

    def put_closed(self, epoch: int, leaf: bytes, rules: str) -> None:
        """Keep the digests of a closed epoch.

        Raises:
            OutputError: they cannot be written.
        """
        digests = ClosedEpochDigests(msgspec.Raw(leaf), rules)
        self._write(epoch, {_CLOSED: msgspec.json.encode(digests)})

    def drop(self, epoch: int, digest: str) -> None:
        """Take away a batch that no closing needs."""
        for path in self._batches(epoch, digest):
            with suppress(OSError):
                path.unlink()

    def prune(self, before: int) -> None:
        """Take away all epochs before one.

        Raises:
            OutputError: a folder cannot be taken away.
        """
        for epoch in self.epochs():
            if epoch < before:
                folder = self._folder / str(epoch)
                with output_errors(folder):
                    shutil.rmtree(folder)

    def _write(self, epoch: int, content: Mapping[str, bytes]) -> None:
        """Write files of an epoch, by name, all or none."""
        folder = self._folder / str(epoch)
        with output_errors(folder):
            folder.mkdir(exist_ok=True)
        with atomic_files(*(folder / name for name in content)) as files:
            for file, data in zip(files, content.values(), strict=True):
                file.write(data)

    def _decoded(self, epoch: int, name: str, decoder: msgspec.json.Decoder[Any]) -> Any:  # noqa: ANN401  # of the decoder
        """Return the content of a file; None where it cannot be read, or is damaged."""
        try:
            return decoder.decode(self._folder.joinpath(str(epoch), name).read_bytes())
        except (OSError, ValueError):
            return None

    def _batches(self, epoch: int, digest: str = "*") -> Iterator[Path]:
        """Yield the files of the batches of an epoch, or of one of them."""
        with suppress(OSError):
            yield from self._folder.joinpath(str(epoch)).glob(f"{digest}.*{_SUFFIX}")
