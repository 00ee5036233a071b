"""client.py against cli.py, and scripted tests of what cli.py reports. Subprocesses only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PYTHON = [sys.executable, "-E", "-s", "-S"]
CLI = [*PYTHON, str(HERE / "cli.py")]
CLIENT = [*PYTHON, str(HERE / "client.py")]
GOOD = [
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--model",
    "sonnet",
    "--permission-mode",
    "default",
    "--permission-prompt-tool",
    "stdio",
    "--setting-sources",
    "user,project,local",
    "--verbose",
]
INIT = {"type": "control_request", "request_id": "i1", "request": {"subtype": "initialize"}}
Json = dict[str, Any]


def prompt(text: Any, **changes: Any) -> Json:
    message = {"role": "user", "content": text}
    line = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "s"}
    return {**line, **changes}


def response(request_id: str, inner: Any, subtype: str = "success") -> Json:
    outer = {"subtype": subtype, "request_id": request_id, "response": inner}
    return {"type": "control_response", "response": outer}


class Cli:
    """One running cli.py with its log."""

    def __init__(self, args: list[str] | None = None, timeout: str = "10") -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.log_path = Path(self.folder.name) / "log"
        env = {**os.environ, "PEER_LOG": str(self.log_path), "PEER_TIMEOUT": timeout}
        command = CLI + (GOOD if args is None else args)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )

    def __enter__(self) -> Cli:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.folder.cleanup()

    def send(self, *lines: Any) -> None:
        assert self.process.stdin is not None
        for line in lines:
            raw = line if isinstance(line, str) else json.dumps(line)
            self.process.stdin.write(raw.encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> Json:
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline()))

    def open(self) -> Json:
        self.send(INIT)
        self.read()
        return self.read()

    def until(self, kind: str) -> list[Json]:
        got = [self.read()]
        while got[-1]["type"] != kind:
            got.append(self.read())
        return got

    def ask(self, flow: str, count: int = 1) -> list[Json]:
        """Send flow:FLOW and return its `count` control requests."""
        self.send(prompt(f"flow:{flow}"))
        return [self.until("control_request")[-1] for _ in range(count)]

    def report(self) -> Json:
        result = self.until("result")[-1]["result"]
        assert result.startswith("report:"), result
        return dict(json.loads(result.removeprefix("report:")))

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(20)

    def log(self, kind: str) -> list[Json]:
        entries = [
            json.loads(line) for line in self.log_path.read_text(encoding="utf-8").splitlines()
        ]
        return [entry for entry in entries if entry["kind"] == kind]

    def deviations(self) -> list[str]:
        return [entry["what"] for entry in self.log("deviation")]


def allow(request: Json, **more: Any) -> Json:
    inner = {"behavior": "allow", "toolUseID": request["request"]["tool_use_id"], **more}
    return response(request["request_id"], inner)


def deny(request: Json, message: str = "no") -> Json:
    tool_use_id = request["request"]["tool_use_id"]
    inner = {"behavior": "deny", "message": message, "toolUseID": tool_use_id}
    return response(request["request_id"], inner)


class ClientAgainstCli(unittest.TestCase):
    def drive(self, flow: str, command: list[str] | None = None) -> Json:
        run = [*CLIENT, flow, "--", *(command or CLI)]
        done = subprocess.run(run, capture_output=True, timeout=60)
        return dict(json.loads(done.stdout))

    def test_every_flow(self) -> None:
        flows = (
            "open turns tool_use permission_allow permission_deny permission_remember "
            "question_single question_multi error unknown_request resume mode_flag shutdown"
        )
        for flow in flows.split():
            with self.subTest(flow=flow):
                report = self.drive(flow)
                assert [c for c in report["checks"] if not c["ok"]] == []
                assert report["exit"] == 0
                assert len(report["checks"]) > 5

    def test_absent_flows(self) -> None:
        for flow in ["streaming", "thinking", "hook", "mcp", "interrupt", "mode", "image"]:
            assert "line" in self.drive(flow)["absent"]

    def test_bad_clis_are_seen(self) -> None:
        answer = 'print(\'{"type":"system","subtype":"init"}\')'
        for program in ("", "print('not json')", answer, "print('[1]')"):
            with self.subTest(program=program):
                report = self.drive("open", [*PYTHON, "-c", program])
                assert [c for c in report["checks"] if not c["ok"]]


class Flows(unittest.TestCase):
    def test_simple_flows(self) -> None:
        flows = (
            "text text_two_messages text_two_blocks tool_use tool_error big text_and_tool "
            "unknown_message usage"
        )
        reports = []
        with Cli() as cli:
            cli.open()
            for flow in flows.split():
                cli.send(prompt(f"flow:{flow}"))
                reports.append(cli.report())
            assert cli.end() == 0
            assert cli.deviations() == []
        assert [report["flow"] for report in reports] == flows.split()
        assert all(report.keys() == {"flow"} for report in reports[:-1])
        assert reports[-1]["total_cost_usd"] == 0.05

    def test_absent_flows(self) -> None:
        flows = [
            "streaming",
            "thinking",
            "permission_interrupt",
            "permission_cancelled",
            "hook_pre_allow",
            "hook_pre_deny",
            "hook_pre_change",
            "hook_post",
            "hook_other",
            "mcp_list",
            "mcp_call",
            "mcp_tool_error",
            "mcp_bad_arguments",
            "mcp_unknown_tool",
            "mcp_unknown_server",
            "interrupt",
            "interrupt_permission",
            "mode",
            "model",
            "error_message",
            "error_in_turn",
            "image",
            "late_init",
        ]
        with Cli() as cli:
            cli.open()
            for flow in flows:
                cli.send(prompt(f"flow:{flow}"))
                assert cli.report() == {"flow": flow, "absent": True}

    def test_order_and_echo(self) -> None:
        with Cli() as cli:
            cli.send(INIT)
            assert cli.read()["response"]["request_id"] == "i1"
            assert cli.read()["subtype"] == "init"
            cli.send(prompt("häl\u2028lo"))
            got = cli.until("result")
            assert [line["type"] for line in got] == ["assistant", "result"]
            assert got[-1]["result"] == "echo: häl\u2028lo"

    def test_permissions(self) -> None:
        with Cli() as cli:
            cli.open()
            (request,) = cli.ask("permission_allow")
            cli.send(allow(request))
            expected: Json = {"behavior": "allow", "input": {"command": "rm -r build"}}
            expected |= {"remembered": [], "flow": "permission_allow"}
            assert cli.report() == expected
            (request,) = cli.ask("permission_change")
            cli.send(allow(request, updatedInput={"command": "ls"}))
            assert cli.report()["input"] == {"command": "ls"}
            (request,) = cli.ask("permission_deny")
            cli.send(deny(request))
            expected = {"behavior": "deny", "message": "no", "flow": "permission_deny"}
            assert cli.report() == expected
            (request,) = cli.ask("permission_remember")
            offered = request["request"]["permission_suggestions"]
            cli.send(allow(request, updatedPermissions=offered[:1]))
            assert cli.report()["remembered"] == offered[:1]
            assert cli.deviations() == []

    def test_parallel(self) -> None:
        with Cli() as cli:
            cli.open()
            requests = cli.ask("permission_parallel", 3)
            cli.send(deny(requests[2], "c"), allow(requests[1]), deny(requests[0], "a"))
            by_id = cli.report()["requests"]
            ids = [request["request"]["tool_use_id"] for request in requests]
            assert [by_id[i]["behavior"] for i in ids] == ["deny", "allow", "deny"]
            assert by_id[ids[0]]["message"] == "a"
            assert cli.deviations() == []

    def answer_question(self, flow: str, answers: Json) -> tuple[Json, list[str], int]:
        with Cli() as cli:
            cli.open()
            (request,) = cli.ask(flow)
            cli.send(allow(request, updatedInput={"answers": answers}))
            return cli.report(), cli.deviations(), len(cli.log("note"))

    def test_questions(self) -> None:
        single = self.answer_question("question_single", {"Which colour?": "Red"})
        assert single[0]["answers"] == {"Which colour?": ["Red"]}
        multi = self.answer_question("question_multi", {"Which colour?": ["Red", "Blue"]})
        assert multi[0]["answers"] == {"Which colour?": ["Red", "Blue"]}
        both = {"Which colour?": "Red", "Which size?": "Large"}
        two = self.answer_question("question_two", both)
        free = self.answer_question("question_free", {"Which colour?": "Mauve"})
        assert free[0]["answers"] == {"Which colour?": ["Mauve"]}
        for report, deviations, _ in (single, multi, two, free):
            assert deviations == []
            assert not report["skipped"]

    def test_wrong_answers(self) -> None:
        for flow, answers in (
            ("question_single", {"Which colour?": ["Red"]}),
            ("question_single", {"Which colour?": "Mauve"}),
            ("question_single", {"Colour": "Red"}),
            ("question_multi", {"Which colour?": "Red"}),
            ("question_multi", {"Which colour?": ["Red", "Mauve"]}),
        ):
            with self.subTest(flow=flow, answers=answers):
                assert len(self.answer_question(flow, answers)[1]) == 1

    def test_question_skipped_and_without_answers(self) -> None:
        with Cli() as cli:
            cli.open()
            (request,) = cli.ask("question_skipped")
            cli.send(deny(request))
            assert cli.report()["skipped"]
            assert cli.deviations() == []
            (request,) = cli.ask("question_single")
            cli.send(allow(request, updatedInput=request["request"]["input"]))
            assert cli.report()["answers"] == {}
            assert cli.deviations() == ["updatedInput.answers is not an object"]
            (request,) = cli.ask("question_single")
            whole = {**request["request"]["input"], "answers": {"Which colour?": "Red"}}
            cli.send(allow(request, updatedInput=whole))
            cli.report()
            assert (len(cli.deviations()), cli.log("extra")) == (1, [])

    def test_failed_results(self) -> None:
        kinds = {
            "failed_max_turns": "error_max_turns",
            "failed_execution": "error_during_execution",
            "failed_max_budget_usd": "error_max_budget_usd",
        }
        with Cli() as cli:
            cli.open()
            for flow, subtype in kinds.items():
                cli.send(prompt(f"flow:{flow}"))
                assert cli.until("result")[-1]["subtype"] == subtype

    def test_session(self) -> None:
        with Cli([*GOOD, "--resume", "sess-9", "--cwd", "/tmp/x", "--max-turns", "3"]) as cli:
            request = {"subtype": "initialize", "systemPrompt": "Be brief", "mcpServers": {}}
            cli.send({**INIT, "request": request})
            cli.until("system")
            cli.send(prompt("flow:session"))
            report = cli.report()
            assert (report["session_id"], report["resumed"]) == ("sess-9", True)
            assert (report["system_prompt"], report["cwd"]) == ("Be brief", "/tmp/x")
            assert report["extra"]["max_turns"] == "3"
            assert cli.deviations() == []

    def test_strange_requests(self) -> None:
        with Cli(timeout="1") as cli:
            cli.open()
            for flow in ("unknown_request", "malformed_request"):
                (request,) = cli.ask(flow)
                answer = response(request["request_id"], None, "error")
                cli.send(answer)
                assert cli.report() == {"flow": flow, "answer": answer}
            cli.ask("unknown_request")
            assert cli.report()["answer"] is None
            assert cli.deviations() == []

    def test_noise(self) -> None:
        with Cli() as cli:
            cli.open()
            cli.send(prompt("flow:noise"))
            assert cli.process.stdout is not None
            assert cli.process.stdout.readline() == b"not json\n"
            assert cli.process.stdout.readline() == b"\n"
            assert cli.report() == {"flow": "noise"}

    def test_endings(self) -> None:
        for flow, code, stderr in (("die", 7, b"boom\n"), ("die_at_once", 9, b"")):
            with Cli() as cli:
                cli.open()
                cli.send(prompt(f"flow:{flow}"))
                out, err = cli.process.communicate(timeout=20)
                assert (cli.process.returncode, err) == (code, stderr)
                assert bool(out) == (flow == "die")
        with Cli() as cli:
            cli.open()
            cli.send(prompt("flow:close_stdout"))
            assert cli.process.stdout is not None
            assert cli.process.stdout.readline() == b""
            assert cli.process.poll() is None
            assert cli.end() == 0

    def test_no_answer(self) -> None:
        with Cli(timeout="0.5") as cli:
            cli.open()
            cli.ask("permission_allow")
            assert cli.process.wait(20) == 3
            assert cli.deviations() == ["no answer to can_use_tool"]


class Deviations(unittest.TestCase):
    def one(self, part: str, seen: list[str]) -> None:
        assert len(seen) == 1, seen
        assert part in seen[0]

    def test_arguments(self) -> None:
        def without(flag: str, words: int = 2) -> list[str]:
            at = GOOD.index(flag)
            return GOOD[:at] + GOOD[at + words :]

        for args, part in (
            (without("--output-format"), "--output-format is missing"),
            (without("--input-format"), "--input-format is missing"),
            (without("--permission-prompt-tool"), "--permission-prompt-tool is missing"),
            (without("--verbose", 1), "--verbose is missing"),
            ([*without("--output-format"), "--output-format", "json"], "'json'"),
            ([*without("--permission-mode"), "--permission-mode", "dontAsk"], "'dontAsk'"),
            ([*without("--setting-sources"), "--setting-sources", "user,team"], "'user,team'"),
            ([*GOOD, "--max-turns", "many"], "'many'"),
            ([*GOOD, "--max-budget-usd", "x"], "'x'"),
            ([*GOOD, "--model", "opus"], "--model is given twice"),
            ([*GOOD, "--resume"], "--resume has no value"),
        ):
            with self.subTest(args=args), Cli(args) as cli:
                assert cli.end() == 0
                self.one(part, cli.deviations())

    def test_permitted_arguments(self) -> None:
        more = ["--setting-sources", "", "--max-budget-usd", "0.5", "--frob", "a", "--print"]
        base = [word for word in GOOD if word not in ("--setting-sources", "user,project,local")]
        with Cli(base + more) as cli:
            cli.end()
            assert cli.deviations() == []
            flags = [(entry["flag"], entry["value"]) for entry in cli.log("unknown_flag")]
            assert flags == [("--frob", "a"), ("--print", None)]

    def after_open(self, *lines: Any) -> tuple[list[str], list[str]]:
        with Cli() as cli:
            cli.open()
            cli.send(*lines)
            assert cli.end() == 0
            return cli.deviations(), [entry["what"] for entry in cli.log("extra")]

    def test_lines(self) -> None:
        bare: Json = {"type": "user", "message": {"role": "user", "content": "x"}}
        blocks = [{"type": "text", "text": "flow:image"}]
        interrupt = {**INIT, "request": {"subtype": "interrupt"}}
        cases: list[tuple[Any, str]] = [
            ("not json", "not JSON"),
            ("", "not JSON"),
            ("[1]", "type None"),
            ({"type": "keep_alive"}, "'keep_alive'"),
            ({"no": "type"}, "type None"),
            (INIT, "initialize sent twice"),
            (interrupt, "'interrupt'"),
            ({**bare, "parent_tool_use_id": None}, "session_id is missing"),
            ({**bare, "session_id": "s"}, "parent_tool_use_id is missing"),
            (prompt("x", session_id=None), "session_id is not a string"),
            (prompt(blocks), "message.content is not a string"),
            (prompt("x", message={"content": "x"}), "message.role is missing"),
            (prompt("x", message={"role": "human", "content": "x"}), "'human'"),
            (response("nobody", {"behavior": "allow", "toolUseID": "t"}), "matches no request"),
        ]
        seen, _ = self.after_open(*(line for line, _ in cases))
        assert len(seen) == len(cases), seen
        for (line, part), what in zip(cases, seen, strict=True):
            with self.subTest(line=line):
                assert part in what

    def test_extra_fields(self) -> None:
        deviations, extra = self.after_open(prompt("x", uuid="u"))
        assert (deviations, extra) == ([], ["uuid"])

    def test_initialize(self) -> None:
        for name, value in (
            ("systemPrompt", {"preset": "x"}),
            ("mcpServers", []),
            ("agents", None),
            ("hooks", []),
        ):
            with self.subTest(name=name), Cli() as cli:
                cli.send({**INIT, "request": {"subtype": "initialize", name: value}})
                cli.end()
                self.one(f"request.{name} is not", cli.deviations())
        with Cli() as cli:
            cli.send({"type": "control_request", "request": {"subtype": "initialize"}})
            cli.end()
            self.one("request_id is missing", cli.deviations())

    def test_order(self) -> None:
        with Cli() as cli:
            cli.send(prompt("hello"))
            cli.until("result")
            self.one("a prompt before initialize", cli.deviations())
        with Cli() as cli:
            cli.send(INIT, prompt("hello"))
            assert cli.until("result")[0]["type"] == "control_response"
            self.one("before the answer to initialize", cli.deviations())

    def test_decisions(self) -> None:
        cases: list[tuple[Json, str]] = [
            ({"toolUseID": "other"}, "toolUseID differs"),
            ({"toolUseID": None}, "toolUseID is not a string"),
            ({"behavior": "maybe"}, "'maybe'"),
            ({"behavior": "deny"}, "message is missing"),
            ({"updatedInput": "ls"}, "updatedInput is not an object"),
            ({"updatedPermissions": {}}, "updatedPermissions is not a list"),
            ({"updatedPermissions": [None]}, "updatedPermissions[0] is not an object"),
        ]
        with Cli() as cli:
            cli.open()
            for number, (change, part) in enumerate(cases):
                with self.subTest(change=change):
                    (request,) = cli.ask("permission_allow")
                    cli.send(allow(request, **change))
                    cli.report()
                    self.one(part, cli.deviations()[number:])

    def test_failing_and_double_answers(self) -> None:
        with Cli() as cli:
            cli.open()
            (request,) = cli.ask("permission_allow")
            inner = {"subtype": "error", "request_id": request["request_id"], "error": "no"}
            answer = {"type": "control_response", "response": inner}
            cli.send({**INIT, "request": {"subtype": "interrupt"}}, answer, answer)
            assert cli.report()["behavior"] is None
            cli.end()
            seen = cli.deviations()
            assert "'interrupt'" in seen[0]
            assert any("'error'" in what for what in seen)
            assert "a request is answered twice" in seen


if __name__ == "__main__":
    unittest.main()
