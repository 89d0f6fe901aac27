"""Drives Chromium by the DevTools protocol over a pipe, with the standard library only.

    with Page(url, width=1280, dark=True) as page:
        page.js("document.title")            # the value; waits for promises
        page.click("#theme"); page.key("ArrowDown"); page.type("gemm")
        page.screenshot("page.png")
        page.errors, page.requests           # errors, and requests for anything but the page itself
"""
import atexit
import base64
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --disable-extensions --hide-scrollbars --mute-audio "
         "--disable-dev-shm-usage --remote-debugging-pipe").split()
PATIENCE = 300  # seconds; a browser that says nothing for so long is dead, not slow
KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "/": 191}


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One process for all pages; ended when Python ends."""

    shared = None

    def __init__(self):
        self.number, self.replies, self.page = 0, {}, None
        self.profile = tempfile.mkdtemp(prefix="sonde-browser-")
        to_child, self.out = os.pipe()
        self.into, from_child = os.pipe()
        # The protocol wants to read from descriptor 3 and write to 4.
        script = f"exec 3<&{to_child} 4>&{from_child}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", script, "sh", find(), *FLAGS, "--user-data-dir=" + self.profile, "about:blank"],
            pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        atexit.register(self.close)

    @classmethod
    def get(cls):
        cls.shared = cls.shared or cls()
        return cls.shared

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.time() + PATIENCE
        while self.number not in self.replies:
            if time.time() > end:
                raise TimeoutError(method)
            self.receive()
        reply = self.replies.pop(self.number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser says nothing")
            piece = os.read(self.into, 1 << 20)
            if not piece:
                raise EOFError("the browser is gone")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self.replies[message["id"]] = message
        elif self.page and message.get("sessionId") == self.page.session:
            self.page.take(message)

    def close(self):
        try:
            self.send("Browser.close")
        except (OSError, EOFError, RuntimeError, TimeoutError):
            pass
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    def __init__(self, url, width=1280, height=900, dark=False, phone=False):
        self.browser, self.errors, self.requests, self.session = Browser.get(), [], [], None
        self.context = self.browser.send("Target.createBrowserContext")["browserContextId"]
        target = self.browser.send("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = self.browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.browser.page = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.theme(dark)
        self.open(url)

    def theme(self, dark):
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.load(url)
        self.settle()

    def load(self, url):
        """Until its scripts have run; what they put off may be to come."""
        self.url, self.loaded = url, False
        self.send("Page.navigate", url=url)
        end = time.time() + PATIENCE
        while not self.loaded and time.time() < end:
            self.browser.receive()

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def take(self, message):
        params, method = message.get("params", {}), message.get("method")
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if url.split("#")[0] != self.url.split("#")[0] and url != "about:blank":
                self.requests.append(url)
        elif method == "Page.loadEventFired":
            self.loaded = True

    def js(self, expression):
        reply = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(str(reply["exceptionDetails"].get("exception", reply)))
        return reply["result"].get("value")

    def settle(self):
        """Until what was asked for is drawn."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def click_at(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def click(self, selector, index=0):
        spot = self.js(f"""(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{index}];
            if (!e) return null; e.scrollIntoView({{block: 'nearest'}}); const b = e.getBoundingClientRect();
            return [b.left + Math.min(b.width / 2, 60), b.top + b.height / 2]; }})()""")
        if not spot:
            raise LookupError(selector)
        self.click_at(*spot)

    def hover(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def sheets(self):
        """How many the page takes on paper."""
        pdf = base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
        return len(re.findall(rb"/Type\s*/Page\b", pdf))

    def key(self, name, text=None):
        params = {"key": name, "windowsVirtualKeyCode": KEYS.get(name, ord(name[0].upper()))}
        self.send("Input.dispatchKeyEvent", type="keyDown", **params, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **params)
        self.settle()

    def type(self, text):
        self.send("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path, whole=True):
        extra = {}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            extra = {"captureBeyondViewport": True,
                     "clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}}
        picture = self.send("Page.captureScreenshot", format="png", **extra)["data"]
        with open(path, "wb") as to:
            to.write(base64.b64decode(picture))

    def close(self):
        self.browser.page = None
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()


if __name__ == "__main__":  # chromium.py URL PNG [dark] [WIDTH]
    dark, width = "dark" in sys.argv, next((int(a) for a in sys.argv[3:] if a.isdigit()), 1280)
    with Page(sys.argv[1], width=width, dark=dark, phone=width < 600) as shot:
        shot.settle()
        shot.screenshot(sys.argv[2])
        print(shot.errors, shot.requests)
