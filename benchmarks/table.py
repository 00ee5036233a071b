"""What is measured, against what, and which ratio is demanded."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GROUPS", "Figure", "Group", "Row", "Run"]


class Run(NamedTuple):
    """One process: who does what."""

    party: str
    work: str
    quick: str = ""
    """The same, but small: only to see that it runs."""
    seconds: float = 300
    """After how long it is given up."""
    on_one_processor: bool = False
    """Whether it shares one processor with the CLI that it starts."""


class Figure(NamedTuple):
    """What one run has measured."""

    run: str
    name: str


class Row(NamedTuple):
    """One ratio."""

    what: str
    ours: Figure
    against: Figure
    versus: str
    limit: float | None = None
    """The ratio may be this at most; None if nothing is demanded."""


class Group(NamedTuple):
    """Runs that take turns, and the ratios of their figures."""

    name: str
    title: str
    about: str
    """How the figures are taken."""
    rounds: int
    runs: dict[str, Run]
    rows: list[Row]
    unit: str = "s"


OFFICIAL = "official SDK"
FLOOR = "the floor"
BARE = "bare pipe, typed decode"
ITSELF = "itself"
READ = "json.loads of each line"
OURS = "claudewire"


INLINE = "the floor without a task"
DECIDERS = {"async": "async handler", "plain": "plain function", "policy": "Policy rule"}


def _asking(*, on_one_processor: bool) -> dict[str, Run]:
    """Runs in which the fake CLI asks for permissions."""
    works = {
        OFFICIAL: ("official", "permissions"),
        FLOOR: ("bare", "permissions task"),
        INLINE: ("bare", "permissions inline"),
        **{f"{OURS}, {what}": ("ours", f"permissions {it}") for it, what in DECIDERS.items()},
    }
    return {
        name: Run(party, f"{work} 2000", f"{work} 20", on_one_processor=on_one_processor)
        for name, (party, work) in works.items()
    }


def _permissions() -> Group:
    rows = []
    for decider, limit in (("async", 0.7), ("plain", 1.2), ("policy", 0.5)):
        what = DECIDERS[decider]
        for name in ("p50", "p99"):
            ours = Figure(f"{OURS}, {what}", name)
            rows.append(Row(f"{what}, {name}", ours, Figure(OFFICIAL, name), OFFICIAL, limit))
            if decider == "async":
                rows.append(Row(f"{what}, {name}", ours, Figure(FLOOR, name), FLOOR, 2))
    cli, whole = Figure(INLINE, "cli"), Figure(INLINE, "p50")
    rows.append(Row("the fake CLI's own processor time", cli, whole, INLINE))
    about = (
        "The fake CLI asks for 2,000 permissions, one after the other, and measures the time from "
        "writing each request to reading its answer. Both processes share one processor, so that "
        "the work counts, and not how long it takes to wake another processor. The floor is one "
        "persistent `loop.add_reader`, one typed decode, one task for the handler and a direct "
        "`os.write`."
    )
    runs = _asking(on_one_processor=True)
    return Group("permissions", "A permission, there and back", about, 9, runs, rows)


def _wakeups() -> Group:
    rows = [
        Row(f"{what}, p50", Figure(f"{OURS}, {what}", "p50"), Figure(against, "p50"), against)
        for what in DECIDERS.values()
        for against in (OFFICIAL, FLOOR)
    ]
    rows.append(Row(INLINE, Figure(INLINE, "p50"), Figure(OFFICIAL, "p50"), OFFICIAL))
    about = (
        "The same, but each process runs where the system puts it. Most of the time is that in "
        "which a processor that has nothing to do is woken, twice for each permission: it is the "
        "same for all, and depends on the machine."
    )
    runs = _asking(on_one_processor=False)
    return Group("wakeups", "A permission between two processors", about, 5, runs, rows)


def _stream() -> Group:
    ways = {
        "messages asyncio": f"{OURS}, async for",
        "text asyncio": f"{OURS}, iter_text()",
        "blocks asyncio": f"{OURS}, iter_blocks()",
        "messages trio": f"{OURS}, trio",
    }
    runs = {name: Run("ours", f"stream {way} 1", f"stream {way} 1") for way, name in ways.items()}
    runs[f"{OURS}, sync"] = Run("ours", "stream_sync 1", "stream_sync 1")
    runs[OFFICIAL] = Run("official", "stream 1", "stream 1")
    runs[BARE] = Run("bare", "stream typed 1", "stream typed 1")
    runs["bare pipe, nothing decoded"] = Run("bare", "stream unread 1", "stream unread 1")
    first = Figure(f"{OURS}, async for", "turn")
    rows = [
        Row("async for", first, Figure(OFFICIAL, "turn"), OFFICIAL, 1 / 7),
        Row("async for", first, Figure(BARE, "turn"), BARE, 1.8),
        *(
            Row(what, Figure(f"{OURS}, {what}", "turn"), first, "our async for", limit)
            for what, limit in (
                ("iter_text()", 1.5),
                ("iter_blocks()", 2),
                ("trio", 1.4),
                ("sync", 2),
            )
        ),
        Row(
            "the fake CLI alone: read, not decoded",
            Figure("bare pipe, nothing decoded", "turn"),
            Figure(BARE, "turn"),
            BARE,
        ),
    ]
    about = (
        "A turn of 84,000 messages (27 MB: 80,000 pieces of text, 2,000 assistant messages, 2,000 "
        "results of tools), from sending the prompt to the end of the loop, in the second turn of "
        "a session. A seventh of the official SDK's time is seven times its throughput."
    )
    return Group("stream", "A long turn", about, 7, runs, rows)


def _start() -> Group:
    runs = {OURS: Run("start_ours", ""), OFFICIAL: Run("start_official", "")}
    row = Row("user CPU", Figure(OURS, "user"), Figure(OFFICIAL, "user"), OFFICIAL, 0.2)
    about = (
        "The processor's time in user mode from the start of Python until a session with the fake "
        "CLI is open, with compiled modules."
    )
    return Group("start", "The start", about, 25, runs, [row])


def _command() -> Group:
    version, run = f"{OURS} --version", f"{OURS} run"
    nothing, demanded = "a Python that does nothing", "60 ms"
    floor = "simulated CLI to its first text, and our import"
    runs = {
        version: Run("command", "version", "version"),
        nothing: Run("command", "nothing", "nothing"),
        demanded: Run("command", "demanded 60", "demanded 60"),
        run: Run("command", "run", "run"),
        floor: Run("command", "floor", "floor"),
    }
    used = Figure(version, "user")
    rows = [
        Row("--version, user CPU", used, Figure(demanded, "user"), demanded, 1),
        Row("--version, user CPU", used, Figure(nothing, "user"), nothing),
        Row("run, to its first text", Figure(run, "first"), Figure(floor, "first"), floor, 1.5),
    ]
    about = (
        "`claudewire --version`, and the time from the start of `claudewire run --cli simulated` "
        "to its first text, each in a process of its own, with compiled modules."
    )
    return Group("command", "The command", about, 9, runs, rows)


def _simulated() -> Group:
    nothing, version, first = "a Python that does nothing", "--version", "initialize"
    runs = {
        nothing: Run("simulator", "bare", "bare"),
        version: Run("simulator", "version", "version"),
        first: Run("simulator", "start", "start"),
    }
    rows = [
        Row("--version, CPU", Figure(version, "cpu"), Figure(nothing, "cpu"), nothing),
        Row("to `initialize`, CPU", Figure(first, "cpu"), Figure(nothing, "cpu"), nothing, 6),
        Row("to `initialize`", Figure(first, "first"), Figure(nothing, "first"), nothing, 6),
    ]
    about = (
        "`claudewire-sim` from its start to its answer to `initialize`, in a process of its own, "
        "with compiled modules: the time that has passed, and the processor's."
    )
    return Group("simulated", "The start of the simulated CLI", about, 15, runs, rows)


def _simulators() -> Group:
    run = "200 simulated CLIs"
    runs = {run: Run("simulator", "many 200", "many 3")}
    rows = [Row("the largest", Figure(run, "memory"), Figure(run, "at most"), "12 MB", 1)]
    about = (
        "200 processes of `claudewire-sim` are open at once and answer `initialize` and a prompt. "
        "Then the memory of each is looked at: its own, and its share of what it has in common "
        "with others (PSS)."
    )
    return Group("simulators", "Many simulated CLIs", about, 1, runs, rows, "B")


def _tools() -> Group:
    runs, rows = {}, []
    for at_once, what, limit in ((1, "one after the other", 0.15), (10, "ten at once", 0.08)):
        ours, theirs = f"{OURS}, {what}", f"{OFFICIAL}, {what}"
        work, quick = f"tools 500 {at_once}", f"tools 20 {at_once}"
        runs[ours] = Run("ours", work, quick)
        runs[theirs] = Run("official", work, quick)
        rows.append(Row(what, Figure(ours, "each"), Figure(theirs, "each"), OFFICIAL, limit))
    about = (
        "The fake CLI calls an async function as a tool 500 times, and measures the time from "
        "writing the calls to reading all answers."
    )
    return Group("tools", "Tools in the process", about, 7, runs, rows)


def _lines() -> Group:
    runs = {OURS: Run("ours", "long_lines 1 4 16 64", "long_lines 1")}
    rows = [
        Row(f"{size} MB, per MB", Figure(OURS, str(size)), Figure(OURS, "1"), "1 MB", 1.3)
        for size in (4, 16, 64)
    ]
    about = (
        "One assistant message of this length, from the prompt to the reply, the median of five in "
        "one session; the time is divided by the length."
    )
    return Group("lines", "Long lines", about, 5, runs, rows)


def _gigabyte() -> Group:
    runs = {OURS: Run("ours", "gigabyte 46 50000", "gigabyte 3 50")}
    rows = [
        Row(
            "the most, after the first 100 MB",
            Figure(OURS, "late"),
            Figure(OURS, "early"),
            "until then",
            1.1,
        )
    ]
    about = (
        "The resident memory of the process while one turn of 1 GB, in pieces of text, is read "
        "with `async for`."
    )
    return Group("gigabyte", "Memory of a long turn", about, 1, runs, rows, "B")


def _many() -> Group:
    counts = (50, 200, 400)
    runs, rows = {}, []
    for count in counts:
        ours, theirs = f"{OURS}, {count}", f"{OFFICIAL}, {count}"
        work = f"many {count} {400 // count}"
        runs[ours] = Run("ours", work, "many 2 1")
        runs[theirs] = Run("official", work, "many 2 1")
        rows.append(
            Row(f"{count} sessions", Figure(ours, "each"), Figure(theirs, "each"), OFFICIAL, 0.8)
        )
    for count in counts[1:]:
        rows.append(
            Row(
                f"{count} sessions, each",
                Figure(f"{OURS}, {count}", "each"),
                Figure(f"{OURS}, 50", "each"),
                "50 sessions, each",
                1.2,
            )
        )
    about = (
        "So many sessions are opened at once, each is asked for 20 permissions in one turn, and "
        "all are closed, until there were 400 in one process: the processor's time of the host, "
        "divided by their number. 50 sessions at once came before, which are not measured."
    )
    return Group("many", "Many sessions", about, 3, runs, rows)


def _memory() -> Group:
    runs = {
        OURS: Run("ours", "memory 400", "memory 2"),
        OFFICIAL: Run("official", "memory 400", "memory 2"),
    }
    rows = [
        Row(what, Figure(OURS, name), Figure(OFFICIAL, name), OFFICIAL, limit)
        for what, name, limit in (("a session", "each", 1.0), ("the process", "whole", 0.5))
    ]
    about = (
        "The resident memory of the process with 400 open sessions; for one of them, without what "
        "the process had after a first session was closed."
    )
    return Group("memory", "Memory of open sessions", about, 3, runs, rows, "B")


def _turns() -> Group:
    counts = (1, 10, 100, 500)
    runs = {f"{OURS}, {count}": Run("ours", f"turns {count} 1000", "turns 2 2") for count in counts}
    rows = [
        Row(
            f"{count} sessions",
            Figure(f"{OURS}, {count}", "turn"),
            Figure(f"{OURS}, 1", "turn"),
            "1 session",
            1.5,
        )
        for count in counts[1:]
    ]
    about = (
        "The processor's time of one turn, while so many sessions are open in memory and take "
        "turns; the other end is a task of the same process."
    )
    return Group("turns", "Turns beside other sessions", about, 5, runs, rows)


def _pool() -> Group:
    runs = {
        f"{OURS}, warm": Run("ours with a real CLI", "warm 5"),
        f"{OFFICIAL}, cold": Run("official with a real CLI", "cold"),
    }
    rows = [
        Row(
            "opening",
            Figure(f"{OURS}, warm", "open"),
            Figure(f"{OFFICIAL}, cold", "open"),
            f"{OFFICIAL}, cold",
            0.01,
        )
    ]
    about = (
        "CLI 2.1.325, in a cage with a scripted API: `await pool.open()` when the pool is ready, "
        "and opening a session with the official SDK."
    )
    return Group("pool", "A warm pool", about, 3, runs, rows)


FLOODS = [
    "a command of 3 KB",
    "a command of 10 KB",
    "a command of 1 MB",
    "a path of 4 KB",
    "a path of 200 KB",
    "permissions, a rule for each",
    "permissions, async handler",
    "permissions, plain function",
    "permissions, no handler",
    "permissions, all pending",
    "permissions, all withdrawn",
    "permissions with an audit",
    "an edit of 5 MB, with an audit",
    "suggestions of one request",
    "hooks",
    "unknown requests",
    "messages to tools",
    "subagents",
    "background tasks",
    "lists of tasks",
    "subagents that get other names",
    "a recorded line with 800 secrets",
    "a recorded line of 20 MB",
    "a recorded image of 20 MB",
    "a line of 20 MB",
    "a message of 96,000 blocks",
    "a recorded message of 96,000 blocks",
    "a result with 12,000 denials",
    "96,000 lines of noise",
    "nesting, and a number of 960 KB",
    "84,000 pieces of text",
    "84,000 recorded pieces of text",
]


BY_THE_CLOCK = "the longest of all, by the clock"


def _floods() -> Group:
    run = Run("floods", "longest 12000", "longest 40", seconds=3600)
    limit = Figure(OURS, "at most")
    rows = [Row(flood, Figure(OURS, flood), limit, "50 ms", 1) for flood in FLOODS]
    rows.append(Row(BY_THE_CLOCK, Figure(OURS, BY_THE_CLOCK), limit, "50 ms"))
    about = (
        "The longest stall of the event loop while the fake CLI floods it: the most processor time "
        "that the process has used between two rounds of a task that wakes every millisecond, so "
        "that other programs do not count. By the clock they do: on a busy machine that is longer. "
        "Where there is no number, there are 12,000 of a kind, all written at once. The figure in "
        "the column of the others is the limit."
    )
    return Group("floods", "Floods", about, 3, {OURS: run}, rows)


def _conversations() -> Group:
    runs = {OURS: Run("store", "sessions 10000 200000", "sessions 20 20000")}
    json = Figure(OURS, "json")
    rows = [
        Row("list, nothing indexed", Figure(OURS, "cold"), json, READ, 3),
        Row("list, indexed", Figure(OURS, "warm"), json, READ, 0.05),
        Row("search, the median", Figure(OURS, "search"), json, READ, 0.01),
        Row("search, the slowest", Figure(OURS, "slowest search"), json, READ),
        Row("indexing the texts, once", Figure(OURS, "indexing"), json, READ),
    ]
    about = (
        "10,000 generated conversations, 2 GB, most of it output of tools; `json.loads` decodes "
        "each of their lines and keeps nothing. Searches follow each other; one after a pause of "
        "two seconds also looks for changes, which takes half as long as a list."
    )
    return Group("conversations", "Conversations on disk", about, 1, runs, rows)


def _transcript() -> Group:
    runs = {OURS: Run("store", "reading 1000", "reading 1")}
    json = Figure(OURS, "json")
    rows = [
        Row("reading all entries", Figure(OURS, "ours"), json, READ, 3),
        Row("indexing it, once", Figure(OURS, "index"), json, READ, 3),
    ]
    about = (
        "The most resident memory while the 1 GB of one conversation is read entry by entry, and "
        "while each line is decoded by `json.loads`. It has 100,000 messages."
    )
    return Group("transcript", "Memory of a long transcript", about, 1, runs, rows, "B")


GROUPS = [
    _permissions(),
    _wakeups(),
    _stream(),
    _start(),
    _command(),
    _simulated(),
    _simulators(),
    _tools(),
    _lines(),
    _gigabyte(),
    _many(),
    _memory(),
    _turns(),
    _conversations(),
    _transcript(),
    _pool(),
    _floods(),
]
