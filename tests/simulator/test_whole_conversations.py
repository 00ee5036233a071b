"""All that the simulated CLI does in conversations of every kind: see tests/helpers/kept.py.

Each file has what it writes (`<`), its messages on stderr (`!`), what it keeps in transcripts (`@`)
and how it ends (`=`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from difflib import SequenceMatcher
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, compact
from tests.helpers.talk import Handler
from tests.simulator.player import ID, Case, Player, played
from tests.simulator.test_requests import ANSWERED

from claudewire.simulator import ARGV, PERSONAS, Chat, ToolCall
from claudewire.simulator.engine import Wait
from claudewire.simulator.permissions import told_of_answers
from claudewire.wire import (
    HOOK_EVENTS,
    AddRules,
    AgentDefinition,
    Body,
    CanUseTool,
    Elicitation,
    ElicitationResult,
    EndSession,
    GetContextUsage,
    GetSessionCost,
    GetTaskOutput,
    GetUsage,
    HookCallback,
    HookMatcher,
    HookOutput,
    Initialize,
    Interrupt,
    McpCall,
    McpMessage,
    McpReadResource,
    McpReconnect,
    McpSetServers,
    McpToggle,
    PermissionRequestHookSpecificOutput,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    PreToolUseHookSpecificOutput,
    ReadFile,
    RewindFiles,
    SetMode,
    SetModel,
    SetPermissionMode,
    StopHookInput,
    StopTask,
    UnknownRequest,
    UserPromptSubmitHookInput,
    UserPromptSubmitHookSpecificOutput,
)

LATEST = "2.1.325"
OTHER = ID.replace("1", "2")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """The folder in which a CLI works; its own is beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def opening(*events: str, **fields: Any) -> Initialize:
    """Return the first request of an application with hooks for these events."""
    hooks = {event: [HookMatcher(["hook"])] for event in events}
    return Initialize(hooks=hooks or None, sdk_mcp_servers=["calc"], **fields)


# --- every version --------------------------------------------------------------------------------


async def scene(chat: Chat) -> None:
    await chat.think("I look")
    await chat.use("Bash", {"command": "ls"}, result="a.txt")
    await chat.say("There is one file.")


def fail(input: dict[str, Any]) -> None:
    raise RuntimeError("no")


async def everything(chat: Chat) -> None:
    """Do all that can happen in a turn, if the prompt asks for it."""
    if chat.text == "Delegate.":
        await chat.subagent("Explore", "Look around", scene, background=True)
        return
    if chat.text != "Do all.":
        await scene(chat)
        return
    await chat.use_all(
        ToolCall("Edit", {"file_path": "a.txt"}),
        ToolCall("Write", {"file_path": "b.txt", "content": "b"}),
        ToolCall("Read", {"file_path": "a.txt"}, result=[{"type": "text", "text": "a"}]),
        ToolCall("Glob", {"pattern": "*"}, result={"found": 1}),
        ToolCall("Bash", {"command": "true"}, result="", seconds=1.5),
        ToolCall("Nothing", {}),
    )
    await chat.use("Bash", {"command": "false"}, run=fail)
    await chat.call("calc", "add", {"a": 1, "b": 2})
    await chat.call("calc", "add", {"a": 1})
    await chat.ask([{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}])
    await chat.plan("First this.")
    await chat.elicit("calc", "Which one?", {"type": "object"})
    await chat.subagent("tester", "Look around, and then look again, for long", working)
    await chat.compact()
    await chat.retry()
    await chat.retry(attempt=2, status=429, seconds=2.5, message="Too many")
    chat.start_task("build").finish()
    chat.start_task("watch", kind="monitor").finish("gave up", status="failed")
    chat.start_task("serve")
    chat.output({"answer": 1})
    await chat.say("That was all.")


async def working(chat: Chat) -> None:
    for name in ("Read", "Grep", "Bash", "Write", "TodoWrite"):
        await chat.use(name, {"file_path": "a.txt", "description": name}, result=name)
    await scene(chat)


def blocks_once(body: HookCallback) -> HookOutput:
    """Keep the agent from stopping the first time, and one prompt from the agent."""
    given = body.input
    if isinstance(given, StopHookInput) and not given.stop_hook_active:
        return HookOutput(decision="block", reason="Not yet.")
    if isinstance(given, UserPromptSubmitHookInput) and given.prompt == "Never mind.":
        return HookOutput(decision="block", reason="Not this.")
    return HookOutput()


