"""Which patterns of rules are about which commands and paths: see tests/helpers/kept.py."""

from __future__ import annotations

from itertools import product

from tests.helpers.kept import Kept

from claudewire.errors import OptionsError
from claudewire.policy import Policy, Rule
from claudewire.policy.file_use import UseContext
from claudewire.policy.paths import PathPattern, ResolvedPath, is_protected, problem_of
from claudewire.policy.shell import CommandPattern, Match, parse

from .evasions import lines

PATTERNS = lines(r"""
    *
    ls
    ls -la
    ls:*
    ls *
    /bin/ls:*
    ./ls *
    ~/bin/x:*
    git push
    git push:*
    git * main
    git push *
    git*
    git log*
    git -C x:*
    * --version
    * push
    'my tool':*
    a b * c * d
    a  b:*
    a "b c" *
    A=1 ls:*
    ls > x
    ls | x
    ls | *
    $X:*
    a $X *
    echo \*
    echo \*:*
    timeout 5 ls:*
    timeout *
    env X=1 ls:*
    sudo:*
    sudo ls:*
    bash x.sh:*
    find:*
    printf:*
    test:*
    *x*
    :*
    ls:
    """)
COMMANDS = lines(r"""
    ls
    ls -la
    ls -la x
    LS
    /bin/ls
    ./ls x
    'ls' -la
    l$X
    $X
    ls $X
    ls "$X"
    $X ls
    lsx
    ~/bin/x y
    '~/bin/x' y
    git
    git push
    git push origin main
    git push main
    git -C x push
    git -c a=b push x
    git -C $X push
    git --git-dir x push
    git --git-dir $X push
    git -v push
    git x push
    git $X push
    git log
    git logs
    a --version
    a -x --version
    'my tool' x
    my tool x
    a b c d
    a b x c y d
    a b x d
    a  b  c
    a "b c" d
    a b c "d e"
    echo '*'
    echo \*
    echo *
    timeout 5 ls -la
    timeout 6 ls
    env X=1 ls
    env
    sudo ls -la
    sudo -u x ls
    nohup ls
    bash x.sh a
    bash -c ls
    find . -name x
    find . -delete
    printf %s a
    printf %d a
    printf %d 5
    printf -v a b
    printf
    printf $X
    test -f a
    test -v a
    test a -eq b
    xx
    ''
    it\'s a
    """)
TEXTS = ["ls", "rm; ls -la", "xls", "ls.py", "-Sls", "git  push", "push git", "git-push", "a b c d"]


def test_which_patterns_are_about_which_commands_is_as_it_was(kept: Kept) -> None:
    rows = []
    for text in PATTERNS:
        pattern = CommandPattern.of(text)
        rows.append(f"{pattern!r}")
        for command in COMMANDS:
            found = parse(command).commands
            words = found[0].words if found else ()
            if not words:
                continue
            matches = [pattern.match(words, ignore_case=it) for it in (False, True)]
            allows = pattern.allows(words)
            if allows is None and matches == [Match.NO, Match.NO]:
                continue
            rows.append(f"    {command}: {allows!r} {' '.join(it.name for it in matches)}")
        rows.append(f"    mentioned in {[it for it in TEXTS if pattern.mentioned_in(it)]}")
        whole = [it for it in [*COMMANDS, "ls | x", " ls ", "ls | y"] if pattern.matches_text(it)]
        rows.append(f"    the same as {whole}")
    kept("patterns-of-commands.txt", "".join(f"{row}\n" for row in rows))


PATHS = lines(r"""
    src/**
    src/*
    src/
    src
    *.py
    ./a.py
    ./src/*.py
    **/x
    **
    a/**/b
    a/**/b/**
    **/a/**/b
    //etc/**
    //etc/pass?d
    //
    //**
    ~/n/*
    ~
    /src/[ab].py
    /src/[!ab].py
    /src/[^ab].py
    /src/[]a].py
    /src/[b-a].py
    /src/[a/b].py
    /src/\*.py
    /src/\[a
    ../x/**
    ../../y
    !src/x.py
    SRC/Café.md
    a//b/./c
    a*b*c
    x{a,b}
    a b
    Xx
    x*cb
    x*y*cb
    /src/[[a].py
    /src/[a&&|~~^].py
    """)
