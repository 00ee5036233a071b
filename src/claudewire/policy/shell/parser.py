"""The parser of shell scripts, as far as their meaning is certain.

`parse()` never raises. It reports a doubt about everything whose meaning is not certain, and keeps
the commands before and after, for rules that forbid. It reads the language that bash and zsh share,
and doubts where they differ; arithmetic, `select` and more are not read at all, and of `[[` only
tests that evaluate nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from .programs import PLAIN_NAME, UNKNOWN, is_plain_test
from .script import Assignment, Command, Redirect, Script, Word

LONGEST = 10_000
"""In characters. A longer command counts as uncertain, as in the CLI."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_ELEMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^=]*\]\+?=")
_REDIRECT = re.compile(r"[0-9]*(<<<|<<-|<<|<>|<&|<|>>|>&|>\||>)|&>>|&>")
_PLAIN_FILE = re.compile(r"[\w./~+-]+")
"""Any other name after `>&` bash expands twice, also if it is quoted."""
_DESCRIPTOR = re.compile(r"[0-9]+|-")
"""Not `1-`: where bash moves a descriptor, zsh writes to a file of that name."""
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_MISREAD = re.compile(r"[^\x00-\x7f][\\`|{}]")
"""In some locales the second byte of a character may be one of these."""
_ENDERS = {"then", "elif", "else", "fi", "do", "done", "esac", "}"}
_DEFINES = "defines a function, which may stand for any program"
_REFUSED = {
    "select": "has a menu, which is not analysed",
    "always": "has a block of zsh, which is not analysed",
    "foreach": "has a loop of zsh, which is not analysed",
    "function": _DEFINES,
    "coproc": "starts a coprocess",
}
BLANKS = " \t"
ENDS_WORD = " \t\n;&|<>()"
DEEPEST = 30
"""Deepest nesting: nobody writes more by hand, and parsing must end."""

MOST_WORDS = 1000
"""Words of a script: parsing takes a few milliseconds."""

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


def parse(text: str) -> Script:
    """Parse a command line."""
    if (doubt := _unreadable(text)) is not None:
        return Script((), (doubt,))
    parser = Parser(text)
    parser.run()
    doubts = tuple(dict.fromkeys(parser.doubts))
    return Script(tuple(parser.commands), doubts, tuple(parser.heredocs), parser.loops)


def _unreadable(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    for index, char in enumerate(text):
        is_odd = char not in " \t\n" and unicodedata.category(char)[0] in "ZC"
        if is_odd and not (char == "\u200d" and _joins_emoji(text, index)):
            # A shell, a terminal and a person may each see something else here.
            return f"it contains an invisible character, U+{ord(char):04X}"
    if _MISREAD.search(text):
        return "it contains a character that hides the next one in some locales"
    return None


def _joins_emoji(text: str, index: int) -> bool:
    """Whether a zero-width joiner merges two emoji into one, as in the family emoji."""
    before = text[:index].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:]
    after = text[index + 1 : index + 2]
    return all(it and unicodedata.category(it) == "So" for it in (before, after))


def old_end(text: str, pos: int, closing: str, *, comments: bool, level: int = 0) -> int | None:
    """Return where older shells see the end of a substitution; None if they see none, and stop.

    They know no here-documents in it, and not all of them know comments.
    """
    depth = 0
    while pos < len(text):
        char = text[pos]
        if char == closing and depth == 0:
            return pos
        if closing == ")" and char in "()":
            depth += 1 if char == "(" else -1
        elif char == "\\" and closing != "'":
            pos += 1
        elif opened := _opened(text, pos, closing, comments=comments):
            if level > DEEPEST:
                return -1
            start = pos + 2 if opened == ")" else pos + 1
            end = old_end(text, start, opened, comments=comments, level=level + 1)
            if end is None or end < 0:
                return end
            pos = end
        pos += 1
    return None


