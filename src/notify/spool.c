#include "notify/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"

#define PART ".part" /* the end of the name of an incomplete file */

/* The command that helps where the folder is missing, or another user's; "": another remedy. */
static void put_remedy(const struct spool *s, int e, char remedy[SPOOL_REMEDY_SIZE])
{
	remedy[0] = '\0';
	if (e == ENOENT || e == EACCES || e == EPERM)
		snprintf(remedy, SPOOL_REMEDY_SIZE, "install -d -m 0700 -o %u %.100s",
			 (unsigned)geteuid(), s->path);
}

static bool fail(struct spool *s, const char *what)
{
	int e = errno;
	char why[SPOOL_WHY_SIZE], remedy[SPOOL_REMEDY_SIZE];

	put_remedy(s, e, remedy);
	snprintf(why, sizeof(why), "the spool cannot be used: %s: %s%s%s", what, strerror(e),
		 remedy[0] ? "; as root: " : "", remedy);
	if (strcmp(why, s->problem) != 0)
		log_error("the spool cannot be used", LOG_STR("path", s->path),
			  LOG_STR("what", what), LOG_STR("why", strerror(e)),
			  LOG_STR("remedy", remedy[0] ? remedy : NULL));
	snprintf(s->problem, sizeof(s->problem), "%s", why);
	return false;
}

/* --- one file ------------------------------------------------------------- */

static json_t *read_file(const struct spool *s, const char *name)
{
	int fd = openat(s->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	json_t *whole = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= SPOOL_FILE_MAX)
		whole = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
	if (fd >= 0)
		close(fd);
	return whole;
}

static bool write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static bool write_file(struct spool *s, const char *name, const char *text)
{
	char part[SPOOL_NAME_SIZE + sizeof(PART)];
	bool good;
	int fd, e;

	snprintf(part, sizeof(part), "%s" PART, name);
	fd = fd_private(openat(s->folder, part,
			       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
	if (fd < 0)
		return fail(s, "open");
	good = write_all(fd, text, strlen(text)) && fsync(fd) == 0;
	e = errno;
	if (close(fd) < 0 && good) {
		good = false;
		e = errno;
	}
	if (good && renameat(s->folder, part, s->folder, name) == 0) {
		if (fsync(s->folder) == 0)
			return true;
		e = errno;
		unlinkat(s->folder, name, 0);
	} else if (good) {
		e = errno;
	}
	unlinkat(s->folder, part, 0);
	errno = e;
	return fail(s, "write");
}

/* --- the list ------------------------------------------------------------- */

static struct spooled *append(struct spool *s, const char *name, const char *channel,
			      const char *id, int64_t since)
{
	struct spooled *m = mem_calloc(1, sizeof(*m));

	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->channel, sizeof(m->channel), "%s", channel);
	snprintf(m->id, sizeof(m->id), "%s", id);
	m->since = since;
	TAILQ_INSERT_TAIL(&s->list, m, link);
	s->n++;
	return m;
}

/*
 * Adds the message in a file to the list. A file that has none is renamed, so that it is kept but
 * not read again.
 */
static void load_file(struct spool *s, const char *name)
{
	json_t *whole = read_file(s, name);
	const char *channel = json_text(whole, "channel", NULL);
	const char *id = json_text(json_object_get(whole, "event"), "id", NULL);
	char bad[SPOOL_NAME_SIZE + 8];

	if (channel && id) {
		append(s, name, channel, id, json_number(whole, "since", 0));
	} else {
		log_error("a file in the spool is no message", LOG_STR("path", s->path),
			  LOG_STR("name", name));
		snprintf(bad, sizeof(bad), "bad-%s", name);
		renameat(s->folder, name, s->folder, bad);
	}
	json_decref(whole);
}

static bool is_name(const char *name)
{
	return strlen(name) == 25 && strspn(name, "0123456789abcdef") == 16 && name[16] == '.' &&
	       strspn(name + 17, "0123456789abcdef") == 8;
}

static bool load(struct spool *s)
{
	char **names = NULL;
	size_t n = 0;
	int fd = fcntl(s->folder, F_DUPFD_CLOEXEC, 3);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return fail(s, "read");
	}
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), part = sizeof(PART) - 1;

		if (len > part && strcmp(entry->d_name + len - part, PART) == 0)
			unlinkat(s->folder, entry->d_name, 0); /* its event was not acknowledged */
		if (!is_name(entry->d_name) || n == SPOOL_MAX)
			continue;
		names = mem_resize(names, n + 1, sizeof(*names));
		names[n++] = mem_strdup(entry->d_name);
	}
	closedir(dir);
	if (n > 0)
		qsort(names, n, sizeof(*names), names_compare);
	for (size_t i = 0; i < n; i++)
		load_file(s, names[i]);
	names_free(names, n);
	return true;
}