PLACES = [
    *("/work", "/work/src", "/work/src/a.py", "/work/src/deep/a.py", "/work/a.py", "/work/x/a.py"),
    *("/work/deep/src/b.py", "/work/src/c.py", "/work/src/[a", "/work/src/*.py", "/work/src/].py"),
    *("/work/x", "/work/y/x", "/work/a/b", "/work/a/c/b", "/work/a/b/c", "/work/z/a/y/b/c"),
    *("/etc/passwd", "/etc/passd", "/etc", "/", "/home/me/n/x", "/home/me", "/home/me/n/x/y"),
    *("/x/a", "/y", "/work/SRC/a.py", "/work/src/x.py", "/work/src/Cafe\u0301.md", "/work/a1b2c"),
    *("/work/src/caf\u200d\u00e9.md", "/work/xa", "/work/a b", "/source/src/a.py", "/work/src/b-a"),
    *("/work/src/[b-a].py", "/work/Xx", "/work/x", "/work/src/[.py", "/work/src/&.py"),
    *("/work/src/|.py", "/work/src/~.py", "/work/src/^.py"),
]
GLOBS = [
    *("/work/*", "/work/s*/a.py", "/work/s*/*.py", "/work/src/?.py", "/work/**/a.py", "/etc/*"),
    *("/work/src/[ab].py", "/work/x*y", "/*/*/*", "/work/src/*.js", "/work/a*c", "/work/*/b/*"),
    *("/work/src/\\*", "/*", "/work/src/??.py", "/home/*/n/*", "/work/*/*/b", "/work/a/[xc]/b"),
    *("/work/x*ab", "/work/x*y*ab", "/work/x*dcb", "/work/*y*cb", "/work/xz*cb", "/work/z*cb"),
]
ROOTS = {"root": ["/"], "home": ["/home/me"], "source": ["/source", "/work"], "cwd": ["/work"]}


def test_which_patterns_are_about_which_paths_is_as_it_was(kept: Kept) -> None:
    rows = []
    for text in PATHS:
        pattern = PathPattern.of(text)
        roots = ROOTS[pattern.anchor]
        rows.append(f"{text}: {pattern!r}")
        for forbids, fold in ((False, False), (False, True), (True, True)):
            found = [
                it for it in PLACES if pattern.matches(it, roots, forbids=forbids, fold_case=fold)
            ]
            rows.append(f"    {'forbids' if forbids else 'folded' if fold else 'allows'} {found}")
        reached = {it: pattern.reaches_into(it, roots) for it in PLACES}
        rows.append(f"    reaches { {it: how for it, how in reached.items() if how} }")
        for inside in (False, True):
            met = [it for it in GLOBS if pattern.meets(it, roots, inside=inside)]
            rows.append(f"    {'inside' if inside else 'meets'} {met}")
    kept("patterns-of-paths.txt", "".join(f"{row}\n" for row in rows))


GIVEN = [
    *(
        "",
        "a",
        "a/b",
        "/a",
        "~",
        "~/a",
        "~me",
        "~me/a",
        "a.",
        "a ",
        "a./b",
        ".",
        "..",
        "a/..",
        "./a",
    ),
    *("a\\b", "a\nb", "a\u200db", "a\u2028", "a\u00a0b", "/proc/self/cwd/x", "/proc/1/root/x"),
    *("/proc/self/task/5/cwd/y", "/proc/thread-self/x", "/proc/*/cwd", "/proc/x/cwd", "/proc/self"),
    *("//a//b", "a\0b", "/work/a", "/more", "/more/x", "/moreover", "/linked/x", "/broken/x"),
    *(".git/config", "x/.git", ".claude/x", ".claude/worktrees/a", ".config/git/x", "git~1/x"),
    *(".GIT/x", ".bashrc", "x/.npmrc", "gradle-wrapper.properties", ".ssh", "sub/.Claude/y"),
    *(".claude/worktrees/a/.git/x", "a/.config/gitx", ".claude", "x.git/config"),
]


def followed(path: str) -> str:
    if path.startswith("/broken"):
        raise OSError("too many levels")
    return path.replace("/linked", "/elsewhere", 1)


def test_where_paths_lead_is_as_it_was(kept: Kept) -> None:
    rows = []
    for remote, given in product((False, True), GIVEN):
        context = UseContext(
            base="/work",
            cwd="/work/sub",
            home="/home/me",
            directories=("/more", "/linked"),
            case_sensitive=True,
            protect=True,
            realpath=str if remote else followed,
            isdir=None if remote else lambda path: path.endswith("sub"),
        )
        for cwd in (None, "/other"):
            found = context.resolve(given, cwd=cwd)
            told = [f"{problem_of(given)}", f"{found!r}", f"{found.all_forms}"]
            told += ["inside"] if context.contains(found) else []
            told += ["protected"] if is_protected(found) else []
            rows.append(f"{given!r} {cwd}: {' | '.join(told)}")
        rule = Rule.parse("Read(**/x)", root="/root", source="")
        assert rule.path is not None
        into = [
            it
            for it in ("/work/sub", "/work/a.txt", "/work/.x", "/work/b")
            if context.reaches_into(it, rule.path, ["/work"])
        ]
        rows.append(f"    {into}")
    kept("paths.txt", "".join(dict.fromkeys(f"{row}\n" for row in rows)))


def test_a_path_without_forms_is_in_no_directory() -> None:
    context = UseContext("/", "/", "/", (), True, True, str, None)
    assert not context.contains(ResolvedPath("a", ()))


def test_what_is_wrong_with_a_path_is_said(kept: Kept) -> None:
    rows = []
    for text in ("~me/x", "", "!", "a/../b", "a\x00", "\udc80", "//a/../b", "../a/..", "!~x"):
        try:
            rows.append(f"{text!r}: {PathPattern.of(text)!r}")
        except ValueError as error:
            rows.append(f"{text!r}: {error}")
        try:
            Policy([f"Read({text})"], cwd="/work")
        except OptionsError as error:
            rows.append(f"    {error}")
    kept("wrong-paths.txt", "".join(f"{row}\n" for row in rows))
