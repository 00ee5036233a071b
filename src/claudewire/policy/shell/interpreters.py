"""Programs that run code from an argument, a file or their input.

Unreadable code may run any command; the code of a file is not analysed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .programs import Words, basename
from .script import Word, names_in

_INTERPRETER = re.compile(
    r"(?:python|pypy|ipython|bpython|ptpython|perl|raku|ruby|irb|node|nodejs|deno|bun|tsx|ts-node|"
    r"qjs|php|lua|luajit|texlua|tclsh|wish|expect|osascript|swift|R|Rscript|r|guile|ghci|ghc|"
    r"runghc|runhaskell|julia|elixir|iex|erl|escript|groovy|jshell|scala|scala-cli|kotlin|clojure|"
    r"clj|bb|janet|racket|sbcl|clisp|ecl|ocaml|octave|mongosh|mongo|jjs|nashorn|dc|gnuplot|m4|"
    r"sage|gp)[0-9.]*w?"
)
_CODE_OPTIONS = {
    "python": "c", "pypy": "c", "ipython": "c", "bpython": "c", "ptpython": "c", "sage": "c",
    "php": "rBRE", "node": "ep", "tsx": "ep", "ts-node": "ep", "m4": "\0", "R": "e",
}  # fmt: skip
_LONG_CODE_OPTION = re.compile(r"--?(?:eval|print|execute|expression|code)(?:=.*)?")
_RUN_CODE = names_in("asyncio bpython code IPython pdb ptpython pty timeit")
"""Modules of Python that take code."""
_STARTS = names_in("run test bench exec")
"""Words before the file that `deno` and `bun` run."""
_EDITORS = names_in("ex gvim nvim rview rvim vi view vim vimdiff")
_EDITOR_CODE = re.compile(r"-[A-Za-z]*[csSwWu]|--cmd(?:=.*)?|\+[^\d/].*")
_EMACS_CODE = re.compile(r"--?(?:eval|execute|funcall)(?:=.*)?|-f")
_TAKE_CODE = {
    "mix": names_in("-e --eval eval"),
    "rails": names_in("c console r runner"),
    "rebar3": names_in("--eval"),
    "artisan": names_in("tinker"),
}
_MAKES = names_in("gmake gnumake make")
_STDIN = re.compile(r"-|/dev/stdin|/dev/fd/.*|/proc/.*")
_ASKS_VERSION = names_in("-V -v -h --version --help")
_ELSEWHERE = re.compile(r"\w+://|data:|npm:|jsr:")

_IMPLICIT: dict[str, frozenset[str]] = {
    **dict.fromkeys(_MAKES, names_in("Makefile makefile GNUmakefile")),
    **dict.fromkeys(names_in("npm npx pnpm yarn bun"), names_in("package.json .npmrc .yarnrc.yml")),
    "cargo": names_in("build.rs Cargo.toml config.toml"),
    "composer": names_in("composer.json"),
    "bundle": names_in("Gemfile"),
    "cmake": names_in("CMakeLists.txt CMakePresets.json"),
    "docker": names_in("Dockerfile compose.yaml compose.yml docker-compose.yml"),
    "docker-compose": names_in("docker-compose.yml compose.yaml compose.yml"),
    "git": names_in(".gitconfig"),
    "gradle": names_in("build.gradle build.gradle.kts settings.gradle"),
    "just": names_in("justfile Justfile"),
    "mvn": names_in("pom.xml"),
    "ninja": names_in("build.ninja"),
    "nox": names_in("noxfile.py"),
    "pip": names_in("setup.py pyproject.toml"),
    "pre-commit": names_in(".pre-commit-config.yaml"),
    "pytest": names_in("conftest.py pytest.ini"),
    "rake": names_in("Rakefile"),
    "task": names_in("Taskfile.yml"),
    "tox": names_in("tox.ini"),
}


class RunCode(NamedTuple):
    """The code that a program runs.

    Attributes:
        code: whether it gets code, or reads it.
        files: scripts that it runs.
    """

    code: bool = False
    files: tuple[Word, ...] = ()


def is_interpreter(name: str) -> bool:
    """Whether a program runs the code in the files that it names."""
    return _INTERPRETER.fullmatch(name) is not None


def implicit_files(name: str) -> frozenset[str]:
    """Return the names of files that a program runs by default."""
    return _IMPLICIT.get(name, frozenset())


def run_code(words: Words) -> RunCode | None:
    """Return the code that a program runs; None if it is not known to run code."""
    name = basename(words[0])
    if is_interpreter(name):
        return _interpreted(name, words[1:])
    if name in _EDITORS:
        return RunCode(any(_EDITOR_CODE.fullmatch(word.text) for word in words) or name == "ex")
    if name in ("emacs", "emacsclient"):
        return RunCode(any(_EMACS_CODE.fullmatch(word.text) for word in words))
    if name in _MAKES:
        return _file_of(words[1:], r"-\w*f|--file|--makefile")
    if name in ("at", "batch"):
        asks = any(re.match(r"-[lrdVc]", word.text) for word in words)
        given = _file_of(words[1:], "-f")
        return given if asks or given.files else RunCode(code=True)
    if name == "crontab":
        return _crontab(words[1:])
    if name in ("go", "java", "dotnet"):
        return _compiled(words[1:])
    is_code = any(word.text in _TAKE_CODE.get(name, ()) for word in words)
    return RunCode(code=True) if is_code else None


def _interpreted(name: str, words: Words) -> RunCode:
    letters = _CODE_OPTIONS.get(name.rstrip("0123456789.w"), "eE")
    options = _options(words)
    operands = list(words[len(options) :])
    texts = [word.text for word in words]
    if "-m" in options:  # what follows is for the module
        return RunCode(bool({*texts[texts.index("-m") + 1 :][:1]} & _RUN_CODE))
    if any(re.match(rf"-\w*[{letters}]", it) or _LONG_CODE_OPTION.fullmatch(it) for it in texts):
        return RunCode(code=True)
    if any(map(_ELSEWHERE.search, options)) or {*texts[:1]} & {"eval", "repl"}:
        return RunCode(code=True)
    if name in ("deno", "bun"):
        operands = [it for it in operands if it.text not in _STARTS and not re.match("-.", it.text)]
    if operands and not _is_unread(operands[0]):
        return RunCode(files=(operands[0],))
    return RunCode(code=not (options and not operands and set(options) <= _ASKS_VERSION))


def _options(words: Words) -> list[str]:
    options: list[str] = []
    for word in words:
        if not re.match(r"[-+].", word.text):
            break
        options.append(word.text)
    return options


def _is_unread(file: Word) -> bool:
    """Whether the file or its content is unknown."""
    return not file.static or bool(_STDIN.fullmatch(file.text) or _ELSEWHERE.match(file.text))


def _file_of(words: Words, option: str) -> RunCode:
    """Find the file that follows an option, as a word of its own or attached to it."""
    files: list[Word] = []
    for index, word in enumerate(words):
        if re.fullmatch(option, word.text):
            files += words[index + 1 : index + 2]
        elif found := re.fullmatch(rf"(?:{option})=?(.+)", word.text):
            files.append(Word(found[1], found[1], static=word.static))
    return RunCode(any(map(_is_unread, files)), tuple(files))


def _crontab(words: Words) -> RunCode:
    operands = [word for word in words if word.text[:1] != "-" or word.text == "-"]
    if not operands:
        return RunCode(code=not words)
    return RunCode(_is_unread(operands[-1]), (operands[-1],))


def _compiled(words: Words) -> RunCode | None:
    """`go run x.go` and `java x.java` run a file; with other arguments they do something else."""
    runs = bool(words) and words[0].text in ("run", "script")
    files = [word for word in words if runs or word.text.endswith(".java")]
    return RunCode(files=tuple(files)) if files else None


# --- filters --------------------------------------------------------------------------------------

FILTERS = names_in("awk gawk mawk nawk sed gsed")
"""Programs with a small language that can be checked."""

_AWK_RUNS = re.compile(r"system|@|(?<!\|)\|(?!\|)")
_SED_FLAGS = re.compile(
    r"-[nErsuz]+|-[nErsuz]*i[.\w]*|--(?:quiet|silent|in-place|regexp-extended|null-data|separate)"
)
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_SED_COMMAND = (
    rf"\s*(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?\s*!?\s*)?"
    r"(?:[pdqnNgGhHxPD=]|s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI0-9]*)\s*"
)
_SED_COMMANDS = re.compile(_SED_COMMAND)


def is_readable_filter(name: str, arguments: Words) -> bool:
    """Whether the script of `awk` or `sed` runs no other program."""
    if not all(word.static for word in arguments):
        return False
    texts = [word.text for word in arguments]
    if name.endswith("awk"):
        return not (_AWK_RUNS.search(" ".join(texts)) or any(map(_STDIN.fullmatch, texts)))
    scripts = _scripts_of_sed(texts)
    return scripts is not None and all(map(_is_readable_sed, scripts))


def _scripts_of_sed(texts: Iterable[str]) -> list[str] | None:
    """Return the scripts among the arguments of `sed`; None if an option is not known."""
    scripts: list[str] = []
    operands: list[str] = []
    given = iter(texts)
    for text in given:
        if re.fullmatch(r"-[nErsuz]*e", text):
            scripts.append(next(given, ""))
        elif not text.startswith("-"):
            operands.append(text)
        elif not _SED_FLAGS.fullmatch(text):
            return None
    return scripts or operands[:1]


def _is_readable_sed(text: str) -> bool:
    pos = 0
    while pos < len(text):
        found = _SED_COMMANDS.match(text, pos)
        if found is None or text[found.end() : found.end() + 1] not in ("", ";", "\n"):
            return False
        pos = found.end() + 1
    return True
