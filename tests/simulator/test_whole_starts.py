"""All that the simulated CLI makes of flags, files and faults: see tests/helpers/kept.py.

Flags and commands are told in a table, the rest as in `test_whole_conversations`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, compact, normal
from tests.helpers.text_mode import run_text
from tests.simulator.player import ID, Player, played
from tests.simulator.test_whole_conversations import brief, brief_turns, fail, opening, scene

from claudewire.simulator import ARGV, Chat, ScriptError, demo_agent, script_from_toml
from claudewire.simulator.faults import FAULTS, parse_faults
from claudewire.simulator.flags import _CONVERTERS, OPTIONS, Flags, parse
from claudewire.simulator.personas import PERSONAS
from claudewire.simulator.scenario import _VERBS
from claudewire.simulator.subcommands import run_subcommand
from claudewire.simulator.unsimulated import unsimulated
from claudewire.wire import GetSettings, ListPermissionRules, McpStatus

OTHER = ID.replace("1", "3")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """The folder in which a CLI works; its own is beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


# --- flags ----------------------------------------------------------------------------------------

VALUES = ("plan", "text", "0", "1.5", "a,b c", "on", "user", ID, '{"a": 1}', "[1]", "")
LINES = """
--help
-h --model x
--version
-V
-v --nothing
--nothing
--modle x
--alow-dangerously-skip-permissions
--verbos
-x
-
mcp serve
auth
hello there
-p hello
-pc
-cp hi
-dfilter
-d2e
-r -p
--resume x --resume=y
--tools Bash Read --tools Edit(a, b) Write
--allowedTools=Bash(git *),Read --allowed-tools Edit
--plugin-dir a --plugin-dir b --add-dir c d
--mcp-config a b -- c
--model
--effort great
--prompt-suggestions
--worktree -p
--session-id x
--session-id 11111111-1111-4111-8111-111111111111 --resume a
--session-id 11111111-1111-4111-8111-111111111111 --continue --fork-session
--resume-session-at x
--resume-drops-turn x --resume y
--rewind-files x
--input-format stream-json
--output-format stream-json
--replay-user-messages
--await-initialize
--include-partial-messages
--forward-subagent-text
--prompt-suggestions on
--json-schema [1]
--json-schema {
--setting-sources user,nobody
--strict --cwd x
--output-format stream-json --input-format stream-json
--mdoel
--modl
--modelxx
--modelxxx
--modelxxxx
--medal
--mo
--add-dri
--verboseee
--verbos-e
--fork-sesion
--tool
--toolz
--continu
--agentss
--xyz
--e
--be
--mtu
--fef
--bba
-verbose
"""


def of_flags(flags: Any) -> str:
    """Return what differs from no flags at all."""
    if not isinstance(flags, Flags):
        return repr(flags)
    names = Flags.__struct_fields__
    given = {it: getattr(flags, it) for it in names if getattr(flags, it) != getattr(Flags(), it)}
    ignored = list(unsimulated(flags, "/nowhere"))
    return f"{given!r} ignored: {', '.join(ignored)}" if ignored else repr(given)


def flag_lines() -> Iterator[str]:
    for line in LINES.strip().splitlines():
        yield f"{line}\n    {of_flags(parse(line.split(), version='1.2.3'))}\n"
        for_sessions = of_flags(parse(line.split(), version="1.2.3", sessions=True))
        if for_sessions != of_flags(parse(line.split(), version="1.2.3")):
            yield f"    sessions: {for_sessions}\n"
    yield f"sessions\n    {of_flags(parse(['--cwd', '/there'], sessions=True))}\n"
    for name, option in OPTIONS.items():
        varies = option.choices or name in _CONVERTERS
        values = VALUES if varies else ("a b",) if option.argument else ("",)
        told: dict[str, list[str]] = {}
        for value in values:
            words = [name, value] if option.argument else [name]
            told.setdefault(of_flags(parse([*words, *ARGV])), []).append(value)
        for text, given in told.items():
            yield f"{name} {' | '.join(given)}\n    {text}\n"


def test_what_flags_mean_is_as_it_was(kept: Kept) -> None:
    common = of_flags(parse(ARGV)).strip("{}")
    text = "".join(flag_lines()).replace(common, "…")
    kept("flags.txt", text)


# --- subcommands ----------------------------------------------------------------------------------

