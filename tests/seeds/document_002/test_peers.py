"""The two peers of document 002 against each other, and the CLI against scripted hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]
HERE = Path(__file__).parent
PYTHON = [sys.executable, "-E", "-s", "-S"]
CLI = [*PYTHON, str(HERE / "cli.py")]
BASE = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]
ASKS = [*BASE, "--permission-prompt-tool", "stdio"]
INIT: Json = {"subtype": "initialize", "request_id": "req_1", "hooks": {}}
ALLOW: Json = {"behavior": "allow"}
LOGS = tempfile.TemporaryDirectory()


class Peer:
    """A scripted host of cli.py."""

    def __init__(self, flags: list[str] = BASE, **env: str) -> None:
        handle, name = tempfile.mkstemp(suffix=".log", dir=LOGS.name)
        os.close(handle)
        self.path = Path(name)
        whole = {**os.environ, "PEER_LOG": name, "PEER_WAIT": "20", **env}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            CLI + flags, stdin=pipe, stdout=pipe, stderr=pipe, env=whole
        )

    def raw(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def read(self) -> Json:
        assert self.process.stdout
        message: Json = json.loads(self.process.stdout.readline())
        return message

    def open(self, servers: list[str] | None = None) -> Peer:
        request = {**INIT, "sdk_mcp_servers": servers or []}
        self.send({"type": "control_request", "request": request})
        while self.read()["type"] != "control_response":
            pass
        return self

    def prompt(self, text: str) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def next_request(self) -> Json:
        while (message := self.read())["type"] not in ("sdk_control_request", "control"):
            assert message["type"] != "result", message
        request: Json = message["request"]
        return request

    def answer(self, request: Json, response: Any, **more: Any) -> None:
        body = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.send({"type": "control_response", "response": {**body, **more}})

    def refuse(self, request: Json) -> None:
        body = {"subtype": "error", "request_id": request["request_id"], "error": "no"}
        self.send({"type": "control_response", "response": body})

    def wrap(self, request: Json, result: Json) -> None:
        wrapped = {"jsonrpc": "2.0", "id": request["message"]["id"], "result": result}
        self.answer(request, {"mcp_response": wrapped})

    def handshake(self) -> None:
        request = self.next_request()
        assert request["message"]["method"] == "initialize"
        info = {"name": "calc", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        self.wrap(request, result)
        request = self.next_request()
        assert request["message"]["method"] == "notifications/initialized"
        self.answer(request, {})
        request = self.next_request()
        assert request["message"]["method"] == "tools/list"
        self.wrap(request, {"tools": [{"name": "fail"}, {"name": "add"}]})

    def turn(self) -> list[Json]:
        lines = [self.read()]
        while lines[-1]["type"] != "result":
            lines.append(self.read())
        return lines

    def report(self) -> Json:
        texts = [m["message"]["content"][-1] for m in self.turn() if m["type"] == "assistant"]
        text: str = texts[-1]["text"]
        assert text.startswith("report:")
        report: Json = json.loads(text.removeprefix("report:"))
        return report

    def run(self, flow: str) -> Json:
        self.prompt(f"flow:{flow}")
        return self.report()

    def end(self) -> int:
        self.process.communicate(timeout=30)
        return self.process.returncode

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream
            stream.close()

    def log(self, kind: str) -> list[Json]:
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line["kind"] == kind]

    def deviations(self) -> list[str]:
        """Ends the session and gives what was logged as deviations."""
        assert self.end() == 0
        found = self.log("deviation")
        return [one["what"] for one in found]


class BothPeers(unittest.TestCase):
    def client(self, flow: str, **env: str) -> Json:
        command = [*PYTHON, str(HERE / "client.py"), flow, "--", *CLI]
        whole = {**os.environ, "PEER_WAIT": "20", **env}
        done = subprocess.run(command, capture_output=True, env=whole, timeout=60)
        seen: Json = json.loads(done.stdout)
        assert [one for one in seen["checks"] if not one["ok"]] == []
        assert done.returncode == 0
        return seen

    def test_shared_flows(self) -> None:
        flows = "open turns streaming thinking tool_use permission_allow permission_deny"
        for flow in (flows + " hook mcp unknown_request error shutdown").split():
            with self.subTest(flow=flow):
                seen = self.client(flow)
                assert seen["exit"] == 0
                assert seen["checks"]

    def test_absent_flows(self) -> None:
        flows = "permission_remember question_single question_multi interrupt mode image resume"
        for flow in flows.split():
            assert self.client(flow)["absent"]

    def test_readings(self) -> None:
        for init in ("first", "initialize", "start"):
            self.client("turns", PEER_INIT=init, PEER_ECHO="1")
        self.client("mcp", PEER_MCP="eager")

    def test_client_sees_faults(self) -> None:
        line = '{"type":"assistant","message":{"content":[{"type":"odd"}]}}'
        script = f"print('''{line}'''); print('nonsense'); import sys; sys.stdin.read()"
        command = [*PYTHON, "client.py", "open", "--", *PYTHON, "-c", script]
        env = {**os.environ, "PEER_WAIT": "1"}
        done = subprocess.run(command, capture_output=True, env=env, cwd=HERE, timeout=30)
        assert done.returncode == 1
        seen = json.loads(done.stdout)
        rules = {one["rule"] for one in seen["checks"] if not one["ok"]}
        assert {"line 15", "line 52", "lines 69-74", "line 109"} <= rules


class Flows(unittest.TestCase):
    def test_simple_flows(self) -> None:
        peer = Peer().open()
        names = "text streaming streaming_object thinking tool_use unknown_message late_init"
        for name in (names + " usage result_short user_echo hooks_registered").split():
            assert name == peer.run(name)["flow"]
        peer.prompt("hello")
        assert peer.turn()[-2]["message"]["content"][0]["text"] == "echo: hello"
        assert peer.deviations() == []

    def test_example_flow(self) -> None:
        peer = Peer().open()
        peer.prompt("What is the capital of France?")
        assert [m["type"] for m in peer.turn()] == ["system", "assistant", "result"]
        assert peer.deviations() == []

    def test_absent(self) -> None:
        peer = Peer().open()
        for name in ["interrupt", "mode", "image", "hook_post", "failed_max_turns", "question_two"]:
            assert {"flow": name, "absent": True} == peer.run(name)
        assert peer.deviations() == []

    def test_permission(self) -> None:
        peer = Peer(ASKS).open()
        for name in ("permission_allow", "control_type"):
            peer.prompt(f"flow:{name}")
            peer.answer(peer.next_request(), ALLOW)
            expected = {"behavior": "allow", "flow": name, "input": {"command": "rm -r build"}}
            assert expected == peer.report()
        peer.prompt("flow:permission_deny")
        peer.answer(peer.next_request(), {"behavior": "deny", "message": "no"})
        expected = {"behavior": "deny", "flow": "permission_deny", "message": "no"}
        assert expected == peer.report()
        assert peer.deviations() == []

    def test_permission_parallel(self) -> None:
        peer = Peer(ASKS).open()
        peer.prompt("flow:permission_parallel")
        first, second, third = (peer.next_request() for _ in range(3))
        peer.answer(third, ALLOW)
        peer.answer(first, {"behavior": "deny", "message": "a"})
        peer.answer(second, ALLOW)
        requests = peer.report()["requests"]
        assert requests["rm a"]["behavior"] == "deny"
        assert requests["rm c"] == {"behavior": "allow", "input": {"command": "rm c"}}
        assert peer.deviations() == []

    def test_permission_not_configured(self) -> None:
        peer = Peer().open()
        assert not peer.run("permission_allow")["asked"]
        assert peer.deviations() == []

    def test_mcp(self) -> None:
        peer = Peer().open(["calc"])
        peer.prompt("flow:mcp_list")
        peer.handshake()
        assert peer.report()["tools"] == ["add", "fail"]
        peer.prompt("flow:mcp_call")
        request = peer.next_request()
        params = {"name": "add", "arguments": {"a": 2, "b": 3}}
        assert params == request["message"]["params"]
        peer.wrap(request, {"content": [{"type": "text", "text": "5"}], "isError": False})
        report = peer.report()
        assert (report["result"], report["is_error"]) == ("5", False)
        peer.prompt("flow:mcp_tool_error")
        error = {"content": [{"type": "text", "text": "bad"}], "isError": True}
        peer.wrap(peer.next_request(), error)
        assert peer.report()["is_error"]
        for name in ("mcp_bad_arguments", "mcp_unknown_tool"):
            peer.prompt(f"flow:{name}")
            request = peer.next_request()
            failed = {"jsonrpc": "2.0", "id": request["message"]["id"], "error": {"message": "no"}}
            peer.answer(request, {"mcp_response": failed})
            assert form_and_text(peer.report()) == ("jsonrpc_error", "no")
        peer.prompt("flow:mcp_unknown_server")
        peer.refuse(peer.next_request())
        assert peer.report()["answer"]["subtype"] == "error"
        assert peer.deviations() == []

    def test_bad_requests(self) -> None:
        peer = Peer().open()
        for name in ("unknown_request", "malformed_request", "malformed_mcp"):
            peer.prompt(f"flow:{name}")
            peer.refuse(peer.next_request())
            assert peer.report()["answer"]["error"] == "no"
        assert peer.deviations() == []

    def test_errors(self) -> None:
        peer = Peer().open()
        for name in ("error_message", "error_in_turn"):
            peer.prompt(f"flow:{name}")
            assert peer.turn()[-2]["subtype"] == "error"
        assert peer.deviations() == []

    def test_noise_and_big(self) -> None:
        peer = Peer().open()
        peer.prompt("flow:noise")
        peer.read()
        assert peer.process.stdout
        assert peer.process.stdout.readline() == b"not json\n"
        assert peer.process.stdout.readline() == b"\n"
        assert peer.report()["flow"] == "noise"
        peer.prompt("flow:big")
        lines = peer.turn()
        assert len(lines[1]["message"]["content"][0]["text"]) == 3000000
        assert peer.deviations() == []

    def test_session(self) -> None:
        flags = [*BASE, "--system-prompt", "Be kind", "--setting-sources=", "--odd", "value"]
        peer = Peer(flags).open(["calc"])
        report = peer.run("session")
        assert report["system_prompt"] == "Be kind"
        assert report["mcp_servers"] == ["calc"]
        assert without_kind(peer, "unknown_flag") == {"flag": "--odd", "value": "value"}
        assert peer.deviations() == []

    def test_deaths(self) -> None:
        for name, code in (("die", 7), ("die_at_once", 9), ("close_stdout", 0)):
            peer = Peer().open()
            peer.prompt(f"flow:{name}")
            out, err = peer.process.communicate(timeout=30)
            assert code == peer.process.returncode
            assert (b"boom\n" if name == "die" else b"") == err
            assert b'"result"' not in out
            assert (name == "die_at_once") == (out == b"")

    def test_close_stdout_stays_alive(self) -> None:
        peer = Peer().open()
        peer.prompt("flow:close_stdout")
        assert peer.process.stdout
        peer.process.stdout.read()
        with pytest.raises(subprocess.TimeoutExpired):
            peer.process.wait(0.3)
        assert peer.deviations() == []

    def test_linger(self) -> None:
        peer = Peer().open()
        peer.run("linger")
        assert peer.process.stdin
        peer.process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            peer.process.wait(0.3)
        peer.process.terminate()
        assert peer.process.wait(10) == -15
        peer.close()

    def test_end_of_input_while_waiting(self) -> None:
        peer = Peer(ASKS).open()
        peer.prompt("flow:permission_allow")
        peer.next_request()
        assert peer.deviations() == []


def form_and_text(report: Json) -> tuple[str, str]:
    return report["form"], report["result"]


def without_kind(peer: Peer, kind: str) -> Json:
    (one,) = peer.log(kind)
    return {key: value for key, value in one.items() if key != "kind"}


class Deviations(unittest.TestCase):
    def expect(self, peer: Peer, *parts: str) -> None:
        found = peer.deviations()
        assert len(parts) == len(found), found
        for part, what in zip(parts, found, strict=True):
            assert part in what

    def test_flags(self) -> None:
        self.expect(
            Peer(["--output-format", "text", "--setting-sources", "user,all"]),
            "--output-format is 'text'",
            "--input-format is missing",
            "--verbose is missing",
            "setting source 'all'",
        )
        flags = [*BASE, "--permission-prompt-tool", "mcp__x", "--model"]
        self.expect(Peer(flags), "--model has no value", "--permission-prompt-tool is 'mcp__x'")

    def test_prompt_before_initialization(self) -> None:
        peer = Peer()
        peer.run("text")
        self.expect(peer, "prompt before the initialization")

    def test_lines(self) -> None:
        peer = Peer().open()
        peer.raw(b'{"type":\n')
        peer.raw(b"[1]\n")
        peer.raw(b"\n")
        peer.send({"type": "greeting"})
        peer.send({"type": "user", "message": {}})
        peer.raw(b'{"type":"user","message":{"content":"hi"}}')
        self.expect(peer, "not JSON", "not a JSON object", "'greeting'", "no text", "newline")

    def test_initialize(self) -> None:
        peer = Peer()
        hooks = {"PreToolUse": [{"matcher": None}], "Stop": {}}
        body = {"subtype": "initialize", "hooks": hooks, "sdk_mcp_servers": [1], "new": 2}
        peer.send({"type": "control_request", "request_id": "r", "request": body})
        peer.read()
        peer.send({"type": "control_request", "request": {"subtype": "initialize"}})
        peer.send({"type": "control_request"})
        hooks_found = ("matcher is not a string", "hook_callback_ids is missing", "hooks.Stop is")
        found = ("sdk_mcp_servers holds", "request_id is missing", "request is missing")
        self.expect(peer, "beside request", *hooks_found, *found)

    def test_request_ids(self) -> None:
        peer = Peer(ASKS).open()
        again: Json = {"type": "control_request", "request": INIT}
        peer.send(again)
        assert peer.read()["response"]["subtype"] == "error"
        again["request"] = {**INIT, "request_id": "perm_0"}
        peer.send(again)
        peer.prompt("flow:permission_allow")
        peer.answer(peer.next_request(), ALLOW)
        peer.report()
        self.expect(peer, "was used by the host", "second initialization", "took the CLI's id")

    def test_unknown_request_of_host(self) -> None:
        peer = Peer().open()
        request = {"subtype": "interrupt", "request_id": "req_2"}
        peer.send({"type": "control_request", "request": request})
        response = peer.read()["response"]
        assert (response["subtype"], response["request_id"]) == ("error", "req_2")
        self.expect(peer, "'interrupt' is not in the document")

    def test_control_type_is_accepted(self) -> None:
        peer = Peer()
        peer.send({"type": "control", "request": INIT})
        assert peer.read()["response"]["subtype"] == "success"
        peer.prompt("flow:unknown_request")
        request_id = peer.next_request()["request_id"]
        flat = {"type": "control", "subtype": "error", "request_id": request_id, "error": "no"}
        peer.send(flat)
        assert peer.report()["answer"]["error"] == "no"
        self.expect(peer)

    def test_answers(self) -> None:
        peer = Peer(ASKS).open()
        peer.answer({"request_id": "nobody"}, ALLOW)
        answers: list[Json] = [{"behavior": "deny"}, {"behavior": "maybe"}, {}]
        for response in answers:
            peer.prompt("flow:permission_deny")
            peer.answer(peer.next_request(), response)
            peer.report()
        peer.prompt("flow:permission_allow")
        request = peer.next_request()
        peer.answer(request, {**ALLOW, "updatedInput": {}})
        peer.answer(request, ALLOW)
        peer.report()
        found = ("matches no request", "message is missing", "'maybe'", "None", "answered twice")
        self.expect_extra(peer, "response.response.updatedInput", found)

    def expect_extra(self, peer: Peer, what: str, found: tuple[str, ...]) -> None:
        peer.end()
        assert what in [one["what"] for one in peer.log("extra")]
        whats = [one["what"] for one in peer.log("deviation")]
        assert len(found) == len(whats), whats
        for part, one in zip(found, whats, strict=True):
            assert part in one

    def test_success_for_a_bad_request(self) -> None:
        peer = Peer().open()
        peer.prompt("flow:unknown_request")
        peer.answer(peer.next_request(), {})
        peer.report()
        self.expect(peer, "answered with success")

    def test_response_forms(self) -> None:
        peer = Peer(ASKS).open()
        peer.prompt("flow:permission_allow")
        peer.answer(peer.next_request(), ALLOW, subtype="fine")
        peer.report()
        peer.prompt("flow:permission_allow")
        request = peer.next_request()
        answer = {"type": "control_response", "response": {"subtype": "error"}}
        peer.send({**answer, "request_id": request["request_id"]})
        assert peer.report()["behavior"] == "error"
        self.expect(peer, "response subtype 'fine'", "beside response", "error is missing")

    def test_mcp_answers(self) -> None:
        peer = Peer().open(["calc"])
        peer.prompt("flow:mcp_tool_error")
        peer.handshake()
        request = peer.next_request()
        wrong = {"jsonrpc": "1", "id": "other", "result": {"content": "x", "isError": 1}}
        peer.answer(request, {"mcp_response": wrong})
        peer.report()
        whats = ("jsonrpc is not", "id 'other'", "content is not", "isError is not")
        self.expect(peer, *whats, "not answered with isError true")

    def test_missing_wrapper_times_out(self) -> None:
        peer = Peer(PEER_WAIT="1").open(["calc"])
        peer.prompt("flow:mcp_list")
        peer.answer(peer.next_request(), {"jsonrpc": "2.0", "result": {}})
        assert peer.process.wait(20) == 3
        whats = [one["what"] for one in peer.log("deviation")]
        assert whats[0] == "required field mcp_response is missing"
        assert "no answer to mcp_0" in whats[1]
        peer.close()

    def test_unacknowledged_notification(self) -> None:
        peer = Peer(PEER_MCP="eager").open(["calc"])
        info = {"name": "calc", "version": "1"}
        result = {"protocolVersion": "1", "capabilities": {}, "serverInfo": info}
        peer.wrap(peer.next_request(), result)
        peer.next_request()
        peer.wrap(peer.next_request(), {"tools": []})
        peer.end()
        assert "notification not acknowledged" in [one["what"] for one in peer.log("should")]
        assert peer.log("deviation") == []


if __name__ == "__main__":
    unittest.main()