/* Opens the folder; one that is missing is made, for this user alone. */
static bool open_folder(struct spool *s)
{
	s->folder = fd_private(open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (s->folder >= 0)
		return true;
	if (errno != ENOENT)
		return fail(s, "open");
	if (mkdir(s->path, 0700) < 0)
		return fail(s, "make");
	log_info("the spool is made", LOG_STR("path", s->path));
	s->folder = fd_private(open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return s->folder >= 0 || fail(s, "open");
}

bool spool_is_good(struct spool *s)
{
	if (s->folder < 0) {
		if (!open_folder(s))
			return false;
		if (!load(s))
			return false;
	}
	if (faccessat(s->folder, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail(s, "write");
	if (s->n >= SPOOL_MAX) {
		if (!strstr(s->problem, "full"))
			log_error("the spool is full", LOG_STR("path", s->path),
				  LOG_INT("limit", SPOOL_MAX));
		snprintf(s->problem, sizeof(s->problem),
			 "the spool is full: %d messages wait to be sent", SPOOL_MAX);
		return false;
	}
	s->problem[0] = '\0';
	return true;
}

/* --- messages ------------------------------------------------------------- */

bool spool_add(struct spool *s, const char *channel, const char *id, const json_t *event)
{
	char name[SPOOL_NAME_SIZE];
	json_t *whole;
	char *text;
	bool good;

	for (const struct spooled *m = TAILQ_FIRST(&s->list); m; m = TAILQ_NEXT(m, link))
		if (strcmp(m->id, id) == 0 && strcmp(m->channel, channel) == 0)
			return true;
	if (!spool_is_good(s))
		return false;
	snprintf(name, sizeof(name), "%016" PRIx64 ".%08" PRIx32, (uint64_t)clock_wall_ms(),
		 ++s->last);
	whole = json_pack("{s:s, s:I, s:O}", "channel", channel, "since",
			  (json_int_t)clock_wall_ms(), "event", event);
	text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
	errno = ENOMEM;
	good = text ? write_file(s, name, text) : fail(s, "write");
	if (good)
		append(s, name, channel, id, clock_wall_ms());
	free(text);
	json_decref(whole);
	return good;
}

json_t *spool_read(const struct spool *s, const struct spooled *m)
{
	json_t *whole = read_file(s, m->name), *event = json_object_get(whole, "event");

	json_incref(event);
	json_decref(whole);
	return event;
}

void spool_remove(struct spool *s, struct spooled *m)
{
	TAILQ_REMOVE(&s->list, m, link);
	s->n--;
	if (unlinkat(s->folder, m->name, 0) < 0 && errno != ENOENT)
		log_error("a message that was sent stays in the spool", LOG_STR("path", s->path),
			  LOG_STR("name", m->name), LOG_STR("why", strerror(errno)));
	free(m);
}

void spool_init(struct spool *s, const char *path)
{
	*s = (struct spool){.path = mem_strdup(path), .folder = -1};
	TAILQ_INIT(&s->list);
	s->last = (uint32_t)getpid() << 12;
	spool_is_good(s);
}

void spool_done(struct spool *s)
{
	struct spooled *m;

	while ((m = TAILQ_FIRST(&s->list))) {
		TAILQ_REMOVE(&s->list, m, link);
		free(m);
	}
	if (s->folder >= 0)
		close(s->folder);
	free(s->path);
}