def answered(body: CanUseTool) -> PermissionResultAllow:
    """Answer a question, and let all else run as it is."""
    answers = {"answers": {"Which?": "B"}} if body.tool_name == "AskUserQuestion" else {}
    return PermissionResultAllow({**body.input, **answers})


SERVE: dict[type, Handler] = {
    CanUseTool: answered,
    HookCallback: blocks_once,
    Elicitation: lambda body: ElicitationResult("accept", {"which": 1}),
}


def conversation(version: str, cwd: Path) -> str:
    """Return a conversation in which all happens that can."""
    return talked(version, cwd).text


def talked(version: str, cwd: Path) -> Player:
    env = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}
    player = Player(
        everything, cwd, argv=("--session-id", ID), serve=SERVE, version=version, env=env
    )
    agents = {"tester": AgentDefinition("Tests", "You test.", model="haiku")}
    player.ask(opening(*HOOK_EVENTS, agents=agents, title="All of it"))
    player.turn("Do all.", "Delegate.")
    player.turn("A note.", should_query=False)
    player.turn("One.", uuid=OTHER)
    player.ask(SetModel("haiku"), SetModel("default"), SetPermissionMode("acceptEdits"))
    player.ask(RewindFiles(OTHER, dry_run=True), SetPermissionMode("bypassPermissions"))
    player.turn("/context", "/usage", "/vim", "/compact now", "Never mind.", "/clear", "Two.")
    player.feed(b"no JSON\n")
    player.end()
    return player


def test_a_conversation_with_everything_is_as_it_was(kept: Kept, cwd: Path) -> None:
    kept("everything.txt", brief(conversation(LATEST, cwd)))


@pytest.mark.parametrize("version", [it for it in PERSONAS if it != LATEST])
def test_each_version_differs_from_the_next_as_it_did(
    kept: Kept, tmp_path: Path, version: str
) -> None:
    known = list(PERSONAS)
    following = known[known.index(version) + 1]
    texts = []
    for it in (version, following):
        folder = tmp_path / it / "work"
        folder.mkdir(parents=True)
        text = conversation(it, folder) + requests(it, folder)
        texts.append(text.replace(it, "<version>").splitlines())
    counts = Counter(changes(*texts))
    lines = [f"{count:4} {change}\n" for change, count in counts.items()]
    kept(f"{version}-and-{following}.txt", "".join(lines))


def brief(text: str) -> str:
    """Return of each line what is not as in the line of its kind before it."""
    before: dict[str, Any] = {}
    lines = []
    said = None
    for line in text.splitlines():
        data = parsed(line)
        if data:
            if line[0] == "@" and data.get("message") == said is not None:
                data["message"] = "as it was said"
            elif line[0] == "<":
                said = data.get("message")
            name = kind(line)
            start, last = line[: line.index("{")], before.get(name, {})
            before[name] = data
            line = f"{start}{compact(news(data, last, *NAMES))}"
        lines.append(f"{line}\n")
    return "".join(lines)


def brief_turns(text: str) -> str:
    """Return the same without the descriptions of the session, which other files have."""
    told = ('"subtype": "init"', '"available_output_styles"')
    return brief("\n".join(it for it in text.splitlines() if not any(sign in it for sign in told)))


NAMES = ("type", "subtype")


def news(now: dict[str, Any], before: dict[str, Any], *always: str) -> dict[str, Any]:
    """Return the fields that are new or changed, and the names of those that are gone."""
    shown: dict[str, Any] = {}
    for key, value in now.items():
        old = before.get(key)
        if key in always or key not in before or old != value:
            if isinstance(value, dict) and isinstance(old, dict):
                value = news(value, old, *always)
            shown[key] = value
    gone = [key for key in before if key not in now]
    return {**shown, "without": gone} if gone else shown


def changes(one: list[str], other: list[str]) -> Iterator[str]:
    """Yield how one conversation differs from another: lines and fields that the other has not."""
    matcher = SequenceMatcher(None, [*map(kind, one)], [*map(kind, other)], autojunk=False)
    for how, a, b, c, d in matcher.get_opcodes():
        if how == "equal":
            for before, after in zip(one[a:b], other[c:d], strict=True):
                yield from field_changes(before, after)
        else:
            yield from (f"- {kind(line)}" for line in one[a:b])
            yield from (f"+ {kind(line)}" for line in other[c:d])


def kind(line: str) -> str:
    """Return what a line is, without its contents."""
    data = parsed(line)
    if not data:
        return line
    inner = data.get("request") or data.get("response") or {}
    names = [data.get("type"), data.get("subtype") or inner.get("subtype")]
    return " ".join([line[:1], *map(str, names), str(inner.get("request_id", ""))]).strip()


