"""The `vrbm` command: one dataclass for each subcommand, with a `run` method.

Modules here import nothing heavy at the top, so that `vrbm --help` answers at once.
"""

import sys
from typing import Annotated

import tyro
from tyro.conf import subcommand

import vrbm
from vrbm.cli.data import Data
from vrbm.cli.demo import Demo
from vrbm.cli.info import Info

Command = (
    Annotated[Data, subcommand("data")]
    | Annotated[Demo, subcommand("demo")]
    | Annotated[Info, subcommand("info")]
)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, run the subcommand, and return the exit status."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if arguments == ["--version"]:
        print(f"vrbm {vrbm.__version__}")
        return 0
    command = tyro.cli(
        Command,
        config=(tyro.conf.OmitSubcommandPrefixes,),
        prog="vrbm",
        description="Restricted Boltzmann machines that find their own size. "
        "vrbm --version prints the version.",
        args=arguments,
    )
    try:
        command.run()
    except (ValueError, OSError) as error:
        print(f"vrbm: {error}", file=sys.stderr)
        return 2
    return 0
