"""A browser without a window, driven over the Chrome DevTools Protocol: open a page, point, type, look, and
take its picture.

It finds no machine but this one, so that what needs a network fails here as it would on a train. The protocol
is JSON over a socket; `websocket-client` comes with Jupyter's server.
"""

import base64
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
)
KEYS = {"Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}  # the numbers that older scripts look at


def find() -> str | None:
    """The browser of this machine, if it has one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def end(process: subprocess.Popen) -> None:
    """End a process and all that it started: asked first, then made to."""
    try:
        family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    except psutil.NoSuchProcess:
        return
    for ending in ("terminate", "kill"):
        for member in family:
            try:
                getattr(member, ending)()
            except psutil.NoSuchProcess:
                pass
        family = psutil.wait_procs(family, timeout=10)[1]
    process.wait()


def until(condition, seconds: float, what: str) -> Any:
    """What the condition gives as soon as it gives something."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if value := condition():
            return value
        time.sleep(0.1)
    raise TimeoutError(f"{what}: not within {seconds:g} seconds")


class Leaving(RuntimeError):
    """The page went away while it was asked something."""


class Browser:
    """One page. `errors` are the exceptions its scripts threw, `requests` all addresses it asked, `blocked`
    what its policy forbade."""

    def __init__(self, folder: Path, width: int = 1400, height: int = 1000):
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.blocked: list[str] = []
        self._number = 0
        self._address: dict[str, str] = {}
        self._session: dict[str, str] = {}
        command = [
            find(),
            *FLAGS,
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            place = folder / "DevToolsActivePort"
            port, path = until(
                lambda: place.exists() and place.read_text().split(), 300, "the browser starts"
            )
            self._socket = websocket.create_connection(
                f"ws://127.0.0.1:{port}{path}", timeout=300, suppress_origin=True
            )
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = {
                "sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            }
            for part in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{part}.enable")
        except BaseException:
            end(self._process)
            raise

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        end(self._process)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the browser and wait for its answer; what it tells in between is kept."""
        self._number += 1
        self._socket.send(
            json.dumps({"id": self._number, "method": method, "params": params} | self._session)
        )
        while True:
            message = json.loads(self._socket.recv())
            match message:
                case {"id": self._number, "error": error}:
                    gone = re.search(
                        "navigated or closed|context was destroyed|Cannot find context", error["message"]
                    )
                    raise (Leaving if gone else RuntimeError)(f"{method}: {error['message']}")
                case {"id": self._number, "result": result}:
                    return result
                case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
                    self.errors.append(details.get("exception", {}).get("description") or details["text"])
                case {
                    "method": "Network.requestWillBeSent",
                    "params": {"request": request, "requestId": key},
                }:
                    self.requests.append(request["url"])
                    self._address[key] = request["url"]
                case {
                    "method": "Network.loadingFailed",
                    "params": {"blockedReason": "csp", "requestId": key},
                }:
                    self.requests.remove(self._address[key])  # it will not be sent after all
                case {"method": "Log.entryAdded", "params": {"entry": {"text": text}}} if (
                    "Content Security Policy" in text
                ):
                    self.blocked.append(text)
                case {"method": "Page.javascriptDialogOpening"}:
                    raise RuntimeError("the page asks a question")

    # ---- looking --------------------------------------------------------------------------------------------------------------

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if details := answer.get("exceptionDetails"):
            raise RuntimeError(
                f"{script}: {details.get('exception', {}).get('description') or details['text']}"
            )
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = 300) -> None:
        """Wait until an expression in the page, or in the one that follows it, is true."""

        def holds() -> bool:
            try:
                return self.evaluate(f"Boolean({script})")
            except Leaving:
                return False

        until(holds, seconds, script)

    def resize(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Look at pages through a window of this size, by day or by night."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path

    # ---- doing ----------------------------------------------------------------------------------------------------------------

    def open(self, url: str) -> None:
        """Go to an address and wait until the page says that it is loaded."""
        self.call("Page.navigate", url=url)
        self.wait_for(
            f"location.href.startsWith({json.dumps(url.split('?')[0])}) && document.readyState == 'complete'"
        )

    def click(self, element: str) -> None:
        """Bring an element, given as an expression, into the window and press the mouse on it."""
        place = f"(box => [box.x + box.width / 2, box.y + box.height / 2])({element}.getBoundingClientRect())"
        self.evaluate(f"{element}.scrollIntoView({{block: 'nearest'}})")
        x, y = self.evaluate(place)
        for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left" if kind != "mouseMoved" else "none",
                buttons=buttons,
                clickCount=1,
            )

    def press(self, key: str) -> None:
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]} | (
            {"text": "\r"} if key == "Enter" else {}
        )
        self.call("Input.dispatchKeyEvent", type="keyDown", **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in code.items() if k != "text"})

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)
