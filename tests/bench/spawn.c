/*
 * usage: spawn [-i FILE] TIMES PROGRAM [ARG...]
 *
 * Starts a program again and again and waits for its end each time; prints the nanoseconds that each
 * took, a line each. The programs read FILE (default /dev/null), and what they write goes nowhere.
 * Exits with the exit code of the last one.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *input = "/dev/null";
	posix_spawn_file_actions_t files;
	int at = 1, status = 0;

	if (argc > 3 && strcmp(argv[1], "-i") == 0) {
		input = argv[2];
		at = 3;
	}
	if (argc < at + 2) {
		fprintf(stderr, "usage: spawn [-i FILE] TIMES PROGRAM [ARG...]\n");
		return 125;
	}
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (long i = 0, n = strtol(argv[at], NULL, 10); i < n; i++) {
		pid_t pid;
		int64_t start = now_ns();
		int error = posix_spawn(&pid, argv[at + 1], &files, NULL, argv + at + 1, environ);
		if (error || waitpid(pid, &status, 0) != pid) {
			fprintf(stderr, "%s: %s\n", argv[at + 1], strerror(error ? error : errno));
			return 126;
		}
		printf("%lld\n", (long long)(now_ns() - start));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 124;
}
