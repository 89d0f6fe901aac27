"""Checks the pages in Firefox, whose layout and drawing differ from Chromium's: every view works, at every width, in both themes.

    firefox.py FOLDER        FOLDER/NAME.html and FOLDER/diff/NAME.html; one line `ok NAME` or `not ok NAME` per page

Firefox is driven by Marionette, its own protocol over a socket, with the standard library only.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 120  # seconds
PREFS = """user_pref("marionette.port", 0);
user_pref("layout.css.prefers-color-scheme.content-override", %d);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.update.enabled", false);
"""


class Firefox:
    def __init__(self, dark):
        self.profile, self.number = tempfile.mkdtemp(prefix="sonde-firefox-"), 0
        with open(self.profile + "/user.js", "w", encoding="ascii") as prefs:
            prefs.write(PREFS % (0 if dark else 1))
        program = next(p for p in map(shutil.which, ("firefox", "firefox-esr")) if p)
        self.process = subprocess.Popen([program, "--headless", "--no-remote", "--marionette", "--profile", self.profile],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = socket.create_connection(("127.0.0.1", self.port()), timeout=PATIENCE)
        self.read()  # it says who it is
        self.ask("WebDriver:NewSession", {})

    def port(self):
        path, end = self.profile + "/MarionetteActivePort", time.time() + PATIENCE
        while time.time() < end:
            if os.path.exists(path):
                with open(path, encoding="ascii") as text:
                    number = text.read()
                if number:
                    return int(number)
            time.sleep(0.05)
        raise TimeoutError("Firefox does not say its port")

    def read(self):
        """One message: its length, a colon, JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self.more(1)
        text = b""
        while len(text) < int(length[:-1]):
            text += self.more(int(length[:-1]) - len(text))
        return json.loads(text)

    def more(self, most):
        piece = self.socket.recv(most)
        if not piece:
            raise EOFError("Firefox is gone")
        return piece

    def ask(self, command, params):
        self.number += 1
        text = json.dumps([0, self.number, command, params]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self.read()
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result

    def js(self, script):
        return self.ask("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def open(self, url, width):
        self.ask("WebDriver:Navigate", {"url": "about:blank"})
        self.ask("WebDriver:SetWindowRect", {"width": width, "height": 900})
        self.ask("WebDriver:Navigate", {"url": url})

    def close(self):
        try:
            self.ask("Marionette:Quit", {"flags": ["eForceQuit"]})
        except (OSError, EOFError, RuntimeError, ValueError):
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.socket.close()
        shutil.rmtree(self.profile, ignore_errors=True)


VIEWS = """return [...document.querySelectorAll('#tabs button')].map((tab) => { tab.click(); return tab.textContent; })"""


def look(firefox, url, width, dark):
    """What is wrong with the page, or nothing."""
    firefox.open(url, width)
    until = time.monotonic() + 60  # a busy machine draws a large page after it has told that the page is loaded
    while firefox.js("return document.documentElement.dataset.ready") != "yes":
        if time.monotonic() > until:
            return "its script did not get to its end"
        time.sleep(0.05)
    if firefox.js("return document.documentElement.dataset.theme") != ("dark" if dark else "light"):
        return "its theme is not the system's"
    if not firefox.js("return document.querySelectorAll('#rows tr').length"):
        return "its table has no rows"
    window, content = firefox.js("return [innerWidth, document.documentElement.scrollWidth]")
    if content > window:
        return f"it is {content} pixels wide in a window of {window}"
    views = firefox.js(VIEWS)
    if len(views) < 3:
        return f"it has no more views than {views}"
    broken = firefox.js("""let broken = null; window.addEventListener("error", (e) => { broken = e.message; });
        for (const what of [{region: 1}, {search: "a"}, {search: ""}]) change(what);
        if (!location.hash.includes("region=")) return "a selection is not in the address: " + location.hash;
        for (const id of ["theme", "open-all", "theme"]) document.getElementById(id).click();
        return broken;""")
    if broken:
        return broken
    before = firefox.js("""return new Promise((done) => { addEventListener("hashchange", () => done(location.hash + (byId("selected") ? " selected" : "")), {once: true}); history.back(); });""")
    return "Back does not lead to what was shown before: " + before if "region=" in before or "selected" in before else None


def main():
    folder = os.path.abspath(sys.argv[1])
    pages = [os.path.join(d, f) for d in (folder, folder + "/diff") for f in sorted(os.listdir(d)) if f.endswith(".html")]
    bad = False
    for dark in (False, True):
        firefox = Firefox(dark)
        try:
            for page in pages:
                name = f"{os.path.basename(page)[:-5]} in Firefox, {'dark' if dark else 'light'}"
                wrong = [f"{width}: {why}" for width in (1440, 1024, 768, 500) for why in [look(firefox, "file://" + page, width, dark)] if why]
                print("\n".join(wrong + [("not ok " if wrong else "ok ") + name]))
                bad = bad or bool(wrong)
        finally:
            firefox.close()
    sys.exit(bad)


if __name__ == "__main__":
    main()
