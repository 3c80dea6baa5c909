/* A file that exists in memory alone, and what every refusal of one has to look like. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "daemon/health_config.h"
#include "daemon/problem.h"
#include "daemon/textfile.h"

#define FILE_PATH_SIZE 32
#define FILE_MAX       (64 * 1024)

int __real_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat);
int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat);

/* With a smaller limit, as making room for a file of 1 MiB would take most of the time. */
int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat)
{
	return __real_textfile_read(path, limit < FILE_MAX ? limit : FILE_MAX, ret_text, ret_len,
				    ret_stat);
}

/* Its path, good until the next call; one file for the whole run. */
FUZZ const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[FILE_PATH_SIZE];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_CHECK(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	FUZZ_CHECK(ftruncate(fd, 0) == 0);
	FUZZ_CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

FUZZ int count_lines(const uint8_t *data, size_t size)
{
	int lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	return lines;
}

FUZZ void check_problems(const struct problems *p, int result, int lines)
{
	FUZZ_CHECK((result < 0) == (p->n > 0));
	FUZZ_CHECK(p->n <= PROBLEMS_MAX && p->total >= p->n);
	for (size_t i = 0; i < p->n; i++) {
		const struct problem *problem = &p->list[i];

		FUZZ_CHECK(problem->line >= 1 && problem->line <= lines + 1);
		FUZZ_CHECK(problem->message[0] != '\0');
		FUZZ_CHECK(strlen(problem->message) <= PROBLEM_TEXT_MAX);
		FUZZ_CHECK(fuzz_is_line(problem->message, strlen(problem->message)));
		FUZZ_CHECK(fuzz_is_line(problem->file, strlen(problem->file)));
	}
}

FUZZ void check_health(const struct health_config *h)
{
	FUZZ_CHECK(!h->command ||
		   (h->command[0] != '\0' && strlen(h->command) <= HEALTH_COMMAND_MAX));
	FUZZ_CHECK(!h->file || h->file[0] == '/');
	FUZZ_CHECK(h->interval_ms >= HEALTH_INTERVAL_MIN_MS && h->interval_ms <= DURATION_MAX_MS);
	FUZZ_CHECK(h->timeout_ms >= HEALTH_TIMEOUT_MIN_MS && h->timeout_ms <= DURATION_MAX_MS);
	FUZZ_CHECK(h->fall >= 1 && h->fall <= HEALTH_TIMES_MAX);
	FUZZ_CHECK(h->rise >= 1 && h->rise <= HEALTH_TIMES_MAX);
}

#endif
