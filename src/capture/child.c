#include "capture/child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

#define GRACE_NS     (UINT64_C(5) * 1000000000) /* time from SIGTERM to SIGKILL after a timeout */
#define NR_FORWARDED (sizeof(forwarded) / sizeof(*forwarded))

struct watch {
	const struct sonde_child_spec *spec;
	pid_t pid, own_group;
	bool has_terminal;   /* stdin is the terminal of our session, whoever has its foreground */
	bool gives_terminal; /* the child gets the foreground whenever we have it */
	unsigned nr_signals;
	uint64_t begin_ns, next_tick_ns;
	sigset_t set, old_set;
	struct sigaction old_ttou, old_chld;
	struct sonde_child_end *end;
};

/*
 * Hands the foreground of the terminal from one process group to another. While a third group has it (the shell, after
 * Ctrl-Z and bg), it is not ours to give: a shell that loses the terminal reads an end of file and exits.
 */
static void hand_terminal(const struct watch *w, pid_t from, pid_t to)
{
	if (w->has_terminal && tcgetpgrp(STDIN_FILENO) == from)
		tcsetpgrp(STDIN_FILENO, to);
}

/* Returns only on failure. */
static void execute(const struct sonde_child_spec *spec)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};
	char *const *e;

	sigaction(SIGPIPE, &usual, NULL); /* sonde may ignore this signal for itself */
	sigaction(SIGXFSZ, &usual, NULL); /* sonde ignores this one */
	for (e = spec->env; e && *e; e++)
		putenv(*e);
	if (!spec->dir || chdir(spec->dir) == 0)
		execvp(spec->argv[0], spec->argv);
}

/* Restores the signals in the child. Signals that sonde's own caller ignores (nohup) stay ignored. */
static void restore_signals(const struct watch *w)
{
	sigaction(SIGTTOU, &w->old_ttou, NULL);
	sigaction(SIGCHLD, &w->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &w->old_set, NULL);
}

/*
 * Moves a descriptor above the first three. Our caller may have closed those, so `fd` may have one of their numbers,
 * and dup2 would overwrite it.
 */
