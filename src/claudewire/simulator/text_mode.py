"""Text mode: a prompt on the command line or stdin, its answer on stdout, and nobody to ask.

`claude -p hi` and `echo hi | claude -p` print the answer. With `--output-format json` it is the
result as JSON, or with `--verbose` all messages; with `stream-json` each message is a line.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from ..wire import Answer, Event, ResultMessage, UserMessage
from .actions import Write
from .engine import Died, TimedOut, Wait
from .simulation import SimulatedProcess

__all__ = ["TextProcess"]

STDIN = "stdin"
"""What the process waits for before it has input."""

PATIENCE = 3.0
"""Seconds that the CLI waits for the first byte of stdin, as many programs leave it open."""

MOST = 10 * 1024 * 1024
"""Bytes that the CLI takes from stdin."""

TOO_MUCH = (
    "Error: piped stdin input exceeds 10MB. Pass large content as a file path in your prompt "
    "instead."
)
NO_DATA = (
    "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow command, "
    "redirect stdin explicitly: < /dev/null to skip, or wait longer."
)
NO_PROMPT = (
    "Error: Input must be provided either through stdin or as a prompt argument when using --print"
)
BLANK_PROMPT = (
    "Error: Input contained only whitespace. Provide a prompt with text through stdin or as a "
    "prompt argument when using --print"
)
NOTHING_TO_RESUME = (
    "Error: No deferred tool marker found in the resumed session. Either the session was not "
    "deferred, the marker is stale (tool already ran), or it exceeds the tail-scan window. "
    "Provide a prompt to continue the conversation."
)


class TextProcess(SimulatedProcess):
    """A simulated CLI process with `--input-format text`: it answers one prompt and exits."""

    _input = b""
    _printed = b""
    """What was last printed of a result."""

    def begin(self) -> None:
        """Start up and wait for stdin, but not for ever."""
        self._messages: list[Event] = []
        super().begin()
        if not self.exited:
            self.spawn(self._wait_for_input())

    async def _wait_for_input(self) -> None:
        try:
            await Wait(STDIN, PATIENCE)
        except TimedOut:
            self.warn(NO_DATA)
            self._submit()

    def feed(self, data: bytes) -> None:
        """Take a part of the prompt; `b""` for its end."""
        if self.exited or self.input_ended:
            return
        with suppress(Died):
            self._input += data
            if len(self._input) > MOST:
                self.warn(TOO_MUCH)
                self.exit(1)
                return
            self.resume(Answer(STDIN, None))
            if not data:
                self._submit()

    def _submit(self) -> None:
        """Answer the prompt: that of the command line, then what came on stdin."""
        self.input_ended = True
        words = [self.session.flags.prompt, self._input.decode("utf-8", "replace")]
        prompt = "\n".join(filter(None, words))
        if prompt.strip():
            self.receive_prompt(UserMessage.of(prompt))
            return
        missing = NOTHING_TO_RESUME if self.session.resumed else NO_PROMPT
        self.warn(BLANK_PROMPT if prompt else missing)
        self.exit(1)

    def send(self, event: Event) -> None:
        """Write a message, or keep it until its time has come."""
        form = self.session.flags.output_format
        if form == "stream-json":
            super().send(event)
        elif form == "json":
            self._messages.append(event)
        elif isinstance(event, ResultMessage):
            self._messages = [event]
            if not _is_blank(event):
                self._print(event)

    def exit(self, status: int) -> None:
        """Print what is left to print, and end the process."""
        last = self._messages[-1] if self._messages and not self.exited else None
        if isinstance(last, ResultMessage):
            if self.session.flags.output_format == "json":
                self._print_json(last)
            elif not self._printed:
                self._print(last)
        super().exit(status)

    def _print(self, result: ResultMessage) -> None:
        """Print a result as text, with an empty line before it if there was another."""
        gap = b"" if not self._printed else b"\n" if self._printed.endswith(b"\n") else b"\n\n"
        self._printed = self._as_text(result).encode()
        self.act(Write(gap + self._printed))

    def _as_text(self, result: ResultMessage) -> str:
        flags = self.session.flags
        if result.subtype == "error_max_turns":
            return f"Error: Reached max turns ({_number(flags.max_turns)})"
        if result.subtype == "error_max_budget_usd":
            return f"Error: Exceeded USD budget ({_number(flags.max_budget_usd)})"
        if result.subtype != "success":
            return "Execution error"
        text = result.result or ""
        return text if text.endswith("\n") else f"{text}\n"

    def _print_json(self, result: ResultMessage) -> None:
        """Print the result; with `--verbose`, all messages as a list."""
        last = replace(result, model_usage_since_last_result=None)
        if not self.session.flags.verbose:
            self.act(Write(self.connection.send(last)))
            return
        messages = (self.connection.send(each)[:-1] for each in [*self._messages[:-1], last])
        self.act(Write(b"[" + b",".join(messages) + b"]\n"))


def _is_blank(result: ResultMessage) -> bool:
    return result.subtype == "success" and not (result.result or "").strip()


def _number(value: float | None) -> str:
    """Write a number as JavaScript does."""
    if value is None:
        return "undefined"
    if value < 1e-6:
        return f"{value!r}".replace("e-0", "e-")
    return f"{value:.15f}".rstrip("0").rstrip(".")
