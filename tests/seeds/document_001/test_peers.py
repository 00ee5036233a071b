"""The two peers of document 001 against each other, and the CLI against wrong hosts."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PYTHON = [sys.executable, "-E", "-s", "-S"]
CLI = [*PYTHON, str(HERE / "cli.py")]
REQUIRED = ["--output-format", "stream-json", "--input-format", "stream-json"]
REQUIRED += ["--permission-prompt-tool", "stdio", "--cwd", str(HERE)]
Json = dict[str, Any]
CLIENT_FLOWS = [
    "open",
    "turns",
    "streaming",
    "thinking",
    "tool_use",
    "permission_allow",
    "permission_deny",
    "permission_remember",
    "question_single",
    "question_multi",
    "hook",
    "mcp",
    "interrupt",
    "mode",
    "unknown_request",
    "error",
    "image",
    "resume",
    "resume_create",
    "shutdown",
]
ABSENT = [
    "streaming",
    "thinking",
    "tool_error",
    "permission_interrupt",
    "permission_cancelled",
    "question_single",
    "question_multi",
    "question_two",
    "question_free",
    "question_skipped",
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
    "mode",
    "model",
    "late_init",
]
PLAIN = [
    "text",
    "several",
    "tool_use",
    "tool_result_only",
    "usage",
    "unknown_message",
    "user_message",
    "compact_boundary",
    "debug_output",
    "unicode",
    "big",
    "session",
    "flags",
    "image",
    "error_then_goes_on",
]


def request(subtype: Any, **more: Any) -> Json:
    body = {"subtype": subtype, **more}
    return {"type": "control_request", "request_id": str(uuid.uuid4()), "request": body}


def initialize(**more: Any) -> Json:
    return request("initialize", **{"mcp_servers": {}, "agents": {}, "hooks": {}, **more})


def prompt(content: Any, kind: str = "session.create") -> Json:
    return {"type": kind, "message": {"role": "user", "content": content}}


def answer(asked: Json, **inner: Any) -> Json:
    response = {"subtype": "success", "request_id": asked["request_id"], "response": inner}
    return {"type": "callback.response", "response": response}


def allowed(asked: Json, **more: Any) -> Json:
    use = asked["request"].get("tool_use_id")
    base: Json = {"updated_input": {}, "updated_permissions": [], "tool_use_id": use}
    return answer(asked, behavior="allow", **{**base, **more})


class Talk:
    """One run of cli.py."""

    def __init__(self, arguments: list[str] | None = None, wait: str = "10") -> None:
        handle, self.path = tempfile.mkstemp()
        os.close(handle)
        environment = {**os.environ, "PEER_LOG": self.path, "PEER_WAIT": wait}
        words = [*CLI, *(REQUIRED if arguments is None else arguments)]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=nothing, env=environment
        )
        self.lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.process.stdout
        for raw in self.process.stdout:
            self.lines.put(raw)
        self.lines.put(b"")

    def raw(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *lines: Json) -> None:
        self.raw(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def next(self, kind: str) -> Json:
        """The next line of this type."""
        while raw := self.lines.get(timeout=20):
            try:
                line: Json = json.loads(raw)
            except ValueError:
                continue
            if line["type"] == kind:
                return line
        raise AssertionError(f"no {kind}")

    def open(self, **more: Any) -> Talk:
        self.send(initialize(**more))
        self.next("control_response")
        self.next("system")
        return self

    def turn(self, content: Any, kind: str = "session.create") -> Json:
        """The report of a turn that asks nothing."""
        self.send(prompt(content, kind))
        return self.report()

    def report(self) -> Json:
        while True:
            text = str(self.next("assistant")["message"]["content"][-1].get("text"))
            if text.startswith("report:"):
                self.next("result")
                report: Json = json.loads(text.removeprefix("report:"))
                return report

    def close(self, code: int = 0) -> list[Json]:
        """End the input; give the log."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        assert self.process.wait(20) == code, self.process.returncode
        while self.lines.get(timeout=20):
            pass
        self.process.stdout.close()
        log = [
            json.loads(line) for line in Path(self.path).read_text(encoding="utf-8").splitlines()
        ]
        os.unlink(self.path)
        return log


def found(log: list[Json], kind: str) -> list[str]:
    return [entry["what"] for entry in log if entry["kind"] == kind]