SUBCOMMANDS: list[list[str]] = [
    ["mcp", "list"],
    ["mcp", "get", "none"],
    ["mcp", "add"],
    ["mcp", "add", "one"],
    ["mcp", "add", "one", "-e", "A=1", "-s", "user", "--", "no-such-program", "-x", "y"],
    ["mcp", "add", "one", "-s", "user", "other"],
    ["mcp", "add", "two", "--transport=http", "-H", "X-A: b", "http://127.0.0.1:9/mcp"],
    ["mcp", "add", "-t", "sse", "three", "http://127.0.0.1:9/sse", "--scope", "local"],
    ["mcp", "add", "-s", "project", "four", "x"],
    ["mcp", "add-json", "five", '{"command": "no-such-program", "args": ["z"], "env": {"B": "2"}}'],
    ["mcp", "add-json", "six", "no JSON"],
    ["mcp", "add-json", "-s", "user", "seven", '{"type": "http", "url": "http://127.0.0.1:9"}'],
    ["mcp", "list"],
    *(["mcp", "get", name] for name in ("one", "two", "three", "five", "seven", "none")),
    ["mcp", "remove", "none"],
    ["mcp", "remove", "one"],
    ["mcp", "remove", "two", "-s", "user"],
    ["auth", "status"],
    ["auth", "status", "--text"],
    ["doctor"],
    ["plugin", "list"],
    ["plugins", "list", "--json"],
    ["agents", "--json"],
    ["mcp", "serve"],
]


@pytest.mark.parametrize("key", ["", "a-key"])
def test_what_subcommands_answer_is_as_it_was(kept: Kept, cwd: Path, key: str) -> None:
    config = cwd.parent / "config"
    lines = []
    for words in SUBCOMMANDS if not key else SUBCOMMANDS[-7:-5]:
        done = run_subcommand(
            words,
            cwd=str(cwd),
            config_dir=str(config),
            env={"ANTHROPIC_API_KEY": key},
            version="1.2.3",
        )
        lines.append(f"$ {' '.join(words)}\n{_told(done)}")
    if (file := config / ".claude.json").exists():
        lines.append(f"{file.read_text(encoding='utf-8')}\n")
    text = normal("".join(lines), config=config, cwd=cwd)
    kept(f"subcommands{'-with-a-key' if key else ''}.txt", text)


def _told(done: Any) -> str:
    return "None\n" if done is None else f"{done.stdout}{done.stderr}= exit {done.status}\n"


# --- text mode ------------------------------------------------------------------------------------


async def answers(chat: Chat) -> None:
    await scene(chat)
    if chat.text == "limit":
        await chat.use("Read", {"file_path": "a"})
        await chat.use("Read", {"file_path": "a"})
    elif chat.text == "fail":
        await chat.fail("No")
    elif chat.text == "raise":
        fail({})
    elif chat.text == "task":
        chat.start_task("build").finish()
    elif chat.text == "blank":
        await chat.say(" ")
    await chat.say(chat.text)


TEXT: list[tuple[list[str], bytes | None]] = [
    (["-p", "hi"], b""),
    (["-p", "hi"], b"more\n"),
    (["-p"], b"from stdin\n"),
    (["-p"], b""),
    (["-p"], b"  \n"),
    (["-p", "hi"], None),
    (["-p", "--resume", OTHER], b""),
    (["-p", "--resume", "A title"], b""),
    (["-p", "--resume"], b""),
    (["-p", "limit", "--max-turns", "2"], b""),
    (["-p", "limit", "--max-budget-usd", "0.0000005"], b""),
    (["-p", "limit", "--max-budget-usd", "0.000001"], b""),
    (["-p", "limit", "--max-budget-usd", "0.0005"], b""),
    (["-p", "fail"], b""),
    (["-p", "task"], b""),
    (["-p", "blank"], b""),
    (["-p", "/context"], b""),
    (["-p", "hi", "--output-format", "json"], b""),
    (["-p", "fail", "--output-format", "json"], b""),
    (["-p", "hi", "--output-format", "json", "--verbose"], b""),
    (["-p", "hi", "--output-format", "stream-json", "--verbose"], b""),
]


def test_what_text_mode_prints_is_as_it_was(kept: Kept, cwd: Path) -> None:
    lines = []
    for argv, stdin in TEXT:
        done = run_text(answers, *argv, stdin=stdin, cwd=cwd)
        lines.append(f"$ {' '.join(argv)} < {stdin!r}\n{done.stdout}")
        lines.append(f"{done.stderr}= exit {done.status}\n")
    kept("text-mode.txt", normal("".join(lines), cwd=cwd))