def field_changes(before: str, after: str) -> Iterator[str]:
    one, other = dict(flat(parsed(before))), dict(flat(parsed(after)))
    for path in {**one, **other}:
        if one.get(path) != other.get(path):
            yield f"{kind(before)}: {path}: {one.get(path, '')} | {other.get(path, '')}"


def parsed(line: str) -> dict[str, Any]:
    """Return the JSON of a line, which may come after a name; nothing if it has none."""
    start = line.find("{")
    is_json = line.startswith("< {") or (line.startswith("@") and start > 0)
    data: dict[str, Any] = json.loads(line[start:]) if is_json else {}
    return data


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield all leaves of a value with their places; the items of a list are not told apart."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}")
    else:
        yield path, compact(value)


# --- lines of every shape -------------------------------------------------------------------------

USER = {"type": "user", "message": {"role": "user", "content": "Go."}}
ASK = {"type": "control_request", "request": {"subtype": "get_binary_version"}}
ALLOW = {"behavior": "allow", "updatedInput": {"command": "x"}}
SHAPES: list[Any] = [
    b"no JSON",
    b'{"type": "user", "message',
    b' { "type" : "control_request", ',
    b"\xff",
    b"x" * 300,
    b"null",
    b" null ",
    b"[]",
    b"5",
    b"  ",
    {},
    {"type": "odd"},
    {"type": 5},
    USER,
    {"type": "user"},
    {"type": "user", "message": 5},
    {"type": "user", "message": {"role": "user"}},
    {"type": "user", "message": {"role": "user", "content": 5}},
    {"type": "user", "message": {"role": "assistant", "content": "Go."}},
    {"type": "user", "message": {"role": "assistant"}},
    {"type": "user", "message": {"role": 5, "content": "Go."}},
    {"type": "assistant", "message": {"role": "assistant", "content": "Go."}},
    {"type": "user.message", "message": "Go."},
    {"type": "session.create", "prompt": "Go."},
    {"type": "keep_alive"},
    {**ASK, "request_id": "a"},
    ASK,
    {"type": "control_request", "request_id": "a"},
    {"type": "control_request", "request_id": "a", "request": 5},
    {"type": "control_request", "request_id": "a", "request": {}},
    {"type": "control_request", "request": {"subtype": "initialize", "request_id": "a"}},
    {"type": "sdk_control_request", "request_id": "a", "request": {"subtype": "interrupt"}},
    {"type": "control_cancel_request", "request_id": "a"},
    {"type": "control_cancel_request", "request_id": "ASKED"},
    {"type": "control_response", "response": {"subtype": "success", "request_id": "none"}},
    *(
        {"type": "control_response", "response": response}
        for response in (
            {"subtype": "success", "request_id": "ASKED", "response": ALLOW},
            {"subtype": "success", "request_id": "ASKED", "response": {"behavior": "odd"}},
            {"subtype": "success", "request_id": "ASKED"},
            {"subtype": "error", "request_id": "ASKED", "error": "no"},
            {"subtype": "success", "response": ALLOW},
            {"request_id": "ASKED", "response": ALLOW},
            5,
        )
    ),
    {"type": "control_response", "request_id": "ASKED", "response": ALLOW},
    {"type": "callback.response", "request_id": "ASKED", "response": ALLOW},
]
SPEAKING = [(LATEST, "modern"), ("2.0.76", "modern"), (LATEST, "auto"), (LATEST, "session")]


def what_follows(line: Any, cwd: Path, version: str, dialect: str) -> str:
    """Return what the CLI does after a line, while the agent waits for a permission."""
    player = Player(scene, cwd, version=version, dialect=dialect, flags=(*ARGV, *REPLAY))
    del player.serve[CanUseTool]
    player.ask(Initialize())
    player.turn("Start.")
    known = len(player.lines)
    (asked, *_) = [*player.owed, ""]
    text = line if isinstance(line, bytes) else json.dumps(line).encode()
    player.feed(text.replace(b"ASKED", asked.encode()) + b"\n")
    return "".join(f"    {it[:200]}\n" for it in essential(player.text.splitlines()[known:]))


REPLAY = ("--replay-user-messages",)


def essential(lines: list[str]) -> Iterator[str]:
    for line in lines:
        data = parsed(line)
        inner = [data[it] for it in ("message", "response", "error", "content") if it in data]
        told = re.sub('(?<=not JSON: )[^"]*', "…", compact(inner))  # the words are of Python
        if line[0] != "@" or "queue" in line:
            yield f"{kind(line)} {told}" if data else line


