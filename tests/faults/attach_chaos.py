#!/usr/bin/env python3
"""Attaches and kills at random moments, with the fake CUPTI: no process may change, nothing may be left behind, every report must be readable.

    attach_chaos.py BUILD [ROUNDS [SEED]]

In servers (tests/inject/fake_server.c) the library sleeps. Each round attaches to one for a random time, and at a random moment something
happens to the attach (SIGINT, SIGKILL) or to the server (SIGTERM, SIGKILL), a second attach comes, or nothing happens. When root runs this,
some servers belong to another user. A server that was not killed must end as without sonde, with the same threads, children and descriptors
(it prints these). Everything that a round left on disk must be a report that `sonde validate` accepts. No process of sonde and no file
outside the run directories may be left, except for the folder of a capture whose attach was killed (docs/production-internals.md).
"""
import atexit
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Server:
    def __init__(self, build, plain=False):
        self.how = random.choice(["", "", "fork"])
        env = dict(os.environ)
        if not plain:
            for line in subprocess.run([f"{build}/sonde", "env"], capture_output=True, text=True, check=True).stdout.splitlines():
                name, value = line.removeprefix("export ").split("=", 1)
                env[name] = value.strip("'")
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 and random.random() < 0.4 else {}
        self.whose = "another's" if user else "own"
        self.process = subprocess.Popen([f"{build}/fake/fake_server", f"{build}/fake/libcupti_fake.so", self.how], env=env, stdout=subprocess.PIPE, text=True, **user)
        atexit.register(self.process.kill)
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        """What it says of itself at its end; None for one that was killed."""
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=60)[0]
        return said if self.process.returncode == 0 else None


def sleeps(build, server):
    listed = subprocess.run([f"{build}/sonde", "attach"], capture_output=True, text=True, check=False).stdout
    return any(line.split()[0] == str(server.process.pid) and line.split()[4] == "asleep" for line in listed.splitlines())


def attach(build, server, out, seconds):
    command = [f"{build}/sonde", "attach", str(server.process.pid), "--for", f"{int(seconds * 1000)}ms", "-o", out, "counters=off", f"pipeline.native.cupti={build}/fake/libcupti_fake.so"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    attaches.append(process.pid)
    return process


attaches = []  # the numbers of all there were


def places(number):
    """Of captures for the attach of that number."""
    return [place for tmp in ("/tmp", "/var/tmp", "/dev/shm") for place in glob.glob(f"{tmp}/sonde-attach-*-{number}")]


def remove_places(number):
    """Of an attach that was killed: there is a capture in them, and nothing else."""
    found = places(number)
    for place in found:
        for name in os.listdir(place):
            assert name in ("inject.conf", "inject.status") or re.fullmatch(r"\d+\.\d+\.sonde", name), (place, name)
        shutil.rmtree(place)
    return len(found)


def leftovers(build):
    """Processes of ours beside servers of this build, and places of captures."""
    left = [place for number in attaches for place in places(number)]
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path, encoding="utf-8") as f, open(path.replace("/comm", "/maps"), encoding="utf-8") as maps:
                if f.read().strip() in ("sonde-flush", "sonde-keep") and f"{build}/fake/fake_server" in maps.read():
                    left.append(path)
        except OSError:
            pass
    return set(left)


def check_report(build, run):
    """Whatever was captured gives a report that is right. Returns its launches."""
    if not glob.glob(f"{run}/native/*.sonde"):
        return 0
    said = subprocess.run([f"{build}/sonde", "report", f"{run}/native", "-f", "json"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    with open(f"{run}/again.json", "w", encoding="utf-8") as f:
        f.write(said.stdout)
    valid = subprocess.run([f"{build}/sonde", "validate", f"{run}/again.json"], capture_output=True, text=True, check=False)
    assert valid.returncode == 0, valid.stdout + valid.stderr
    report = json.loads(said.stdout)
    known = {"request", "request/prefill", "request/decode", "serve@sample", "prefill", "decode"}  # the last two of a request that began before
    regions = {g["id"] for g in (report.get("aggregate") or {"regions": []})["regions"]}
    assert regions <= known, regions
    return report["coverage"]["launches_attributed"]


def play(build, server, run):
    """One round. Returns what happened, whether the server is still there, and the number of the attach."""
    seconds = random.choice([0.02, 0.1, 0.3, 0.6])
    what = random.choice(["nothing", "nothing", "INT to attach", "KILL to attach", "KILL to server", "TERM to server", "second attach"])
    first = attach(build, server, run, seconds)
    time.sleep(random.random() * (seconds + 0.1))
    if what.endswith("attach") and what != "second attach":
        first.send_signal(getattr(signal, "SIG" + what.split()[0]))
    elif what.endswith("server"):
        server.process.send_signal(getattr(signal, "SIG" + what.split()[0]))
    elif what == "second attach":
        second = attach(build, server, run + "-second", seconds)
        said = second.communicate(timeout=60)[1]
        assert second.returncode == 0 or "captured by another `sonde attach`: process" in said, said
        check_report(build, run + "-second")
    said = first.communicate(timeout=60)[1]
    if what in ("nothing", "second attach") and "captured by another" not in said:
        assert first.returncode == 0 and check_report(build, run) >= 0, said
    assert "AddressSanitizer" not in said and first.returncode in (0, 1, -9, -2, 130), (first.returncode, said)
    return what, not what.endswith("server"), first.pid


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 31)
    print(f"seed {seed}, {rounds} rounds", flush=True)
    random.seed(seed)
    before = leftovers(build)
    plain = Server(build, plain=True)
    wanted = plain.end().replace("descriptors 3", "descriptors 4")
    nr_launches, nr_kept, happened, server = 0, 0, {}, None
    with tempfile.TemporaryDirectory() as out:
        for number in range(rounds):
            server = server or Server(build)
            run = f"{out}/{number}"
            what, is_there, first = play(build, server, run)
            happened[what, server.whose] = happened.get((what, server.whose), 0) + 1
            deadline = time.monotonic() + 60
            while what == "KILL to attach" and not sleeps(build, server) and time.monotonic() < deadline:
                time.sleep(0.05)  # it notices by itself
            nr_kept += remove_places(first) if what == "KILL to attach" else 0
            if not is_there or random.random() < 0.2:
                said = server.end()
                # One that ends while it is captured has ours in it at that moment.
                assert said is None or said == wanted or (what == "TERM to server" and said.startswith("served all\n")), (what, said)
                assert said or what == "KILL to server", what
                server = None
            nr_launches += check_report(build, run)
        if server:
            assert server.end() == wanted
        deadline = time.monotonic() + 60
        while leftovers(build) - before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not leftovers(build) - before, leftovers(build) - before
    print(*(f"{what}, {whose} server: {nr}" for (what, whose), nr in sorted(happened.items())), sep="\n")
    print(f"{nr_launches} launches in reports; {nr_kept} places of captures whose attach was killed")
    assert nr_launches > 0


if __name__ == "__main__":
    main()
