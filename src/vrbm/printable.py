"""Strings from outside, made safe to show: names, labels, file names, messages of libraries."""

import re

#: Control characters (C0, DEL, C1), line separators, marks that reorder text, and surrogates, which
#: stand for bytes of file names that are not UTF-8.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def plain(text: object) -> str:
    r"""The text with every character that acts on a terminal as an escape such as \x1b or \n."""
    return _UNSAFE.sub(lambda found: _escape(found[0]), str(text))


def brief(text: object, most: int = 200) -> str:
    """Plain text of at most `most` characters, cut with an ellipsis."""
    shown = plain(str(text)[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that surrogateescape has kept
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()
