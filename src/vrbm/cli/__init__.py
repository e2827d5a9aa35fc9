"""The `vrbm` command: a dataclass with a `run` method for each subcommand, in a file of its own.

A subcommand is imported when it is called, so that `vrbm --help` answers at once.
"""

import sys
from importlib import import_module

import tyro

import vrbm
from vrbm.cli.streams import adapt_streams
from vrbm.printable import plain

#: Name: module and class, and what it does in a line.
COMMANDS = {
    "demo": ("vrbm.cli.reproduce:Demo", "The quick Ising study: two minutes, a table, a report."),
    "data": ("vrbm.cli.data:Data", "Make or describe a data set."),
    "train": ("vrbm.cli.train:Train", "Train a model, in a run folder."),
    "resume": ("vrbm.cli.train:Resume", "Go on with a run that was stopped."),
    "evaluate": ("vrbm.cli.evaluate:Evaluate", "Reconstruction and likelihood of a run."),
    "sample": ("vrbm.cli.sample:Sample", "Draw samples of a run's model, free or clamped."),
    "reproduce": ("vrbm.cli.reproduce:Reproduce", "An experiment of the paper, whole."),
    "report": ("vrbm.cli.report:Report", "Write a run or a study as one HTML file."),
    "info": ("vrbm.cli.info:Info", "Print versions and devices."),
}


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
    module, command = COMMANDS[name][0].split(":")
    kind = getattr(import_module(module), command)
    settings = (tyro.conf.OmitSubcommandPrefixes,)
    try:
        tyro.cli(kind, prog=f"vrbm {name}", args=arguments[1:], config=settings).run()
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"vrbm: {plain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("vrbm: stopped.", file=sys.stderr)
        return 130
    return 0


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
        ]
    )