# --- files ----------------------------------------------------------------------------------------

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        results = {
            "initialize": {"serverInfo": {"name": "shouter"}, "got": asked["params"]},
            "tools/list": {"tools": [{"name": "shout"}]},
            "tools/call": {"content": [{"type": "text", "text": "AH"}]},
        }
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}
        print(json.dumps(answer), flush=True)
"""


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")


def configure(cwd: Path) -> None:
    """Write files of every kind."""
    config, own = cwd.parent / "config", cwd / ".claude"
    say = 'echo \'{"decision": "block", "reason": "By a command."}\''
    hooks = {
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo Be quick."}]}],
        "PreToolUse": [
            {"matcher": "WebFetch", "hooks": [{"type": "command", "command": say}]},
            {"matcher": "Grep", "hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]},
            {"matcher": "LS", "hooks": [{"type": "command", "command": "exit 2", "timeout": 9}]},
            {"hooks": [{"type": "prompt", "prompt": "x"}]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "echo $COLOUR $CLAUDE_PROJECT_DIR"}]}],
    }
    permissions = {"deny": ["Glob"], "additionalDirectories": ["x"], "other": 1}
    write(
        config / "settings.json",
        {"model": "haiku", "permissions": permissions, "env": {"COLOUR": "red"}, "theme": "dark"},
    )
    write(own / "settings.json", {"permissions": {**permissions, "ask": ["Read"]}, "hooks": hooks})
    local = {"outputStyle": "Learning", "permissions": {"allow": ["LS"]}}
    write(own / "settings.local.json", local)
    write(config / "agents/mine.md", "---\nname: own\ndescription: Helps\nmodel: opus\n---\nHelp.")
    write(config / "agents/plain.md", "# Plain\nDo it.")
    write(own / "commands/git/commit.md", "---\nargument-hint: [text]\n---\nCommit $ARGUMENTS!")
    write(own / "commands/bare.md", "")
    write(own / "skills/brew/SKILL.md", "---\nname: brew\ndescription: 'Tea'\n---\nBrew.")
    write(own / "skills/SKILL.md", "not in a folder")
    plug = cwd / "plug"
    write(plug / ".claude-plugin/plugin.json", {"name": "plug", "version": "1.2"})
    write(plug / "commands/greet.md", "Greet.")
    write(plug / "hooks/hooks.json", {"hooks": {"Stop": []}})
    write(plug / ".mcp.json", {"mcpServers": {"gone": {"command": "no-such-program"}}})
    write(cwd / "unnamed/agents/other.md", "Other.")
    write(cwd / "servers.json", {"mcpServers": {"loud": {"command": "python3", "args": ["s.py"]}}})
    write(cwd / "s.py", SERVER)
    projects = {str(cwd): {"mcpServers": {"local": {"url": "http://127.0.0.1:9"}}}}
    write(config / ".claude.json", {"mcpServers": {"odd": {"type": "ws"}}, "projects": projects})
    write(cwd / ".mcp.json", {})


CONFIGURED = (
    *("--plugin-dir", "plug", "--plugin-dir", "unnamed", "--plugin-dir", "none"),
    *("--mcp-config", "servers.json", "--add-dir", "y", "--session-id", ID),
    *("--settings", '{"permissions": {"defaultMode": "acceptEdits"}}', "--name", "A title"),
)


async def use_each(chat: Chat) -> None:
    await chat.say(chat.text)
    for name in ("Glob", "Read", "LS", "WebFetch", "Grep", "Edit", "mcp__loud__shout"):
        await chat.use(name, {"file_path": "a"})


def test_what_files_configure_is_as_it_was(kept: Kept, cwd: Path) -> None:
    configure(cwd)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    player = Player(use_each, cwd, argv=CONFIGURED, env=env)
    player.ask(opening(), McpStatus(), GetSettings(), ListPermissionRules())
    player.turn("/git:commit all of it", "/brew tea")
    player.end()
    kept("configured.txt", brief(player.text))


WRONG: list[list[str]] = [
    ["--settings", "{"],
    ["--settings", "{]}"],
    ["--settings", "none.json"],
    ["--settings", "broken.json"],
    ["--mcp-config", "none.json"],
    ["--mcp-config", "broken.json"],
    ["--mcp-config", "{}"],
    ["--mcp-config", '{"mcpServers": []}'],
    ["--agents", "{]"],
    ["--agents", "[]"],
    ["--agents", '{"a": {"description": "b"}}'],
    ["--agents", '{"a": {"prompt": "b"}}'],
    ["--agents", "no JSON"],
    ["--system-prompt-file", "none.txt"],
    ["--append-system-prompt-file", "none.txt"],
    ["--strict", "--fallback-model", "x"],
    ["--permission-prompts", "none", "--task-budget", "5"],
    ["--resume", OTHER],
    ["--resume", "A title"],
    ["--resume", ""],
]


def test_what_is_said_of_wrong_files_is_as_it_was(kept: Kept, cwd: Path) -> None:
    write(cwd / "broken.json", "{")
    write(cwd / ".claude/settings.json", "{")
    write(cwd / ".claude/agents/wrong.md", "x")
    (cwd / ".claude/agents/wrong.md").write_bytes(b"\xff")
    lines = []
    for argv in WRONG:
        lines.append(f"$ {' '.join(argv)}\n")
        lines.append(brief(played(scene, cwd, "Go.", argv=argv)))
    kept("wrong-files.txt", "".join(it for it in "".join(lines).splitlines(True) if it[0] in "$!="))


# --- taken up again -------------------------------------------------------------------------------


def test_what_is_taken_up_again_is_as_it_was(kept: Kept, cwd: Path) -> None:
    text = played(scene, cwd, "One.", "Two.", argv=("--session-id", ID, "--name", "A title"))
    leaf = "none"
    for argv in (
        ["--resume", ID],
        ["--resume", ID, "--fork-session", "--session-id", OTHER],
        ["--session-id", ID],
        ["--resume", ID, "--resume-session-at", leaf],
    ):
        text += f"$ {' '.join(argv)}\n{played(scene, cwd, '/cost', 'Three.', argv=argv)}"
    kept("resumed.txt", brief_turns(text.replace(OTHER, "<other>")))


# --- faults ---------------------------------------------------------------------------------------

ARGUMENTS = {
    "clock-jump": "(60)@3",
    "late-answers": "(seconds=2)",
    "long-line": "(0.00002)@2",
    "not-reading": "(5)@2",
    "slow": "(0.5)@3",
    "split": "(1,-1)@2",
    "split-every-byte": "@1000",
    "stderr-flood": "(100)",
}


def small(text: str) -> list[str]:
    """Return the lines, those of messages by their beginning and their end."""
    lines = [line for line in text.splitlines() if not line.startswith("@")]
    return [it if len(it) < 4000 else f"{it[:150]} … {it[-150:]}" for it in lines]


def test_what_each_fault_changes_is_as_it_was(kept: Kept, cwd: Path) -> None:
    usual = small(played(scene, cwd, "Gö.", opening=opening("PreToolUse")))
    lines = []
    for name in FAULTS:
        for given in dict.fromkeys((ARGUMENTS.get(name, "@3"), "")):
            if name in ("long-line", "split-every-byte", "stderr-flood") and not given:
                continue
            faults = parse_faults(f"{name}{given}")
            text = played(scene, cwd, "Gö.", faults=faults, opening=opening("PreToolUse"))
            lines.append(f"$ {name}{given} {faults[0]!r} {faults[0].order}")
            lines += [*unified_diff(usual, small(text), n=0, lineterm="")][2:]
    kept("faults.txt", "".join(f"{line}\n" for line in lines))


FAULTY = ("", "none", "kill(99)", "kill(1,2,3)", "slow(-1)", "split(x)", "exit(2)@x", "a b", "a(")


def test_what_is_said_of_wrong_faults_is_as_it_was(kept: Kept) -> None:
    lines = []
    for text in FAULTY:
        try:
            told: Any = parse_faults(text)
        except ValueError as error:
            told = f"ValueError: {error}"
        lines.append(f"{text!r}: {told}\n")
    lines += [f"{name}: {kind()!r}\n" for name, kind in FAULTS.items()]
    kept("wrong-faults.txt", "".join(lines))


# --- scenarios ------------------------------------------------------------------------------------

ALL_VERBS = """
default = "Nothing for {prompt} and {other}."