class PeersTogether(unittest.TestCase):
    def test_client_flows(self) -> None:
        for flow in CLIENT_FLOWS:
            with self.subTest(flow):
                self.run_client(flow)

    def run_client(self, flow: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            words = [*PYTHON, str(HERE / "client.py"), flow, "--", *CLI]
            environment = {**os.environ, "PEER_LOG": str(log)}
            done = subprocess.run(words, capture_output=True, timeout=60, env=environment)
            answer: Json = json.loads(done.stdout)
            entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        assert [check for check in answer["checks"] if not check["ok"]] == []
        assert len(answer["checks"]) > 3
        assert (answer["exit"], answer["flow"]) == (0, flow)
        wanted = ["a control_request of subtype 'no_such_request'"]
        assert found(entries, "deviation") == wanted * (flow == "unknown_request")

    def test_client_finds_a_wrong_cli(self) -> None:
        lines = [{"type": "system", "subtype": "init"}, {"type": "surprise"}]
        script = f"import sys; sys.stdin.readline(); print({json.dumps(lines[0])!r}); print('x')"
        words = [*PYTHON, str(HERE / "client.py"), "open", "--"]
        done = subprocess.run([*words, *PYTHON, "-c", script], capture_output=True)
        bad = [c["name"] for c in json.loads(done.stdout)["checks"] if not c["ok"]]
        assert "form of system/init" in bad
        assert "control_response comes next" in bad
        assert "every line of stdout is a JSON object" in bad


class Flows(unittest.TestCase):
    def quiet(self, talk: Talk) -> list[Json]:
        log = talk.close()
        assert found(log, "deviation") == []
        return log

    def test_plain_and_absent_flows_in_one_session(self) -> None:
        talk = Talk().open()
        assert talk.turn("flow:text") == {"flow": "text"}
        for name in PLAIN:
            assert talk.turn(f"flow:{name}", "session.send")["flow"] == name
        for name in ABSENT:
            report = talk.turn(f"flow:{name}", "session.send")
            assert report == {"flow": name, "absent": True}
        assert talk.turn("flow:noise", "session.send") == {"flow": "noise"}
        self.quiet(talk)

    def test_echo_and_failures(self) -> None:
        talk = Talk().open()
        talk.send(prompt("hi"))
        assert talk.next("assistant")["message"]["content"] == [
            {"type": "text", "text": "echo: hi"}
        ]
        assert talk.next("result")["turn_count"] == 1
        for name in ("max_turns", "execution"):
            talk.send(prompt(f"flow:failed_{name}", "session.send"))
            assert talk.next("result")["subtype"] == f"error_{name}"
        self.quiet(talk)

    def test_session(self) -> None:
        talk = Talk([*REQUIRED, "--resume", "abc", "--max-turns", "3"])
        report = talk.open(system_prompt="Be brief").turn("flow:session", "session.send")
        extra: Json = {"agents": {}, "hooks": {}}
        wanted = {"flow": "session", "session_id": "abc", "resumed": True, "cwd": str(HERE)}
        wanted |= {"system_prompt": "Be brief", "mcp_servers": {}, "extra": extra}
        assert report == wanted
        self.quiet(talk)

    def test_missing_session(self) -> None:
        talk = Talk([*REQUIRED, "--resume", "no-such-session"]).open()
        talk.send(prompt("hi", "session.send"))
        assert talk.next("error")["error"]["code"] == "SESSION_NOT_FOUND"
        self.quiet(talk)

    def test_image(self) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        blocks = [{"type": "text", "text": "flow:image"}, {"type": "image", "source": source}]
        talk = Talk().open()
        images = [{"media_type": "image/png", "bytes": 3}]
        assert talk.turn(blocks)["images"] == images
        self.quiet(talk)

    def test_permissions(self) -> None:
        talk = Talk().open()
        talk.send(prompt("flow:permission_allow"))
        asked = talk.next("callback.request")
        talk.send(answer(asked, behavior="allow"))  # line 411
        use = asked["request"]["tool_use_id"]
        assert talk.next("user")["message"]["content"][0]["tool_use_id"] == use
        assert talk.report()["input"] == {"command": "rm -r build"}
        talk.send(prompt("flow:permission_change", "session.send"))
        talk.send(allowed(talk.next("callback.request"), updated_input={"command": "ls"}))
        assert talk.report()["input"] == {"command": "ls"}
        talk.send(prompt("flow:permission_remember", "session.send"))
        asked = talk.next("callback.request")
        kept = asked["request"]["permission_suggestions"]
        talk.send(allowed(asked, updated_permissions=kept))
        assert talk.report()["remembered"] == kept
        talk.send(prompt("flow:permission_deny", "session.send"))
        talk.send(answer(talk.next("callback.request"), behavior="deny", message="no"))
        wanted = {"behavior": "deny", "flow": "permission_deny", "message": "no"}
        assert talk.report() == wanted
        self.quiet(talk)

    def test_parallel_permissions(self) -> None:
        talk = Talk().open()
        talk.send(prompt("flow:permission_parallel"))
        asked = [talk.next("callback.request") for _ in range(3)]
        talk.send(answer(asked[2], behavior="deny", message="not c"))
        talk.send(allowed(asked[0]), allowed(asked[1]))
        requests = talk.report()["requests"]
        seen = [requests[each["request"]["tool_use_id"]] for each in asked]
        assert [each["behavior"] for each in seen] == ["allow", "allow", "deny"]
        assert [each["command"] for each in seen] == ["rm a", "rm b", "rm c"]
        self.quiet(talk)

    def test_irregular_requests(self) -> None:
        talk = Talk().open()
        for kind, name in (("create", "unknown_request"), ("send", "malformed_request")):
            talk.send(prompt(f"flow:{name}", f"session.{kind}"))
            asked = talk.next("callback.request")
            response = {"subtype": "error", "request_id": asked["request_id"], "error": "no"}
            talk.send({"type": "callback.response", "response": response})
            assert talk.report()["answer"]["response"] == response
        self.quiet(talk)

    def test_interrupts(self) -> None:
        talk = Talk().open()
        talk.send(prompt("flow:interrupt"))
        for name in ("interrupt_permission", "interrupt_result", "interrupt_result_before"):
            stop = request("interrupt")
            talk.send(stop)
            assert talk.next("control_response")["request_id"] == stop["request_id"]
            talk.send(prompt(f"flow:{name}", "session.send"))
            talk.next("callback.request" if name == "interrupt_permission" else "assistant")
        talk.send(request("interrupt"))
        assert talk.next("result")["subtype"] == "error_interrupted"
        talk.next("control_response")
        assert talk.turn("flow:text", "session.send") == {"flow": "text"}
        self.quiet(talk)

    def test_errors(self) -> None:
        talk = Talk().open()
        talk.send(prompt("flow:error_no_session"))
        talk.next("error")
        talk.send(prompt("flow:error_message"))
        talk.next("session.created")
        talk.next("error")
        talk.send(prompt("flow:error_in_turn", "session.send"))
        talk.next("assistant")
        talk.next("error")
        talk.send(prompt("flow:error_then_result", "session.send"))
        talk.next("error")
        talk.next("result")
        self.quiet(talk)

    def test_deaths(self) -> None:
        for name, code in (("die", 7), ("die_at_once", 9), ("close_stdout", 0)):
            talk = Talk().open()
            talk.send(prompt(f"flow:{name}"))
            if code:
                talk.process.wait(20)
            assert found(talk.close(code), "deviation") == []

    def test_host_that_never_answers(self) -> None:
        talk = Talk(wait="0.3").open()
        talk.send(prompt("flow:permission_allow"))
        talk.process.wait(20)
        assert "did not answer" in found(talk.close(3), "deviation")[0]


class Deviations(unittest.TestCase):
    def one(self, log: list[Json], words: str) -> None:
        seen = found(log, "deviation")
        assert len(seen) == 1, seen
        assert words in seen[0]

    def test_flags(self) -> None:
        for n, name in enumerate(REQUIRED):
            if n % 2 == 0:
                with self.subTest(name):
                    self.one(Talk(REQUIRED[:n] + REQUIRED[n + 2 :]).close(), f"{name} is missing")
                    wrong = [*REQUIRED[: n + 1], "/no/such", *REQUIRED[n + 2 :]]
                    self.one(Talk(wrong).close(), "/no/such")
        for name in ("--model", "--permission-mode", "--max-turns"):
            self.one(Talk([*REQUIRED, name, "zebra"]).close(), "zebra")
        self.one(Talk([*REQUIRED, "--resume", "--verbose"]).close(), "--resume has no value")

    def test_unknown_flags(self) -> None:
        log = Talk(["--foo", "bar", "-x", *REQUIRED, "--verbose", "word"]).close()
        assert found(log, "deviation") == []
        seen = [(e["flag"], e["value"]) for e in log if e["kind"] == "unknown_flag"]
        assert seen == [("--foo", "bar"), ("-x", None), ("word", None)]

    def test_lines(self) -> None:
        cases = {
            b"not json\n": "not JSON",
            b"\n": "not JSON",
            b'"\xff"\n': "not UTF-8",
            b"[1]\n": "not a JSON object",
            b'{"type": NaN}\n': "not JSON",
            json.dumps(initialize()).encode(): "no newline",
        }
        for data, words in cases.items():
            with self.subTest(words):
                talk = Talk()
                talk.raw(data)
                self.one(talk.close(), words)

    def test_messages(self) -> None:
        cases: list[tuple[Json, str]] = [
            ({"type": "user", "message": {}}, "type 'user'"),
            ({"x": 1}, "type None"),
            (prompt("hi", "session.send"), "no conversation exists"),
            (request("set_permission_mode", mode="plan"), "subtype 'set_permission_mode'"),
            ({"type": "control_request", "request": {}}, "request_id is missing"),
            ({"type": "control_request", "request_id": 1, "request": {}}, "not a string"),
            (initialize(hooks=[]), "request.hooks is not an object"),
            (initialize(system_prompt=1), "request.system_prompt is not a string"),
        ]
        talk = Talk().open()
        talk.send(*(line for line, _ in cases))
        seen = found(talk.close(), "deviation")
        assert len(seen) == len(cases), seen
        for (_, words), what in zip(cases, seen, strict=True):
            with self.subTest(words):
                assert words in what

    def test_prompts(self) -> None:
        image = {"type": "image", "source": {"type": "url", "media_type": "image/png", "data": ""}}
        cases: list[tuple[Json, str]] = [
            ({"type": "session.create"}, "message is missing"),
            ({"type": "session.create", "message": {"role": "user"}}, "content is missing"),
            ({"type": "session.create", "message": {"role": "x", "content": ""}}, "role"),
            (prompt([{"type": "document"}]), "'document'"),
            (prompt([{"type": "text"}]), "text is missing"),
            (prompt([image]), "source.type"),
        ]
        for line, words in cases:
            with self.subTest(words):
                talk = Talk().open()
                talk.send(line)
                self.one(talk.close(), words)

    def test_order(self) -> None:
        talk = Talk()
        talk.send(prompt("hi"))
        self.one(talk.close(), "a prompt before initialize")
        talk = Talk()
        talk.send(initialize(), prompt("hi"))
        log = talk.close()
        self.one(log, "before control_response")
        assert found(log, "note") == ["a prompt was sent before the system init message"]
        talk = Talk().open()
        talk.send(prompt("hi"), prompt("again"))
        self.one(talk.close(), "where a conversation exists")
        talk = Talk().open()
        again = request("interrupt")
        talk.send(again, again)
        self.one(talk.close(), "used twice")

    def test_answers(self) -> None:
        talk = Talk().open()
        talk.send(answer({"request_id": "zzz"}, behavior="allow"))
        self.one(talk.close(), "matches no callback.request")
        talk, kind, wanted = Talk().open(), "session.create", list[str]()
        for inner, words in (
            ({"behavior": "ask"}, "behavior is 'ask'"),
            ({"behavior": "deny"}, "message is missing"),
            ({"behavior": "allow", "updated_input": []}, "updated_input is not an object"),
            ({"behavior": "allow", "updated_permissions": {}}, "is not a list"),
            ({"behavior": "allow", "updated_permissions": [1]}, "non-object"),
            ({"behavior": "allow", "tool_use_id": "other"}, "tool_use_id is not the request's"),
        ):
            with self.subTest(words):
                talk.send(prompt("flow:permission_allow", kind))
                talk.send(answer(talk.next("callback.request"), **inner))
                talk.next("result")
                kind = "session.send"
                wanted.append(words)
        seen = found(talk.close(), "deviation")
        assert len(seen) == len(wanted), seen
        assert all(words in what for words, what in zip(wanted, seen, strict=True)), seen

    def test_twice_and_wrong_subtype(self) -> None:
        talk = Talk().open()
        talk.send(prompt("flow:permission_allow"))
        line = allowed(talk.next("callback.request"))
        talk.send(line, line)
        self.one(talk.close(), "answered twice")
        talk = Talk().open()
        talk.send(prompt("flow:permission_allow"))
        line = allowed(talk.next("callback.request"))
        line["response"]["subtype"] = "error"
        talk.send(line)
        self.one(talk.close(), "subtype is 'error'")

    def test_extra_fields_are_no_deviation(self) -> None:
        talk = Talk().open(colour="red")
        talk.send({**prompt("hi"), "session_id": "x"})
        log = talk.close()
        assert found(log, "deviation") == []
        assert found(log, "extra") == ["request.colour", "session_id"]


if __name__ == "__main__":
    unittest.main()
