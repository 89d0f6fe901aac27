"""Types into an interactive shell, as a user would: Ctrl-Z, bg and fg of `sonde run`.

job_control.py SONDE FOLDER: prints `ok NAME` or `not ok NAME` per test.
"""

import os
import pty
import select
import signal
import sys
import time

SONDE, FOLDER = sys.argv[1:3]
nr_runs = 0
pace = 1  # how many times slower everything goes: a busy machine may be late, then a test is tried again


def begin():
    """By `begun` the sleep runs: a shell cannot be stopped while its child is about to become a program."""
    return f'sleep {2 * pace} & echo beg""un; wait; '


def pause(seconds):
    time.sleep(seconds * pace)


class Shell:
    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1="$ ", SONDE_INJECT_LIB="/dev/null", TERM="dumb")
            os.execvp("bash", ["bash", "--norc", "--noediting", "-i"])
        self.said = ""
        self.type("echo rea''dy\n")
        self.wait("ready")

    def type(self, text):
        self.said = ""
        os.write(self.fd, text.encode())

    def wait(self, text, seconds=15):
        """Whether the text comes; typed words are echoed, so tests wait for what was not typed."""
        end = time.monotonic() + seconds * pace
        while text not in self.said and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    return False  # the shell is gone
        return text in self.said

    def run(self, program, after=""):
        global nr_runs
        nr_runs += 1
        self.type(f"{SONDE} run -q hydra.run.dir={FOLDER}/job{nr_runs} -- sh -c '{program}' {after}\n")

    def is_alive(self):
        self.type("echo ali''ve\n")
        return self.wait("alive", 5)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def background_leaves_the_terminal_to_the_shell(shell):
    shell.run(begin() + 'echo wo""ken')
    is_good = shell.wait("begun")
    shell.type("\x1a")
    is_good = shell.wait("Stopped") and is_good
    shell.type("bg\n")
    return shell.is_alive() and shell.wait("everything is in") and shell.is_alive() and is_good


def foreground_gives_the_terminal_to_the_program_again(shell):
    shell.run(begin() + 'read x; echo "got <$x>"')
    is_good = shell.wait("begun")
    shell.type("\x1a")
    is_good = shell.wait("Stopped") and is_good
    shell.type("bg\n")
    is_good = shell.is_alive() and is_good
    shell.type("fg\n")
    pause(0.5)
    shell.type("words\n")
    return shell.wait("got <words>") and shell.wait("everything is in") and shell.is_alive() and is_good


def program_started_in_the_background_reads_after_fg(shell):
    shell.run('read x; echo "got <$x>"', "&")
    pause(1)
    shell.type("echo\n")
    is_good = shell.wait("Stopped", 5)
    shell.type("fg\n")
    pause(0.5)
    shell.type("words\n")
    return shell.wait("got <words>") and shell.is_alive() and is_good


def stop_and_go_on(shell):
    is_good = shell.wait("begun")
    shell.type("\x1a")
    is_good = shell.wait("Stopped", 5) and is_good
    shell.type("fg\n")
    return shell.wait("woken") and shell.is_alive() and is_good


def a_pipe_stops_as_a_whole(shell):
    shell.run(begin() + 'echo wo""ken', "| cat")
    return stop_and_go_on(shell)


def a_pager_reads_keys_while_the_program_runs(shell):
    shell.run(begin() + 'echo wo""ken', "| sh -c 'read k </dev/tty; echo \"key <$k>\"; cat'")
    pause(1)
    shell.type("words\n")
    is_good = shell.wait("key <words>", 5) and "woken" not in shell.said
    return shell.wait("woken") and shell.is_alive() and is_good


def a_program_in_a_pipe_reads_when_it_asks(shell):
    shell.run('echo beg""un; read x; echo "got <$x>"', "| cat")
    is_good = shell.wait("begun")
    pause(0.5)
    shell.type("words\n")
    return shell.wait("got <words>") and shell.wait("everything is in") and shell.is_alive() and is_good


def a_program_that_reads_in_a_pipe_stops_and_goes_on(shell):
    shell.run('echo beg""un; read x; echo wo""ken', "| cat")
    is_good = shell.wait("begun")
    pause(0.5)
    shell.type("\x1a")
    is_good = shell.wait("Stopped", 5) and is_good
    shell.type("fg\n")
    pause(0.5)
    shell.type("words\n")
    return shell.wait("woken") and shell.is_alive() and is_good


def ctrl_c_ends_a_program_in_a_pipe(shell):
    shell.run('trap "echo caught; exit 3" INT; ' + begin() + 'sleep 20; echo wo""ken', "| sh -c 'trap \"\" INT; cat'")
    is_good = shell.wait("begun")
    shell.type("\x03")
    return shell.wait("caught", 10) and shell.wait("what was captured is in", 10) and shell.is_alive() and is_good


def without_job_control_nothing_stops(shell):
    shell.type(f"cat >{FOLDER}/alone\n")
    shell.run(begin() + 'echo wo""ken', "| cat; echo end")
    # A terminal of its own, whose leader is no shell that could let a stopped job go on.
    shell.type(f"\x04python3 -c 'import pty; pty.spawn([\"sh\", \"{FOLDER}/alone\"])'\n")
    is_good = shell.wait("begun")
    shell.type("\x1a")
    is_good = shell.wait("woken", 10) and shell.wait("\nend") and is_good
    pause(0.5)  # what is typed before Python has left is thrown away
    return shell.is_alive() and is_good


def a_script_stops_with_the_program(shell):
    shell.type(f"cat >{FOLDER}/script\n")
    shell.run(begin() + 'echo wo""ken', "; echo end")
    shell.type(f"\x04bash {FOLDER}/script\n")
    return stop_and_go_on(shell)


for test in (
    background_leaves_the_terminal_to_the_shell,
    foreground_gives_the_terminal_to_the_program_again,
    program_started_in_the_background_reads_after_fg,
    a_pipe_stops_as_a_whole,
    a_pager_reads_keys_while_the_program_runs,
    a_program_in_a_pipe_reads_when_it_asks,
    a_program_that_reads_in_a_pipe_stops_and_goes_on,
    ctrl_c_ends_a_program_in_a_pipe,
    without_job_control_nothing_stops,
    a_script_stops_with_the_program,
):
    for pace in (1, 4, 12):
        shell = Shell()
        is_good = test(shell)
        said = shell.said
        shell.end()
        if is_good:
            break
    print("ok" if is_good else "not ok", test.__name__, flush=True)
    if not is_good:
        print(repr(said))
