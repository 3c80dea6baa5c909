/*
 * journald's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): an entry is one datagram of
 * fields, which journalctl can look for. Nothing here waits: the journal must not hold up an
 * election.
 */
#ifndef ZKLEADER_BASE_LOG_JOURNAL_H
#define ZKLEADER_BASE_LOG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_SOCKET	  "/run/systemd/journal/socket"
#define JOURNAL_ENTRY_MAX 8192
#define JOURNAL_NAME_MAX  64

struct journal_entry {
	char data[JOURNAL_ENTRY_MAX];
	size_t len;
	bool full; /* something did not fit; nothing follows it */
};

/*
 * Whether the descriptor is the stream named by this value of $JOURNAL_STREAM ("DEVICE:INODE"),
 * which may be NULL: a process may inherit the variable but not the stream.
 */
bool journal_is_stream(int fd, const char *value);
/* A socket for journal_send(), never one of the standard descriptors; or a negative errno. */
int journal_open(void);

void journal_begin(struct journal_entry *e);
/*
 * Adds a field with any value, newlines included. Its name is put in upper case, with "_" for
 * characters that are not allowed. The field is added whole or not at all.
 */
void journal_put(struct journal_entry *e, const char *prefix, const char *name, const char *value,
		 size_t len);
/* 0, or a negative errno: -EAGAIN where the journal takes no more at the moment. */
int journal_send(int fd, const char *path, const struct journal_entry *e);

#endif
