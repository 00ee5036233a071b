"""Text mode: a prompt on the command line or stdin, its answer on stdout, and nobody to ask.

`claude -p hi` and `echo hi | claude -p` print the answer. With `--output-format json` it is the
result as JSON, or with `--verbose` all messages; with `stream-json` each message is a line.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from .. import wire
from .actions import Write
from .cli import SimulatedProcess
from .scheduler import Died, TimedOut, Wait

STDIN = "stdin"
"""The key for the first input."""

PATIENCE = 3.0
"""The seconds that the CLI waits for the first byte of stdin, which many programs leave open."""

NO_DATA = (
    "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow command, "
    "redirect stdin explicitly: < /dev/null to skip, or wait longer."
)
NO_PROMPT = (
    "Error: Input must be provided either through stdin or as a prompt argument when using --print"
)


class TextProcess(SimulatedProcess):
    """A simulated CLI process with `--input-format text`: it answers one prompt and exits."""

    _input = b""

    def begin(self) -> None:
        """Start up and wait for stdin, with a limit."""
        self._messages: list[wire.Event] = []
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
        """Take a part of the prompt; `b""` is its end."""
        if self.exited or self.input_ended:
            return
        with suppress(Died):
            self._input += data
            self.resume(wire.Answer(STDIN, None))
            if not data:
                self._submit()

    def _submit(self) -> None:
        """Answer the prompt: the words of the command line, then those from stdin."""
        self.input_ended = True
        words = [self.session.flags.prompt, self._input.decode("utf-8", "replace")]
        prompt = "\n".join(filter(None, words))
        if prompt.strip():
            self.receive_prompt(wire.UserMessage.of(prompt))
        else:
            self.warn(NO_PROMPT)
            self.exit(1)

    def send(self, event: wire.Event) -> None:
        """Write a message, or keep it for the end."""
        form = self.session.flags.output_format
        if form == "stream-json":
            super().send(event)
        elif form == "json" or isinstance(event, wire.ResultMessage):
            self._messages.append(event)

    def exit(self, status: int) -> None:
        """Print the results, and end the process."""
        results = [it for it in self._messages if isinstance(it, wire.ResultMessage)]
        if results and not self.exited:
            if self.session.flags.output_format == "json":
                self._print_json(results[-1])
            else:
                texts = [self._as_text(it) for it in results]
                shown = list(filter(str.strip, texts)) or texts[-1:]
                self.act(Write("\n".join(shown).encode()))
        super().exit(status)

    def _as_text(self, result: wire.ResultMessage) -> str:
        flags = self.session.flags
        if result.subtype == "error_max_turns":
            return f"Error: Reached max turns ({flags.max_turns})"
        if result.subtype == "error_max_budget_usd":
            return f"Error: Exceeded USD budget ({flags.max_budget_usd})"
        if result.subtype != "success":
            return "Execution error"
        text = result.result or ""
        return text if text.endswith("\n") else f"{text}\n"

    def _print_json(self, result: wire.ResultMessage) -> None:
        """Print the result; with `--verbose`, all messages as a list."""
        last = replace(result, model_usage_since_last_result=None)
        if not self.session.flags.verbose:
            self.act(Write(self.connection.send(last)))
            return
        messages = (self.connection.send(each)[:-1] for each in [*self._messages[:-1], last])
        self.act(Write(b"[" + b",".join(messages) + b"]\n"))