[[turn]]
match = "GO"
number = 1
steps = [
    { think = "About {prompt}." },
    { use = "Bash", input = { command = "echo {prompt}", more = ["{prompt}", 1] }, result = "R" },
    { use = "Bash", input = { command = "false" }, error = "failed" },
    { use = "Read", seconds = 1.5 },
    { ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] },
    { plan = "First this." },
    { call = "calc", tool = "add", arguments = { a = 1, b = 2 } },
    { say = "It is {result}." },
    { hook = "Notification", fields = { message = "m", notification_type = "t" } },
    { task = "build", seconds = 1, summary = "built" },
    { task = "watch", finish = false },
    { subagent = "Explore", prompt = "Look", steps = [{ say = "Looked." }] },
    { subagent = "Plan", background = true },
    { compact = "auto" },
    { elicit = "calc", message = "Which one?", schema = { type = "object" } },
    { retry = 529, seconds = 1 },
    { sleep = 1 },
    { emit = { type = "odd", value = 1 } },
    { output = { answer = "{prompt}" } },
]

[[turn]]
regex = '^stop (?P<what>\\w+)( \\w+)?$'
steps = [{ say = "{1} {what} {2}." }, { stop = "max_turns" }]

[[turn]]
match = "spend"
steps = [{ stop = "budget" }]

