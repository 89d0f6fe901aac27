"""Reports of sonde in Python and in notebooks.

    import sonde
    r = sonde.load("run")                  # a run directory, a capture, or a report.json
    r["findings"][0]["says"]               # the JSON as dictionaries (docs/report-format.md)
    r.region("step/forward")["wall_ms"]    # one region of the report that tables show first, by its id
    r                                      # in a notebook: the page

One file, no dependency: the command `sonde` makes what is not there yet.
"""
import base64
import json
import os
import shutil
import subprocess
import sys

__all__ = ["Report", "load"]


def _command():
    """The sonde of this environment, else the one in PATH; $SONDE names another."""
    beside = os.path.join(os.path.dirname(sys.executable), "sonde")
    found = os.environ.get("SONDE") or (beside if os.access(beside, os.X_OK) else shutil.which("sonde"))
    if not found:
        raise FileNotFoundError("the command sonde is not in PATH: set SONDE to it")
    return found


def _report(inputs, kind):
    """What `sonde report` prints of the inputs, as bytes."""
    done = subprocess.run([_command(), "report", "-f", kind, "--"] + list(inputs), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise ValueError(done.stderr.decode("utf-8", "replace").strip() or "sonde report failed")
    return done.stdout


class Report(dict):
    """The JSON of a report as a dictionary. A notebook shows it as the page."""

    def __init__(self, document, inputs, made_of=None):
        super().__init__(document)
        self._inputs = inputs
        self._made_of = made_of  # the report.json it was read from

    def region(self, path):
        """The region with this id in the report that tables show first; KeyError where there is none."""
        for region in self.regions():
            if region["id"] == path:
                return region
        raise KeyError(path)

    def regions(self):
        """All regions of the report that tables show first, parents before their children."""
        main = self["aggregate"] or (self["scopes"] and self["scopes"][0])
        return main["regions"] if main else []

    def html(self):
        """The page, as text. A report.json has it beside it, where its run made one."""
        if not self._made_of:
            return _report(self._inputs, "html").decode()
        page = os.path.splitext(self._made_of)[0] + ".html"
        if not os.path.exists(page):
            raise FileNotFoundError("%s is not there: load the run or its capture, of which the page can be made" % page)
        with open(page, encoding="utf-8") as f:
            return f.read()

    def _repr_html_(self):
        # In a frame of its own: the page's policy and style are the page's, not the notebook's.
        page = base64.b64encode(self.html().encode()).decode()
        return '<iframe src="data:text/html;base64,%s" width="100%%" height="700" style="border:0"></iframe>' % page


def load(*inputs):
    """Reads run directories, captures of any kind, or one report.json."""
    inputs = [os.fspath(i) for i in inputs]
    if not inputs:
        raise TypeError("load() needs a run directory, a capture or a report.json")
    if len(inputs) == 1 and inputs[0].endswith(".json"):
        with open(inputs[0], encoding="utf-8") as f:
            document = json.load(f)
        if isinstance(document, dict) and str(document.get("schema", "")).startswith("sonde.report/"):
            return Report(document, inputs, inputs[0])
    return Report(json.loads(_report(inputs, "json")), inputs)
