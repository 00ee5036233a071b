"""What rules say about uses of all tools, and which hosts there are: see tests/helpers/kept.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.helpers.kept import Kept

from claudewire.policy import Policy
from claudewire.policy.decisions import digest
from claudewire.policy.policy import MODES
from claudewire.policy.tool_use import _hosts_in, _number, _plain_host, host_matches

LONG = "x" * 10_001

RULES: dict[str, list[str]] = {
    "PowerShell": ["PowerShell(ls)", "PowerShell(git push:*)", "PowerShell(rm *)"],
    "WebFetch": [
        "WebFetch(domain:a.org)",
        "WebFetch(domain:*.b.org)",
        "WebFetch(domain:127.0.0.1)",
    ],
    "Agent": ["Agent(Explore)", "Agent(My*)", "Agent(model:opus)", "Agent(general-purpose)"],
    "Task": ["Task(Explore)"],
    "Skill": ["Skill(pdf)", "Skill(commit:*)", "Skill(review *)", "Skill(a b)"],
    "Bash": ["Bash(ls)", "Bash(timeout:5)", "Bash(run_in_background:true)", "Bash(git push:*)"],
    "Glob": ["Read(src/**)", "Glob(src/**)", "Read(!src/x)"],
    "Read": ["Read(src/**)", "Read(src/[a)"],
    "Write": ["Edit(src/**)", "Write(a)", "Read(secret)"],
    "mcp__a__b": ["mcp__a", "mcp__a__*", "mcp__a__b(x:1)", "mcp__a__b(y:t*)"],
    "Unheard": ["Unheard", "Unheard(x:true)", "Un*"],
}
USES: dict[str, list[dict[str, Any]]] = {
    "PowerShell": [
        *(
            {"command": it}
            for it in ("ls", "LS", "ls; x", "x | ls", "git push", "git push a", "rm", "rm a")
        ),
        *({"command": it} for it in ("x(rm a)", LONG, "y", None, 5)),
    ],
    "WebFetch": [
        *(
            {"url": it}
            for it in ("https://a.org", "http://a.org/x", "https://x.a.org", "https://b.org")
        ),
        *(
            {"url": it}
            for it in ("https://x.b.org:80", "https://x@a.org", "http://127.1", LONG, "a")
        ),
        {},
    ],
    "Agent": [
        *({"subagent_type": it} for it in ("Explore", "MyOne", "general-purpose", "explore", LONG)),
        {"model": "opus"},
        {},
    ],
    "Task": [{"subagent_type": "Explore"}, {}],
    "Skill": [
        *({"skill": it} for it in ("pdf", "/pdf", "commit", "commits", "review", LONG, "a")),
        {"skill": "pdf", "args": "x"},
        {"skill": "commit", "args": "x"},
        {"skill": "review", "args": "x y"},
        {"skill": "a", "args": "b"},
        {"skill": "a", "args": 5},
        {"command": "pdf"},
        {"command": "pdf", "skill": "other"},
        {},
    ],
    "Bash": [
        {"command": "ls"},
        {"command": " ls\n"},
        {"command": "ls x", "timeout": 5},
        {"command": "ls x", "timeout": 50},
        {"command": "x", "run_in_background": True},
        {"command": "x", "run_in_background": False},
        {"command": "x", "run_in_background": None},
        {"command": "git push " + LONG},
        {},
    ],
    "Glob": [
        *(
            {"pattern": it}
            for it in ("*.py", "src/*.py", "src", "/etc/*", "*/../x", "src/{a,b}", 5)
        ),
        {"pattern": "*", "path": "src"},
        {"pattern": "deep/*", "path": "src"},
        {"path": "src"},
        {},
    ],
    "Read": [
        *({"file_path": it} for it in ("src/a", "src/[a", "other", "src/../x", "", None, 5)),
        {"path": "src/a"},
        {"filePath": "src/a"},
        {"notebook_path": "src/a"},
    ],
    "Write": [
        *({"file_path": it} for it in ("src/a", "a", "secret", "src/.git/x", ".git/x", None)),
    ],
    "mcp__a__b": [{"x": 1}, {"x": "1"}, {"y": True}, {"y": "tx"}, {"y": [1]}, {"x": 1.0}, {}],
    "Unheard": [{"x": True}, {"x": "true"}, {"x": False}, {}],
}


def uses() -> Iterator[str]:
    for tool, rules in RULES.items():
        for rule in rules:
            for name in ("allow", "ask", "deny"):
                yield f"{name} {rule}"
                try:
                    policy = Policy(
                        **{name: [rule]},  # type: ignore[arg-type]
                        default="ask" if name == "allow" else "allow",
                        cwd="/work",
                        home="/home/me",
                        realpath=str,
                    )
                except ValueError as error:
                    yield f"    {error}"
                    continue
                for given in USES[tool]:
                    it = policy.decide(tool, given)
                    told = f"{given}: {it} | {it.rule} | {it.part}"
                    yield "    " + told.replace(LONG, "LONG")


def test_what_is_decided_about_each_use_is_as_it_was(kept: Kept) -> None:
    kept("uses.txt", "".join(f"{line}\n" for line in uses()))


def test_what_each_mode_decides_is_as_it_was(kept: Kept) -> None:
    lines = []
    for mode in (None, *MODES):
        for default in ("ask", "allow", "deny"):
            policy = Policy(
                ["Edit(in/**)", "AskUserQuestion"],
                deny=["Read(**/*.key)"],
                default=default,
                mode=mode,
                cwd="/work",
                home="/home/me",
                directories=["/more"],
                realpath=str,
            )
            for tool, given in (
                ("Read", {"file_path": "/work/a"}),
                ("Read", {"file_path": "/more/a"}),
                ("Read", {"file_path": "/else/a"}),
                ("Write", {"file_path": "/work/a"}),
                ("Write", {"file_path": "/work/in/a"}),
                ("Write", {"file_path": "/work/.git/a"}),
                ("Write", {"file_path": 5}),
                ("Glob", {"pattern": "*.key"}),
                ("Bash", {"command": "ls"}),
                ("Bash", {"command": "rm -rf /"}),
                ("Bash", {"command": "cat $x"}),
                ("AskUserQuestion", {}),
                ("ExitPlanMode", {}),
                ("Unheard", {}),
            ):
                lines.append(f"{mode} {default} {tool} {given}: {policy.decide(tool, given)}\n")
    kept("modes.txt", "".join(lines))


HOSTS = [
    *("a.org", "A.org", "a.org.", "x.a.org", "aa.org", "localhost", "1", "1.2", "1.2.3", "1.2.3.4"),
    *(
        "1.2.3.4.5",
        "256.1",
        "255.1",
        "1.16777216",
        "1.16777215",
        "1.2.65536",
        "1.2.65535",
        "1.2.3.256",
    ),
    *("4294967296", "4294967295", "0x7f.1", "0X7F.1", "017.1", "08.1", "0", "0x", "-1", "1.-2"),
    *(
        "::1",
        "::ffff:7f00:1",
        "2002:7f00:1::",
        "[::1]",
        "0" * 40 + "1",
        "0" * 39 + "1",
        "127.0.0.1",
    ),
    "",
]
URLS = [
    *("https://a.org", "http://a.org", "ftp://a.org", "HTTPS://A.ORG/x", "https://a.org.", "a.org"),
    *("https://a.org:80/x?y#z", "https://a.org:123456", "https://x@a.org", "https://x:y@a.org/"),
    *(
        "https://a.org\\@b.org",
        "https://a.org b",
        "https://a.org\t",
        "https://\u00e4.org",
        "//a.org",
    ),
    *(
        "https://127.0.0.1",
        "https://127.1",
        "https://0x7f000001/",
        "https://2130706433",
        "https://",
    ),
    *("https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://a%2eorg", "https://a\u3002org"),
    *(
        "https://a.org?b.org",
        "https://a.org#@b.org",
        "https://a.org/@b.org",
        "https:/a.org",
        "x/a.b",
    ),
    *("https://a\u017f.org", "https://\u212aa.org", "https://a.org/\u00fc", "https:\\\\a.org"),
    *("https://x.org\\a.org", "\\\\a.org", "https://a.org\\.b.org", "https://x.org\\@a.org:80"),
    *("https://\u200ba.org", "https://[x", "localhost:80", "https://-a.org", "https://a_b.org"),
]
DOMAINS = ("*", "a.org", "A.org.", "*.a.org", "*a.org", "a.*", "*.*", "x.*.org", "127.1", "1*")


def test_which_hosts_there_are_is_as_it_was(kept: Kept) -> None:
    lines = [f"{it}: {_number(it)}" for it in HOSTS]
    lines += [f"{url!r}: {_plain_host(url)} {sorted(_hosts_in(url))}" for url in URLS]
    for domain in DOMAINS:
        lines.append(f"{domain}: {[it for it in HOSTS if host_matches(domain, it)]}")
    kept("hosts.txt", "".join(f"{line}\n" for line in lines))


def test_a_digest_is_that_of_the_shortest_json_in_the_order_of_its_keys() -> None:
    from hashlib import sha256

    given = {"b": [1, {"z": None, "y": "é\ud800"}], "a": object}
    text = '{"a":"<class \'object\'>","b":[1,{"y":"é\ud800","z":null}]}'
    assert digest(given) == sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
