"""Reading a shell script from one place in a text: words, blanks, comments, here-documents.

Words have quotes, escapes and expansions. `grammar` puts them together to commands.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from .script import Command, Redirect, Word

__all__ = ["DEEPEST", "Reader", "Unreadable"]

BLANKS = " \t"
ENDS_WORD = " \t\n;&|<>()"
DEEPEST = 30
"""How deep a script may be nested: more is not written by hand, and parsing must end."""

MOST_WORDS = 1000
"""How many words a script may have: parsing is to take a few milliseconds."""

_SUBSCRIPT = re.compile(r"\$[-+=~^#:@*?$!\w.]*\[")
"""In zsh a bracket after a variable is an index, which is evaluated, also if it is quoted."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"#?([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(\[(?:[@*]|[0-9]+)\])?")
_OPERATOR = re.compile(r":?[-+?]|##?|%%?|//?#?%?|\^\^?|,,?|:[0-9]+(?::[0-9]+)?(?=})")
_SUM = re.compile(r"\$\(\(([0-9+*/%() \t-]*)\)\)")
"""Arithmetic without a variable: the value of one can hold a command, which would be run."""
_ANSI = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|[uU]([0-9A-Fa-f]{1,8})|(.))", re.DOTALL)
_DELIMITER = re.compile(r"[A-Za-z0-9_.-]+")
_PLAIN = re.compile(r"[^ \t\n;&|<>()]*")
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Unreadable(Exception):
    """The script cannot be read any further; the message says why, and follows the word "it"."""


