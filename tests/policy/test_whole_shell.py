"""What is found in command lines of every kind, step by step: see tests/helpers/kept.py.

A decision shows little of what led to it. These files have all of it: how a line is parsed, which
commands it may run, which files they touch, and where.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.helpers.kept import Kept
from tests.policy import shell_lines

from claudewire.policy.command_use import CommandUse
from claudewire.policy.file_use import UseContext
from claudewire.policy.shell import (
    Command,
    Match,
    Word,
    Words,
    is_harmless,
    needed_commands,
    unwrapped,
    why_not_set,
)
from claudewire.policy.shell_files import Handling

CONTEXT = UseContext(
    base="/work",
    cwd="/work",
    home="/home/me",
    directories=("/more",),
    case_sensitive=True,
    protect=True,
    realpath=str,
    isdir=None,
)


def of_word(word: Word) -> str:
    """Write a word as it was written, and what is known of it if that is not the same."""
    text = "" if word.text == word.raw else f"={word.text!r}"
    flags = "".join(
        flag
        for flag, is_set in (("?", not word.static), ("~", word.tilde), ("*", not word.single))
        if is_set
    )
    return f"{word.raw!r}{text}{flags}{f'<{word.head!r}' if word.head else ''}"


def of_words(words: Words) -> str:
    return " ".join(map(of_word, words))


def of_command(command: Command) -> Iterator[str]:
    yield f"{'piped ' if command.piped else ''}{of_words(command.words)} of {command.source!r}"
    for it in command.assignments:
        yield f"    {it.name} = {of_word(it.value)}: {why_not_set(it, command.words)}"
    for redirect in command.redirects:
        yield f"    {redirect.kind} {of_word(redirect.target)}"
    if command.words:
        plain, needed = unwrapped(command.words), needed_commands(command.words)
        yield from ["    harmless"] if is_harmless(command) else []
        yield from [f"    is {of_words(plain)}"] if plain != command.words else []
        yield from [f"    needs {of_words(it)}" for it in needed] if needed != [plain] else []


def of_handling(how: Handling) -> str:
    verbs = {"reads": how.reads, "writes": how.writes}
    sure = [f"{verb}{'?' * (it is Match.MAYBE)}" for verb, it in verbs.items() if it != Match.NO]
    inside = [verb for verb in ("searches", "changes") if getattr(how, verb)]
    return " ".join([*sure, *inside])


def of_line(line: str) -> Iterator[str]:
    use = CommandUse("Bash", line, CONTEXT)
    yield f"$ {line!r}"
    for command in use.script.commands:
        yield from (f"  {it}" for it in of_command(command))
    yield from (f"  {it}" for it in use.script.doubts)
    for text in use.script.heredocs:
        yield f"  text {text!r}"
    for name, words in use.script.loops.items():
        yield f"  {name} in {of_words(words)}"
    for hidden, sure in use.hidden.commands.items():
        yield f"  {'runs' if sure else 'may run'} {of_words(hidden)}"
    yield f"  tells {[*use.hidden.texts]}, runs the files {[*use.hidden.scripts]}"
    yield f"  in {use.directories}; {use._where()}; {use.why_always_ask()}"
    for file in use.files:
        flags = ("" if file.clear else " unclear") + ("" if file.certain else " uncertain")
        yield f"  {of_handling(file.handling)} {file.shown!r}: {' '.join(file.forms)}{flags}"


@pytest.mark.parametrize("name", shell_lines.LINES)
def test_what_is_found_in_a_line_is_as_it_was(kept: Kept, name: str) -> None:
    found = (it for line in shell_lines.LINES[name] for it in of_line(line))
    kept(f"shell-{name}.txt", "".join(f"{it}\n" for it in found))


def test_what_options_tell_a_program_is_as_it_was(kept: Kept) -> None:
    """Whether it is given code, or a list of files, and which files it runs."""
    found = []
    for line in (*shell_lines.OPTIONS, *shell_lines.LISTS):
        use = CommandUse("Bash", line, CONTEXT)
        code = "code " if use.hidden.may_be_anything else ""
        lists = [file.shown for file in use.files if not file.forms]
        found.append(f"{line}: {code}{[*use.hidden.scripts]} {lists}\n")
    kept("shell-options.txt", "".join(found))
