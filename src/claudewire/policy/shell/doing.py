"""What a command does, as far as its words tell: for deny rules beside a bare `Bash`.

`describe()` reads a command by its row in `known`. A small function for each kind of operand says
which files the command opens, which commands it runs, and whether it runs code of the project.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import unquote

from .filters import is_readable_awk, is_readable_sed
from .known import KNOWN, Row
from .patterns import Match
from .programs import (
    EVALUATORS,
    RUNNERS,
    SHELLS,
    Words,
    basename,
    is_harmless,
    prints_plainly,
    xargs_parts,
)
from .script import Assignment, Command, Word, names_in

_SYSTEM = re.compile(r"(?:/usr(?:/local)?|/opt/homebrew)?/s?bin/[^/]+")
_NO_FILE = re.compile(r"-|/dev/(?:null|stdin|stdout|stderr|tty|zero|u?random)")
_GLOB = re.compile(r"[*?\[]")
_BRACES = re.compile(r"[\w@/.^~:-]*\{-?\w+\}[\w^~]*")
"""Braces that no shell expands, as in `stash@{0}`."""


def _literal(text: str) -> Word:
    return Word(text, text)


HERE = _literal(".")


class Opened(NamedTuple):
    """A file that a command opens.

    `below` is a pattern of the files in it that are opened, too; with `dots`, its wildcards also
    stand for names that begin with a dot. A word that is not `whole` may be a part of a text.
    """

    word: Word
    reads: Match = Match.NO
    writes: Match = Match.NO
    below: str = ""
    dots: bool = True
    whole: bool = True


@dataclass(slots=True)
class Doing:
    """What a command does.

    Attributes:
        named: its subcommand, without the options before it.
        texts: code that it gives to a shell.
        scripts: files of code that it runs.
        told: what it passes on to code that is not read.
        passes: the files whose names its inner commands get; None if they are not known.
        lists: the files whose names it prints, and nothing else; None if it prints something else.
        runs: whether it runs code of the project.
        written: whether it writes a file that may be run later.
        filters: whether it prints some lines of its input, and nothing else.
        why: why its effect is unknown; empty if it is known.
        code: whether this is because of code, which no rule with a wildcard excuses.
        place: the directory that it changes to.
    """

    opened: list[Opened] = field(default_factory=list)
    inner: list[Words] = field(default_factory=list)
    named: Words = ()
    texts: list[str] = field(default_factory=list)
    scripts: list[Word] = field(default_factory=list)
    sets: list[Assignment] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    passes: list[Opened] | None = None
    lists: list[Opened] | None = None
    runs: bool = False
    written: bool = False
    filters: bool = False
    why: str = ""
    code: bool = False
    place: Word | None = None

    def open(self, file: Opened) -> None:
        """Note a file, seen from both directories if the command changes its own."""
        word = file.word
        if word.raw.startswith(("<(", ">(")) or (word.static and _NO_FILE.fullmatch(word.text)):
            return
        self.opened.append(file)
        if self.place is not None:
            self.opened.append(file._replace(word=_joined(self.place, word)))

    def read(self, word: Word, below: str = "") -> None:
        """Note a file that is read."""
        self.open(Opened(word, Match.YES, below=below))

    def write(self, word: Word, below: str = "") -> None:
        """Note a file that is written, or a folder that something is written into."""
        self.open(Opened(word, writes=Match.YES, below=below))

    def pass_on(self, words: Iterable[Word], below: str = "", writes: Match = Match.MAYBE) -> None:
        """Note words that code gets which is not read: each may name a file."""
        words = list(words)
        self.told.append(" ".join(word.text for word in words))
        for part, whole in (it for word in words for it in pieces(word)):
            self.open(Opened(part, Match.YES, writes, below, whole=whole))

    def run(self, file: Word) -> None:
        """Note a file of code that is run."""
        self.runs = True
        self.read(file)
        self.scripts.append(file)
        if not file.static or re.match(r"-$|\w[\w+.-]*://|data:|npm:|jsr:|/dev/|/proc/", file.text):
            self.doubt("it runs code from elsewhere", code=True)

    def doubt(self, why: str, *, code: bool = False) -> None:
        """Note why it is not known what the command does."""
        self.why, self.code = self.why or why, self.code or code


def remedy(name: str) -> str:
    """Return the rule that would allow a program, in words."""
    if not name or name.split()[0] in SHELLS | RUNNERS | EVALUATORS:
        return "allow exactly this command"
    return f"allow it with Bash({name}:*)"


def describe(command: Command) -> Doing:
    """Describe what one command does. It never raises."""
    doing = Doing()
    words = tuple(map(_without_braces, command.words))
    if is_harmless(command):
        doing.lists = []
    elif not words[0].static:
        doing.doubt("its program is known only when it runs")
    else:
        name = basename(words[0])
        row = KNOWN.get(name)
        is_own = "/" in words[0].text and not _SYSTEM.fullmatch(words[0].text)
        if is_own:
            doing.run(words[0])
        elif row is None:
            doing.doubt(f"the program {name!r} is not known: {remedy(name)}")
        if row is None:
            doing.told.append(" ".join(word.text for word in words))
            doing.pass_on(words[1:], below="" if is_own else "**")
        elif [it.text for it in words[1:]] not in (["--version"], ["--help"]):
            _Reader(command, doing).read(row, words[1:])
    return doing


def _without_braces(word: Word) -> Word:
    is_plain = not word.static and word.raw == word.text and _BRACES.fullmatch(word.raw)
    return Word(word.raw, word.text) if is_plain else word


def is_glob(word: Word) -> bool:
    """Whether a word is nothing but a pattern of the shell."""
    plain = r"(?:~/)?[\w./*?\[\]@%+:,^!-]+"
    return not word.static and word.raw == word.text and bool(re.fullmatch(plain, word.text))


def part_of(word: Word, text: str) -> Word:
    """Return a part of a word; it is as certain as the word."""
    if word.static:
        return Word(text, text, tilde=text.startswith("~"))
    head = text if word.head.endswith(text) else ""
    return Word(word.raw, text, static=False, head=head, single=word.single)


def pieces(word: Word) -> Iterator[tuple[Word, bool]]:
    """Yield possible paths in a word, and whether each is certain, if it is a path at all.

    These are the word itself, the rest after an option, an `=`, `@`, `:` or comma, and the words in
    it, if it holds several.
    """
    yield word, True
    if word.static:
        yield from ((part_of(word, text), whole) for text, whole in _parts(word.text))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    parts = re.split(r"[=@:,<;]", text)
    if len(parts) > 1:
        yield from ((part.strip("\"'"), True) for part in parts if part.strip("\"'"))
    if "%" in text:
        yield from ((unquote(part), False) for part in parts)
    if attached := re.match(r"-[A-Za-z]{1,8}", text):
        for part in dict.fromkeys((text, parts[0])):
            yield from ((part[end:], True) for end in range(2, attached.end() + 1) if part[end:])
    inner = re.split(r"[\s\"'`(){}<>|;&=@:,]+", text)
    if len(inner) > len(parts):
        yield from ((part, False) for part in inner if part)


def _joined(folder: Word, word: Word) -> Word:
    if word.text.startswith(("/", "~")):
        return word
    text, raw = f"{folder.text}/{word.text}", f"{folder.raw}/{word.raw}"
    return Word(raw, text, folder.static and word.static, folder.tilde)


def _start(word: Word) -> str:
    """Return what a word certainly begins with."""
    return word.text if word.static else word.head


def _may_be_option(word: Word) -> bool:
    """Whether an unknown word may turn out to be an option."""
    return not word.static and word.head[:1] in ("", "-")


def _git_paths(word: Word) -> Iterator[Opened]:
    """Yield the files that a revision or a path of git may name."""
    magic = re.match(r":(?:\(([^)]*)\)|[/!^]+)", word.text) if word.static else None
    text = word.text[magic.end() :] if magic else word.text
    if not word.static:
        yield Opened(word, Match.YES, below="**")
    elif not (magic and re.search(r"[!^]|exclude", magic[0])):
        for part in dict.fromkeys((text, *text.split(":")) if text else ()):
            if _GLOB.search(part) or (magic and re.search("glob|attr", magic[0])):
                # Its stars stand for slashes, too.
                folder = _GLOB.split(part)[0].rpartition("/")[0] or "."
                end = re.sub(r".*[*?\]/]", "", part)
                below = f"**/*{end}" if end else "**"
                yield Opened(Word(folder, folder), Match.YES, below=below, whole=False)
            elif part:
                below = "" if part == "." else "**"
                yield Opened(Word(part, part), Match.YES, below=below, whole=magic is None)


# --- the tables of the kinds ----------------------------------------------------------------------

_WITHOUT_OPTIONS = names_in("code find xargs sed test printf tar")
"""Kinds that read their options by themselves."""
_STOP_AT_OPERANDS = names_in("sub then then1 env script shell awk source")
_REFUSE_END = names_in("sub args project targets task build format")
"""Kinds that may pass on what stands behind `--`."""
_TAKE_CODE = names_in("script shell targets sed awk")
"""Kinds with options that take code."""
_NO_TASKS = names_in("script shell sed awk find env xargs then then1")
"""Kinds of programs that would run code if they were a task of `yarn run`."""
_SETTING = re.compile(
    r"(?i)user\.(?:name|email)|color\.\w+|commit\.gpgsign|core\.(?:quotepath|autocrlf|filemode)|"
    r"init\.defaultbranch|advice\.\w+|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|log\.\w+"
)
"""Settings of git that run nothing."""
_STARTS_PACKAGES = names_in("npx bunx pnpx uvx")
_ASK_VERSION = names_in("--version -V -v -h --test")
_CODE_OF_SCRIPTS = (["manage.py", "shell"], ["artisan", "tinker"])
_TARGET = re.compile(r"(?!\.?(?:SHELL|MAKE)\w*=)[\w./@%+,=~:-]*")
_CHECKING = names_in("--check --check-only --diff -c -d -l --list-different")
_FIXES = names_in("""
    --fix --fix-only --fix-dry-run --add-noqa --write --write-changes -w -i -a -A -x --autocorrect
    --autocorrect-all --auto-correct
    """)
_ALWAYS_WRITES = names_in("black isort pyupgrade pint rustfmt") | {"cargo fmt", "go fmt"}
"""Programs that change files without an option for it."""
_CUTS = names_in("-c -o -b --bytes --count --only-matching")
"""Options with which a filter prints something else than whole lines."""
_FIND_RUNS = names_in("-exec -execdir -ok -okdir")
_FIND_ACTS = re.compile(r"-(?:exec|ok)(?:dir)?$|-(?:delete|print|ls)")
_FIND_VALUED = names_in("""
    -name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -size -mtime
    -mmin -ctime -cmin -atime -amin -newer -perm -user -group -links -printf -inum -regextype
    """)
_FIND_PLAIN = names_in("""
    ( ) ! , -not -o -or -a -and -print -print0 -prune -ls -quit -depth -xdev -mount -follow -empty
    -readable -writable -executable -true -false -d -E
    """)


class _Reader:
    """Reads the arguments of one command by its row: its options, then its operands.

    There is a method for each kind of row, called `_of_` and the kind.
    """

    def __init__(self, command: Command, doing: Doing) -> None:
        self.command = command
        self.doing = doing
        self.row = KNOWN["true"]
        self.name = ""
        self.flags: set[str] = set()
        self.values: dict[str, list[Word]] = {}
        self.operands: list[Word] = []
        self.looks = ""

    def read(self, row: Row, words: Words) -> None:
        """Read the words behind the program, or behind its subcommand."""
        self.row, self.name, self.operands, self.flags = row, row.name, [], set()
        if row.kind in _WITHOUT_OPTIONS:
            self.operands = list(words)
        else:
            self._sort(list(words))
        getattr(self, f"_of_{row.kind}")()

    def _of_sub(self) -> None:
        if self.name == "git":
            self._check_settings(map(_start, self.values.get("-c", [])))
        if not self.operands:
            return
        self.doing.named = (*map(_literal, self.name.split()), *self.operands)
        first, *rest = self.operands
        name = f"{self.name} {first.text}"
        if any(re.match(r"\w[\w+.-]*::", it.text) for it in self.operands):
            self.doing.doubt("a transport may run a program")
        if first.static and (found := KNOWN.get(name)) is not None:
            self.read(found, tuple(rest))
        else:
            self.doing.doubt(f"the command `{name}` is not known: {remedy(name)}")
            self.doing.pass_on(rest, below="**")

    # --- options ---------------------------------------------------------------------------------

    def _sort(self, rest: list[Word]) -> None:
        """Sort words into options, their values, and operands."""
        row = self.row
        while rest:
            word = rest.pop(0)
            start = _start(word)
            if start == "--":
                if row.kind in _REFUSE_END and "--any" not in row.marks:
                    self._unknown("--")
                self.operands += rest
                return
            if not start.startswith("-") or start == "-":
                if "!" in row.marks and _may_be_option(word):
                    self._may_be_option()
                self.operands.append(word)
            elif start.startswith("--") or "1word" in row.marks:
                self._read_long(word, start, rest)
            elif not ("-#" in row.options and re.fullmatch(r"-\d+", start)):
                self._read_short(word, start, rest)
            is_module = row.kind == "script" and "-m" in self.values
            if is_module or (row.kind in _STOP_AT_OPERANDS and self.operands):
                self.operands += rest
                return

    def _unknown(self, option: str) -> None:
        is_code = self.row.kind in _TAKE_CODE
        how = "allow exactly this command" if is_code else remedy(self.name)
        self.doing.doubt(
            f"the option {option!r} of `{self.name}` is not known: {how}", code=is_code
        )

    def _may_be_option(self) -> None:
        self.doing.doubt(f"an unknown word may be an option of `{self.name}`")

    def _read_long(self, word: Word, start: str, rest: list[Word]) -> None:
        name, equals, value = start.partition("=")
        options = self.row.options
        if name not in options and "1word" in self.row.marks:
            attached = (it for it in options if options[it] == "#" and name.startswith(it))
            name = next(attached, name)
        sign = options.get(name)
        if sign is None:
            self._read_other(word, start)
        elif equals and sign not in ("", "/"):
            self._take(name, sign, part_of(word, value), rest)
        elif equals or not word.static:
            self._unknown(start)
        else:
            self._take(name, sign, None, rest)

    def _read_short(self, word: Word, start: str, rest: list[Word]) -> None:
        for place in range(1, len(start)):
            name, value = f"-{start[place]}", start[place + 1 :]
            sign = self.row.options.get(name)
            if sign is None:
                self._read_other(word, f"-{start[place:]}")
                return
            if sign not in ("", "/"):
                given = part_of(word, value) if value or not word.static else None
                self._take(name, sign, given, rest)
                return
            self._take(name, sign, None, rest)
        if not word.static:
            self._unknown(start)

    def _read_other(self, word: Word, text: str) -> None:
        """Read an option that the row does not list."""
        if "*" not in self.row.marks:
            self._unknown(text)
        name, _, value = text.partition("=")
        self.flags |= {name, *(f"-{letter}" for letter in name[1:] if name[:2] != "--")}
        if self.row.kind in ("project", "format"):
            self.doing.pass_on([word])
            self.values.setdefault(name, []).append(part_of(word, value))

    def _take(self, name: str, sign: str, value: Word | None, rest: list[Word]) -> None:
        self.flags.add(name)
        self.looks = "**" if sign == "/" else self.looks
        if sign in ("", "/", "="):
            return
        if value is None and rest:
            value = rest.pop(0)
            del rest[: sign == "##"]
        if value is not None:
            self.values.setdefault(name, []).append(value)
            if "!" in self.row.marks and not (value.single or is_glob(value)):
                self._may_be_option()
            self._open_value(name, sign, value)

    def _open_value(self, name: str, sign: str, value: Word) -> None:
        doing = self.doing
        is_text = not value.static and value.head and not re.search("[@<]", value.head)
        if sign == "?" and is_text and name not in ("-F", "--form", "--data-urlencode"):
            return
        if sign in ("<", "^"):
            doing.read(value)
            doing.place = value if sign == "^" else doing.place
        elif sign == ">":
            doing.write(value)
            doing.written = True
        elif sign == ":" and self.row.kind != "script":
            doing.run(value)
        elif sign in ("?", "&"):
            folder = sign == "&"
            writes = Match.MAYBE if folder else Match.NO
            for part, whole in pieces(value):
                doing.open(Opened(part, Match.YES, writes, "**" if folder else "", whole=whole))
            if "%output" in value.text:
                doing.doubt("its output goes to a file that a text names")

    # --- operands: tools -------------------------------------------------------------------------

    def _of_text(self) -> None:
        if self.name == "git ls-files":
            self.doing.lists = self._git_paths() or [Opened(HERE, below="**")]
        elif self.name == "cd":
            self.doing.lists = []

    _of_args = _of_text

    def _of_none(self) -> None:
        for word in self.operands:
            if not re.fullmatch(r"\$!|%?\d+", word.raw):
                self._unknown(word.raw)

    def _of_printf(self) -> None:
        if not prints_plainly(tuple(self.operands)):
            self.doing.doubt("printf may evaluate what it prints")

    def _of_test(self) -> None:
        inner = self.operands if self.name == "test" else self.operands[:-1]
        if any("[" in word.text for word in inner):
            self.doing.doubt("the test may evaluate its operands")

    def _of_export(self) -> None:
        for word in self.operands:
            name, equals, _ = _start(word).partition("=")
            if not name.isidentifier() or not (equals or word.static):
                self._unknown(word.raw)
            elif equals:
                value = part_of(word, word.text.partition("=")[2])
                self.doing.sets.append(Assignment(name, value))

    def _of_read(self) -> None:
        self.looks = "**" if self.row.kind in ("look", "build") else self.looks
        for word in self.operands:
            self.doing.read(word, self.looks)
        is_plain = not self.operands and not self.flags & _CUTS
        self.doing.filters = is_plain and self.name in ("head", "sort", "tail", "uniq")

    _of_look = _of_read

    def _of_write(self) -> None:
        for word in self.operands:
            self.doing.write(word, self.looks)
        self.doing.written = self.row.kind == "write"

    _of_mark = _of_write

    def _of_inout(self) -> None:
        for word in self.operands[1:]:
            self.doing.write(word)
            self.doing.written = True
        del self.operands[1:]
        self._of_read()

    def _of_copy(self) -> None:
        """Read what is copied, moved or linked to; write the files of the same names elsewhere."""
        self.doing.written = True
        given = self.values.get("-t", [])
        sources = self.operands if given or len(self.operands) < 2 else self.operands[:-1]
        targets = given or self.operands[len(sources) :] or [HERE]
        deep = self.looks or ("" if self.name in ("cp", "install") else "**")
        for word in sources:
            writes = Match.YES if self.name == "mv" else Match.NO
            self.doing.open(Opened(word, Match.YES, writes, deep))
            if self.name == "ln":  # it leads there from the folder of the link
                folder = targets[0].text.rpartition("/")[0] or "."
                self.doing.read(_joined(Word(folder, folder), word), deep)
        for target in targets:
            self.doing.write(target, self.looks)
            for word in sources:
                name = word.text.rstrip("/").rpartition("/")[2]
                if word.static and name.strip("."):
                    self.doing.write(_joined(target, part_of(word, name)), deep)
                else:
                    self.doing.write(target, "*" if name.strip(".") else "**")

    def _of_tar(self) -> None:
        words, self.operands = self.operands, []
        if words and words[0].static and re.fullmatch(r"[A-Za-z]+", words[0].text):
            if re.search("[CfI].", words[0].text):
                self._unknown(words[0].text)
            words[0] = part_of(words[0], f"-{words[0].text}")
        self._sort(words)
        archives = [*self.values.get("-f", []), *self.values.get("--file", [])]
        if any(not it.static or ":" in it.text for it in archives):
            self.doing.doubt("the archive may be on another machine")
        packs, unpacks = self.flags & {"-c", "-r", "--create"}, self.flags & {"-x", "--extract"}
        self.doing.written = bool(packs or unpacks)
        for word in archives:
            (self.doing.write if packs else self.doing.read)(word)
        for word in self.operands if packs else []:
            self.doing.read(word, "**")
            self.doing.read(part_of(word, word.text.lstrip("@")))
        if unpacks:
            self.doing.write(HERE, "**")

    def _of_unzip(self) -> None:
        for word in self.operands[:1]:
            self.doing.read(word)
        if not self.flags & {"-l", "-v", "-t", "-Z", "-p", "-c"}:
            self.doing.written = True
            for folder in self.values.get("-d", [HERE]):
                self.doing.write(folder, "**")

    # --- operands: searches ----------------------------------------------------------------------

    def _of_pattern(self) -> None:
        self._search(HERE if self.looks else None, self.looks)

    def _of_search(self) -> None:
        is_git = self.name == "git grep"
        dots = is_git or bool(self.flags & {"-u", "-.", "--hidden", "-g", "--glob", "--iglob"})
        self._search(None if self.command.piped and not is_git else HERE, "**", dots)

    def _search(self, default: Word | None, below: str, dots: bool = True) -> None:
        # A pattern of the shell stands for several words, and only the first is searched for.
        first = [it for it in self.operands[:1] if not it.single]
        given = {"-e", "-f", "--files"} & self.flags
        files = self.operands if given else [*first, *self.operands[1:]]
        kinds = ("--include", "-g", "--glob")
        patterns = [it for kind in kinds for it in self.values.get(kind, [])]
        is_plain = all(it.static and not re.search(r"[/!{]", it.text) for it in patterns)
        belows = [f"**/{it.text}" for it in patterns] if patterns and is_plain else [below]
        found = [
            Opened(word, Match.YES, below=it if below else "", dots=dots)
            for word in files or ([default] if default else [])
            for it in belows
        ]
        if self.name == "git grep":
            self.operands = files
            found = self._git_paths() or found
        for it in found if "--files" not in self.flags else []:
            self.doing.open(it)
        names = {"-l", "-L", "--files-with-matches", "--files", "--name-only"} & self.flags
        self.doing.lists = found if names else None
        self.doing.filters = not files and default is None and not self.flags & _CUTS

    def _of_find(self) -> None:
        words = [it for it in self.operands if it.text not in ("-L", "-H", "-P")]
        roots: list[Word] = []
        while words and not (words[0].static and re.match(r"-.|[!()]$", words[0].text)):
            root = words.pop(0)
            # What it finds begins with the folder, and so is never an option.
            roots.append(root if root.text != "." else Word("./", "./"))
            if _may_be_option(root) and not is_glob(root):
                self.doing.open(Opened(root, writes=Match.MAYBE, below="**"))
                if not root.single or not words or {";", "+"} & {it.text for it in words}:
                    self._may_be_option()
        below = f"**/{_found_name(words)}".rstrip("/")
        found = [Opened(root, below=below) for root in roots or [Word("./", "./")]]
        self.doing.lists = self.doing.passes = found
        while words:
            self._read_predicate(words, found)

    def _read_predicate(self, words: list[Word], found: list[Opened]) -> None:
        word = words.pop(0)
        if word.text in _FIND_RUNS:
            self.doing.lists = None
            inner = _taken_by_find(words, word.text)
            if inner and "{}" not in inner[0].text:
                self.doing.inner.append(inner)
            else:
                self.doing.doubt("it is not known what `find` runs")
        elif word.text == "-delete":
            for it in found:
                self.doing.write(it.word, it.below)
        elif word.text in _FIND_VALUED and words:
            if not (words.pop(0).single or word.static):
                self._may_be_option()
            self.doing.lists = None if word.text == "-printf" else self.doing.lists
        elif word.text not in _FIND_PLAIN or not word.static:
            self._unknown(word.raw)

    def _of_jq(self) -> None:
        if any(re.search(r"\b(?:import|include)\b", it.text) for it in self.operands):
            self.doing.doubt("its filter may read another file")
        self._search(None, "")

    def _of_sed(self) -> None:
        files = is_readable_sed(self.operands)
        if files is None:
            self.doing.doubt("sed may run its code: allow exactly this command", code=True)
            return
        in_place = any(re.match(r"-\w*i|--in-place", it.text) for it in self.operands)
        for word in files:
            if _may_be_option(word) and not is_glob(word):
                self._may_be_option()
            self.doing.open(Opened(word, Match.YES, Match.YES if in_place else Match.NO))
        self.doing.written = in_place

    def _of_awk(self) -> None:
        if not self.operands or not is_readable_awk(self.operands[0]):
            self.doing.doubt("awk may run its code: allow exactly this command", code=True)
        for word in self.operands[1:]:
            self.doing.read(word)
            self.doing.read(part_of(word, word.text.partition("=")[2] or word.text))

    # --- operands: the network and git -----------------------------------------------------------

    def _of_url(self) -> None:
        is_named = self.flags & {"-O", "--output-document", "--spider"}
        saves = self.flags & {"-O", "--remote-name"} if self.name == "curl" else not is_named
        for word in [*self.operands, *self.values.get("--url", [])]:
            start = _start(word)
            if re.search(r"[\[\]{}]", start) and not re.match(r"https?://[^\[{]", start):
                self.doing.read(replace(word, static=False))
            elif re.match(r"(?i)\s*file:", start):
                path = re.sub(r"(?i)^\s*file:(//[^/]*)?", "", start)
                self.doing.read(part_of(word, unquote(path)))
            elif not word.static and not re.match(r"https?:", start):
                self.doing.read(replace(word, raw=f"<{word.raw}>"))  # not as the name of a file
            if saves:
                self.doing.write(part_of(word, word.text.rpartition("/")[2]))
                self.doing.written = True

    def _git_paths(self) -> list[Opened]:
        return [it for word in self.operands for it in _git_paths(word)]

    def _of_revs(self) -> None:
        for it in self._git_paths():
            self.doing.open(it)
        if "--name-only" in self.flags and self.name == "git diff":
            self.doing.lists = [Opened(HERE, below="**")]

    def _of_paths(self) -> None:
        for word in self.operands:
            for it in _git_paths(word):
                self.doing.open(it if _GLOB.search(word.text) else it._replace(below=""))

    def _of_changes(self) -> None:
        if self.name == "git restore" and self.flags & {"-S", "--staged"}:
            return
        is_clean = self.name == "git clean" and not self.flags & {"-n", "--dry-run"}
        self.operands = self.operands or ([HERE] if is_clean else [])
        for it in self._git_paths():
            self.doing.open(it._replace(writes=Match.YES, below="**"))

    def _of_patch(self) -> None:
        for word in self.operands:
            self.doing.read(word)
        if not self.flags & {"--check", "--stat", "--numstat"}:
            self.doing.runs = self.doing.written = True
            self.doing.write(HERE, "**")

    def _of_clone(self) -> None:
        self.doing.written = True
        for word in self.operands[:1]:
            if not re.match(r"(?:https?|ssh|git)://|[\w.-]+@[\w.-]+:", word.text):
                self.doing.read(part_of(word, re.sub(r"(?i)^file://", "", word.text)), "**")
        for word in self.operands[1:]:
            self.doing.write(word, "**")

    def _of_config(self) -> None:
        if len(self.operands) > 1:
            self._check_settings([self.operands[0].text])

    def _check_settings(self, settings: Iterable[str]) -> None:
        for setting in settings:
            if not _SETTING.fullmatch(setting.partition("=")[0]):
                self.doing.doubt(f"the setting {setting!r} of git may run a program")

    # --- operands: programs that run others ------------------------------------------------------

    def _of_then(self) -> None:
        inner = self.operands[self.row.kind == "then1" :]
        if not inner:
            if self.name not in ("exec", "docker run", "docker compose run"):
                self.doing.doubt(f"it is not known what `{self.name}` runs")
            return
        if self.name in _STARTS_PACKAGES:
            inner[0] = part_of(inner[0], re.sub(r"(?<=.)@.*", "", inner[0].text))
        if self.name == "uv run" and inner[0].text.endswith(".py"):
            self.doing.run(inner[0])
            self.doing.pass_on(inner[1:])
        else:
            self.doing.inner.append(tuple(inner))

    _of_then1 = _of_then

    def _of_env(self) -> None:
        words = self.operands
        while words and (found := re.match(r"(\w+)=|-$", _start(words[0]))) is not None:
            if found[1]:
                value = part_of(words[0], words[0].text[found.end() :])
                self.doing.sets.append(Assignment(found[1], value))
            del words[0]
        if words:
            self.doing.inner.append(tuple(words))

    def _of_xargs(self) -> None:
        inner = xargs_parts(self.command.words)
        if inner is None:
            self.doing.doubt("it is not known what `xargs` runs")
        else:
            self.doing.inner.append(inner)

    def _of_shell(self) -> None:
        operands = self.operands
        self.doing.runs = "-l" in self.flags
        if "-c" in self.flags and operands and operands[0].static:
            self.doing.texts.append(operands[0].text)
            self.doing.pass_on(operands[1:])
        elif "-c" in self.flags or not operands or operands[0].text.startswith("+"):
            self.doing.doubt("it runs code that is not on the line", code=True)
        else:
            self._of_source()

    def _of_code(self) -> None:
        if all(word.static for word in self.operands):
            self.doing.texts.append(" ".join(it.text for it in self.operands))
        self.doing.texts += [it.text for it in self.operands if it.static]
        self.doing.doubt("it runs its words as code: allow exactly this command", code=True)

    def _of_source(self) -> None:
        for word in self.operands[:1]:
            self.doing.run(word)
        self.doing.pass_on(self.operands[1:])

    def _of_script(self) -> None:
        for name in ("-r", "--require", "--import"):
            for file in self.values.get(name, []):
                self.doing.run(file)
        if module := self.values.get("-m"):
            self._run_module(module[0])
        elif self.operands:
            self._of_source()
            texts = [basename(self.operands[0]), *(it.text for it in self.operands[1:2])]
            if texts in _CODE_OF_SCRIPTS:
                self.doing.doubt("it runs code that is not on the line", code=True)
        elif not self.flags & _ASK_VERSION:
            self.doing.doubt("it runs code from its input", code=True)
        self.doing.runs = True

    def _run_module(self, module: Word) -> None:
        row = KNOWN.get(module.text)
        self.doing.runs = True
        if row is not None and row.kind in ("project", "format", "sub", "inout"):
            self.doing.inner.append((module, *self.operands))
        else:
            name = f"{self.name} -m {module.text}"
            self.doing.doubt(f"the module is not known: {remedy(name)}", code=not module.static)
            self.doing.pass_on(self.operands)

    # --- operands: code of the project -----------------------------------------------------------

    def _of_project(self, writes: Match = Match.MAYBE) -> None:
        self.doing.runs = True
        self.doing.told.append(" ".join(it.text for it in self.command.words))
        self.doing.pass_on(self.operands, writes=writes)
        for word in [*self.operands, *(it for some in self.values.values() for it in some)]:
            if word.static and re.match(r"[/~]|(?:.*/)?\.\.(?:/|$)", word.text):
                self.doing.scripts.append(word)
            if word.text == "-":
                self._unknown("-")
        if self.name == "flask" and "shell" in (it.text for it in self.operands):
            self.doing.doubt("it runs code from its input", code=True)

    def _of_targets(self) -> None:
        self._of_project()
        is_goal = self.name in ("mvn", "mvnw")
        for word in self.operands:
            if not _TARGET.fullmatch(word.text) or (is_goal and ":" in word.text):
                self.doing.doubt(f"it may run code in {word.raw!r}", code=True)

    def _of_task(self) -> None:
        self._of_project()
        task = KNOWN.get(basename(self.operands[0])) if self.operands else None
        if task is not None and task.kind in _NO_TASKS:
            self.doing.doubt(f"`{task.name}` may run code", code=True)

    def _of_format(self) -> None:
        words = self.flags | {it.text for it in self.operands[:1]}
        formats = self.name in _ALWAYS_WRITES or "format" in words
        writes = bool(words & _FIXES) or (formats and not words & _CHECKING)
        reports = self.flags & {"-o", "--output-file", "--output"}
        self._of_project(Match.MAYBE if writes or reports else Match.NO)
        folders = [it for it in self.operands if it.text not in ("check", "format")]
        for word in (folders or [HERE]) if writes else []:
            self.doing.write(word, "**")

    def _of_build(self) -> None:
        self._of_project()
        self._of_read()


def _found_name(words: list[Word]) -> str:
    """Return the pattern of the names that `find` finds; `**` is any path."""
    # A test counts only for the actions behind it.
    tests = itertools.takewhile(lambda it: not _FIND_ACTS.match(it.text), words)
    texts = [it.text for it in tests]
    names = [words[i + 1] for i, it in enumerate(texts[:-1]) if it in ("-name", "-iname")]
    one = len(names) == 1 and not {"-o", "-or", "!", "-not", ","} & {*texts}
    plain = one and names[0].static and not re.search(r"[\[\\/]", names[0].text)
    return names[0].text if plain else ""


def _taken_by_find(words: list[Word], option: str) -> Words:
    """Take the command behind `-exec` off a list; it is empty without a sure end."""
    for end, word in enumerate(words):
        is_plus = word.text == "+" and option.startswith("-exec") and end > 0
        if word.text == ";" or (is_plus and words[end - 1].text == "{}"):
            taken = [
                Word(it.raw, it.text, static=False, head="./") if "{}" in it.text else it
                for it in words[:end]
            ]
            del words[: end + 1]
            return tuple(taken)
    words.clear()
    return ()
