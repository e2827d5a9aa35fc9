"""The `vrbm` command: a dataclass with a `run` method for each subcommand, in a file of its own.

A subcommand is imported when it is called, so that `vrbm --help` answers at once.
"""

import contextlib
import errno
import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import vrbm
from vrbm.cli import process
from vrbm.cli.streams import adapt_streams
from vrbm.printable import plain

#: Name: module and class, and what it does in a line.
COMMANDS = {
    "demo": ("vrbm.cli.reproduce:Demo", "The quick Ising study: two minutes, a table, a report."),
    "data": ("vrbm.cli.data:Data", "Make or describe a data set."),
    "train": ("vrbm.cli.train:Train", "Train a model, in a run folder."),
    "resume": ("vrbm.cli.train:Resume", "Resume a run that was stopped."),
    "evaluate": ("vrbm.cli.evaluate:Evaluate", "Reconstruction and likelihood of a run."),
    "sample": ("vrbm.cli.sample:Sample", "Draw samples of a run's model, free or clamped."),
    "reproduce": ("vrbm.cli.reproduce:Reproduce", "An experiment of the paper, whole."),
    "report": ("vrbm.cli.report:Report", "Write a run or a study as one HTML file."),
    "info": ("vrbm.cli.info:Info", "Print versions and devices."),
}


def console() -> None:
    """The `vrbm` command as a process of its own."""
    process.run(main)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, run the subcommand, and return the exit status."""
    adapt_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    name = arguments[0] if arguments else "--help"
    if name == "--version":
        print(f"vrbm {vrbm.__version__}")
        return 0
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name not in COMMANDS:
        print(f"vrbm: there is no command {name!r}.\n\n{usage()}", file=sys.stderr)
        return 2
    from vrbm.files import DEVICE, CannotWrite

    module, command = COMMANDS[name][0].split(":")
    kind = getattr(import_module(module), command)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            _parsed(kind, name, arguments[1:]).run()
    except (ValueError, OSError, FloatingPointError) as error:
        if (
            isinstance(error, OSError)
            and error.filename is None
            and error.errno in (errno.EPIPE, *DEVICE)
        ):
            raise  # standard output
        print(f"vrbm: {plain(error)}", file=sys.stderr)
        failed = isinstance(error, CannotWrite) and not error.is_wrong_path
        return process.CANNOT_WRITE if failed else 2
    except (MemoryError, RuntimeError, AssertionError) as error:
        if (sentence := _explained(error)) is None:
            raise
        print(f"vrbm: {plain(sentence)}", file=sys.stderr)
        return 2
    return 0


def _parsed(kind: Any, name: str, arguments: list[str]) -> Any:
    """The command with its arguments; in messages about them, these are shown, not obeyed."""
    import tyro

    settings = (tyro.conf.OmitSubcommandPrefixes,)
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(kind, prog=f"vrbm {name}", args=arguments, config=settings)
    finally:
        for line in errors.getvalue().splitlines():
            print(plain(line), file=sys.stderr)


def _warn(message: Warning | str, *where: object) -> None:
    print(f"vrbm: warning: {plain(message)}", file=sys.stderr)


def _explained(error: Exception) -> str | None:
    """A lack of memory, or of the device that was asked for, as a sentence."""
    words = " ".join(str(error).split())
    if isinstance(error, MemoryError) or words.startswith("RESOURCE_EXHAUSTED"):
        return f"there is not enough memory ({words or 'MemoryError'}): ask for less at a time."
    asked = os.environ.get("JAX_PLATFORMS")
    if asked and not _has_devices():
        return f"JAX_PLATFORMS is {asked!r}, which JAX does not find here: try cpu, or unset it."
    return None


def _has_devices() -> bool:
    import jax

    try:
        return bool(jax.devices())
    except (RuntimeError, AssertionError):  # the second where a plugin is missing
        return False


def usage() -> str:
    """The commands, a line each."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: vrbm [--help] [--version] COMMAND …",
            "",
            "Restricted Boltzmann machines that find their own size.",
            "",
            *lines,
            "",
            "vrbm COMMAND --help tells more.",
            "",
            "exit status: 0 done, 2 wrong call or input, 74 a file could not be written,",
            "128 + n stopped by signal n (Ctrl-C: 130).",
        ]
    )
