"""Output on terminals and pipes of any encoding."""

import codecs
import sys
import unicodedata

#: Characters of our own output where the encoding lacks them.
_SPELLED = str.maketrans(
    {
        "±": "+-", "×": "x", "…": "...", "−": "-", "–": "-", "—": "-", "⟨": "<", "⟩": ">",
        "≤": "<=", "≥": ">=", "≈": "~", "∞": "inf", "’": "'", "•": "*", "✓": "yes", "✗": "no",
        "─": "-", "━": "-", "═": "-", "╸": "-", "╺": "-", "│": "|", "┃": "|", "║": "|",
    }
)  # fmt: skip


def adapt_streams() -> None:
    """Make standard output and error spell out what their encoding lacks, in place of failing."""
    codecs.register_error("vrbm-spelled", _spell)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="vrbm-spelled")


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_spelled, error.object[error.start : error.end])), error.end


def _spelled(character: str) -> str:
    """Our own symbols in ASCII, Greek letters by name, and escapes for all else."""
    if (found := character.translate(_SPELLED)) != character:
        return found
    name = unicodedata.name(character, "")
    if name.startswith("GREEK") and " LETTER " in name:
        return name.split()[-1].lower()
    if name.startswith(("BOX DRAWINGS", "BRAILLE")):
        return "+"
    return character.encode("ascii", "backslashreplace").decode()
