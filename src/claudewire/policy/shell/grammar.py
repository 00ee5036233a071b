"""The grammar of the shell, as far as it is certain: lists, pipelines, groups, loops, redirections.

`parse()` never raises. What it cannot tell with certainty it reports as a doubt; the commands that
it found before and after are kept, for rules that forbid. It reads what bash and zsh have in
common, and doubts what they understand differently; arithmetic, `select` and more are not read at
all, and of `[[` only what evaluates nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from .programs import PLAIN_NAME, UNKNOWN, is_plain_test
from .reader import DEEPEST, Reader, Unreadable
from .script import Assignment, Command, Redirect, Script, Word

__all__ = ["LONGEST", "parse"]

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
_REFUSED = {
    "select": "a menu",
    "always": "a block of zsh",
    "foreach": "a loop of zsh",
}


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
    """Whether a zero-width joiner makes one picture of two, as in that of a family."""
    before = text[:index].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:]
    after = text[index + 1 : index + 2]
    return all(it and unicodedata.category(it) == "So" for it in (before, after))


def old_ends(text: str, start: int) -> Iterator[int | None]:
    """Tell where older shells see the end of a substitution; None if they see none, and stop.

    They do not know here-documents in it, and not all of them know comments.
    """
    for comments in (False, True):
        yield _old_end(text, start, ")", comments=comments, level=0)


def _old_end(text: str, pos: int, closing: str, *, comments: bool, level: int) -> int | None:
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
            end = _old_end(text, start, opened, comments=comments, level=level + 1)
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


class Parser(Reader):
    """Reads a script to its end, or to where it cannot be read."""

    def run(self) -> None:
        """Read everything; what cannot be read becomes a doubt."""
        try:
            self._read_list(frozenset())
            if self.char:
                raise Unreadable(f"has {self.char!r} where a command should stand")
            if self.heredocs_due:
                raise Unreadable("has a here-document that does not begin")
        except Unreadable as error:
            self.doubt(str(error))

    def read_nested(self, text: str) -> None:
        """Read text that is a script of its own."""
        with self.nested():
            inner = Parser(text, self.nesting)
            inner.run()
        self.take_over(inner)

    def _read_substitution(self) -> None:
        self._within("$(", ")")

    def _within(self, opening: str, closing: str) -> None:
        """Read a list between two brackets. A here-document must not cross them."""
        if self.heredocs_due:
            raise Unreadable("has a here-document whose beginning is not clear")
        self.pos += len(opening)
        start = self.pos
        self.depth += 1
        self._read_list(frozenset())
        self.depth -= 1
        if not self.at(closing) or self.heredocs_due:
            raise Unreadable(f"has {opening!r} without its end")
        if self.misleading and opening != "(":
            self.misleading: bool = self.depth > 0
            if not all(end in (self.pos, None) for end in old_ends(self.text, start)):
                self.doubt("has brackets or quotes in a comment or here-document inside a command")
        self.pos += len(closing)

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
                self._read_group("(", ")")
            return
        word = self.peek_word()
        if word in _ENDERS:
            raise Unreadable(f"has {word!r} where a command should stand")
        if word in _REFUSED:
            raise Unreadable(f"has {_REFUSED[word]}, which is not analysed")
        compound = {
            "{": self._read_braced,
            "!": self._read_negated,
            "time": self._read_timed,
            "if": self._read_if,
            "while": self._read_while,
            "until": self._read_while,
            "for": self._read_for,
            "case": self._read_case,
            "function": self._read_function,
            "coproc": self._read_coproc,
            "[[": self._read_test,
        }.get(word, self._read_simple)
        with self.nested():
            compound()

    def _read_group(self, opening: str, closing: str) -> None:
        before = len(self.commands)
        self._within(opening, closing)
        if len(self.commands) == before:
            raise Unreadable("has an empty group")
        self._read_redirects()

    def _read_braced(self) -> None:
        self.take_word("{")
        self._read_body("}")
        self._read_redirects()

    def _read_negated(self) -> None:
        self.take_word("!")
        self._read_command()

    def _read_timed(self) -> None:
        self.take_word("time")
        if self.at_word(frozenset(["-p"])):
            self.take_word("-p")
        self.skip_blanks()
        if not self.char or self.char in "-\n;&|)<>":
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
        self._read_redirects()

    def _read_while(self) -> None:
        self.take_word(self.peek_word())
        self._read_body("do")
        self._read_body("done")
        self._read_redirects()

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
        self._read_redirects()

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
        self._read_redirects()

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

    def _read_function(self) -> None:
        self.take_word("function")
        self.read_one_word()
        self._read_definition()

    def _read_definition(self) -> None:
        self.doubt("defines a function, which may stand for any program")
        if (brackets := _FUNCTION.match(self.text, self.pos)) is not None:
            self.pos = brackets.end()
        self.skip_lines()
        self._read_command()

    def _read_coproc(self) -> None:
        self.doubt("starts a coprocess")
        self.take_word("coproc")
        self._read_command()

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
        self._read_redirects()

    def _add_test(self, words: list[Word], start: int) -> None:
        test = Command((Word("[[", "[["), *words, Word("]]", "]]")))
        if not is_plain_test(test.words):
            self.doubt("has a test that may evaluate what it compares")
        source = self.text[start : self.pos].strip()
        self.commands.append(replace(test, source=source))

    def _read_body(self, *enders: str) -> str:
        """Read a list that is not empty, and the word that ends it; give that word."""
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
        while True:
            self.skip_blanks()
            if not self.char or self.at_comment():
                break
            if self.at_process():
                words.append(self._read_process())
            elif (found := _REDIRECT.match(self.text, self.pos)) is not None:
                redirects.append(self._read_redirect(found))
            elif self.char in "\n;&|)":
                break
            elif self.at("("):
                raise Unreadable("has a bracket inside a command")
            else:
                self._take(self.read_word(), words, assignments)
                if len(words) == 1 and not redirects and _FUNCTION.match(self.text, self.pos):
                    return self._read_definition()
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
        self._within(self.text[start : start + 2], ")")
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
        self.pos: int = found.end()
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