static int set_aside(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/*
 * Returns the descriptor to report errors to from now on. All descriptors but the first three close by themselves at
 * exec.
 */
static int redirect_helper(const struct sonde_child_spec *spec, int report_fd)
{
	int report = set_aside(report_fd), null = set_aside(open("/dev/null", O_RDWR | O_CLOEXEC));
	int out = spec->out_fd >= 0 ? set_aside(spec->out_fd) : null;

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	return report;
}

static _Noreturn void become_program(const struct watch *w, int report_fd)
{
	int saved;

	setpgid(0, 0);
	if (w->gives_terminal)
		hand_terminal(w, w->own_group, getpid());
	restore_signals(w);
	if (w->spec->is_helper)
		report_fd = redirect_helper(w->spec, report_fd);
	execute(w->spec);
	saved = errno;
	if (write(report_fd, &saved, sizeof(saved)) < 0)
		_exit(126);
	_exit(127);
}

static void watch_for(struct watch *w, int signal)
{
	struct sigaction now;

	if (sigaction(signal, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaddset(&w->set, signal);
}

/*
 * If our output is a pipe, its other end may be a pager that needs the terminal: the child then gets it only when it
 * asks.
 */
static void begin_watch(struct watch *w)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
	size_t i;

	w->has_terminal = !w->spec->is_helper && tcgetpgrp(STDIN_FILENO) >= 0;
	w->gives_terminal = w->has_terminal && isatty(STDOUT_FILENO);
	sigemptyset(&w->set);
	sigaddset(&w->set, SIGCHLD);
	for (i = 0; i < NR_FORWARDED; i++)
		watch_for(w, forwarded[i]);
	if (w->has_terminal && !w->gives_terminal)
		watch_for(w, SIGTSTP);
	sigprocmask(SIG_BLOCK, &w->set, &w->old_set);
	sigaction(SIGTTOU, &ignore, &w->old_ttou);
	sigaction(SIGCHLD, &usual, &w->old_chld); /* if it were ignored, the kernel would keep no exit status */
	w->own_group = getpgrp();
	w->begin_ns = sonde_now_ns();
}

static void end_watch(struct watch *w)
{
	hand_terminal(w, w->pid, w->own_group);
	sigaction(SIGTTOU, &w->old_ttou, NULL);
	sigaction(SIGCHLD, &w->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &w->old_set, NULL);
}

/* Returns the errno of exec, 0 on success. */
static int start_child(struct watch *w)
{
	int pipe_fds[2], saved = 0;
	ssize_t n;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return errno;
	w->pid = fork();
	if (w->pid == 0)
		become_program(w, pipe_fds[1]);
	saved = w->pid < 0 ? errno : 0;
	close(pipe_fds[1]);
	if (w->pid > 0) {
		setpgid(w->pid, w->pid); /* parent and child both do it, so there is no race */
		do
			n = read(pipe_fds[0], &saved, sizeof(saved));
		while (n < 0 && errno == EINTR);
		if (n != sizeof(saved))
			saved = 0;
		else
			waitpid(w->pid, NULL, 0);
	}
	close(pipe_fds[0]);
	return saved;
}

/*
 * Ctrl-Z also stops everybody else in our process group, such as the other end of a pipe or a script: the shell waits
 * until all have stopped. One kill() stops all of them and us; with two, a fg could come in between and leave us
 * stopped. Without a shell that could continue us, SIGTSTP stops nobody, so it must not stop us either.
 */
static void stop_own_group(const struct watch *w, int signal)
{
	sigset_t held;

	if (signal != SIGTSTP) {
		raise(SIGSTOP);
		return;
	}
	kill(0, SIGTSTP);
	if (!sigismember(&w->set, SIGTSTP))
		return;
	sigemptyset(&held);
	sigaddset(&held, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &held, NULL); /* if the signal stops us, it does so here */
	sigprocmask(SIG_BLOCK, &held, NULL);
}

/*
 * Ctrl-Z stopped the child: stop as well, and let both continue together. A child that stopped because it wants the
 * terminal, while we have it, only needs to get it.
 */
static void stop_together(struct watch *w, int signal)
{
	bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;

	w->gives_terminal |= wants_terminal;
	if (!wants_terminal || tcgetpgrp(STDIN_FILENO) != w->own_group) {
		hand_terminal(w, w->pid, w->own_group);
		stop_own_group(w, signal);
	}
	if (w->gives_terminal)
		hand_terminal(w, w->own_group, w->pid);
	kill(-w->pid, SIGCONT);
}

/* True when the child has ended. */
static bool reap(struct watch *w)
{
	int status;
	pid_t pid = waitpid(w->pid, &status, WNOHANG | (w->has_terminal ? WUNTRACED : 0));

	if (pid != w->pid)
		return pid < 0 && errno == ECHILD;
	if (WIFSTOPPED(status)) {
		stop_together(w, WSTOPSIG(status));
		return false;
	}
	if (WIFSIGNALED(status)) {
		w->end->signal = WTERMSIG(status);
		w->end->status = 128 + w->end->signal;
		if (w->end->signal == SIGINT && !w->end->is_timed_out)
			w->end->is_interrupted = true; /* the terminal sent Ctrl-C to the child's group only */
	} else {
		w->end->status = WEXITSTATUS(status);
	}
	return true;
}

static void pass_signal_on(struct watch *w, int signal)
{
	if (signal == w->spec->own_signal) {
		w->spec->on_signal(w->spec->of);
		return;
	}
	switch (signal) {
	case SIGTSTP: /* once the child has stopped, we stop too (stop_together) */
		kill(-w->pid, SIGTSTP);
		break;
	case SIGUSR1:
	case SIGUSR2: /* meant for the program, not for its helpers */
		kill(w->pid, signal);
		break;
	default:
		w->end->is_interrupted = true;
		kill(-w->pid, ++w->nr_signals >= 3 ? SIGKILL : signal);
	}
}

static void on_time(struct watch *w)
{
	const struct sonde_child_spec *s = w->spec;
	uint64_t now = sonde_now_ns();

	if (s->timeout_ms && now - w->begin_ns > (uint64_t)s->timeout_ms * 1000000u) {
		if (!w->end->is_timed_out)
			kill(-w->pid, SIGTERM); /* a profiler still writes what it has recorded */
		else if (now - w->begin_ns > s->timeout_ms * UINT64_C(1000000) + GRACE_NS)
			kill(-w->pid, SIGKILL);
		w->end->is_timed_out = true;
	}
	if (s->tick && now >= w->next_tick_ns) {
		s->tick(s->of);
		w->next_tick_ns = now + (s->tick_ms ? s->tick_ms : 250u) * 1000000u;
	}
}

static void wait_for_end(struct watch *w)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000000};

	while (!reap(w)) {
		int signal = sigtimedwait(&w->set, NULL, &pause);

		if (signal > 0 && signal != SIGCHLD)
			pass_signal_on(w, signal);
		if (w->gives_terminal) /* fg of a running job sends us no signal */
			hand_terminal(w, w->own_group, w->pid);
		on_time(w);
	}
	if (w->spec->tick)
		w->spec->tick(w->spec->of);
}

static int refuse(const struct sonde_child_spec *spec, int error, struct sonde_err *err)
{
	const char *name = spec->argv[0];

	if (error == ENOENT)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND, "%s: no such program%s: check the name",
			name, strchr(name, '/') ? "" : " in PATH");
	if (error == EACCES)
		return sonde_err_set(
			err, SONDE_ERR_NOTFOUND, "%s: not executable: `chmod +x` makes it so", name);
	if (error == ENOEXEC)
		return sonde_err_set(err, SONDE_ERR_NOTFOUND,
			"%s: not a program this machine can run (a script needs a #! line)", name);
	return sonde_err_system(err, error, "%s: could not be started", name);
}

int sonde_child_run(
	struct sonde_child_end *out, const struct sonde_child_spec *spec, struct sonde_err *err)
{
	struct watch w = {.spec = spec, .end = out};
	int error;

	*out = (struct sonde_child_end){0};
	begin_watch(&w);
	error = start_child(&w);
	if (error == 0)
		wait_for_end(&w);
	end_watch(&w);
	return error ? refuse(spec, error, err) : 0;
}

int sonde_child_become(const struct sonde_child_spec *spec, struct sonde_err *err)
{
	execute(spec);
	return refuse(spec, errno, err);
}
