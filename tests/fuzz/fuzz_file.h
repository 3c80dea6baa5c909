/* A file that exists in memory alone, and what every refusal of one has to look like. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/keys/health_config.h"
#include "config/text/problem.h"
#include "config/text/textfile.h"

#define FILE_PATH "/fuzz/zkleader.conf"
#define FILE_FD	  1000
#define FILE_MAX  4096

/* The file itself; and what every other file holds: what follows a byte 0x1e in the input. */
static struct memory_file {
	const uint8_t *data;
	size_t size;
	size_t at;
} fuzz_main, fuzz_other, *fuzz_opened;

int __real_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat);
int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __wrap_read(int fd, void *data, size_t size);
int __wrap_close(int fd);
int __wrap_getgrnam_r(const char *name, struct group *group, char *buffer, size_t size,
		      struct group **ret);

/* With a smaller limit, as making room for a file of 1 MiB would take most of the time. */
int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat)
{
	return __real_textfile_read(path, limit < FILE_MAX ? limit : FILE_MAX, ret_text, ret_len,
				    ret_stat);
}

int __wrap_open(const char *path, int flags, ...)
{
	FUZZ_CHECK((flags & O_ACCMODE) == O_RDONLY && !fuzz_opened);
	if (strcmp(path, FILE_PATH) != 0 && !fuzz_other.data) {
		errno = ENOENT;
		return -1;
	}
	fuzz_opened = strcmp(path, FILE_PATH) == 0 ? &fuzz_main : &fuzz_other;
	fuzz_opened->at = 0;
	return FILE_FD;
}

int __wrap_fstat(int fd, struct stat *st)
{
	FUZZ_CHECK(fd == FILE_FD && fuzz_opened);
	*st = (struct stat){.st_mode = S_IFREG | 0600,
			    .st_uid = geteuid(),
			    .st_size = (off_t)fuzz_opened->size};
	return 0;
}

ssize_t __wrap_read(int fd, void *data, size_t size)
{
	size_t left = fuzz_opened->size - fuzz_opened->at, n = size < left ? size : left;

	FUZZ_CHECK(fd == FILE_FD && fuzz_opened);
	if (n > 0)
		memcpy(data, fuzz_opened->data + fuzz_opened->at, n);
	fuzz_opened->at += n;
	return (ssize_t)n;
}

int __wrap_close(int fd)
{
	FUZZ_CHECK(fd == FILE_FD && fuzz_opened);
	fuzz_opened = NULL;
	return 0;
}

/* Replaces the system's groups: "staff" alone exists. */
int __wrap_getgrnam_r(const char *name, struct group *group, char *buffer, size_t size,
		      struct group **ret)
{
	(void)buffer, (void)size;
	*group = (struct group){.gr_gid = 50};
	*ret = strcmp(name, "staff") == 0 ? group : NULL;
	return 0;
}

/* Its path; the size becomes that of the file itself. */
FUZZ const char *fuzz_file(const uint8_t *data, size_t *size)
{
	const uint8_t *split = *size > 0 ? memchr(data, 0x1e, *size) : NULL;
	size_t first = split ? (size_t)(split - data) : *size;

	fuzz_main = (struct memory_file){.data = data, .size = first};
	fuzz_other = (struct memory_file){
		.data = split ? split + 1 : NULL,
		.size = split ? *size - first - 1 : 0,
	};
	*size = first;
	return FILE_PATH;
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
