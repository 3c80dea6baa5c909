#include "base/log/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

bool journal_is_stream(int fd, const char *value)
{
	unsigned long long device, inode;
	struct stat s;
	char *end;

	if (!value || value[0] < '0' || value[0] > '9' || fstat(fd, &s) != 0)
		return false;
	device = strtoull(value, &end, 10);
	if (*end != ':' || end[1] < '0' || end[1] > '9')
		return false;
	inode = strtoull(end + 1, &end, 10);
	return *end == '\0' && device == s.st_dev && inode == s.st_ino;
}

int journal_open(void)
{
	int fd = fd_private(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	return fd < 0 ? -errno : fd;
}

void journal_begin(struct journal_entry *e)
{
	e->len = 0;
	e->full = false;
}

static void put(struct journal_entry *e, const void *data, size_t len)
{
	if (e->full || len > sizeof(e->data) - e->len) {
		e->full = true;
		return;
	}
	memcpy(e->data + e->len, data, len);
	e->len += len;
}

/* At most JOURNAL_NAME_MAX characters; isalnum() would ask the locale. */
static void put_name(struct journal_entry *e, const char *prefix, const char *name)
{
	size_t left = JOURNAL_NAME_MAX;

	for (const char *part = prefix; part; part = part == prefix ? name : NULL) {
		for (const char *s = part; *s != '\0' && left > 0; s++, left--) {
			bool small = *s >= 'a' && *s <= 'z', digit = *s >= '0' && *s <= '9';
			char c = small ? (char)(*s - 'a' + 'A') : *s;

			if (!small && !digit && (c < 'A' || c > 'Z'))
				c = '_';
			put(e, &c, 1);
		}
	}
}

void journal_put(struct journal_entry *e, const char *prefix, const char *name, const char *value,
		 size_t len)
{
	uint8_t length[8];
	size_t before = e->len;

	put_name(e, prefix, name);
	if (memchr(value, '\n', len)) {
		for (size_t i = 0; i < sizeof(length); i++)
			length[i] = (uint8_t)((uint64_t)len >> (8 * i));
		put(e, "\n", 1);
		put(e, length, sizeof(length));
	} else {
		put(e, "=", 1);
	}
	put(e, value, len);
	put(e, "\n", 1);
	if (e->full)
		e->len = before;
}

int journal_send(int fd, const char *path, const struct journal_entry *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	ssize_t n;

	if (len >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, len + 1);
	/*
	 * The socket is addressed by its path each time: a restarted journald may have made
	 * another.
	 */
	do
		n = sendto(fd, e->data, e->len, MSG_DONTWAIT | MSG_NOSIGNAL,
			   (const struct sockaddr *)&address, sizeof(address));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}
