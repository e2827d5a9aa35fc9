"""`python -m vrbm` is `vrbm`."""

from vrbm.cli import console

console()
