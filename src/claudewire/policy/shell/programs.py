"""Programs that run other programs, for rules that allow.

A rule such as `Bash(timeout:*)` would allow everything, because `timeout` runs any program. So the
command inside counts: behind a few plain wrappers it must itself be allowed; behind all others no
rule with a wildcard allows it.

The arguments of a program belong to its rule: `awk`, `make` or `git -c` can run others, and a rule
that allows them with any argument allows that too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .script import Assignment, Command, Word, names_in

Words = tuple[Word, ...]

UNKNOWN = Word("…", "$@", static=False, single=False)
"""One or several words that are known only when the command runs."""

SHELLS = names_in("""
    ash bash csh dash elvish fish ksh mksh nu oksh powershell pwsh rbash rc sh tcsh xonsh yash zsh
    """)

# Behind these stands a command, after their options.
RUNNERS = names_in("""
    - arch builtin busybox bwrap caffeinate capsh chpst chronic chroot chrt command coproc cpulimit
    daemonize dbus-run-session doas dumb-init eatmydata entr env envdir eval exec fakeroot faketime
    fd fdfind find firejail flock gdb gosu gtimeout hyperfine ionice ld.so lldb ltrace mpirun nice
    nocorrect noglob nohup nsenter numactl parallel pkexec prlimit proot proxychains repeat rlwrap
    run0 runcon runuser sandbox-exec script setarch setpriv setsid setuidgid sg softlimit ssh
    sshpass start-stop-daemon stdbuf strace su su-exec sudo systemd-inhibit systemd-run taskset time
    timeout tini toybox torify trap tsocks unbuffer unshare valgrind watch watchexec xargs xvfb-run
    """)
# Of these, the first argument that is no option is the command or the script: a rule may pin it.
_PINNABLE = SHELLS | names_in("command doas env exec nice nohup setsid stdbuf sudo xargs busybox")
# Parts of the shell that evaluate text, or change what later commands mean.
EVALUATORS = names_in("""
    . alias autoload bind compgen complete compopt coproc declare disable emulate enable eval export
    fc float function functions getopts hash history integer jobs let local mapfile print r read
    readarray readonly sched set setopt shopt source trap typeset unalias unfunction unset unsetopt
    vared wait zcompile zle zmodload zparseopts zstyle
    """)

# --- variables -----------------------------------------------------------------------------------

_SAFE_VARIABLES = names_in("""
    CARGO_TERM_COLOR CGO_ENABLED CI CLICOLOR CLICOLOR_FORCE DEBIAN_FRONTEND FORCE_COLOR GO111MODULE
    GOARCH GOOS LANGUAGE NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUNBUFFERED
    PYTHONUTF8 RAILS_ENV RUST_BACKTRACE RUST_LOG TZ
    """)
"""Variables that change the looks of a program. Any other may change the programs that run."""
_SAFE_VALUE = re.compile(r"(?!.*\.\.)[\w,=:.+-]*(?:/\w+)?", re.ASCII)
"""Some programs take another value for a path, or for code."""
_OF_PROJECT = names_in("""
    API_KEY API_URL APP_ENV BASE_URL BRANCH COMMIT COUNT DATABASE_URL DATE DEBUG DIR FILE FLASK_ENV
    LOG_LEVEL NAME OUT OUTPUT PORT RESULT SRC STATUS TAG TARGET TOKEN URL VERBOSE VERSION
    """)
"""Variables that only code of the project reads."""

_LOCALE = re.compile(r"LANG|LC_[A-Z]+")
_SAFE_LOCALE = re.compile(r"|C|POSIX|[\w@-]*\.(?:UTF-?8|utf-?8)", re.ASCII)
"""Other locales may have characters whose last byte is a quote or a backslash to the shell."""

# In zsh these are arrays and tables of the shell: `path` is the same variable as PATH, for example.
_SPECIAL = names_in("""
    aliases argv builtins cdpath commands dirstack errnos fignore fpath funcfiletrace functions
    funcsourcetrace funcstack functrace galiases histchars history historywords jobdirs jobstates
    jobtexts keymaps killring langinfo mailpath manpath mapfile match mbegin mend module_path
    modules nameddirs options parameters patchars path pipestatus prompt psvar region_highlight
    reply reswords saliases signals status sysparams termcap terminfo userdirs usergroups watch
    zsh_eval_context zsh_scheduled_events
    """)
PLAIN_NAME = re.compile(
    rf"(?!(?:{'|'.join(sorted(_SPECIAL))})\b)(?!npm_|zle_|dis_|\w*proxy)(?:[a-z][a-z0-9_]*|[A-Z])",
    re.ASCII,
)
"""A name of a variable without a meaning for the shell, or for any program that is known to us."""


def why_not_set(assignment: Assignment, words: Words) -> str | None:
    """Return why an assignment may change the programs that run; None if it cannot.

    Without words, it holds for every command from here on.
    """
    name, value = assignment.name, assignment.value
    if name in _OF_PROJECT or (not words and PLAIN_NAME.fullmatch(name)):
        return None
    if name in _SAFE_VARIABLES and value.static and _SAFE_VALUE.fullmatch(value.text):
        return None
    if name == "IFS" and words and words[0].text == "read" and is_harmless(Command(words)):
        return None
    if _LOCALE.fullmatch(name):
        safe = value.static and _SAFE_LOCALE.fullmatch(value.text)
        return None if safe else f"setting {name} may change how the shell reads the next line"
    return f"setting {name} may change the programs that run"


def basename(word: Word) -> str:
    """Return the name of a program, without its directory."""
    return word.text.rpartition("/")[2]


# --- commands of the shell that run nothing and change nothing -----------------------------------

_UNARY = names_in("-b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -G -L -N -O -S")
_COMPARING = names_in("= == != -nt -ot -ef")
_NUMERIC = names_in("-eq -ne -lt -le -gt -ge")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_COUNTS = names_in('$? $# "$?" "$#" ${#} ${?} "${#}" "${?}"')
_READ = re.compile(rf"-r|{PLAIN_NAME.pattern}", re.ASCII)
_SET = re.compile(r"[-+](?:[eu]+|[eu]*o)|pipefail|errexit|nounset")


def is_harmless(command: Command) -> bool:
    """Whether a command of the shell itself runs nothing, so that it needs no rule of its own."""
    words = command.words
    if not words[0].static:
        return False
    if words[0].text == "cat" and len(words) == 1:  # it writes what the line itself says
        return [it.kind for it in command.redirects if it.kind != "out"] == ["here"]
    name, arguments = words[0].text, words[1:]
    if name in ("test", "[", "[["):
        return is_plain_test(words)
    if name in ("true", "false", ":", "exit", "break", "continue"):
        return all(map(_is_number, arguments))
    if name == "command":
        return len(arguments) == 2 and arguments[0].text in ("-v", "-V") and arguments[1].static
    if name == "read":
        return all(it.static and _READ.fullmatch(it.text) for it in arguments)
    settings = [it.static and _SET.fullmatch(it.text) for it in arguments]
    return name == "set" and bool(settings) and all(settings)


def is_plain_test(words: Words) -> bool:
    """Whether a test can be read in one way only, and evaluates nothing."""
    closing = {"[": "]", "[[": "]]"}.get(words[0].text)
    if closing is not None and words[-1].text != closing:
        return False
    inner = words[1:] if closing is None else words[1:-1]
    inner = inner[1:] if inner and inner[0].raw == "!" else inner
    operands = {1: inner, 2: inner[1:], 3: inner[::2]}.get(len(inner), ())
    # Inside of `[[` a word stays one word, quoted or not.
    is_split = not all(it.single or it.raw in _COUNTS for it in operands)
    if not operands or (words[0].text != "[[" and is_split):
        return False
    if len(inner) == 1:
        return not inner[0].text.startswith("-")
    if len(inner) == 2:
        return inner[0].static and inner[0].text in _UNARY
    if inner[1].raw in _NUMERIC:
        return all(map(_is_number, operands))
    return inner[1].raw in _COMPARING


def _is_number(word: Word) -> bool:
    return word.raw in _COUNTS or (word.static and _NUMBER.fullmatch(word.text) is not None)


# --- wrappers ------------------------------------------------------------------------------------

_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_PLAIN_WRAPPERS: dict[str, tuple[str, str, int]] = {
    # options, options with an argument of their own, arguments before the command
    "timeout": (
        r"-v|--verbose|--foreground|--preserve-status|--(kill-after|signal)=[A-Z0-9.]+[smhd]?",
        r"-k|-s",
        1,
    ),
    "nice": (r"-[0-9]+|--adjustment=-?[0-9]+", r"-n", 0),
    "nohup": (r"(?!)", r"(?!)", 0),
    "stdbuf": (r"-[ioe](L|[0-9]+[KMG]?)", r"(?!)", 0),
    "command": (r"(?!)", r"(?!)", 0),
}
_XARGS_FLAGS = re.compile(
    r"-[0rt]+|-[nPL][0-9]+|--null|--no-run-if-empty|--max-(args|procs|lines)=[0-9]+"
)


def unwrapped(words: Words) -> Words:
    """Strip plain `timeout 5`, `nice`, `nohup`, `stdbuf` and `command`."""
    while words and (form := _PLAIN_WRAPPERS.get(words[0].text)) is not None:
        inner = _behind(words[1:], *form)
        if not words[0].static or inner is None:
            return words
        words = inner
    return words


def _behind(words: Words, flags: str, valued: str, operands: int) -> Words | None:
    index = 0
    while index < len(words) and words[index].static:
        text = words[index].text
        if re.fullmatch(flags, text):
            index += 1
        elif re.fullmatch(valued, text) and _known(words[index + 1 : index + 2]):
            index += 2
        else:
            break
    rest = words[index + operands :]
    before = words[index : index + operands]
    if not all(word.static and _DURATION.fullmatch(word.text) for word in before):
        return None
    return rest if rest and not rest[0].text.startswith("-") else None


def _known(words: Words) -> bool:
    return bool(words) and words[0].static and re.fullmatch(r"[\w.+-]+", words[0].text) is not None


def xargs_parts(words: Words) -> Words | None:
    """Return the command that `xargs` runs, with the added words; None if it is not certain."""
    index, mark = 1, None
    while index < len(words) and words[index].static and words[index].text.startswith("-"):
        text = words[index].text
        value = [word.text for word in words[index + 1 : index + 2]]
        if _XARGS_FLAGS.fullmatch(text):
            index += 1
        elif text in ("-n", "-P", "-L") and value and value[0].isdigit():
            index += 2
        elif text == "-I" and value == ["{}"]:
            index, mark = index + 2, "{}"
        elif text == "-I{}":
            index, mark = index + 1, "{}"
        else:
            return None
    inner = words[index:]
    if not inner:
        return (Word("echo", "echo"), UNKNOWN)
    return (*inner, UNKNOWN) if mark is None else _opened(inner, mark)


def _opened(words: Iterable[Word], mark: str) -> Words:
    """Mark the words that `xargs` or `find` puts names of files into."""
    return tuple(
        Word(it.raw, it.text, static=False, head=it.text.partition(mark)[0], single=it.single)
        if mark in it.text
        else it
        for it in words
    )


_FIND_RUNS = names_in("-exec -ok")
_MOST_RUN = 20
"""Commands behind one `find` to analyse."""


def needed_commands(words: Words) -> list[Words]:
    """List the commands that must all be allowed for this one: those behind `find` and `xargs`."""
    plain = unwrapped(words)
    if plain[0].text == "xargs" and (inner := xargs_parts(plain)) is not None:
        return [inner]
    if plain[0].text != "find":
        return [words]
    found, rest = [], list(plain)
    while starts := [index for index, it in enumerate(rest) if it.raw in _FIND_RUNS]:
        end = next((i for i in range(starts[0], len(rest)) if rest[i].text in (";", "+")), 0)
        if end <= starts[0] + 1 or len(starts) > _MOST_RUN:
            return [words]
        found.append(_opened(rest[starts[0] + 1 : end], "{}"))
        del rest[starts[0] : end + 1]
    return [tuple(rest), *found]


# --- commands that only an exact rule can allow ---------------------------------------------------

_FIND_ACTS = names_in("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls")
_FD_ACTS = re.compile(r"-[^-]*[xX].*|--exec.*")
_TEST_EVALUATES = names_in("-v -R -eq -ne -lt -le -gt -ge -a -o")
_PRINTF_PLAIN = re.compile(r"(?!-)(?:[^%]|%-?\d*(?:\.\d+)?[sbcq%])*", re.DOTALL)
_PRINTF_NUMERIC = re.compile(r"(?!-)(?:[^%]|%[-+0 #]*\d*(?:\.\d+)?[sbcq%diouxXeEfFgG])*", re.DOTALL)


def only_exactly(words: Words, pinned: Words) -> str | None:
    """Return why only an exact rule can allow a command; None if one with a wildcard can.

    `pinned` are its first words, which the rule spells out.
    """
    name, arguments = basename(words[0]), words[1:]
    if name in EVALUATORS:
        return f"{name!r} can run other programs or replace them"
    if name in SHELLS or name in RUNNERS:
        return _unpinned(name, words, pinned)
    is_odd = name in ("test", "[") and not is_plain_test(words)
    if is_odd and any(_may_be(word, _TEST_EVALUATES) for word in arguments):
        return f"{name!r} may evaluate its operands"
    if name == "printf" and not prints_plainly(arguments):
        return "'printf' may evaluate its arguments"
    return None


def _unpinned(name: str, words: Words, pinned: Words) -> str | None:
    if name == "env" and len(words) == 1:
        return None
    if name in ("find", "fd", "fdfind"):
        acts = any(_may_be(word, _FIND_ACTS) for word in words[1:])
        acts |= name != "find" and any(_FD_ACTS.fullmatch(word.text) for word in words[1:])
        return f"{name!r} with such arguments can run other programs or delete" if acts else None
    if len(unwrapped(pinned)) < len(pinned):
        return only_exactly(unwrapped(words), unwrapped(pinned))
    inner = pinned[1:]
    if name in _PINNABLE and inner and not re.match(r"-|\+|\w+=", inner[0].text):
        return only_exactly(words[1:], inner)
    return f"{name!r} runs the command that follows it"


def _may_be(word: Word, options: frozenset[str]) -> bool:
    return not word.static or word.text in options


def prints_plainly(arguments: Words) -> bool:
    """Whether `printf` evaluates none of its arguments."""
    if not arguments or not arguments[0].static:
        return False
    form, values = arguments[0].text, arguments[1:]
    if _PRINTF_PLAIN.fullmatch(form):
        return True
    # A number may be evaluated, so it has to be one already.
    return _PRINTF_NUMERIC.fullmatch(form) is not None and all(map(_is_number, values))
