"""Chromium without a window: opens a page, runs scripts, and notes errors and requests.

Its protocol goes over two pipes, as JSON that ends with a zero byte.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

LONGEST = 60.0
"""Seconds for one answer."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


def chromium() -> str | None:
    """Find the program."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """A running Chromium, with one page at a time."""

    def __init__(self, program: str, folder: Path) -> None:
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        # The program reads from its descriptor 3, and writes to 4.
        script = f'exec 3<&{commands} 4>&{answers}; exec "$@"'
        argv = ["bash", "-c", script, "bash", program, *FLAGS, f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            argv,
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._rest = b""
        self._id = 0
        self._session = ""
        self._target = ""
        self.errors: list[str] = []
        self.requests: list[str] = []

    def open(self, html: str, folder: Path, *, width: int = 1200, dark: bool = False) -> None:
        """Open a page, from a file."""
        if self._target:
            self._call("Target.closeTarget", targetId=self._target)
        path = folder / "page.html"
        path.write_text(html, encoding="utf-8")
        self.errors, self.requests = [], []
        self._session = ""
        self._target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._call("Page.navigate", url=path.as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, script: str) -> Any:
        """Run the body of a function in the page, and return its result."""
        expression = f"(() => {{ {script} }})()"
        done = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a condition holds in the page."""
        deadline = time.monotonic() + LONGEST
        while not self.run(f"return !!({condition})"):
            assert time.monotonic() < deadline, condition
            self._read(0.01)

    def check(self) -> None:
        """Check that there was no error, and no request except that of the page."""
        self.run("return 1")  # earlier messages have arrived by then
        assert self.errors == []
        loaded = [url for url in self.requests if not url.startswith("data:")]
        assert all(url.endswith("/page.html") for url in loaded), loaded

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait(LONGEST)
        os.close(self._to)
        os.close(self._from)

    # --- the protocol ----------------------------------------------------------------------------

    def _call(self, method: str, **params: Any) -> Any:
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + LONGEST
        while True:
            for answer in self._read(deadline - time.monotonic()):
                if answer.get("id") == self._id:
                    assert "error" not in answer, (method, answer["error"])
                    return answer["result"]
            assert time.monotonic() < deadline, method

    def _read(self, seconds: float) -> list[dict[str, Any]]:
        ready, _, _ = select.select([self._from], [], [], max(0.0, seconds))
        if not ready:
            return []
        data = os.read(self._from, 2**20)
        assert data, "Chromium has ended"
        *whole, self._rest = (self._rest + data).split(b"\0")
        messages = [json.loads(it) for it in whole]
        for message in messages:
            self._note(message.get("method", ""), message.get("params", {}))
        return messages

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(json.dumps(params["entry"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"]))
