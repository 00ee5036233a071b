"""Lines of the shell: blanks, comments, continued lines, and the here-documents behind a line."""

from __future__ import annotations

import re

from .shell import Redirect, Word
from .shell_words import BLANKS, Unreadable, Words

__all__ = ["Lines"]

_DELIMITER = re.compile(r"[A-Za-z0-9_.-]+")
_PLAIN = re.compile(r"[^ \t\n;&|<>()]*")


class Lines(Words):
    """Reads what is between words. The other half of the parser's base."""

    pos: int

    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        self.heredocs: list[str] = []
        self.heredocs_due: list[tuple[str, bool, bool]] = []

    def take_over(self, other: Lines) -> None:
        """Add what another reader has found in a part of this text."""
        self.commands.extend(other.commands)
        self.doubts.extend(other.doubts)
        self.heredocs += other.heredocs

    # --- here-documents --------------------------------------------------------------------------

    def expect_heredoc(self, *, strip_tabs: bool) -> Redirect:
        """Read the word that a here-document ends with; its text comes behind the line."""
        word = self.read_one_word()
        if not word.static or not _DELIMITER.fullmatch(word.text):
            raise Unreadable("has a here-document with a strange delimiter")
        self.heredocs_due.append((word.text, word.raw == word.text, strip_tabs))
        self.expects_heredoc = True
        return Redirect("here", word)

    def _read_heredocs(self) -> None:
        for delimiter, expands, strip_tabs in self.heredocs_due:
            body = "\n".join(self._read_until(delimiter, strip_tabs=strip_tabs))
            self._check_nested(body)
            self.heredocs.append(body)
            if expands:
                self._read_expanded(body)
        self.heredocs_due.clear()
        self.expects_heredoc: bool = False

    def _read_until(self, delimiter: str, *, strip_tabs: bool) -> list[str]:
        lines: list[str] = []
        while self.char:
            end = self.text.find("\n", self.pos)
            end = len(self.text) if end < 0 else end
            line = self.text[self.pos : end]
            self.pos = min(end + 1, len(self.text))
            if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                return lines
            lines.append(line)
        raise Unreadable("has a here-document without its end")

    def _read_expanded(self, body: str) -> None:
        if "\\\n" in f"{body}\n":
            raise Unreadable("breaks a line in a here-document")
        reader = type(self)(body, self.nesting + 1)
        while reader.char:
            if reader.at("\\"):
                reader.pos += 2
            elif reader.char in "$`":
                reader.read_expansion(quoted=True)
            else:
                reader.pos += 1
        self.take_over(reader)

    # --- blanks, comments and lines --------------------------------------------------------------

    def at_comment(self) -> bool:
        """Whether a comment begins here."""
        before = self.text[self.pos - 1 : self.pos] if self.pos else ""
        return self.at("#") and before in ("", " ", "\t", "\n", ";", "&", "|", "(", ")")

    def skip_blanks(self) -> None:
        """Go to the next token of the same command."""
        while self.char:
            if self.char in BLANKS:
                self.pos += 1
            elif self.at("\\\n") and self._between_tokens():
                self.pos += 2
            else:
                break

    def _between_tokens(self) -> bool:
        return self.pos == 0 or self.text[self.pos - 1] in BLANKS + "\n"

    def skip_lines(self) -> None:
        """Skip blanks, comments and ends of lines; read the here-documents behind the latter."""
        while True:
            self.skip_blanks()
            if self.at_comment():
                end = self.text.find("\n", self.pos)
                end = len(self.text) if end < 0 else end
                self._check_nested(self.text[self.pos : end])
                self.pos = end
            elif self.at("\n"):
                self.pos += 1
                self._read_heredocs()
            else:
                return

    def _check_nested(self, text: str) -> None:
        """Doubt a text that an older shell would look into for the end of what it is inside of."""
        if self.depth and re.search(r"[()'\"`\\]", text):
            self.doubt("has brackets or quotes in a comment or here-document inside a command")

    # --- words of the grammar --------------------------------------------------------------------

    def peek_word(self) -> str:
        """Give the next word as it is written, without reading it."""
        self.skip_blanks()
        found = _PLAIN.match(self.text, self.pos)
        return found[0] if found else ""

    def at_word(self, words: frozenset[str]) -> bool:
        """Whether the next word is one of these."""
        return bool(words) and self.peek_word() in words

    def take_word(self, word: str) -> None:
        """Read a word that must stand here."""
        if self.peek_word() != word:
            raise Unreadable(f"lacks {word!r}")
        self.pos += len(word)

    def read_one_word(self) -> Word:
        """Read a word that must be there."""
        self.skip_blanks()
        if self.at_comment() or not (word := self.read_word()).raw:
            raise Unreadable("lacks a word")
        return word

    def read_words(self) -> None:
        """Read the words up to the end of a command, for the commands that are in them."""
        self.skip_blanks()
        while self.char and self.char not in "\n;&|<>()":
            self.read_one_word()
            self.skip_blanks()
