"""Tests of the two peers of document 004, by subprocess only."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
PYTHON = [sys.executable, "-E", "-s", "-S"]
CLI = [*PYTHON, str(HERE / "cli.py")]
CLIENT = [*PYTHON, str(HERE / "client.py")]
FLAGS = [
    *("--input-format", "stream-json", "--output-format", "stream-json"),
    *("--verbose", "--permission-prompt-tool", "stdio"),
]
ABSENT = [
    *("thinking", "permission_parallel", "permission_interrupt", "permission_cancelled"),
    *("hook_pre_allow", "hook_post", "hook_other", "mcp_list", "mcp_call", "mode", "model"),
    *("failed_max_turns", "failed_execution", "late_init"),
]
Json = dict[str, Any]


def user(text: str, **more: Any) -> Json:
    content = [{"type": "text", "text": text}]
    message = {"role": "user", "content": content}
    return {"type": "user", "session_id": "", "message": message, "parent_tool_use_id": None} | more


def interrupt(request_id: str = "i1") -> Json:
    request = {"subtype": "interrupt"}
    return {"type": "control_request", "request_id": request_id, "request": request}


def respond(request: Json, **fields: Any) -> Json:
    inner = {**fields, "toolUseID": request["request"].get("tool_use_id")}
    outer = {"subtype": "success", "request_id": request.get("request_id"), "response": inner}
    return {"type": "control_response", "response": outer}


class Run:
    """One process of cli.py and its log."""

    def __init__(self, flags: list[str] | None = None, **env: str) -> None:
        handle, self.log_path = tempfile.mkstemp(suffix=".jsonl")
        os.close(handle)
        self.process = subprocess.Popen(
            CLI + (FLAGS if flags is None else flags),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PEER_LOG": self.log_path, **env},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        os.unlink(self.log_path)

    def send(self, line: Json | str) -> None:
        text = line if isinstance(line, str) else json.dumps(line) + "\n"
        self.stdin.write(text.encode())
        self.stdin.flush()

    def read(self) -> Json:
        line: Json = json.loads(self.stdout.readline())
        return line

    def until(self, kind: str) -> Json:
        while (line := self.read())["type"] != kind:
            pass
        return line

    def request(self, flow: str) -> Json:
        self.send(user(f"flow:{flow}"))
        return inner(self.until("control_request"))

    def last_text(self) -> str:
        while True:
            message = self.until("assistant").get("message", {})
            if message.get("stop_reason") == "end_turn":
                return str(message["content"][-1]["text"])

    def report(self) -> Json:
        text = self.last_text()
        assert text.startswith("report:"), text
        value: Json = json.loads(text.removeprefix("report:"))
        assert text == "report:" + json.dumps(value, sort_keys=True, separators=(",", ":"))
        return value

    def close(self) -> int:
        if not self.stdin.closed:
            self.stdin.close()
        code = self.process.wait(30)
        self.stdout.close()
        return code

    def log(self, kind: str) -> list[Json]:
        lines = [
            json.loads(text)
            for text in Path(self.log_path).read_text(encoding="utf-8").splitlines()
        ]
        return [line for line in lines if line["kind"] == kind]


def inner(line: Json) -> Json:
    nested = line.get("message", line)
    assert isinstance(nested, dict)
    return nested


class ClientAgainstCli(unittest.TestCase):
    def drive(self, flow: str, *command: str) -> Json:
        words = [*CLIENT, flow, "--", *(command or CLI)]
        done = subprocess.run(words, capture_output=True, timeout=100, check=True)
        result: Json = json.loads(done.stdout)
        return result

    def test_shared_flows(self) -> None:
        flows = [
            *("open", "turns", "streaming", "tool_use", "permission_allow", "permission_deny"),
            *("permission_remember", "question_single", "question_multi", "interrupt"),
            *("unknown_request", "malformed", "error", "blocks", "shutdown"),
        ]
        for flow in flows:
            with self.subTest(flow):
                result = self.drive(flow)
                bad = [check for check in result["checks"] if not check["ok"]]
                assert (result["flow"], result["exit"], bad) == (flow, 0, [])
                assert result["checks"]

    def test_absent_flows(self) -> None:
        for flow in ("thinking", "hook", "mcp", "mode", "image", "resume"):
            assert self.drive(flow)["absent"]

    def test_client_sees_a_bad_cli(self) -> None:
        script = (
            "import sys; print('{\"type\":\"system\"}', flush=True); print('no json', flush=True);"
            'sys.stdin.readline(); print(\'{"type":"assistant","message":{"role":"user",'
            '"content":"x","stop_reason":"end_turn"}}\', flush=True); sys.exit(5)'
        )
        result = self.drive("shutdown", *PYTHON, "-c", script)
        bad = {check["name"] for check in result["checks"] if not check["ok"]}
        assert result["exit"] == 5
        wanted = {
            "Each type is one that the document has.",
            "Each line is one JSON object.",
            "message.role is assistant.",
            "message.content is an array of blocks.",
            "The echo of the prompt comes before the answer.",
            "The prompt is echoed.",
            "The CLI exits with 0 at the end of input.",
        }
        assert bad == wanted


class CliFlows(unittest.TestCase):
    def test_simple_flows(self) -> None:
        with Run() as run:
            run.send(user("hello"))
            echo = run.read()
            assert echo == {"type": "user", "message": user("hello")["message"]}
            assert run.last_text() == "echo: hello"
            names = ["text", "text_short", "tool_use", "tool_error", "stderr_flood"]
            for name in [*names, "unknown_message", "streaming", "usage", "session", "big"]:
                run.send(user(f"flow:{name}"))
                assert run.report()["flow"] == name
            for name in ABSENT:
                run.send(user(f"flow:{name}"))
                assert run.report() == {"flow": name, "absent": True}
            assert run.close() == 0
            assert run.log("deviation") + run.log("extra") == []

    def test_noise(self) -> None:
        with Run() as run:
            run.send(user("flow:noise"))
            run.read()
            assert (run.stdout.readline(), run.stdout.readline()) == (b"not json\n", b"\n")
            assert run.report() == {"flow": "noise"}

    def test_permissions_in_both_forms(self) -> None:
        with Run() as run:
            for name in ("permission_allow", "permission_allow_flat", "permission_change"):
                request = run.request(name)
                run.send(respond(request, behavior="allow", updatedInput={"command": "x"}))
                result = {"flow": name, "behavior": "allow", "input": {"command": "x"}}
                assert run.report() == result
            run.send(respond(run.request("permission_deny"), behavior="deny", message="no"))
            result = {"flow": "permission_deny", "behavior": "deny", "message": "no"}
            assert run.report() == result
            request = run.request("permission_remember")
            assert len(request["request"]["permission_suggestions"]) == 2
            run.send(respond(request, behavior="deny"))
            assert run.report()["remembered"] == []
            request = run.request("permission_sequence")
            for _ in range(2):
                run.send(respond(request, behavior="deny"))
                request = inner(run.until("control_request"))
            run.send(respond(request, behavior="deny"))
            assert len(run.report()["requests"]) == 3
            run.send(respond(run.request("example"), behavior="deny"))
            assert run.report()["behavior"] == "deny"
            run.close()
            assert run.log("deviation") + run.log("extra") == []

    def test_questions(self) -> None:
        cases: list[tuple[str, Json, Json]] = [
            ("question_single", {"0": "Red"}, {"Which colour?": ["Red"]}),
            ("question_multi_nested", {"0": ["Red", "Blue"]}, {"Which colour?": ["Red", "Blue"]}),
            ("question_free", {"0": "Mauve"}, {"Which colour?": ["Mauve"]}),
            (
                "question_two",
                {"0": "Red", "1": "Small"},
                {"Which colour?": ["Red"], "Which size?": ["Small"]},
            ),
        ]
        with Run() as run:
            for name, answers, normal in cases:
                request = run.request(name)
                updated = {"answers": answers}
                run.send(respond(request, behavior="allow", updatedInput=updated))
                report = run.report()
                assert (report["answers"], report["skipped"]) == (normal, False)
            run.send(respond(run.request("question_skipped"), behavior="deny"))
            assert run.report()["skipped"]
            request = run.request("question_without_id")
            assert "request_id" not in request
            run.send(respond(request, behavior="deny"))
            assert run.report()["answer"]["type"] == "control_response"
            run.close()
            assert run.log("deviation") + run.log("extra") == []

    def test_interrupts(self) -> None:
        with Run() as run:
            run.send(user("flow:interrupt"))
            assert run.until("assistant")["message"]["content"][0]["text"] == "working"
            run.send(interrupt("a"))
            assert run.report() == {"flow": "interrupt", "interrupted": True}
            run.send(user("flow:interrupt_answered"))
            run.send(interrupt("b"))
            assert run.until("control_response")["response"]["request_id"] == "b"
            assert run.report()["interrupted"]
            run.send(user("flow:interrupt_silent"))
            run.send(interrupt("c"))
            request = run.request("interrupt_permission")
            run.send(interrupt("d"))
            result = {"flow": "interrupt_permission", "interrupted": True, "answered": False}
            assert run.report() == result
            run.send(respond(request, behavior="deny"))
            run.request("permission_allow")
            run.send(interrupt("e"))
            assert run.report() == {"flow": "permission_allow", "interrupted": True}
            run.send(interrupt("f"))
            run.close()
            assert run.log("deviation") == []
            assert len(run.log("note")) == 2

    def test_errors_and_odd_requests(self) -> None:
        with Run(PEER_WAIT="1") as run:
            run.send(user("flow:error_message"))
            error = {"type": "invalid_request", "message": "Description of what went wrong"}
            assert run.until("error")["error"] == error
            run.send(user("flow:error_in_turn"))
            run.until("assistant")
            run.until("error")
            run.send(user("flow:unknown_request"))
            assert run.report()["answer"] is None
            answer = {"subtype": "error", "request_id": "?", "error": "missing"}
            answer["request_id"] = run.request("malformed_request")["request_id"]
            run.send({"type": "control_response", "response": answer})
            assert run.report()["answer"]["response"] == answer
            run.close()
            assert run.log("deviation") == []

    def test_image_and_model(self) -> None:
        with Run([*FLAGS, "--model", "m1"]) as run:
            data = base64.b64encode(b"1234567").decode()
            source = {"type": "base64", "media_type": "image/png", "data": data}
            line = user("flow:image")
            line["message"]["content"].append({"type": "image", "source": source})
            run.send(line)
            images = [{"media_type": "image/png", "bytes": 7}]
            assert run.report() == {"flow": "image", "images": images}
            run.send(user("flow:model_flag"))
            assert run.report()["model"] == "m1"
            run.close()
            assert (len(run.log("extra")), run.log("deviation")) == (1, [])

    def test_ends(self) -> None:
        for name, code in (("die", 7), ("die_at_once", 9), ("close_stdout", 0)):
            with Run() as run:
                run.send(user(f"flow:{name}"))
                rest = run.stdout.read()
                assert (rest == b"") == (name == "die_at_once")
                assert (run.process.poll() if name == "close_stdout" else None) is None
                assert run.close() == code

    def test_no_answer(self) -> None:
        with Run(PEER_WAIT="0.3") as run:
            run.request("permission_allow")
            assert run.process.wait(10) == 3
            assert "line 341" in run.log("deviation")[0]["rule"]


class CliDeviations(unittest.TestCase):
    def rules(self, *lines: Json | str) -> list[str]:
        with Run() as run:
            for line in lines:
                run.send(line)
            run.close()
            return [found["rule"].split(":")[0] for found in run.log("deviation")]

    def test_command_line(self) -> None:
        cases: list[tuple[list[str], int, int]] = [
            (FLAGS, 0, 0),
            ([], 4, 0),
            (["--input-format", "text", *FLAGS[2:]], 1, 0),
            ([*FLAGS, "--print", "--max-turns", "3", "word"], 0, 3),
            ([*FLAGS, "--model"], 2, 0),
        ]
        for flags, deviations, unknown in cases:
            with Run(flags) as run:
                run.close()
                found = (len(run.log("deviation")), len(run.log("unknown_flag")))
                assert found == (deviations, unknown), flags

    def test_lines(self) -> None:
        assert self.rules("not json\n") == ["line 13"]
        assert self.rules("\n") == ["line 13"]
        assert self.rules("[]\n") == ["line 13"]
        assert self.rules(json.dumps(user("a"))) == ["line 340"]
        assert self.rules({"type": "other"}) == ["lines 19, 47, 64"]

    def test_user_messages(self) -> None:
        def content(value: Any) -> Json:
            return user("", message={"role": "user", "content": value})

        assert self.rules(user("a", session_id=None)) == ["line 42"]
        assert self.rules(user("a", parent_tool_use_id=3)) == ["line 45"]
        assert self.rules(user("a", message="x")) == ["line 27"]
        wrong_role = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
        assert self.rules(user("a", message=wrong_role)) == ["line 43"]
        assert self.rules(content("a")) == ["line 44"]
        assert self.rules(content([])) == ["line 44"]
        assert self.rules(content(["a"])) == ["line 44"]
        assert self.rules(content([{"type": "text"}])) == ["line 32"]
        assert self.rules(content([{"text": "a"}])) == ["line 31"]

    def test_control_requests(self) -> None:
        assert self.rules(interrupt("a"), interrupt("a")) == ["line 54"]
        assert self.rules({**interrupt(), "request_id": 1}) == ["line 54"]
        assert self.rules({**interrupt(), "request": 1}) == ["line 55"]
        other = {**interrupt(), "request": {"subtype": "initialize"}}
        assert self.rules(other) == ["line 61-62"]
        assert self.rules({"type": "control_response"}) == ["line 72"]
        stray = respond({"request_id": "x", "request": {}}, behavior="deny")
        assert self.rules(stray) == ["line 74"]

    def answer_rules(self, flow: str, change: Json, twice: bool = False, **inner: Any) -> list[str]:
        """The deviations for one answer; `change` replaces fields of the outer response."""
        with Run() as run:
            line = respond(run.request(flow), **inner)
            line["response"].update(change)
            if "toolUseID" in inner:
                line["response"]["response"]["toolUseID"] = inner["toolUseID"]
            for _ in range(2 if twice else 1):
                run.send(line)
            run.report()
            run.close()
            return [found["rule"].split(":")[0] for found in run.log("deviation")]

    def test_answers(self) -> None:
        flow = "permission_deny"
        assert self.answer_rules(flow, {}, True, behavior="deny") == ["line 74"]
        assert self.answer_rules(flow, {"subtype": "x"}, behavior="deny") == ["line 73"]
        assert self.answer_rules(flow, {"response": 1}) == ["line 75"]
        assert self.answer_rules(flow, {}, behavior="ask") == ["line 104"]
        assert self.answer_rules(flow, {}, behavior="deny", message=1) == ["line 105"]
        assert self.answer_rules(flow, {}, behavior="deny", toolUseID="t") == ["line 107"]
        assert self.answer_rules(flow, {}, behavior="allow") == ["line 106"]
        found = self.answer_rules(flow, {}, behavior="allow", message="x", updatedInput={})
        assert found == ["line 105"]

    def test_question_answers(self) -> None:
        def rules(flow: str, updated: Json) -> list[str]:
            return self.answer_rules(flow, {}, behavior="allow", updatedInput=updated)

        assert rules("question_single", {}) == ["line 122"]
        by_text = {"answers": {"Which colour?": "Red"}}
        assert rules("question_single", by_text) == ["line 134"]
        assert rules("question_single", {"answers": {"0": ["Red"]}}) == ["line 135"]
        assert rules("question_multi", {"answers": {"0": "Red"}}) == ["line 136"]

    def test_extra_fields(self) -> None:
        with Run() as run:
            run.send(user("a", uuid="u"))
            run.close()
            assert [found["what"] for found in run.log("extra")] == ["uuid"]
            assert run.log("deviation") == []


if __name__ == "__main__":
    unittest.main()