def test_what_is_made_of_lines_of_every_shape_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    lines = []
    for at, shape in enumerate(SHAPES):
        text = shape.decode("ascii", "replace") if isinstance(shape, bytes) else compact(shape)
        lines.append(f"$ {text[:200]}\n")
        found: dict[str, list[str]] = {}
        for version, dialect in SPEAKING:
            cwd = tmp_path / f"{at}{version}{dialect}" / "work"
            cwd.mkdir(parents=True)
            name = version if dialect == "modern" else dialect
            found.setdefault(what_follows(shape, cwd, version, dialect), []).append(name)
        lines += [f"  {', '.join(names)}:\n{told}" for told, names in found.items()]
    kept("shapes.txt", "".join(lines))


# --- which ids are the same -----------------------------------------------------------------------

RANDOM = re.compile(
    r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}(?:-[0-9a-f]{4}-[0-9a-f]{12})?"
    r"|(?:msg|req|toolu)_[0-9a-f]{24}|a[0-9a-f]{16}|(?<!-)[0-9a-f]{8}(?!-))\b"
)


def identities(lines: list[str]) -> str:
    """Return which random ids are the same: those that come again have a number, others `new`."""
    found = [(kind(line), list(ids(parsed(line)))) for line in lines]
    count = Counter(id for _, places in found for _, id in places)
    numbers: dict[str, str] = {}
    shown = []
    for name, places in found:
        words = []
        for path, id in places:
            again = count[id] > 1
            words.append(f"{path}={numbers.setdefault(id, str(len(numbers))) if again else 'new'}")
        if words:
            shown.append(f"{name}: {' '.join(words)}\n")
    return "".join(shown)


