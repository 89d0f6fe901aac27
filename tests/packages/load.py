"""load.py SONDE INPUT: checks that the module sonde gives what the command prints. load.py --record WHEEL: checks the wheel's files with its RECORD."""
import base64, csv, hashlib, io, json, os, subprocess, sys, zipfile

if sys.argv[1] == "--record":
    with zipfile.ZipFile(sys.argv[2]) as wheel:
        names = {n for n in wheel.namelist() if not n.endswith("/")}
        record = next(n for n in names if n.endswith(".dist-info/RECORD"))
        for name, digest, size in csv.reader(io.StringIO(wheel.read(record).decode())):
            names.remove(name)
            if name != record:
                data = wheel.read(name)
                assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), name
                assert int(size) == len(data), name
        assert not names, names
    sys.exit()

import sonde

command, capture = sys.argv[1:]


def printed(*arguments):
    return json.loads(subprocess.run([command, "report", *arguments, "-f", "json"], stdout=subprocess.PIPE, check=True).stdout)


def timeless(report):
    return {k: v for k, v in report.items() if k != "generated_at"}


report, want = sonde.load(capture), printed(capture)
assert timeless(report) == timeless(want)
assert report.region("step/forward") in want["aggregate"]["regions"]
assert "<iframe" in report._repr_html_() and "</html>" in report.html()
try:
    report.region("no/such")
    sys.exit("a region that is not there was found")
except KeyError:
    pass
# A finished report is read as it is; its page is the one beside it.
folder = os.path.join(os.environ["TMP"], "finished")
subprocess.run([command, "report", capture, "-o", folder], stdout=subprocess.DEVNULL, check=True)
finished = sonde.load(os.path.join(folder, "report.json"))
assert timeless(finished)["findings"] == want["findings"] and finished.html() == open(os.path.join(folder, "report.html")).read()
try:
    sonde.load(os.devnull)
    sys.exit("nothing was loaded as a report")
except ValueError as e:
    assert "sonde" in str(e), e
