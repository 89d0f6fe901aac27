/*
 * Runs a command, discards its output, and prints its time, peak memory and status:
 *
 *     watch COMMAND…    →    SECONDS PEAK_ANONYMOUS_KIB EXIT_STATUS
 *
 * Anonymous memory is the memory of a process without the files that it maps. It is read
 * from /proc every two milliseconds, so a peak shorter than that may be missed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long anonymous_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtol(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct timespec nap = {0, 2000000};
	double start = now(), end;
	long kib, peak = 0;
	int status = 0;
	sigset_t chld;
	pid_t pid;

	if (argc < 2)
		return 2;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_UNBLOCK, &chld, NULL);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		kib = anonymous_kib(pid);
		peak = kib > peak ? kib : peak;
		sigtimedwait(&chld, NULL, &nap); /* returns as soon as the command ends */
	}
	end = now();
	printf("%.6f %ld %d\n", end - start, peak, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
	return 0;
}