def _opened(text: str, pos: int, closing: str, *, comments: bool) -> str:
    """Return what ends the quote, comment or substitution that begins here; empty if none does."""
    char = text[pos]
    if closing == '"':
        return ")" if text.startswith("$(", pos) else char if char == "`" else ""
    if closing != ")":
        return ""
    if char == "#" and comments and text[pos - 1] in " \t\n(":
        return "\n"
    return char if char in "'\"`" else ""


class Parser:
    """Reads a script to its end, or to where it cannot be read; `depth` commands surround it."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.pos: int = 0
        self.depth: int = depth
        self.nesting: int = depth
        self.commands: list[Command] = []
        self.doubts: list[str] = []
        self.heredocs: list[str] = []
        self.heredocs_due: list[tuple[str, bool, bool]] = []
        self.words_read: int = 0
        self.loops: dict[str, tuple[Word, ...]] = {}
        self.misleading: bool = False

    def take_over(self, other: Parser) -> None:
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
        text = "".join(pieces)
        if static or raw in ("[", "]", "[[", "]]", "="):
            return Word(raw, text, tilde=tilde)
        return Word(raw, text, static=False, tilde=tilde, head="".join(sure), single=single)

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
                raise Unreadable("breaks a line where it may change the command")
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
            self._within("$(")
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
        self._read_nested(inside)

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
                raise Unreadable("breaks a line where it may change the command")
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
        reader = Parser(body, self.nesting + 1)
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

    # --- scripts in scripts ---------------------------------------------------------------------

    def run(self) -> None:
        """Parse the whole text; anything that cannot be parsed becomes a doubt."""
        try:
            self._read_list(frozenset())
            if self.char:
                raise Unreadable(f"has {self.char!r} where a command should stand")
            if self.heredocs_due:
                raise Unreadable("has a here-document that does not begin")
        except Unreadable as error:
            self.doubt(str(error))

    def _read_nested(self, text: str) -> None:
        """Read text that is a script of its own."""
        with self.nested():
            inner = Parser(text, self.nesting)
            inner.run()
        self.take_over(inner)

    def _within(self, opening: str) -> None:
        """Read a list up to the closing bracket. A here-document must not cross it."""
        if self.heredocs_due:
            raise Unreadable("has a here-document whose beginning is not clear")
        self.pos += len(opening)
        start = self.pos
        self.depth += 1
        self._read_list(frozenset())
        self.depth -= 1
        if not self.at(")") or self.heredocs_due:
            raise Unreadable(f"has {opening!r} without its end")
        if self.misleading and opening != "(":
            self.misleading = self.depth > 0
            ends = (old_end(self.text, start, ")", comments=it) for it in (False, True))
            if not all(end in (self.pos, None) for end in ends):
                self.doubt("has brackets or quotes in a comment or here-document inside a command")
        self.pos += 1

    # --- lists -----------------------------------------------------------------------------------

    def _read_list(self, enders: frozenset[str]) -> int:
        """Read commands up to a closing bracket or one of some words; say how many there are."""
        count = 0
        while True:
            self.skip_lines()
            if not self.char or self.at(")") or self.at(";;") or self.at_word(enders):
                return count
            self._read_pipeline()
            count += 1
            self._skip_separator()

    def _skip_separator(self) -> None:
        """Skip what stands between two commands."""
        if self.at("&&") or self.at("||"):
            self.pos += 2
            self._need_command()
        elif self.at("&") or (self.at(";") and not self.at(";;")):
            self.pos += 1

    def _need_command(self) -> None:
        self.skip_lines()
        if not self.char or self.char in ";&|)":
            raise Unreadable("ends where another command should follow")

    def _read_pipeline(self) -> None:
        self._read_command()
        while True:
            self.skip_blanks()
            if self.at("||") or not self.at("|"):
                return
            self.pos += 2 if self.at("|&") else 1
            self._need_command()
            before = len(self.commands)
            self._read_command()
            self.commands[before:] = [replace(it, piped=True) for it in self.commands[before:]]

    # --- one command -----------------------------------------------------------------------------

    def _read_command(self) -> None:
        self.skip_blanks()
        if self.at("(("):
            raise Unreadable("has arithmetic that may run a command")
        if self.at("("):
            with self.nested():
                self._read_group()
            return
        word = self.peek_word()
        if word in _ENDERS:
            raise Unreadable(f"has {word!r} where a command should stand")
        if word in _REFUSED:
            raise Unreadable(_REFUSED[word])
        compound = {
            "{": self._read_braced,
            "if": self._read_if,
            "while": self._read_while,
            "until": self._read_while,
            "for": self._read_for,
            "case": self._read_case,
            "[[": self._read_test,
        }.get(word)
        with self.nested():
            if compound is not None:
                compound()
                self._read_redirects()
            elif word in ("!", "time"):
                self._read_prefixed(word)
            else:
                self._read_simple()

    def _read_group(self) -> None:
        before = len(self.commands)
        self._within("(")
        if len(self.commands) == before:
            raise Unreadable("has an empty group")
        self._read_redirects()

    def _read_braced(self) -> None:
        self.take_word("{")
        self._read_body("}")

    def _read_prefixed(self, word: str) -> None:
        self.take_word(word)
        if word == "time" and self.at_word(frozenset(["-p"])):
            self.take_word("-p")
        self.skip_blanks()
        if word == "time" and (not self.char or self.char in "-\n;&|)<>"):
            raise Unreadable("has `time` with something else than a command")
        self._read_command()

    def _read_if(self) -> None:
        self.take_word("if")
        self._read_body("then")
        ender = self._read_body("elif", "else", "fi")
        while ender == "elif":
            self._read_body("then")
            ender = self._read_body("elif", "else", "fi")
        if ender == "else":
            self._read_body("fi")

    def _read_while(self) -> None:
        self.take_word(self.peek_word())
        self._read_body("do")
        self._read_body("done")

    def _read_for(self) -> None:
        self.take_word("for")
        name = self.peek_word()
        if not PLAIN_NAME.fullmatch(name):
            raise Unreadable("has a loop that sets a variable with a meaning of its own")
        self.take_word(name)
        self.skip_lines()
        if not self.at_word(frozenset(["in"])):
            self.loops[name] = (UNKNOWN,)
        else:
            self.take_word("in")
            words = self.read_words()
            self.loops[name] = (*self.loops.get(name, ()), *words)
            if not (self.at(";") or self.at("\n")):
                raise Unreadable("has a loop without its beginning")
        if self.at(";") and not self.at(";;"):
            self.pos += 1
        self.skip_lines()
        self.take_word("do")
        self._read_body("done")

    def _read_case(self) -> None:
        if self.depth:
            # Older shells take the bracket after a pattern for the end of what surrounds it.
            raise Unreadable("has a `case` inside another command")
        self.take_word("case")
        self.read_one_word()
        self.skip_lines()
        self.take_word("in")
        self.skip_lines()
        while not self.at_word(frozenset(["esac"])):
            self._read_branch()
        self.take_word("esac")

    def _read_branch(self) -> None:
        if self.at("("):
            self.pos += 1
        self.read_one_word()
        self.skip_blanks()
        while self.at("|"):
            self.pos += 1
            self.read_one_word()
            self.skip_blanks()
        if not self.at(")"):
            raise Unreadable("has a `case` without its pattern")
        self.pos += 1
        self._read_list(frozenset(["esac"]))
        if self.at(";;&"):
            raise Unreadable("has a `case` that falls through")
        if self.at(";;"):
            self.pos += 2
        self.skip_lines()
        if not self.char:
            raise Unreadable("has a `case` without its end")

    def _read_test(self) -> None:
        """Read tests between `[[` and `]]`; each becomes a command called `[[`."""
        start = self.pos
        self.take_word("[[")
        words: list[Word] = []
        while not self.at_word(frozenset(["]]"])):
            if self.at("&&") or self.at("||"):
                self.pos += 2
                self._add_test(words, start)
                words.clear()
            elif not self.char or self.char in "\n;&|<>()":
                raise Unreadable("has a test that is not plain")
            else:
                words.append(self.read_one_word())
        self.take_word("]]")
        self._add_test(words, start)

    def _add_test(self, words: list[Word], start: int) -> None:
        test = (Word("[[", "[["), *words, Word("]]", "]]"))
        if not is_plain_test(test):
            self.doubt("has a test that may evaluate its operands")
        self.commands.append(Command(test, source=self.text[start : self.pos].strip()))

    def _read_body(self, *enders: str) -> str:
        """Read a non-empty list and the word that ends it; return that word."""
        if self._read_list(frozenset(enders)) == 0:
            raise Unreadable("has an empty block")
        word = self.peek_word()
        if word not in enders:
            raise Unreadable(f"lacks {enders[-1]!r}")
        self.take_word(word)
        return word

    # --- simple commands -------------------------------------------------------------------------

    def _read_simple(self) -> None:
        start = self.pos
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        ends_in_dash = False
        while True:
            self.skip_blanks()
            if not self.char or self.at_comment():
                break
            if self.at_process():
                words.append(self._read_process())
            elif (found := _REDIRECT.match(self.text, self.pos)) is not None:
                ends_in_dash = ends_in_dash or found[0].startswith("&")
                redirects.append(self._read_redirect(found))
            elif self.char in "\n;&|)":
                break
            elif self.at("("):
                raise Unreadable("has a bracket inside a command")
            else:
                if ends_in_dash:
                    self.doubt("has a word after `&>`, with which dash begins a command")
                self._take(self.read_word(), words, assignments)
                if len(words) == 1 and not redirects and _FUNCTION.match(self.text, self.pos):
                    raise Unreadable(_DEFINES)
        if not (words or assignments or redirects):
            raise Unreadable("lacks a command")
        source = self.text[start : self.pos].strip()
        self.commands.append(Command(tuple(words), tuple(assignments), tuple(redirects), source))

    def _take(self, word: Word, words: list[Word], assignments: list[Assignment]) -> None:
        if not words and (found := _ASSIGNMENT.match(word.raw)) is not None:
            if found[2]:
                self.doubt("adds to a variable")
            value = Word(word.raw[found.end() :], word.text[found.end() :], word.static)
            assignments.append(Assignment(found[1], value))
        elif not words and _ELEMENT.match(word.raw):
            raise Unreadable("sets an element of an array, which may run a command")
        else:
            words.append(word)
        if word.raw.startswith("{") and self.char and self.char in "<>":
            raise Unreadable("lets the shell choose a descriptor")

    def _read_process(self) -> Word:
        start = self.pos
        self._within(self.text[start : start + 2])
        if self.char and self.char not in " \t\n;&|<>)":
            raise Unreadable("has a process substitution inside a word")
        raw = self.text[start : self.pos]
        return Word(raw, raw, static=False)

    def _read_redirects(self) -> None:
        """Read what may follow a group: redirections, which belong to all that is in it."""
        start = self.pos
        redirects = []
        self.skip_blanks()
        while not self.at_process() and (found := _REDIRECT.match(self.text, self.pos)):
            redirects.append(self._read_redirect(found))
            self.skip_blanks()
        if redirects:
            source = self.text[start : self.pos].strip()
            self.commands.append(Command(redirects=tuple(redirects), source=source))
        if self.char and self.char not in "\n;&|)" and not self.at_comment():
            raise Unreadable("has something after a group")

    def _read_redirect(self, found: re.Match[str]) -> Redirect:
        operator = found[1] or found[0]
        self.pos = found.end()
        if operator in ("<<", "<<-"):
            return self.expect_heredoc(strip_tabs=operator == "<<-")
        target = self.read_one_word()
        if operator == "<<<":
            return Redirect("here", target)
        if operator in ("<&", ">&") and target.static and _DESCRIPTOR.fullmatch(target.text):
            return Redirect("dup", target)
        odd = operator in ("<&", "<>", ">|") or target.raw.startswith("!")  # `>!` is `>|` in zsh
        odd = odd or ("&" in operator and not _PLAIN_FILE.fullmatch(target.text))
        if odd or not target.static:
            self.doubt(f"redirects with {operator!r} to what is not clear")
        return Redirect("in" if operator == "<" else "out", target)


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
