"""The console of all commands: what comes from outside is shown, never obeyed."""

from typing import Any

from rich.console import Console
from rich.text import Text

from vrbm.printable import plain


class PlainConsole(Console):
    """A console without markup, on which control characters appear as escapes."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string passes here on its way out, whether printed or in the cell of a table."""
        return super().render_str(plain(text), **options)
