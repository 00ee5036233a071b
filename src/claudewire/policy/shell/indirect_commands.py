"""The commands that a line runs or may run, also through other programs: for deny rules.

A command is sure if the line runs it, directly or through a program that is known to run others.
It is a suspicion if an unknown program gets its name, or a variable is set to it. Unreadable code
(the input of a shell, the code of an interpreter) may be any command.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from .interpreters import (
    FILTERS,
    RunCode,
    implicit_files,
    is_interpreter,
    is_readable_filter,
    run_code,
)
from .parser import parse
from .programs import (
    EVALUATORS,
    RUNNERS,
    SHELLS,
    UNKNOWN,
    Words,
    basename,
    is_harmless,
    unwrapped,
    xargs_parts,
)
from .script import Command, Script, Word, fragments, names_in

# No argument of these is the name of a program that they run.
_PLAIN = names_in("""
    basename cat cd chmod chown cp cut date df diff dirname du echo egrep false fgrep file grep head
    id kill la ll ln ls md5sum mkdir mv nl ps pwd readlink realpath rev rm rmdir sha256sum sleep
    stat tail tee touch tr tree true type uname uniq wc whereis which whoami [[
    """)
_PLAIN_OF_GIT = names_in("""
    add blame branch checkout cherry-pick commit describe diff init log ls-files merge mv reset
    restore rev-parse revert rm show stash status switch tag
    """)
# These evaluate a string as a command line.
_TAKE_TEXT = (SHELLS | EVALUATORS | names_in("entr env flock parallel script ssh su watch")) - {"."}
_LOADER = re.compile(r"ld[-.].*so[.\d]*")
_STDIN = names_in("- /dev/stdin /dev/fd/0 /proc/self/fd/0")
_ASKS_VERSION = names_in("-V -v -h --version --help")
_INDEXING = names_in("printf test [")
"""Programs that evaluate the index of an array."""
_READ_COMMANDS = names_in("""
    bc dc duckdb ed ftp gdb gnuplot lftp lldb m4 mariadb mongosh mysql psql redis-cli sftp sqlite3
    telnet vi vim nvim
    """)
"""Programs that obey their input, which can make them run another program."""
_WRITERS = names_in("cp curl dd gsed install ln mv rsync scp sed tar tee unzip wget")
_OF_GIT = re.compile(r"(?:^|/)\.git/|(?:^|/)hooks/")
_ALIAS_OF_GIT = re.compile(r"(?:^|[=\s'\"])alias\.", re.IGNORECASE)
_CONFIGURES_GIT = re.compile(r"GIT_CONFIG_(?:COUNT|KEY|VALUE|PARAMETERS).*")
_ESCAPE = re.compile(r"\\[abefnrtv]")
_FIND_RUNS = names_in("-exec -execdir -ok -okdir")
_MOST_COMMANDS = 400
"""Different commands to analyse; beyond that there may be any command."""
_MOST_WORDS = 64
"""Words after a program that runs others to analyse as commands."""
_DEEPEST = 4
"""Nested shells to analyse."""

_GIT = Word("git", "git")
_ANYTHING = (UNKNOWN,)
"""A command that was not analysed, and may be any command."""


@dataclass(frozen=True, slots=True)
class IndirectCommands:
    """The commands of a line.

    Attributes:
        commands: each command, with whether it is sure.
        texts: the arguments of unknown programs.
        scripts: files that a shell or an interpreter runs, and programs with a path.
    """

    commands: dict[Words, bool] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    scripts: dict[str, None] = field(default_factory=dict)

    @property
    def may_be_anything(self) -> bool:
        """Whether any other command may be among them."""
        return _ANYTHING in self.commands


def indirect_commands(script: Script, text: str) -> IndirectCommands:
    """Find every command that a script runs or may run, also through programs that run others."""
    search = _Search()
    search.look_into(script, depth=0)
    if not script.certain:
        search.guess(text, depth=0)
    if search.runs_own_files():
        search.add(_ANYTHING, sure=False)
    return search.found


class _Search:
    def __init__(self) -> None:
        self.found = IndirectCommands()
        self._script = Script(())
        self._sure = True
        self._seen: list[Command] = []
        self._evaluated: set[tuple[str, bool]] = set()

    def add(self, words: Words, *, sure: bool) -> None:
        commands = self.found.commands
        if len(commands) < _MOST_COMMANDS:
            commands[words] = commands.get(words, False) or (sure and self._sure)
        else:
            commands[_ANYTHING] = False

    def look_into(self, script: Script, depth: int) -> None:
        outer, self._script = self._script, script
        self._seen += script.commands
        for command in script.commands:
            for assignment in command.assignments:
                self._look_into_value(assignment.value, depth)
                if command.words:  # a program gets it
                    self.found.texts[assignment.value.text] = None
                if _CONFIGURES_GIT.fullmatch(assignment.name):
                    self.add((_GIT, UNKNOWN), sure=False)
            if command.words:
                self._look_at(command, depth)
        self._script = outer

    def guess(self, text: str, depth: int) -> None:
        """Guess the commands in text that cannot be parsed."""
        for fragment in fragments(text)[:_MOST_COMMANDS]:
            self._look_at(Command(tuple(Word(part, part) for part in fragment)), depth)

    def suspect(self, texts: Iterable[str], depth: int) -> None:
        """Find commands in texts that may not run."""
        before, self._sure = self._sure, False
        self._evaluate(texts, depth)
        self._sure = before

    def _look_into_value(self, value: Word, depth: int) -> None:
        if value.static:
            self.suspect([value.text], depth)
        else:
            self.found.texts[value.text] = None

    def _evaluate(self, texts: Iterable[str], depth: int) -> None:
        for text in texts:
            if (text, self._sure) in self._evaluated:
                continue
            self._evaluated.add((text, self._sure))
            if depth >= _DEEPEST:
                self.add(_ANYTHING, sure=False)
                continue
            script = parse(text)
            self.look_into(script, depth + 1)
            if not script.certain:
                self.guess(text, depth + 1)

    # --- one command -----------------------------------------------------------------------------

    def _look_at(self, command: Command, depth: int) -> None:
        words = command.words
        self.add(words, sure=True)
        if is_harmless(command):
            return
        if depth > _DEEPEST:
            self.add(_ANYTHING, sure=False)
            return
        name = basename(words[0])
        self._look_at_name(name, words)
        if unwrapped(words) != words:
            self._look_at(replace(command, words=unwrapped(words)), depth + 1)
        elif name == "xargs" and (inner := xargs_parts(words)) is not None:
            self._look_at(Command(inner), depth + 1)
        elif name == "find":
            self._look_behind_find(words, depth)
        elif name in RUNNERS or name in EVALUATORS or _LOADER.fullmatch(name):
            self._look_behind(command, depth)
        elif not self._look_at_code(command, depth):
            self._look_at_arguments(command, depth)

    def _look_at_name(self, name: str, words: Words) -> None:
        if "/" in words[0].text:
            self.found.scripts[words[0].text] = None
        if name in _READ_COMMANDS or any(word.raw.startswith("<(") for word in words[1:]):
            self.found.texts.update(dict.fromkeys(self._spoken()))
        self._look_at_git(name, words)

    def _look_at_git(self, name: str, words: Words) -> None:
        """Note other readings of a command of git: `git-push`, and aliases."""
        if name.startswith("git-"):
            self.add((_GIT, Word(name[4:], name[4:]), *words[1:]), sure=True)
        elif name != "git":
            return
        for before, word in itertools.pairwise(words):
            is_open = before.text in ("-c", "--config-env") and not word.static
            names = _ALIAS_OF_GIT.search(word.text) or re.match(r"-calias\.", word.text)
            if names or (is_open and "=" not in word.head):
                self.add((_GIT, UNKNOWN), sure=False)

    def _look_behind_find(self, words: Words, depth: int) -> None:
        unknown = [word for word in words if not word.static]
        if len(unknown) > 1 or not all(word.single for word in unknown):
            self.add(_ANYTHING, sure=False)
        elif unknown:
            self._suspect_arguments(Command(words))
        runs = [index for index, word in enumerate(words) if word.text in _FIND_RUNS]
        spans = ((run + 1, end) for run in runs for end in _ends_of_find(words, run + 1))
        for count, (start, end) in enumerate(spans):
            inner = tuple(
                replace(UNKNOWN, raw=word.raw) if "{}" in word.text else word
                for word in words[start:end]
            )
            if not inner or inner[0].text == UNKNOWN.text or count >= _MOST_WORDS:
                self.add(_ANYTHING, sure=False)
                return
            self._look_at(Command(inner), depth + 1)

    def _look_behind(self, command: Command, depth: int) -> None:
        """Read the words after a program that runs others as commands."""
        words = self._not_too_many(command.words)
        name = basename(words[0])
        if name in ("xargs", "parallel"):
            words = (*words, UNKNOWN)
        self._suspect_arguments(command)
        for index in range(1, len(words)):
            self.add(words[index:], sure=True)
            self._look_at_code(replace(command, words=words[index:]), depth)
        self._look_at_texts(name, words, depth)
        if name in (".", "source") and len(words) > 1:
            self._run_file(words[1])
        names = name == "alias" and any("=" in word.text for word in words)
        if names or words[-1] is UNKNOWN or _may_read_commands(name, words):
            self.add(_ANYTHING, sure=False)

    def _not_too_many(self, words: Words) -> Words:
        if len(words) > _MOST_WORDS:
            self.add(_ANYTHING, sure=False)
        return words[:_MOST_WORDS]

    def _look_at_texts(self, name: str, words: Words, depth: int) -> None:
        """Analyse evaluated arguments: all of some programs, the indexes of others."""
        if name == "." or any(basename(word) in _TAKE_TEXT for word in words):
            self._evaluate(_texts(words[1:]), depth)
        elif any(basename(word) in _INDEXING for word in words):
            self._evaluate((word.text for word in words if "[" in word.text), depth)

    def _look_at_arguments(self, command: Command, depth: int) -> None:
        """Suspect the arguments of a program that may run others."""
        words = command.words
        name = basename(words[0])
        if name in _INDEXING:
            self._evaluate((word.text for word in words[1:] if "[" in word.text), depth)
        elif name not in _PLAIN and not _is_plain_git(words):
            self._suspect_arguments(command)
            for index in range(1, len(words)):
                if words[index].static and basename(words[index]) in SHELLS:
                    before, self._sure = self._sure, False
                    self._look_at_code(replace(command, words=words[index:]), depth)
                    self._sure = before

    def _suspect_arguments(self, command: Command) -> None:
        """Note the arguments of a program, and its here-documents."""
        texts = [" ".join(word.text for word in command.words[1:])]
        here = [it.target.text for it in command.redirects if it.kind == "here"]
        texts += [*here, *self._script.heredocs] if here else []
        self.found.texts.update(dict.fromkeys(texts))

    # --- shells and interpreters -----------------------------------------------------------------

    def _look_at_code(self, command: Command, depth: int) -> bool:
        """Analyse the code for a shell or an interpreter; return whether it is one."""
        words = command.words
        name = basename(words[0])
        if name in SHELLS:
            some = words[:_MOST_WORDS]
            for index in range(1, len(some)):
                self.add(some[index:], sure=True)
            self._look_at_shell(command, depth)
        elif name in FILTERS:
            if not is_readable_filter(name, words[1:]):
                self.add(_ANYTHING, sure=False)
        elif (code := run_code(words)) is not None:
            if code.code:
                self.add(_ANYTHING, sure=False)
            for file in code.files:
                self._run_file(file)
            self._suspect_arguments(command)
        else:
            return False
        return True

    def _look_at_shell(self, command: Command, depth: int) -> None:
        words = command.words
        self._evaluate(_texts(words[1:]), depth)
        options, operands = _split(words[1:])
        if "power" in basename(words[0]) or basename(words[0]) == "pwsh":
            self.add(_ANYTHING, sure=False)  # its code may be encoded
        elif _has_letter(options, "c"):
            if not (operands and operands[0].static):
                self.add(_ANYTHING, sure=False)
        elif operands and not _has_letter(options, "s"):
            self._run_file(operands[0])
        elif not options or not set(options) <= _ASKS_VERSION:
            self._look_at_input(command, depth)

    def _look_at_input(self, command: Command, depth: int) -> None:
        """Analyse the input of a shell: a here-document, or texts that the line pipes into it."""
        here = [it for it in command.redirects if it.kind in ("here", "in")]
        if here and here[-1].kind == "here" and here[-1].target.static:
            self._evaluate((*self._script.heredocs, here[-1].target.text), depth)
        else:
            self._evaluate(self._spoken(), depth)
            self.add(_ANYTHING, sure=False)

    def _spoken(self) -> Iterable[str]:
        """Yield texts of the line that a shell may read from a pipe or a here-document."""
        yield from self._script.heredocs
        for command in self._script.commands:
            if command.words and basename(command.words[0]) in ("echo", "printf", "print"):
                text = " ".join(word.text for word in command.words[1:])
                yield from dict.fromkeys((text, _ESCAPE.sub("\n", text)))

    def _run_file(self, file: Word) -> None:
        if not file.static or file.text in _STDIN or file.text.startswith("/proc/"):
            self.add(_ANYTHING, sure=False)
        else:
            self.found.scripts[file.text] = None

    def runs_own_files(self) -> bool:
        """Whether a line may run a file that it writes."""
        ran = {basename(Word(it, it)) for it in self.found.scripts}
        named = {basename(words[0]) for words in self.found.commands}
        implicit = named.union(*map(implicit_files, named))
        for command in self._seen:
            made = [it.target for it in command.redirects if it.kind == "out"]
            written = [*made, *(command.words[1:] if _writes(command.words) else ())]
            made += [] if self._runs_or_keeps(command) else command.words[1:]
            if any(_last(word) in ran for word in made) or any(
                _last(it) in implicit for it in written
            ):
                return True
            if "git" in named and any(_OF_GIT.search(word.text) for word in written):
                return True
        return False

    def _runs_or_keeps(self, command: Command) -> bool:
        """Whether a command runs the files that it names, or leaves them unchanged."""
        names = [basename(word) for word in command.words]
        if any(it in SHELLS or it in (".", "source") or is_interpreter(it) for it in names):
            return True
        if names and (run_code(command.words) or RunCode()).files:
            return True
        return not names or names[0] in _PLAIN - {"cp", "mv", "ln", "tee"}


def _ends_of_find(words: Words, start: int) -> Iterator[int]:
    """Yield where a command inside `find` may end, and `start` if it has no sure end.

    A plus ends it behind `{}`, but not of `-ok`; in busybox anywhere. Otherwise it is an argument.
    """
    texts = [word.text for word in words]
    may_have_plus = texts[start - 1].startswith("-exec")
    for end in range(start, len(words)):
        if texts[end] in (";", "+"):
            yield end
        if texts[end] == ";" or (may_have_plus and texts[end - 1 : end + 1] == ["{}", "+"]):
            return
    yield start


def _last(word: Word) -> str:
    """Return the name of the file that a word may end with."""
    return re.split(r"[/=@:]", word.text)[-1] or "/"


def _writes(words: Words) -> bool:
    """Whether a command writes the files that it names."""
    if not words:
        return False
    name = basename(words[0])
    in_place = any(re.match(r"-\w*i|--in-place", word.text) for word in words)
    return name in _WRITERS and ("sed" not in name or in_place)


def _may_read_commands(name: str, words: Words) -> bool:
    """Whether a program that runs others may read commands from its input."""
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    is_told_nothing = name in ("su", "ssh") and len(operands) < 2
    return is_told_nothing or any(it.text in ("-s", "-i") for it in words[1:2])


def _is_plain_git(words: Words) -> bool:
    return (
        basename(words[0]) == "git"
        and len(words) > 1
        and words[1].static
        and words[1].text in _PLAIN_OF_GIT
    )


def _has_letter(options: Iterable[str], letter: str) -> bool:
    """Whether one of several options with one dash has a letter."""
    return any(letter in option and option[:2] != "--" for option in options)


def _split(words: Words) -> tuple[list[str], list[Word]]:
    """Split the arguments of a shell into the options before the first operand, and the rest."""
    options: list[str] = []
    index = 0
    while index < len(words) and re.match(r"[-+].", words[index].text):
        text = words[index].text
        index += 1
        if text == "--":
            break
        options.append(text)
        index += text in ("--rcfile", "--init-file")
        index += text[:2] != "--" and text[-1] in "oO"
    return options, list(words[index:])


def _texts(words: Words) -> Iterable[str]:
    """Yield parts of arguments that may be evaluated, with and without the option before it."""
    for word in words:
        text = word.text
        yield text
        if "=" in text:
            yield text.partition("=")[2]
        if attached := re.match(r"-(\w{1,8})", text):
            for end in range(2, attached.end() + 1):
                yield text[end:]
