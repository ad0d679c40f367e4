"""Work that fails; in a module of its own, which a worker process can import too."""

import attrs


@attrs.frozen
class Raising:
    """Fails with an error of this kind."""

    error: type[Exception]

    def __call__(self, task: int) -> int:
        raise self.error(f"at {task}")
