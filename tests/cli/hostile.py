"""Strings that want something from a terminal other than to be read."""

from __future__ import annotations

__all__ = ["HOSTILE"]

_ESC = "\x1b"

HOSTILE: tuple[str, ...] = (
    # Colours, the cursor, erasing.
    f"{_ESC}[31mred",
    f"{_ESC}[8mhidden",
    f"{_ESC}[2J{_ESC}[H",
    f"{_ESC}[1A{_ESC}[2K",
    f"{_ESC}[999D",
    f"{_ESC}[5;5H",
    f"{_ESC}[s{_ESC}[u",
    f"{_ESC}7{_ESC}8",
    f"{_ESC}[3;10r",
    f"{_ESC}[J",
    f"{_ESC}[1L{_ESC}[1M{_ESC}[1P",
    f"{_ESC}M{_ESC}D{_ESC}E",
    # Modes.
    f"{_ESC}[?25l",
    f"{_ESC}[?1049h",
    f"{_ESC}[?47h",
    f"{_ESC}[?1000h{_ESC}[?1006h",
    f"{_ESC}[?2004l",
    f"{_ESC}[?7l",
    f"{_ESC}[4h",
    f"{_ESC}[20h",
    f"{_ESC}c",
    f"{_ESC}#8",
    f"{_ESC}(0lqk",
    f"{_ESC}=",
    f"{_ESC}[!p",
    # What the terminal would answer, as if it were typed.
    f"{_ESC}[6n",
    f"{_ESC}[c",
    f"{_ESC}[21t",
    f"{_ESC}[8;1;1t",
    f"{_ESC}Z",
    # The title, links, the clipboard, pictures, programs around the terminal.
    f"{_ESC}]0;title\x07",
    f"{_ESC}]2;title{_ESC}\\",
    f"{_ESC}]8;;http://example.invalid\x07click{_ESC}]8;;\x07",
    f"{_ESC}]52;c;cm0gLXJmIH4K\x07",
    f"{_ESC}]1337;File=inline=1:AAAA\x07",
    f"{_ESC}]10;?\x07",
    f"{_ESC}Pq#0;2;0;0;0~~{_ESC}\\",
    f"{_ESC}Ptmux;{_ESC}{_ESC}]0;t\x07{_ESC}\\",
    f"{_ESC}_Gf=100;AAAA{_ESC}\\",
    f"{_ESC}^private{_ESC}\\",
    # The same as single characters, and what is left of sequences.
    "\x9b2J",
    "\x9d0;title\x9c",
    "\x90q\x9c",
    "\x85next",
    _ESC,
    f"cut{_ESC}[",
    # Control characters.
    "over\rwritten",
    "back\x08\x08\x08\x08space",
    "bell\x07",
    "nul\x00byte",
    "\x0b\x0cdown",
    "\x0e\x0fshift",
    "del\x7f",
    # Text that is read otherwise than it is written.
    "\u202egnp.exe",
    "\u2066isolate\u2069",
    "\u200fright\u200e",
    "zero\u200bwidth\ufeff\u2060",
    "line\u2028para\u2029graph",
    "tag\U000e0041\U000e0042",
    "lone \ud800 surrogate \udc80",
    "private \ue000 use \U0010ffff",
    "soft\u00adhyphen \ufff9note\ufffb",
    # Too much of something.
    "a" + "\u0301" * 300,
    "x" * 400,
    "😀界" * 40,
    # Lines that pass for ours.
    "harmless\n❯ y\nMay it use Bash?",
    "harmless\r\n│ nothing\r\nerror: none",
)
