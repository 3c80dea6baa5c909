#include "config/keys/zone_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define FOLDER	     "/usr/share/zoneinfo"
#define PATH_SIZE    4096
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/"

/* A name stays below the folder: no dot, and no slash in front. */
static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= ZONE_FILE_NAME_MAX && name[0] != '/' && name[0] != '-' &&
	       strspn(name, NAME_LETTERS) == len;
}

static int read_file(const char *path, char *data, size_t size, size_t *ret_len)
{
	struct stat st;
	size_t len = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), e = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		e = -errno;
	else if (!S_ISREG(st.st_mode))
		e = -EISDIR;
	while (e == 0 && len < size) {
		ssize_t n = read(fd, data + len, size - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			e = -errno;
	}
	if (fd >= 0)
		close(fd);
	*ret_len = len;
	return e;
}

static int load(const char *name, struct zone **ret_zone, const char **ret_why)
{
	const char *folder = getenv("TZDIR");
	char path[PATH_SIZE];
	mem_auto char *data = mem_alloc(ZONE_BYTES_MAX + 1);
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", folder && folder[0] ? folder : FOLDER, name);
	int e = read_file(path, data, ZONE_BYTES_MAX + 1, &len);
	if (e < 0) {
		*ret_why = e == -ENOENT || e == -EISDIR
				   ? "is no time zone of this host: take a name such as "
				     "Europe/Berlin, and see that the package tzdata is installed"
				   : strerror(-e);
		return e;
	}
	return zone_parse(data, len, ret_zone, ret_why);
}

int zone_file_load(const char *name, struct zone_file **ret_zone, const char **ret_why)
{
	struct zone *zone = NULL;

	if (!is_name(name)) {
		*ret_why = "is no name of a time zone: that is one such as Europe/Berlin";
		return -EINVAL;
	}
	/* UTC needs no file, so it works on hosts without the database. */
	if (strcmp(name, ZONE_FILE_UTC) != 0) {
		int e = load(name, &zone, ret_why);
		if (e < 0)
			return e;
	}
	struct zone_file *z = mem_calloc(1, sizeof(*z));
	atomic_init(&z->refs, 1);
	snprintf(z->name, sizeof(z->name), "%s", name);
	z->zone = zone;
	*ret_zone = z;
	return 0;
}

struct zone_file *zone_file_ref(struct zone_file *z)
{
	if (z)
		atomic_fetch_add(&z->refs, 1);
	return z;
}

void zone_file_unref(struct zone_file *z)
{
	if (!z || atomic_fetch_sub(&z->refs, 1) > 1)
		return;
	zone_free(z->zone);
	free(z);
}