[[turn]]
match = "fail"
steps = [{ fail = "No", status = 529 }]

[[turn]]
match = "wrong"
steps = [{ fail = "No" }]
"""


def test_what_every_verb_of_a_scenario_does_is_as_it_was(kept: Kept, cwd: Path) -> None:
    script = script_from_toml(ALL_VERBS)
    prompts = ("go", "Go again", "stop it", "stop it now", "spend", "fail", "wrong")
    text = played(script, cwd, *prompts, opening=opening("Notification"))
    shown = ('"type": "assistant"', '"type": "user"', '"system"', '"result"', '"odd"', "request")
    lines = [it for it in text.splitlines() if it[0] != "@" and any(sign in it for sign in shown)]
    kept("verbs.txt", brief("\n".join(lines)))


def said_of(step: str) -> str:
    try:
        script_from_toml(f"[[turn]]\nsteps = [{{ {step} }}]", "my.toml")
    except ScriptError as error:
        return str(error).partition("step 1")[2]
    return "good"


def test_what_is_said_of_steps_with_every_value_is_as_it_was(kept: Kept) -> None:
    values = ("1", "'x'", "'budget'", "true", "{}", "[{}]", "[1]")
    lines = []
    for _, needed, optional in _VERBS.values():
        good = ", ".join(f"{it} = {GOOD[kind]}" for it, kind in needed.items())
        for name in {**needed, **optional}:
            rest = ", ".join(it for it in good.split(", ") if it.split(" = ")[0] != name)
            for value in values:
                step = f"{name} = {value}" + (f", {rest}" if rest else "")
                lines.append(f"{step}\n    {said_of(step)}\n")
    kept("steps.txt", "".join(lines))


GOOD = {
    "a string": "'x'",
    "a number": "1",
    "true or false": "true",
    "anything": "1",
    "a table": "{}",
    "a list of tables": "[]",
    "max_turns or budget": "'budget'",
}


PROMPTS = (
    "hello",
    "list the files",
    "read notes.txt",
    "summarise it",
    "read none.txt",
    "read ../../etc/passwd",
    "search for two",
    "search for 'nothing' in notes.txt",
    "write new.txt: some text",
    "write new.txt",
    "create a file called sub/a.txt saying it",
    "replace two with three in notes.txt",
    "replace nine with ten in notes.txt",
    'use add {"a": 1, "b": 2}',
    "use add {wrong}",
    "use nothing",
)


def test_what_the_demo_agent_does_is_as_it_was(kept: Kept, cwd: Path) -> None:
    write(cwd / "notes.txt", "one\ntwo\n")
    write(cwd / ".hidden/x", "two")
    write(cwd / "long.txt", "".join(f"line {number} two\n" for number in range(30)))
    text = played(demo_agent, cwd, *PROMPTS, opening=opening())
    lines = []
    for line in text.splitlines():
        data = json.loads(line[2:]) if line.startswith("< {") else {}
        if data.get("type") in ("assistant", "user"):
            lines.append(f"{compact(data['message']['content'])}\n")
    kept("demo.txt", "".join(lines))


def test_what_each_version_can_do_is_as_it_was(kept: Kept) -> None:
    lines = []
    for it in PERSONAS.values():
        supports = ", ".join(sorted(it.supports)) if it.supports is not None else "all"
        lines.append(f"{it._replace(supports=None)!r}\n    {supports}\n")
    kept("personas.txt", "".join(lines))
