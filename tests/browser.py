"""A headless Chromium, told what to do over two pipes in its DevTools protocol; standard library only."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 60.0  # seconds for one answer, on a busy machine


class Browser:
    """One page of a browser of its own. ``events`` are those since the last `open`."""

    def __init__(self, profile: Path) -> None:
        # The browser reads its descriptor 3 and writes its 4; ours get numbers that cannot be either.
        for_reading, self._out = _pipe()
        self._in, for_writing = _pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        options += [f"--user-data-dir={profile}", "--no-first-run", "--disable-background-networking", "about:blank"]
        become = "import os, sys; a = sys.argv; os.dup2(int(a[1]), 3); os.dup2(int(a[2]), 4); os.execv(a[3], a[3:])"
        self._process = subprocess.Popen(
            [sys.executable, "-c", become, str(for_reading), str(for_writing), str(CHROMIUM), *options],
            pass_fds=(for_reading, for_writing),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(for_reading)
        os.close(for_writing)
        self.events: list[dict[str, Any]] = []
        self._rest, self._number, self._session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; what happens until it comes goes to ``events``."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._number:
                assert "error" not in found, f"{method}: {found.get('error')}"
                return found["result"]
            self.events.append(found)

    def open(self, url: str, width: int = 1200, height: int = 900, scale: float = 1.0) -> None:
        """Loads a page anew, in a window of so many CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url="about:blank")
        self.evaluate("1")
        self.events = []
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited."""
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self.call("Runtime.evaluate", **options)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Waits for a JavaScript condition."""
        end = time.monotonic() + PATIENCE
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never came true: {condition}"
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        """Errors and warnings of the console since `open`, and exceptions that nothing caught."""
        found = []
        for event in self.events:
            method, about = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(about["exceptionDetails"]["exception"].get("description", "exception"))
            elif method == "Runtime.consoleAPICalled":
                found.append(str(about["args"]))
            elif method == "Log.entryAdded":
                found.append(about["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Addresses that were asked for since `open`."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def close(self) -> None:
        """Ends the browser."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._in)
        os.close(self._out)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, f"no answer within {PATIENCE:g} seconds"
            data = os.read(self._in, 2**16)
            assert data, "the browser has ended"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


def _pipe() -> tuple[int, int]:
    """The reading and the writing end, with numbers from 10 on."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