def ids(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the random ids in a value with their places."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ids(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from ids(inner, path)
    elif isinstance(value, str):
        yield from ((path, it) for it in RANDOM.findall(value))


def test_which_ids_are_the_same_is_as_it_was(kept: Kept, cwd: Path) -> None:
    lines = talked(LATEST, cwd).lines
    for argv in (["--resume", ID], ["--resume", ID, "--fork-session"]):
        player = Player(scene, cwd, argv=argv)
        player.ask(opening())
        player.turn("Three.", "/compact")
        player.end()
        lines += player.lines
    kept("identities.txt", identities([*lines, *interruptions(cwd).lines]))


# --- what it costs --------------------------------------------------------------------------------


def spent(lines: list[str]) -> str:
    """Return every number of tokens and dollars, where it has changed."""
    before: dict[str, str] = {}
    shown = []
    for line in lines:
        name = kind(line)
        found = {path: it for path, it in flat(parsed(line)) if re.search("okens|ost|udget", path)}
        words = [f"{path}={it}" for path, it in found.items() if before.get(name + path) != it]
        before.update({name + path: it for path, it in found.items()})
        if words:
            shown.append(f"{name}: {' '.join(words)}\n")
    return "".join(shown)


def test_what_turns_cost_is_as_it_was(kept: Kept, cwd: Path) -> None:
    async def work(chat: Chat) -> None:
        await scene(chat)
        await chat.use("Read", {"file_path": "a"}, result="long " * 100)
        await chat.subagent("Explore", "Look around", scene)
        await chat.say("That was all. " * 40)

    lines = []
    new, again = ["--session-id", ID], ["--resume", ID, "--include-partial-messages"]
    for argv, more in ((new, ["/compact"]), (again, [])):  # its summary names a file
        player = Player(work, cwd, argv=argv)
        player.ask(opening())
        player.turn("Go.", "Go on.")
        player.ask(SetModel("haiku"), GetSessionCost(), GetContextUsage())
        player.turn("Go on.", *more, "/cost", "Go on.", "/clear", "Go on.")
        player.ask(GetSessionCost(), GetContextUsage(), GetUsage())
        player.end()
        lines += player.lines
    kept("costs.txt", spent(lines))


# --- what the time is -----------------------------------------------------------------------------


def test_what_is_told_of_the_time_is_as_it_was(
    kept: Kept, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = chain([1_700_000_000.0625], repeat(1_700_000_002.5625))
    monkeypatch.setattr("time.time", lambda: next(times))
    lines = []
    for line in talked(LATEST, cwd).lines:
        found = {path: it for path, it in flat(parsed(line)) if re.search(TIMES, path)}
        words = [f"{path}={it}" for path, it in found.items()]
        lines += [f"{kind(line)}: {' '.join(words)}\n"] if words else []
    kept("times.txt", "".join(dict.fromkeys(lines)))


TIMES = "[tT]ime|_ms$|Ms$|Duration|duration"


# --- requests -------------------------------------------------------------------------------------

MORE: list[Body] = [
    EndSession(),
    GetTaskOutput("unknown"),
    McpCall("mcp__calc__add", {"a": 1, "b": 2}),
    McpCall("mcp__calc__add", {"a": 1}),
    McpCall("mcp__none__add"),
    McpReadResource("calc", "a:b"),
    McpReconnect("calc"),
    McpReconnect("none"),
    McpToggle("calc", enabled=False),
    McpSetServers({"other": {"type": "sdk"}, "wrong": {"command": "no-such-program"}}),
    ReadFile("a.txt"),
    ReadFile("a.txt", max_bytes=3, encoding="base64"),
    ReadFile("none.txt"),
    RewindFiles(ID),
    SetModel("claude-other"),
    SetPermissionMode("bypassPermissions"),
    StopTask("unknown"),
    UnknownRequest({"subtype": "from_the_future"}),
]


def requests(version: str, cwd: Path, **options: Any) -> str:
    """Return the answers to all requests, after a turn."""
    (cwd / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    player = Player(scene, cwd, version=version, **options)
    player.ask(opening(), *ANSWERED[1:])
    player.turn("Go.")
    player.ask(*ANSWERED[1:], *MORE[1:], MORE[0])
    player.end()
    return player.text


def test_the_answers_to_all_requests_are_as_they_were(kept: Kept, cwd: Path) -> None:
    kept("requests.txt", brief(requests(LATEST, cwd)))


def test_what_a_strict_cli_answers_is_as_it_was(kept: Kept, cwd: Path) -> None:
    lines = requests(LATEST, cwd, strict=True).splitlines()
    kept("strict.txt", "".join(f"{it}\n" for it in lines if "not simulated" in it))


# --- turns ----------------------------------------------------------------------------------------


def streamed(cwd: Path) -> str:
    argv = ("--include-partial-messages", "--replay-user-messages", "--session-mirror")
    env = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
    return played(scene, cwd, "What is there?", argv=argv, env=env)


def endings(cwd: Path) -> str:
    """Return turns that end in every way."""

    async def end(chat: Chat) -> None:
        how: dict[str, Callable[[], Any]] = {
            "max turns": chat.reach_max_turns,
            "budget": chat.exhaust_budget,
            "raise": lambda: fail({}),
        }
        if chat.text in how:
            how[chat.text]()
        await chat.say("I begin.")
        await chat.fail("No", status=int(chat.text))

    statuses = ("400", "401", "403", "404", "413", "429", "500", "529")
    text = played(end, cwd, "max turns", "budget", *statuses, "raise")
    return "".join(f"{it}\n" for it in text.splitlines() if not it.startswith("!   "))


def limited(flag: str, value: str) -> Case:
    async def work(chat: Chat) -> None:
        for _ in range(3):
            await chat.use("Read", {"file_path": "a"})

    return lambda cwd: played(work, cwd, "Go.", argv=(flag, value), flags=(*ARGV, "--verbose"))


def interrupted(cwd: Path) -> str:
    return interruptions(cwd).text


def interruptions(cwd: Path) -> Player:
    """Return turns that are interrupted when they say something, wait, and use a tool."""

    async def work(chat: Chat) -> None:
        await chat.say(chat.text)
        if chat.text == "tool":
            await chat.use("Bash", {"command": "sleep"}, run=lambda given: waits(chat))
        elif chat.text == "call":
            await chat.call("calc", "add", {"a": 1, "b": 2})
        else:
            await chat.use("Bash", {"command": "make"})

    async def waits(chat: Chat) -> str:
        await Wait("never")
        return ""

    player = Player(work, cwd, serve={CanUseTool: lambda body: None})
    player.ask(opening())
    del player.serve[CanUseTool]
    player.turn("ask")
    player.turn("next", uuid=OTHER)
    player.ask(Interrupt(), Interrupt(cancel_queued=True))
    player.serve[CanUseTool] = answered
    player.turn("tool")
    player.ask(Interrupt())
    player.turn("tool")
    player.turn("now", priority="now")
    del player.serve[McpMessage]
    player.turn("call")
    player.ask(Interrupt())
    player.end()
    return player


def waiting(cwd: Path, version: str = LATEST) -> str:
    """Return turns for which prompts of every priority wait, while the agent asks for something."""

    async def work(chat: Chat) -> None:
        await chat.say(chat.text)
        if chat.text in ("first", "now"):
            await chat.use("Bash", {"command": "make"})
        elif chat.text == "stuck":
            await Wait("what never comes")
        await chat.say("Done.")

    env = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1", "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}
    player = Player(work, cwd, argv=("--replay-user-messages",), env=env, version=version)
    del player.serve[CanUseTool]
    player.ask(opening())
    player.turn("first", uuid=ID)
    for at, priority in enumerate(("next", "later", None, "later", "next", "now", "later")):
        player.turn(f"{priority} {at}", uuid=OTHER[:-1] + str(at), priority=priority)
        if priority == "now":
            player.turn("now", priority="now")
    player.turn("A note.", should_query=False, uuid=OTHER)
    player.catch_up(PermissionResultAllow())
    player.turn("first", "nameless")
    player.catch_up(PermissionResultDeny("No."))
    player.turn("now")
    player.turn("now", uuid=OTHER, priority="now")
    player.catch_up(PermissionResultAllow({}))
    player.turn("stuck")
    player.turn("at once", priority="now")
    player.end()
    return player.text


def ended(cwd: Path) -> str:
    """Return what happens when the input ends while something waits for an answer."""

    async def work(chat: Chat) -> None:
        steps: dict[str, Callable[[], Awaitable[Any]]] = {
            "elicit": lambda: chat.elicit("calc", "Which?", {}),
            "call": lambda: chat.call("calc", "add", {"a": 1, "b": 2}),
            "apart": lambda: chat.subagent("Explore", "Look", asks, background=True),
            "below": lambda: chat.subagent("Explore", "Look", asks),
            "sleep": lambda: chat.sleep(3),
        }
        if chat.text in steps:
            await chat.say(str(await steps[chat.text]()))
        await asks(chat)

    async def asks(chat: Chat) -> None:
        for name in ("one", "two"):
            await chat.say(str(await chat.use("Bash", {"command": name})))
        await chat.say(str(await chat.elicit("calc", "Sure?", {})))

    text = ""
    for name in ("elicit", "call", "use", "apart", "below", "hook", "sleep"):
        player = Player(work, cwd)
        player.ask(opening(*(["UserPromptSubmit"] if name == "hook" else [])))
        for kind in (CanUseTool, McpMessage):
            del player.serve[kind]
        player.turn(name)
        player.turn("queued")
        player.end()
        text += f"$ {name}\n{player.text}"
    return text


def tasks(cwd: Path) -> str:
    """Return what is done with work in the background."""

    async def work(chat: Chat) -> None:
        if chat.text == "start":
            for kind in ("local_bash", "monitor"):
                started.append(chat.start_task(kind, kind=kind))
        elif chat.text == "delegate":
            await chat.subagent("Explore", "Look", sleeps, background=True)
            await chat.subagent("Plan", "Plan", fails, description="Plans", background=True)
        elif chat.text == "below":
            await chat.subagent("Explore", "Look", sleeps)
        elif chat.text == "finish":
            for task, status in zip(started, ("completed", "failed"), strict=True):
                task.finish("over", status=status)
                task.finish("again")
        await chat.say(f"Said: {chat.text}")

    async def sleeps(chat: Chat) -> None:
        await chat.sleep(1.25)
        await chat.use("Bash", {"command": "ls"})

    async def fails(chat: Chat) -> None:
        fail({})

    started: list[Any] = []
    player = Player(work, cwd)
    player.ask(opening())
    del player.serve[CanUseTool]
    player.turn("start", "delegate")
    known = list(player.engine.session.tasks)
    player.ask(*map(GetTaskOutput, known), StopTask(known[1]), StopTask(known[-1]))
    player.ask(StopTask(known[-1]), GetTaskOutput(known[-1]))
    player.turn("finish", "below")
    player.turn("now", priority="now")
    player.catch_up(PermissionResultAllow())
    player.turn("below")
    player.ask(Interrupt())
    player.turn("delegate")
    player.ask(EndSession())
    return "".join(it for it in player.text.splitlines(True) if not it.startswith("!   "))


def in_dialect(dialect: str) -> Case:
    def case(cwd: Path) -> str:
        player = Player(some, cwd, serve=SERVE, dialect=dialect)
        player.ask(opening("Stop"))
        player.turn("Go.", "Never mind.", "/context")
        player.ask(SetModel("opus"), SetPermissionMode("plan"))
        player.feed(b"no JSON\n")
        player.end()
        return _without_transcripts(player.text)

    return case


def _without_transcripts(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("@"))


async def some(chat: Chat) -> None:
    """Do what is told differently in other dialects."""
    await scene(chat)
    await chat.use("Bash", {"command": "false"}, run=fail)
    await chat.call("calc", "add", {"a": 1, "b": 2})
    await chat.ask([{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}])
    await chat.elicit("calc", "Which one?", {"type": "object"})
    await chat.compact()
    await chat.retry()


def failing_in(dialect: str) -> Case:
    async def end(chat: Chat) -> None:
        await chat.fail("No", status=429)

    return lambda cwd: played(end, cwd, "Go.", dialect=dialect)


CASES: dict[str, Case] = {
    "streamed": streamed,
    "endings": endings,
    "max-turns": limited("--max-turns", "2"),
    "max-budget": limited("--max-budget-usd", "0.0005"),
    "interrupts": interrupted,
    "waiting": waiting,
    "waiting-2.0.76": lambda cwd: waiting(cwd, "2.0.76"),
    "ended": ended,
    "tasks": tasks,
    **{f"dialect-{it}": in_dialect(it) for it in ("session", "legacy", "envelope")},
    **{f"failure-{it}": failing_in(it) for it in ("session", "legacy", "envelope")},
}


@pytest.mark.parametrize("name", CASES)
def test_turns_of_every_kind_are_as_they_were(kept: Kept, cwd: Path, name: str) -> None:
    shown = brief if name.startswith("dialect") else brief_turns
    kept(f"{name}.txt", shown(CASES[name](cwd)))


# --- permissions and hooks ------------------------------------------------------------------------

TOOLS = ("Bash", "Edit", "Read", "WebFetch", "mcp__calc__add", "ExitPlanMode", "Skill", "Nothing")


FILE = {"file_path": "a.txt", "a": 1, "b": 2}


async def use_tools(chat: Chat) -> None:
    for name in TOOLS:
        given = {"command": "make all"} if name == "Bash" else FILE
        outcome = await chat.use(name, given, result="done")
        await chat.say(f"{name}: {outcome}")


PERMISSIONS: dict[str, dict[str, Any]] = {
    **{
        mode: {"argv": ("--permission-mode", mode)}
        for mode in ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
    },
    "skip": {"argv": ("--dangerously-skip-permissions",)},
    "rules": {
        "argv": ("--allowedTools", "Bash(make:*) mcp__calc", "--disallowedTools", "WebFetch,Skill"),
    },
    "patterns": {"argv": ("--allowedTools", "Bash(make *)", "mcp__calc__*", "Web*", "Edit(a.*)")},
    "few tools": {"argv": ("--tools", "Bash,Read")},
    "nobody": {"flags": ARGV[:3]},
    "prompt tool": {"flags": (*ARGV[:3], "--permission-prompt-tool=mcp__calc__add")},
    "no such prompt tool": {"flags": (*ARGV[:3], "--permission-prompt-tool=mcp__none__ask")},
}


def replies(*answers: Any) -> Handler:
    """Answer with one after the other, again and again."""
    left = cycle(answers)

    def answer(body: Any) -> Any:
        it = next(left)
        if isinstance(it, Exception):
            raise it
        return it

    return answer


RULE = AddRules([PermissionRule("Bash"), PermissionRule("Edit", "a.txt")], "allow", "session")
ANSWERS: list[Any] = [
    PermissionResultAllow(),
    PermissionResultAllow({"command": "make test"}),
    PermissionResultAllow({}, updated_permissions=[SetMode("acceptEdits", "session")]),
    PermissionResultAllow({}, updated_permissions=[RULE]),
    PermissionResultDeny("Not this."),
    PermissionResultDeny(""),
    RuntimeError("no answer"),
    PermissionResultDeny("Stop.", interrupt=True),
]


async def use_bash(chat: Chat) -> None:
    for at, _ in enumerate(ANSWERS):
        await chat.use("WebFetch", {"url": str(at)}, result="done")
    await chat.use("Bash", {"command": "ls"}, result="done")


PRE = PreToolUseHookSpecificOutput
OUTPUTS: list[Any] = [
    HookOutput(hook_specific_output=PRE(permission_decision="allow", additional_context="More.")),
    HookOutput(hook_specific_output=PRE(permission_decision="deny")),
    HookOutput(
        hook_specific_output=PRE(permission_decision="deny", permission_decision_reason="Why")
    ),
    HookOutput(hook_specific_output=PRE(updated_input={"url": "other"})),
    HookOutput(decision="block"),
    HookOutput(decision="block", reason="Not this."),
    RuntimeError("no output"),
    HookOutput(continue_=False, stop_reason="Enough."),
]
DECISION = PermissionRequestHookSpecificOutput(PermissionResultDeny("By a hook."))


@pytest.mark.parametrize("name", PERMISSIONS)
def test_what_may_run_is_as_it_was(kept: Kept, cwd: Path, name: str) -> None:
    text = played(use_tools, cwd, "Go.", opening=opening(), **PERMISSIONS[name])
    kept(f"permissions-{name.replace(' ', '-')}.txt", essence(text))


def essence(text: str) -> str:
    """Return what is asked, what the model is told, and what is kept of it."""
    shown = ("can_use_tool", "tool_result", "permission_denied", '"type": "result"')
    lines = [line for line in text.splitlines() if any(it in line for it in shown)]
    return brief("\n".join(lines))


@pytest.mark.parametrize("version", ["2.0.76", LATEST])
def test_what_follows_each_answer_is_as_it_was(kept: Kept, cwd: Path, version: str) -> None:
    serve = {CanUseTool: replies(*ANSWERS)}
    kept(
        f"answers-{version}.txt",
        brief_turns(played(use_bash, cwd, "Go.", serve=serve, version=version)),
    )


def test_what_follows_each_output_of_a_hook_is_as_it_was(kept: Kept, cwd: Path) -> None:
    serve = {HookCallback: replies(*OUTPUTS)}
    matchers = {"PreToolUse": [HookMatcher(["hook"], matcher="Web.*", timeout=5)]}
    text = played(use_bash, cwd, "Go.", serve=serve, opening=Initialize(hooks=matchers))
    kept("hook-outputs.txt", brief_turns(text))


def test_a_hook_that_decides_or_blocks_or_is_silent_has_the_effect_it_had(
    kept: Kept, cwd: Path
) -> None:
    hooks = {
        "PermissionRequest": [HookMatcher(["decides"])],
        "UserPromptSubmit": [HookMatcher(["adds"])],
        "PreToolUse": [HookMatcher(["silent"], matcher="Grep", timeout=3)],
        "PostToolUse": [HookMatcher(["fails"], matcher="Read", on_failure="block")],
    }
    more = UserPromptSubmitHookSpecificOutput(additional_context="More.")
    outputs = {
        "decides": HookOutput(hook_specific_output=DECISION),
        "adds": HookOutput(hook_specific_output=more),
        "fails": RuntimeError("no"),
        "silent": NotImplemented,
    }

    def answer(body: HookCallback) -> Any:
        output = outputs[body.callback_id]
        if isinstance(output, Exception):
            raise output
        return output

    async def work(chat: Chat) -> None:
        await chat.say(chat.text)
        await chat.use("Read", {"file_path": "a.txt"}, result="a")
        await chat.use("Grep", {"pattern": "a"})
        await chat.use("Bash", {"command": "ls"})

    player = Player(work, cwd, serve={HookCallback: answer})
    del player.serve[CanUseTool]
    player.ask(Initialize(hooks=hooks))
    player.turn("Go.")
    player.end()
    kept("hooks.txt", brief_turns(player.text))


QUESTIONS = [
    {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]},
    {"question": "More?", "multiSelect": True, "options": [{"label": "C"}, {"label": "D"}]},
]
GIVEN: list[dict[str, Any]] = [
    {},
    {"answers": "wrong"},
    {"answers": {"Which?": "A"}},
    {"answers": {"Which?": "other"}},
    {"answers": {"More?": "C, D"}},
    {"answers": {"More?": ["C", "D"]}},
    {"answers": {"Which?": "A", "More?": "C"}, "annotations": {"Which?": {"notes": "gladly"}}},
    {"answers": {"Which?": "A"}, "annotations": {"Which?": {"preview": "AAA"}}},
    {"annotations": {"Which?": {"notes": "neither"}}},
    {"response": "Something else."},
]


ODD = [5, {}, {"question": 5}, {"question": "Which?"}]


def test_what_the_model_is_told_of_answers_is_as_it_was(kept: Kept) -> None:
    lines = []
    for version in ("2.0.76", LATEST):
        every = [{"questions": QUESTIONS, **it} for it in GIVEN]
        for given in [*every, {"questions": ODD, **GIVEN[2]}, {"answers": {"a": "b"}}]:
            try:
                told = told_of_answers(PERSONAS[version], given)
            except ValueError as error:
                told = f"ValueError: {error}"
            shown = {key: value for key, value in given.items() if key != "questions"}
            lines.append(f"{version} {compact(shown)}\n  {told!r}\n")
    kept("told-of-answers.txt", "".join(lines))
