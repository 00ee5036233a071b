"""The files that shell commands name, for rules that deny reading or editing them.

Every word may name a file, in any form of an option, unless the program is known not to open it. A
folder stands for its content, unless the program is known not to look inside.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from .file_use import UseContext
from .paths import ResolvedPath, normal
from .rules import Rule
from .shell.indirect_commands import IndirectCommands
from .shell.patterns import Match
from .shell.programs import RUNNERS, UNKNOWN, Words, basename, xargs_parts
from .shell.script import Command, Script, Word, names_in

_NEVER_OPENS = names_in("""
    : [ [[ basename cd chdir df dirname du echo exit export false find id kill la ll ls popd
    printf ps pushd pwd read readlink realpath set sleep stat test tree true type uname unset
    whereis which whoami
    """)
_ONLY_READS = names_in("""
    bat cat cmp comm cut diff egrep fgrep file fold grep head hexdump jq less md5sum more nl od
    paste rev rg sha1sum sha256sum strings tac tail tr wc zcat
    """)
_WRITES = names_in("""
    chmod chown cp dd install ln mkdir mv rm rmdir sed shred tee touch truncate unlink vi vim
    """)
_NO_FOLDERS = names_in("""
    bat cat cmp comm cut fold head hexdump jq less md5sum mkdir more nl od paste rev
    rmdir sha1sum sha256sum source strings tac tail tee touch tr truncate uniq unlink wc xxd zcat .
    """)
"""Programs that cannot read a folder."""
_READS_CODE = names_in("""
    cargo cmake flake8 go gradle jest make mocha mvn mypy npm npx pip pnpm pylint pyright pytest tox
    tsc uv vitest yarn
    """)
"""Programs that read a project, and show only errors in its code."""
_FORMATTERS = names_in("black eslint isort prettier ruff")
_NAMES_TASKS = names_in("cargo make npm pnpm yarn")
"""Programs whose arguments are mostly tasks: an unknown word counts as a task."""
_GIT_KEEPS = names_in("""
    add branch checkout commit fetch init log ls-files merge mv pull push reset restore rev-parse rm
    stash status switch tag
    """)
_GIT_COPIES = names_in("archive bundle checkout-index fast-export grep worktree")
"""Commands of `git` that show or copy all files by default."""
_SERVERS = names_in("http.server http-server live-server serve")
_LIST_OPTIONS: dict[str, str] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar"), r"-\w*T.*|--files-from.*"),
    **dict.fromkeys(("cpio", "pax"), r".*"),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz", "rar"), r"@.+"),
    **dict.fromkeys(("du", "sort", "wc"), r"--files0-from.*"),
    "curl": r"-\w*K.*|--config.*",
    "file": r"-\w*f.*|--files-from.*",
    "rsync": r"--files-from.*",
    "tree": r"--from.*",
    "wget": r"-\w*i.*|--input-file.*",
    "zip": r"-@|-\w*@",
}
"""Options that name a list of files, whose content is unknown."""
_WRAPPERS = RUNNERS - names_in("fd fdfind find")
_LISTS = names_in("fd fdfind find ls")
_FILTERS = names_in("head sort tail uniq")
_SEARCHES = names_in("ack ag rg rgrep")
_UNPACKS = names_in("bsdtar tar unzip")
_GREPS = names_in("grep egrep fgrep")
_PATHSPEC = re.compile(r":(?:\([^)]*\)|[/!^]+)")
_PROSE = re.compile(r"-[a-z]*m|--message|--title|--body|-[tb]")
"""Options of `git` and `gh` that a text follows."""
_REMOVERS = names_in("rm rmdir")
_EVERYTHING = re.compile(r"\*+|\?\*|\.\*|\.\[!\.\]\*|\{.*\}")
_FIND_CHANGES = re.compile(r"-delete|-fprint|-fls|-files0")
_VARIABLE = re.compile(r'"?\$(?:(\w+)|\{(\w+)\})"?')
_PLAIN_GLOB = re.compile(r"[\w./*?\[\]@%+:,-]+")

_MOST_FILES = 200
"""More files make it uncertain what a command does."""
_RECURSIVE = re.compile(r"-\w*[rR]|--(?:dereference-)?recursive")

_MOST_LOOKS = 2000
"""Words to analyse in all commands."""


class Handling(NamedTuple):
    """The effect of a command on the files that it names.

    Attributes:
        reads: whether it reads them.
        writes: whether it writes them.
        searches: whether it may read all files in a folder.
        changes: whether it may write all files in a folder.
    """

    reads: Match = Match.NO
    writes: Match = Match.NO
    searches: bool = False
    changes: bool = False

    def about(self, rule: Rule) -> tuple[Match, bool]:
        """Return whether a rule is about its effect, and whether that reaches into folders."""
        if rule.tool != "Read":
            return self.writes, self.changes
        # A file that must not be read must not be written either.
        inside = self.searches or (self.changes and self.writes is Match.YES)
        return max(self.reads, self.writes, key=lambda it: it.value), inside


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A word of a command that may name a file.

    Attributes:
        shown: how it was written.
        handling: the effect on it.
        forms: where it leads; empty if it may be any file.
        clear: whether these are all the places where it may lead.
        certain: whether it is certainly the name of a file, and not a pattern or a part of a text.
    """

    shown: str
    handling: Handling
    forms: tuple[str, ...] = ()
    clear: bool = True
    certain: bool = True

    def match(self, rule: Rule, context: UseContext) -> Match:
        """Whether a rule that denies or asks matches this file, or one in this folder."""
        touched, inside = self.handling.about(rule)
        if touched is Match.NO:
            return Match.NO
        if context.matches(rule, self.forms, forbids=True):
            return touched if self.certain else Match.MAYBE
        if not self.forms or not self.clear:
            return Match.MAYBE
        return Match.MAYBE if self._may_meet(rule, context, inside) else Match.NO

    def _may_meet(self, rule: Rule, context: UseContext, inside: bool) -> bool:
        """Whether this may be a folder with such a file, or a pattern for one."""
        pattern, roots = rule.path, context.roots(rule, forbids=True)
        assert pattern is not None
        if inside and any(context.reaches_into(form, pattern, roots) for form in self.forms):
            return True
        is_glob = not self.certain and any(re.search(r"[*?\[]", it) for it in self.forms)
        return is_glob and any(pattern.meets(form, roots, inside=inside) for form in self.forms)


def named_files(
    script: Script, indirect: IndirectCommands, directories: list[str] | None, context: UseContext
) -> list[NamedFile]:
    """List the words of a script that may name files.

    Args:
        script: the script.
        indirect: all commands that it may run.
        directories: where they may run; None if that is not certain.
        context: the context of the use.
    """
    found: dict[NamedFile, None] = {}
    search = _Search(script, directories, context)
    for count, file in enumerate(itertools.chain(search.redirected(), search.named(indirect))):
        found[file] = None
        if len(found) * len(directories or "1") > _MOST_FILES or count > _MOST_LOOKS:
            return [*found, NamedFile("…", Handling(Match.YES, Match.YES))]
    return list(found)


class _Search:
    def __init__(self, script: Script, directories: list[str] | None, context: UseContext) -> None:
        commands = [command for command in script.commands if command.words]
        self.script = script
        self.directories = directories
        self.context = context
        self.passes_names = any(_passes_names(it.words) for it in commands)
        # The names that `find` and `xargs` pass on are then those that the line itself lists.
        self.knows_names = (
            bool(commands)
            and all(_lists_names(it.words) for it in commands)
            and basename(commands[0].words[0]) != "xargs"
            and not any(it.kind in ("in", "here") for one in commands for it in one.redirects)
        )

    def redirected(self) -> Iterator[NamedFile]:
        for command in self.script.commands:
            for redirect in command.redirects:
                if redirect.kind in ("in", "out"):
                    out = redirect.kind == "out"
                    how = Handling(writes=Match.YES) if out else Handling(Match.YES)
                    yield self._file(redirect.target, redirect.target.text, how)

    def named(self, indirect: IndirectCommands) -> Iterator[NamedFile]:
        for command in self.script.commands:
            if command.words and "/" in command.words[0].text:
                yield self._file(command.words[0], command.words[0].text, Handling(Match.YES))
            for value in (it.value for it in command.assignments if it.value.static):
                for text, _ in _paths_in(value):
                    yield self._file(value, text, Handling(Match.MAYBE, searches=True))
            yield from self._in_text(command)
        for words in indirect.commands:
            yield from self._in_command(words)

    def _in_text(self, command: Command) -> Iterator[NamedFile]:
        """Yield the files in the input of a program that may obey its input."""
        if _keeps_what_it_reads(command.words):
            return
        here = [it.target.text for it in command.redirects if it.kind == "here"]
        here += self.script.heredocs if here else ()
        spoken = self._spoken() if command.piped else ()
        for text in (*here, *spoken):
            for piece, _ in _paths_in(Word(text, text)):
                how = Handling(Match.MAYBE, searches=text in here)
                yield self._file(Word(piece, piece), piece, how, certain=False)

    def _spoken(self) -> Iterator[str]:
        """Yield texts that the line writes, and another command may read."""
        for command in self.script.commands:
            if command.words and basename(command.words[0]) in ("echo", "print", "printf"):
                yield " ".join(word.text for word in command.words[1:])

    def _in_command(self, words: Words) -> Iterator[NamedFile]:
        name = basename(words[0])
        name = _told_to_run(name, words)
        how = _handling(name, words)
        if self.passes_names and _lists_names(words):
            how = how._replace(reads=Match.YES, searches=True)
        if how == Handling():
            return
        if _is_told_by_a_list(name, words) and not self.knows_names:
            yield NamedFile(" ".join(it.raw for it in words), how._replace(searches=True))
        if _changes_here(name, words):
            yield self._file(Word(".", "."), ".", Handling(writes=how.writes, changes=True))
        for word in dict.fromkeys(self._with_loops(dict.fromkeys(_arguments(name, words)))):
            is_passed = word.text == UNKNOWN.text or "{}" in word.text
            if is_passed and not word.static and self.knows_names:
                continue
            for text, is_whole in _paths_in(word):
                if is_whole or name not in ("git", "gh"):
                    is_pattern = name == "git" and re.search(r"[*?\[]", text) is not None
                    yield self._file(word, text, how, certain=is_whole and not is_pattern)
            if name == "git" and (magic := _PATHSPEC.match(word.text)):
                yield self._pathspec(word, magic, how)

    def _pathspec(self, word: Word, magic: re.Match[str], how: Handling) -> NamedFile:
        """Resolve a path in the notation of `git`, such as `:(top)folder`."""
        text = word.text[magic.end() :]
        is_open = "glob" in magic[0] or "**" in text or "attr" in magic[0]
        return NamedFile(word.raw, how) if is_open else self._file(word, text, how, certain=False)

    def _with_loops(self, words: Iterable[Word]) -> Iterator[Word]:
        """Replace the variable of a loop by its words."""
        for word in words:
            found = _VARIABLE.fullmatch(word.raw)
            values = self.script.loops.get(found[1] or found[2], ()) if found else ()
            plain = all(it.static and not re.search(r"\s", it.text) for it in values)
            if values and (plain or word.raw.startswith('"')):
                yield from values
            else:
                yield word

    def _file(self, word: Word, text: str, how: Handling, *, certain: bool = True) -> NamedFile:
        is_glob = not word.static and word.raw == word.text and _PLAIN_GLOB.fullmatch(word.text)
        from_root = text.startswith("/")
        if not (word.static or is_glob) or (self.directories is None and not from_root):
            return NamedFile(word.raw, how)
        places = self.directories or [self.context.cwd]
        paths = [self.context.resolve(text, cwd=place) for place in places]
        forms = dict.fromkeys(form for path in paths for form in path.all_forms)
        clear = all(path.forms for path in paths)
        return NamedFile(word.raw, how, tuple(forms), clear, certain and word.static)


def _passes_names(words: Words) -> bool:
    """Whether a command runs others with listed names of files."""
    name = basename(words[0])
    takes = any(it.text in ("-T", "-T-", "-@", "--files-from=-") for it in words)
    runs = name == "find" and any(it.text.startswith("-exec") for it in words)
    return runs or takes or name in ("xargs", "cpio", "pax")


def _lists_names(words: Words) -> bool:
    """Whether a command writes only names of files, found or read from a pipe."""
    name = basename(words[0])
    if name == "xargs":
        return xargs_parts(words) is not None
    if _is_told_by_a_list(name, words):
        return False
    if name in _GREPS or name == "rg":
        return any(re.fullmatch(r"-\w*l|--files(-with-matches)?", it.text) for it in words)
    if name == "git":
        return any(it.text in ("ls-files", "--name-only") for it in words)
    options = all(re.match(r"-|\d+$", it.text) for it in words[1:])
    return name in _LISTS or (name in _FILTERS and options)


def _keeps_what_it_reads(words: Words) -> bool:
    """Whether a command does not obey its input."""
    if not words:
        return False
    name = basename(words[0])
    if name == "git":
        return not any(re.match("--(?:stdin|batch|pathspec-from)", it.text) for it in words)
    return name in _NEVER_OPENS | _ONLY_READS | _WRITES | {"gh"}


def _told_to_run(name: str, words: Words) -> str:
    """Return the tool that `python -m`, `npx` and the like run, or else the program."""
    rest = [word.text for word in words[1:] if word.text not in ("-y", "--yes")]
    if re.fullmatch(r"python[\d.]*", name) and rest[:1] == ["-m"] and len(rest) > 1:
        return rest[1]
    if name in ("npx", "bunx", "pnpx") and rest:
        return rest[0]
    if name in ("uv", "poetry", "pipenv") and rest[:1] == ["run"] and len(rest) > 1:
        return rest[1]
    return name


def _handling(name: str, words: Words) -> Handling:
    """Return the effect of a program on its files."""
    if name == "find" and any(_FIND_CHANGES.match(word.text) for word in words):
        return Handling(Match.YES, Match.YES, searches=True, changes=True)
    if name in _NEVER_OPENS and not _is_told_by_a_list(name, words):
        return Handling()
    if name in _WRAPPERS:
        return Handling(Match.MAYBE, searches=True)
    only_reads = name in _ONLY_READS or name in _SERVERS
    writes = Match.YES if name in _WRITES else Match.NO if only_reads else Match.MAYBE
    if name == "git":
        return Handling(Match.YES, writes, not _keeps_contents(words))
    if name in _FORMATTERS:
        return Handling(Match.YES, writes, changes=_formats(name, {it.text for it in words}))
    looks_inside = name not in _NO_FOLDERS and name not in _READS_CODE
    return Handling(Match.YES, writes, looks_inside, looks_inside and writes is not Match.NO)


def _is_told_by_a_list(name: str, words: Words) -> bool:
    """Whether a command reads the names of files from another one."""
    option = _LIST_OPTIONS.get(name)
    return option is not None and any(re.fullmatch(option, word.text) for word in words[1:])


def _formats(name: str, arguments: set[str]) -> bool:
    """Whether a program changes the code that it reads."""
    if arguments & {"--fix", "--write", "-w", "--fix-only"}:
        return True
    always = name in ("black", "isort") or (name == "ruff" and "format" in arguments)
    return always and not arguments & {"--check", "--diff", "--check-only", "-c"}


def _keeps_contents(words: Words) -> bool:
    """Whether `git` shows nothing of the named files."""
    return any(it.text in _GIT_KEEPS for it in words[1:2])


def _arguments(name: str, words: Words) -> Iterator[Word]:
    """Yield the words that may name files, and the folder that is searched by default."""
    only_known = name in _NAMES_TASKS or (name == "git" and _keeps_contents(words))
    for before, word in itertools.pairwise((Word("", ""), *words[1:])):
        if _may_name_file(name, before.text, word) and (word.static or not only_known):
            yield word
    if _looks_here(name, words):
        yield Word(".", ".")


def _may_name_file(name: str, before: str, word: Word) -> bool:
    """Whether a word may be a file, rather than a message or a command."""
    if name in ("git", "gh") and _PROSE.fullmatch(before):
        return False
    is_argument = not before.startswith("-") and not word.text.startswith("-")
    if name in _WRAPPERS and name != "chroot" and is_argument:
        return False  # what follows the options of these is a command
    return not word.raw.startswith(("<(", ">("))


def _looks_here(name: str, words: Words) -> bool:
    """Whether a command searches its directory by default."""
    if name == "git" and (_lists_names(words) or any(it.text in _GIT_COPIES for it in words[1:2])):
        return True
    if name in _SERVERS:
        return True
    if name in _LISTS and (len(words) == 1 or words[1].text[:1] in ("", "-")):
        return True
    return _searches_folders(name, words) and sum(_is_operand(word) for word in words[1:]) < 2


def _searches_folders(name: str, words: Words) -> bool:
    recursive = any(_RECURSIVE.match(word.text) for word in words)
    return name in _SEARCHES or (name in _GREPS and recursive)


def _is_operand(word: Word) -> bool:
    return not word.text.startswith("-")


def _changes_here(name: str, words: Words) -> bool:
    """Whether a command may write any file in its directory by default."""
    first = {it.text for it in words[1:2]}
    if name in _FORMATTERS:
        return _formats(name, {it.text for it in words})
    if name == "patch" or (name == "git" and first & {"am", "apply"}):
        return "--check" not in {it.text for it in words}
    return (name == "unzip" and "-l" not in first) or (
        name in _UNPACKS and any(re.match(r"-?\w*x|--extract", it) for it in first)
    )


def _paths_in(word: Word) -> Iterator[tuple[str, bool]]:
    """Yield possible paths in a word, and whether each is certain, if it is a path at all.

    These are the word itself, the rest after an option, an `=`, `@`, `:` or comma, and the words in
    it, if it holds several.
    """
    text = word.text
    yield text, True
    if not word.static:
        return
    pieces = re.split(r"[=@:,<;]", text)
    if len(pieces) > 1:
        yield from ((piece.strip("\"'"), True) for piece in pieces if piece.strip("\"'"))
    if "%" in text:
        yield from ((unquote(piece), False) for piece in pieces)
    if attached := re.match(r"-[A-Za-z]{1,8}", text):
        for part in dict.fromkeys((text, pieces[0])):
            yield from ((part[end:], True) for end in range(2, attached.end() + 1) if part[end:])
    inner = re.split(r"[\s\"'`(){}<>|;&=@:,]+", text)
    if len(inner) > len(pieces):
        yield from ((piece, False) for piece in inner if piece)


# --- removals -------------------------------------------------------------------------------------


def critical_removal(commands: Iterable[Words], context: UseContext) -> str | None:
    """Find a command that removes a whole home, root or project directory."""
    removals = [words for words in commands if basename(words[0]) in _REMOVERS]
    if not removals:
        return None
    kept = {"/", context.home, context.base, context.cwd, *context.directories}
    kept |= {normal(context.realpath(path)) for path in kept}
    for words in removals:
        targets = (_removed(word, context) for word in words[1:] if word.raw[:1] != "-")
        if any(target is None or _is_critical(target, kept) for target in targets):
            return " ".join(word.raw for word in words)
    return None


def _removed(word: Word, context: UseContext) -> ResolvedPath | None:
    """Resolve the target of a removal; None if it is unknown."""
    folder, _, name = word.text.rpartition("/")
    if re.match(r"[$`]", folder or word.text):
        return None  # If the variable is empty, this is the root.
    target = word.text
    if not word.static and _EVERYTHING.fullmatch(name):
        target = folder or ("/" if target.startswith("/") else ".")
    return context.resolve(target)


def _is_critical(path: ResolvedPath, kept: set[str]) -> bool:
    return any(
        form.count("/") < 2 or any(f"{directory}/".startswith(f"{form}/") for directory in kept)
        for form in path.forms
    )
