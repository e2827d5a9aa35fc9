"""Downloads that leave a whole, verified file or nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path

from vrbm.files import atomic

#: Called with the file's name, the bytes that have come, and the bytes to come (0 if not known).
Progress = Callable[[str, int, int], None]


def fetch(
    name: str,
    mirrors: Sequence[str],
    checksum: str | None,
    folder: Path,
    progress: Progress | None = None,
) -> Path:
    """The file `name` in `folder`, downloaded from the first mirror that gives the right bytes.

    `checksum` is "sha256:…" or "md5:…"; a file that is there already and has it is taken as it
    is, and one that has not is replaced. Two processes may fetch the same file at once. Without
    `checksum` the file is always downloaded, and the caller verifies what it holds.
    """
    import pooch

    path = folder / name
    if checksum is not None and path.exists() and _digest(path, checksum) == checksum:
        return path
    problems = []
    for mirror in mirrors:
        url = mirror.rstrip("/") + "/" + name
        bar = False if progress is None else _Bar(name, progress)
        try:
            with atomic(path) as temporary:
                pooch.HTTPDownloader(progressbar=bar, timeout=30)(url, str(temporary), None)
                if checksum is not None and (found := _digest(temporary, checksum)) != checksum:
                    size = temporary.stat().st_size
                    raise ValueError(
                        f"expected a file with {checksum}, but {size} bytes came with {found}"
                    )
            return path
        except (OSError, ValueError) as error:
            problems.append(f"{url}: {error}")
    raise OSError(
        f"{name} could not be downloaded to {folder}. " + "; ".join(problems) + ". "
        "Check the connection, or get the files by other means and pass their "
        "folder, or name the directory that holds it by the environment variable VRBM_DATA."
    )


def _digest(path: Path, checksum: str) -> str:
    import pooch

    algorithm, _, _ = checksum.partition(":")
    return f"{algorithm}:{pooch.file_hash(str(path), alg=algorithm)}"


class _Bar:
    """What pooch takes for a progress bar."""

    def __init__(self, name: str, progress: Progress):
        self.name, self.progress = name, progress
        self.total = self.done = 0

    def update(self, count: int) -> None:
        self.done += count
        self.progress(self.name, self.done, self.total)

    def reset(self) -> None:
        """Pooch resets a bar when the file has come, and then counts all of it once more."""
        self.done = 0

    def close(self) -> None:
        pass