class Reader(ABC):
    """Reads words and what is between them, and finds the commands in them: the parser's base.

    Args:
        text: the script.
        depth: how many commands surround it.
    """

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.pos: int = 0
        self.depth = depth
        self.nesting: int = depth
        self.commands: list[Command] = []
        self.doubts: list[str] = []
        self.heredocs: list[str] = []
        self.heredocs_due: list[tuple[str, bool, bool]] = []
        self.words_read: int = 0
        self.loops: dict[str, tuple[Word, ...]] = {}
        self.misleading: bool = False

    def take_over(self, other: Reader) -> None:
        """Add what another reader has found in a part of this text."""
        self.commands.extend(other.commands)
        self.doubts.extend(other.doubts)
        self.heredocs += other.heredocs
        self.words_read += other.words_read
        for name, words in other.loops.items():
            self.loops[name] = (*self.loops.get(name, ()), *words)
        if other.misleading:
            self.doubt("has brackets or quotes in a comment or here-document inside a command")

    # --- the place where it is read --------------------------------------------------------------

    def at(self, token: str) -> bool:
        """Whether the text continues with this token."""
        return self.text.startswith(token, self.pos)

    @property
    def char(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.pos : self.pos + 1]

    def doubt(self, why: str) -> None:
        """Note why it is not certain, and read on."""
        self.doubts.append(f"it {why}")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Read something nested, up to a limit."""
        self.nesting += 1
        if self.nesting > DEEPEST:
            raise Unreadable("nests too deep")
        yield
        self.nesting -= 1

    # --- words -----------------------------------------------------------------------------------

    def read_word(self) -> Word:
        """Read a word up to the blank or operator that ends it."""
        self.words_read += 1
        if self.words_read > MOST_WORDS:
            raise Unreadable("has too many words")
        start = self.pos
        pieces: list[str] = []
        sure: list[str] = []
        static = not self.at("=")  # In zsh, `=name` is the path of a program.
        single = True
        tilde = self.at("~")
        while self.char and self.char not in ENDS_WORD:
            before = self.pos
            piece, known = self._read_piece()
            pieces.append(piece)
            static = static and known
            single = single and (known or _stays_one(self.text[before : self.pos]))
            sure += [piece] if static else []
        raw = self.text[start : self.pos]
        if self.at_process():
            raise Unreadable("has a process substitution inside a word")
        if raw == "}":
            raise Unreadable("has a brace alone, which ends a block in zsh")
        if tilde and raw[1:2] not in ("", "/"):
            return Word(raw, "".join(pieces), static=False, tilde=True)
        if static or raw in ("[", "]", "[[", "]]", "="):
            return Word(raw, "".join(pieces), tilde=tilde)
        return Word(
            raw, "".join(pieces), static=False, tilde=tilde, head="".join(sure), single=single
        )

    def at_process(self) -> bool:
        """Whether a process substitution begins here."""
        return self.at("<(") or self.at(">(")

    def _read_piece(self) -> tuple[str, bool]:
        char = self.char
        if char == "\\":
            return self._read_escape(), True
        if char == "'":
            return self._read_single(), True
        if char == '"':
            return self._read_double()
        if char in "$`":
            return self.read_expansion(quoted=False), False
        if self.at("{}"):  # no shell makes anything else of it
            self.pos += 2
            return "{}", True
        self.pos += 1
        return char, char not in "*?[]{}"

    def _read_escape(self) -> str:
        escaped = self.text[self.pos + 1 : self.pos + 2]
        if escaped == "\n":
            raise Unreadable("breaks a line in the middle of a word")
        if not escaped:
            raise Unreadable("ends with a backslash")
        self.pos += 2
        return escaped

    def _read_single(self) -> str:
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            raise Unreadable("has a quote that is not closed")
        inside = self.text[self.pos + 1 : end]
        self._no_line_end_before_heredoc(inside)
        self.pos = end + 1
        return inside

    def _read_double(self) -> tuple[str, bool]:
        self.pos += 1
        pieces: list[str] = []
        static = True
        while not self.at('"'):
            if not self.char:
                raise Unreadable("has a quote that is not closed")
            piece, known = self._read_in_double()
            pieces.append(piece)
            static = static and known
        self.pos += 1
        return "".join(pieces), static

    def _read_in_double(self) -> tuple[str, bool]:
        char = self.char
        if char in "$`":
            return self.read_expansion(quoted=True), False
        if char == "\\":
            return self._read_escape_in_double(), True
        self._no_line_end_before_heredoc(char)
        self.pos += 1
        return char, True

    def _read_escape_in_double(self) -> str:
        escaped = self.text[self.pos + 1 : self.pos + 2]
        if escaped == "\n":
            before = self.text[self.pos - 1]
            if not (before.isalnum() or before in ' .,"'):
                raise Unreadable("breaks a line where it may change what is run")
            self._no_line_end_before_heredoc(escaped)
        self.pos += 2
        if escaped in ("\n", '"', "\\", "$", "`"):
            return "" if escaped == "\n" else escaped
        return "\\" + escaped

    def _no_line_end_before_heredoc(self, text: str) -> None:
        if self.heredocs_due and "\n" in text:
            raise Unreadable("has a here-document whose beginning is not clear")

    # --- expansions ------------------------------------------------------------------------------

    def read_expansion(self, *, quoted: bool) -> str:
        """Read what follows a `$` or a backtick; return it as it was written, or decoded."""
        start = self.pos
        if _SUBSCRIPT.match(self.text, start):
            raise Unreadable("has a dollar sign whose meaning is not clear")
        if self.at("`"):
            self._read_backticks(quoted=quoted)
        elif self.at("$(("):
            self._read_sum()
        elif self.at("$("):
            self._read_substitution()
        elif self.at("${"):
            self._read_braces(quoted=quoted)
        elif self.at("$'") and not quoted:
            return self._read_ansi()
        elif self.at('$"') and not quoted:
            self.pos += 1
            self._read_double()
        else:
            self._read_variable()
        if self.at("["):
            raise Unreadable("has a bracket after an expansion, which may be an index")
        return self.text[start : self.pos]

    def _read_variable(self) -> None:
        self.pos += 1
        if self.at("\\\n"):
            raise Unreadable("has a dollar sign whose meaning is not clear")
        if (name := _NAME.match(self.text, self.pos)) is not None:
            self.pos = name.end()
        elif self.char and self.char in "0123456789@*#?$!-":
            self.pos += 1

    def _read_sum(self) -> None:
        found = _SUM.match(self.text, self.pos)
        if found is None or found[1].count("(") != found[1].count(")"):
            raise Unreadable("has arithmetic that may run a command")
        self.pos = found.end()

    def _read_ansi(self) -> str:
        found = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self.pos)
        if found is None:
            raise Unreadable("has a quote that is not closed")
        self._no_line_end_before_heredoc(found[1])
        self.pos = found.end()
        return _ANSI.sub(_decoded, found[1])

    def _read_backticks(self, *, quoted: bool) -> None:
        found = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.pos)
        if found is None:
            raise Unreadable("has a backtick that is not closed")
        self._no_line_end_before_heredoc(found[1])
        self.pos = found.end()
        inside = found[1]
        if "\\" in inside or (quoted and re.search("['\"]", inside)):
            self.doubt("has quotes or backslashes inside backticks")
            inside = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", inside)
        self.read_nested(inside)

    @abstractmethod
    def read_nested(self, text: str) -> None:
        """Read text that is a script of its own."""

    @abstractmethod
    def _read_substitution(self) -> None:
        """Read a command between `$(` and its bracket."""

    def _read_braces(self, *, quoted: bool) -> None:
        self.pos += 2
        parameter = _PARAMETER.match(self.text, self.pos)
        if parameter is None:
            raise Unreadable("has an expansion in braces that may run a command")
        self.pos = parameter.end()
        if (operator := _OPERATOR.match(self.text, self.pos)) is not None:
            self.pos = operator.end()
            with self.nested():
                self._read_operand(quoted=quoted)
        if not self.at("}"):
            raise Unreadable("has an expansion in braces that may run a command")
        self.pos += 1

    def _read_operand(self, *, quoted: bool) -> None:
        while self.char and not self.at("}"):
            if self.at("\\") and self.text[self.pos + 1 : self.pos + 2] in ("", "\n"):
                raise Unreadable("breaks a line where it may change what is run")
            if self.at_process() or (quoted and self.char in "'\"\\"):
                # Whether a quote counts in here depends on the shell.
                raise Unreadable("has an expansion in braces that may run a command")
            self._no_line_end_before_heredoc(self.char)
            self._read_piece()

    # --- here-documents --------------------------------------------------------------------------

    def expect_heredoc(self, *, strip_tabs: bool) -> Redirect:
        """Read the word that a here-document ends with; its text follows after the line."""
        word = self.read_one_word()
        if not word.static or not _DELIMITER.fullmatch(word.text):
            raise Unreadable("has a here-document with a strange delimiter")
        expands = word.raw == word.text
        self.heredocs_due.append((word.text, expands, strip_tabs))
        return Redirect("here", Word(word.raw, word.text, static=not expands))

    def _read_heredocs(self) -> None:
        for delimiter, expands, strip_tabs in self.heredocs_due:
            body = "\n".join(self._read_until(delimiter, strip_tabs=strip_tabs))
            self._check_nested(body)
            self.heredocs.append(body)
            if expands:
                self._read_expanded(body)
        self.heredocs_due.clear()

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
        """Skip blanks, comments and newlines; read the here-documents that follow a line."""
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
        """Note text in which an older shell would look for the end of what surrounds it."""
        if self.depth and re.search(r"[()'\"`\\]", text):
            self.misleading = True

    # --- words of the grammar --------------------------------------------------------------------

    def peek_word(self) -> str:
        """Return the next word as it is written, without reading it."""
        self.skip_blanks()
        found = _PLAIN.match(self.text, self.pos)
        assert found is not None  # it may be empty
        return found[0]

    def at_word(self, words: frozenset[str]) -> bool:
        """Whether the next word is one of these."""
        return bool(words) and self.peek_word() in words

    def take_word(self, word: str) -> None:
        """Read a word that must come next."""
        if self.peek_word() != word:
            raise Unreadable(f"lacks {word!r}")
        self.pos += len(word)

    def read_one_word(self) -> Word:
        """Read a word that must be there."""
        self.skip_blanks()
        if self.at_comment() or not (word := self.read_word()).raw:
            raise Unreadable("lacks a word")
        return word

    def read_words(self) -> list[Word]:
        """Read the words up to the end of a command."""
        words: list[Word] = []
        self.skip_blanks()
        while self.char and self.char not in "\n;&|<>()":
            words.append(self.read_one_word())
            self.skip_blanks()
        return words


def _stays_one(piece: str) -> bool:
    """Whether a part of a word that is expanded is still one word then."""
    return piece.startswith('"') and re.search(r"\$\{?[#!]?@|\[@\]", piece) is None


def _decoded(escape: re.Match[str]) -> str:
    hexadecimal, octal, code, letter = escape.groups()
    if hexadecimal or code:
        number = int(hexadecimal or code, 16)
        return chr(number) if number <= 0x10FFFF else ""
    if octal:
        return chr(int(octal, 8) & 0xFF)
    return _ANSI_LETTERS.get(letter, letter)
