"""Run commands that a policy allows in real shells; none may run the program that it forbids.

scripts/fuzz shell
scripts/fuzz shell --commands 20000 --seed 1 --seconds 600

Commands are made up at random: plain ones, tricks that hide a program, and both cut and joined.
What a policy allows is run by bash, dash and zsh, as far as they are installed, without a network,
in an empty directory, with a PATH of programs that only leave a mark.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from claudewire.policy import Policy

ALLOWED, FORBIDDEN = "zork", "zap"
ONLY_ALLOWED = Policy(
    [
        f"Bash({name}:*)"
        for name in (ALLOWED, "cd", "echo", "printf", "xargs", "find", "cat", "env")
    ],
    cwd="/nowhere",
    home="/nowhere",
)
ALL_BUT_FORBIDDEN = Policy(["Bash"], deny=[f"Bash({FORBIDDEN}:*)"], cwd="/nowhere", home="/nowhere")
POLICIES = {"rules that allow": ONLY_ALLOWED, "rules that deny": ALL_BUT_FORBIDDEN}

REAL = (
    *("cat", "env", "find", "nice", "nohup", "sed", "awk", "sleep"),
    *("stdbuf", "timeout", "true", "xargs", "sort", "head", "base64", "rev"),
)
"""Programs that are real: many of them run another one."""
SECONDS = 20
"""The time limit of a command."""

_SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-c"],
    "dash": ["dash", "-c"],
    "zsh": ["zsh", "-f", "-c"],
}

PLAIN = """
zork
zork a
zork 'a b'
zork "a $HOME"
zork $HOME
zork *.txt
zork -x=1
zork {a,b}
zork "${x:-y}" ${x%.py} "${x##*/}"
zork $((1 + 2))
zork 2>&1
zork > /dev/null
zork a#b
zork \\; a
echo "it's"
echo 'a' "b" $'c'
printf '%s\\n' a
printf '%d\\n' 5
[ -f a ]
[ "$a" = b ]
[ $? -eq 0 ]
[[ -f a && -n "$b" ]]
[[ $a == b* ]]
set -e
set -euo pipefail
x=$(zork)
x='a b'
read -r x
true
cd .
cat <<'EOF'⏎it's (a) "b" `c` $(zap)⏎EOF
zork "$(cat <<'EOF'⏎it's (a) one⏎EOF⏎)"
zork "$(cat <<'EOF'⏎a "b" don't (c)⏎EOF⏎)"
find . -name '*.py'
find . -exec zork {} \\;
find . | xargs zork
echo a | xargs -I{} zork {}
env
timeout 5 zork
nohup nice zork
for f in a b; do zork "$f"; done
while read -r a; do zork "$a"; done < /dev/null
case "$x" in a) zork;; *) echo;; esac
LC_ALL=C zork
zork # zap
"""
TRICKS = """
zap
'zap'
z\\ap
$'\\x7aap'
${x:-zap}
$(echo zap)
`echo zap`
za{p,q}
z?p
eval zap
command zap
builtin eval zap
exec zap
env zap
env -S'zap a'
timeout 5 zap
stdbuf -oL zap
bash -c zap
sh -c 'zork; zap'
zsh -c zap
bash <<< zap
echo zap | bash
echo emFw | base64 -d | sh
echo paz | rev | sh
printf 'z%s' ap | sh
echo x | xargs zap
echo zap | xargs env
echo zap | xargs -I{} {}
find . -exec zap {} \\;
find . -exec {} zap \\;
awk 'BEGIN{system("zap")}'
awk 'BEGIN{"zap"|getline}'
sed '1e zap' /etc/hostname
sed 's/.*/zap/e' /etc/hostname
x=zap; $x
X=zap; eval $X
PATH=.:$PATH zap
PS4='$(zap)'; set -x; :
trap zap EXIT
alias zork=zap⏎zork
zork() { zap; }; zork
f() { zap; }; f
printf -v 'a[$(zap)]' x
printf %d 'psvar[$(zap)]'
test -v 'a[$(zap)]'
[ 'psvar[$(zap)]' -eq 1 ]
[[ -v a[$(zap)] ]]
[[ 'psvar[$(zap)]' -eq 1 ]]
read 'a[$(zap)]' <<< x
unset 'a[$(zap)]'
let 'a[$(zap)]=1'
declare 'a[$(zap)]=1'
(( a[$(zap)] ))
mapfile -C zap -c 1 x <<< y
hash -p zap zork; zork
. <(echo zap)
[[ $(zap) ]]
exit 'psvar[$(zap)]'
zork $(zap)
zork "`zap`"
zork ${x:-$(zap)}
zork "${x:-`zap`}"
zork $((a[$(zap)]))
x='a[$(zap)]'; zork $((x))
x='a[$(zap)]'; zork ${!x}
x='$(zap)'; zork ${x@P}
x='$(zap)'; zork ${(e)x}
zork ${a[$(zap)]}
zork $a['$(zap)']
zork "$a['$(zap)']"
zork $@['$(zap)']
zork $?['$(zap)']
zork $+a['$(zap)']
zork ${x:-$a['$(zap)']}
zork ${a}['$(zap)']
COLUMNS='psvar[$(zap)]' zork
LINES='psvar[$(zap)]' zork
SECONDS='psvar[$(zap)]'; zork
for COLUMNS in 'psvar[$(zap)]'; do zork; done
{ zork } always { zap; }
if zork { zap }
for i (a b) zap
repeat 1 zap
- zap
noglob zap
=zap
zork *(e:zap:)
() { zap }
zork <(zap)
zork >(zap)
zork <<< $(zap)
zork <<EOF⏎$(zap)⏎EOF
zork <<EOF⏎`zap`⏎EOF
zork <<-EOF⏎\t$(zap)⏎\tEOF
zork <<EOF⏎x⏎EOF⏎zap
zork <<EOF; zap⏎x⏎EOF
zork $\\⏎(zap)
zork `echo \\`zap\\``
zork # x⏎zap
zork '#'; zap
zork \\\\;zap
zork "$(cat <<'EOF'⏎) zap⏎EOF⏎)"
zork "$(cat <<'EOF'⏎)"; zap; "⏎EOF⏎)"
zork $(echo # )⏎zap)
zork & zap
zork |& zap
zork &! zap
zork > out
zork >! out
zork >| out
zork <> out
zork &> out
zork >>! out
{ zork; } > out
if zork; then zap; fi
for i in a; do zap; done
for zap in zork; do $zap; done
for i in zap; do $i; done
case x in x) zap;; esac
case $(zap) in x) zork;; esac
! zap
time zap
(zap)
{ zap; }
FOO=$(zap) zork
IFS=z; zork
BASH_ENV=x zork
a=(zap); zork
a[$(zap)]=1 zork
select x in $(zap); do break; done
coproc zap
echo zap > s; sh s
echo zap > s; . ./s
cd /; zap
command cd /; ./zap
"""
JOINS = [";", " ; ", " && ", "&&", " || ", " | ", "|", " |& ", " & ", "&", "\n", " \\\n"]
WRAPS = """
({})
{{ {}; }}
zork $({})
zork "$({})"
zork `{}`
zork <({})
if {}; then zork; fi
for i in a b; do {}; done
case a in a) {};; esac
while {}; do break; done
! {}
time {}
{} # comment
# comment's⏎{}
{} 2>&1
{} \\⏎  x
LC_ALL=C {}
FOO=1 {}
timeout 5 {}
nohup {}
command {}
env {}
xargs {}
eval '{}'
bash -c '{}'
sh -c "{}"
zork <<EOF⏎$({})⏎EOF
zork <<'EOF'⏎{}⏎EOF
zork '{}'
zork "{}"
zork ${{X:-{}}}
zork $'{}'
zork \\{}
x=$({})
[[ -n $({}) ]]
echo '{}' | sh
find . -exec {} \\;
zork "$(cat <<'EOF'⏎{}⏎EOF⏎)"
"""
TOKENS = """
zork zap zap a EOF LC_ALL=C␣ x= 1 # ␣ ␣ ␣ ⏎ ; & ! = - ~ * ? , ( ) { } [ ] [[␣ ␣]] $ $( ${ $(( ))
` ' " \\ \\⏎ < > << <<< <( >( >& &> 2>&1 ␣<<EOF⏎ ⏎EOF⏎ :- @ if␣ ;␣then␣ ;␣fi for␣i␣in␣ ;␣do␣
;␣done case␣a␣in␣ ␣in␣ ;; esac time␣ {␣ ;␣} /dev/null $' $" ⇥ ␍ eval␣ $i % always␣ $a[ ]' $@[
repeat␣1␣ =zap >! &! 中 ␢ set␣-e;␣ cd␣.;␣
"""
"""Separated by white space; the signs ⏎ ␣ ⇥ ␍ ␢ stand for white space inside a token."""


def _rows(table: str) -> list[str]:
    return [row.replace("⏎", "\n") for row in table.strip("\n").split("\n")]


_PLAIN, _TRICKS, _WRAPS = map(_rows, (PLAIN, TRICKS, WRAPS))
_TOKENS = [token.translate(str.maketrans("⏎␣⇥␍␢", "\n \t\r\xa0")) for token in TOKENS.split()]


def commands(random: Random) -> Iterator[str]:
    """Make commands up, without an end."""
    while True:
        text = _grown(random, depth=random.randrange(4))
        for _ in range(random.choice((0, 0, 0, 1, 1, 2, 3))):
            place, cut = random.randrange(len(text) + 1), random.choice((0, 0, 1))
            text = text[:place] + random.choice(_TOKENS) + text[place + cut :]
        yield text


def _grown(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(_PLAIN if random.random() < 0.7 else _TRICKS)
    if random.random() < 0.5:
        return random.choice(_WRAPS).format(_grown(random, depth - 1))
    return _grown(random, depth - 1) + random.choice(JOINS) + _grown(random, depth - 1)


# --- running --------------------------------------------------------------------------------------


class Escape(NamedTuple):
    """A command that did what the policy should have prevented."""

    shell: str
    policy: str
    command: str
    marks: tuple[str, ...]


class Report(NamedTuple):
    """The outcome of a run."""

    made: int
    allowed: Counter[str]
    ran: Counter[str]
    escapes: list[Escape]


def shells() -> dict[str, list[str]]:
    """Return the shells that are installed, and how to start them."""
    found = {name: shutil.which(name) for name in _SHELLS}
    return {name: [path, *_SHELLS[name][1:]] for name, path in found.items() if path}


class Scratch:
    """A directory to run commands in; programs in it leave marks."""

    def __init__(self, folder: Path) -> None:
        self.work, self.marks, self._bin = folder / "work", folder / "marks", folder / "bin"
        for place in (self.marks, self._bin):
            place.mkdir()
            place.chmod(0o777)
        folder.chmod(0o755)
        for name in (ALLOWED, FORBIDDEN):
            stub = self._bin / name
            mark = shlex.quote(str(self.marks / name))
            stub.write_text(f"#!/bin/sh\n: > {mark}\n", encoding="utf-8")
            stub.chmod(0o755)
        for name in (*REAL, "sh", *_SHELLS):
            if (real := shutil.which(name)) is not None:
                (self._bin / name).symlink_to(real)

    def run(self, shell: list[str], command: str) -> tuple[str, ...]:
        """Run a command; return the programs that left a mark, and the files that it made."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        self.work.chmod(0o777)
        for mark in self.marks.iterdir():
            mark.unlink()
        process = subprocess.Popen(
            [*shell, command],
            cwd=self.work,
            env={"PATH": str(self._bin), "HOME": str(self.work), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            user="nobody" if os.geteuid() == 0 else None,
        )
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                process.kill()
            process.wait()
        made = (f"file {path.name}" for path in self.work.iterdir())
        return (*(mark.name for mark in self.marks.iterdir()), *made)


def fuzz(count: int, *, seed: int, seconds: float, folder: Path) -> Report:
    """Make up commands, and run in every shell what a policy allows.

    Args:
        count: how many runs there are to be, in all shells together.
        seed: of the commands.
        seconds: after how long to stop in any case.
        folder: an empty directory.
    """
    scratch, found = Scratch(folder), shells()
    report = Report(0, Counter(), Counter(), [])
    made, until = 0, time.monotonic() + seconds
    for command in commands(Random(seed)):
        if report.ran.total() >= count or time.monotonic() > until or "\0" in command:
            break
        made += 1
        for name, policy in POLICIES.items():
            if not policy.decide("Bash", {"command": command}).allows:
                continue
            report.allowed[name] += 1
            for shell, start in found.items():
                report.ran[shell] += 1
                marks = set(scratch.run(start, command)) - {ALLOWED}
                if FORBIDDEN in marks or (marks and policy is ONLY_ALLOWED):
                    report.escapes.append(Escape(shell, name, command, tuple(sorted(marks))))
    return report._replace(made=made)


def _confined(arguments: list[str]) -> list[str] | None:
    """Return the command that starts this again in namespaces of its own; None if it cannot."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    flags = ["--mount", "--net", "--pid", "--fork", "--kill-child"]
    flags += [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    start = [unshare, *flags]
    if subprocess.run([*start, "true"], capture_output=True, check=False).returncode:
        return None
    return [*start, sys.executable, "-m", "fuzz.shell", "--confined", *arguments]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/fuzz shell")
    parser.add_argument(
        "--commands", type=int, default=3000, help="how many are run, in all shells"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--confined", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if not given.confined:
        again = _confined(["--seed", str(given.seed), *arguments])
        if again is None:
            print("There are no namespaces here to run commands in, so none is run.")
            return 1
        return subprocess.run(again, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        report = fuzz(given.commands, seed=given.seed, seconds=given.seconds, folder=Path(folder))
    print(f"seed {given.seed}: {report.made} commands made up; allowed by", dict(report.allowed))
    print("run by", dict(report.ran), f"- {len(report.escapes)} escapes")
    for escape in report.escapes:
        print(f"{escape.shell}, {escape.policy}: {escape.marks}: {escape.command!r}")
    return 1 if report.escapes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
