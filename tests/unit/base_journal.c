#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log/journal.h"
#include "base/log/log.h"

/* --- which stream ------------------------------------------------------------------------------- */

Test(journal, its_stream_is_told_by_device_and_inode)
{
	int fd = open("/dev/null", O_RDWR);
	char good[64], more[80];
	struct stat s;

	cr_assert_eq(fstat(fd, &s), 0);
	snprintf(good, sizeof(good), "%llu:%llu", (unsigned long long)s.st_dev,
		 (unsigned long long)s.st_ino);
	cr_expect(journal_is_stream(fd, good));
	cr_expect_not(journal_is_stream(STDIN_FILENO, "0:0"));
	cr_expect_not(journal_is_stream(-1, good));
	cr_expect_not(journal_is_stream(fd, NULL));
	for (const char *const *bad =
		     (const char *const[]){"", ":", "1", "1:", ":1", "-1:1", "1:-1", "1: 1", "x",
					   "99999999999999999999:1", NULL};
	     *bad; bad++)
		cr_expect_not(journal_is_stream(fd, *bad), "\"%s\"", *bad);
	snprintf(more, sizeof(more), "%s ", good);
	cr_expect_not(journal_is_stream(fd, more));
	snprintf(more, sizeof(more), "%llu:%llu", (unsigned long long)s.st_dev,
		 (unsigned long long)s.st_ino + 1);
	cr_expect_not(journal_is_stream(fd, more));
	close(fd);
}

/* --- an entry -------------------------------------------------------------------------------------- */

static bool entry_is(const struct journal_entry *e, const char *data, size_t len)
{
	return e->len == len && memcmp(e->data, data, len) == 0;
}

#define EXPECT_ENTRY(e, literal) cr_expect(entry_is((e), (literal), sizeof(literal) - 1))

static void put(struct journal_entry *e, const char *name, const char *value)
{
	journal_put(e, "", name, value, strlen(value));
}

Test(journal, fields)
{
	static struct journal_entry e;

	journal_begin(&e);
	put(&e, "MESSAGE", "a=b c");
	journal_put(&e, "ZKLEADER_", "timeout_ms", "1", 1);
	put(&e, "EMPTY", "");
	put(&e, "a-b c", "\t\"\x1b");
	EXPECT_ENTRY(&e, "MESSAGE=a=b c\nZKLEADER_TIMEOUT_MS=1\nEMPTY=\nA_B_C=\t\"\x1b\n");
	cr_expect_not(e.full);
}

Test(journal, a_value_with_a_newline_has_its_length_in_front)
{
	static struct journal_entry e;
	static char long_text[300];

	journal_begin(&e);
	put(&e, "X", "a\nPRIORITY=0");
	put(&e, "Y", "y");
	EXPECT_ENTRY(&e, "X\n\x0c\0\0\0\0\0\0\0a\nPRIORITY=0\nY=y\n");
	journal_begin(&e);
	memset(long_text, '\n', sizeof(long_text));
	journal_put(&e, "", "X", long_text, sizeof(long_text));
	cr_expect_eq(memcmp(e.data, "X\n\x2c\x01\0\0\0\0\0\0\n\n", 12), 0);
	cr_expect_eq(e.len, 2 + 8 + sizeof(long_text) + 1);
}

Test(journal, a_name_has_64_characters)
{
	static struct journal_entry e;
	char name[100];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	journal_begin(&e);
	journal_put(&e, "ZKLEADER_", name, "v", 1);
	cr_expect_eq(e.len, 64 + 3);
	cr_expect_eq(memcmp(e.data, "ZKLEADER_NN", 11), 0);
}

Test(journal, what_does_not_fit_is_left_out_whole)
{
	static struct journal_entry e;
	static char text[JOURNAL_ENTRY_MAX];
	size_t len = sizeof(text) - strlen("A=1\nX=\n");

	memset(text, 'x', sizeof(text));
	journal_begin(&e);
	put(&e, "A", "1");
	journal_put(&e, "", "X", text, len);
	cr_expect_eq(e.len, (size_t)JOURNAL_ENTRY_MAX);
	cr_expect_not(e.full);
	journal_begin(&e);
	put(&e, "A", "1");
	journal_put(&e, "", "X", text, len + 1);
	put(&e, "B", "2");
	EXPECT_ENTRY(&e, "A=1\n");
	cr_expect(e.full);
}

/* --- a journal of our own ---------------------------------------------------------------------------- */

struct journal {
	char dir[40];
	struct sockaddr_un address;
	int fd;
};

static void journal_begin_ours(struct journal *j)
{
	strcpy(j->dir, "/tmp/zkleader-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(j->dir));
	j->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(j->address.sun_path, sizeof(j->address.sun_path), "%s/s", j->dir);
	j->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	cr_assert_eq(bind(j->fd, (struct sockaddr *)&j->address, sizeof(j->address)), 0);
}

static void journal_end_ours(struct journal *j)
{
	close(j->fd);
	unlink(j->address.sun_path);
	rmdir(j->dir);
}

Test(journal, send, .timeout = 60)
{
	static struct journal_entry e;
	struct journal j;
	char path[200], got[64];
	int fd = journal_open();

	cr_assert_geq(fd, 3);
	journal_begin_ours(&j);
	journal_begin(&e);
	put(&e, "MESSAGE", "hello");
	cr_expect_eq(journal_send(fd, j.address.sun_path, &e), 0);
	cr_expect_eq(recv(j.fd, got, sizeof(got), 0), 14);
	cr_expect_eq(memcmp(got, "MESSAGE=hello\n", 14), 0);
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	cr_expect_eq(journal_send(fd, path, &e), -ENAMETOOLONG);
	cr_expect_eq(journal_send(fd, j.dir, &e), -ECONNREFUSED);
	/* Nobody reads: it is told so, and does not wait. */
	int r = 0;
	for (int i = 0; i < 100000 && r == 0; i++)
		r = journal_send(fd, j.address.sun_path, &e);
	cr_expect_eq(r, -EAGAIN);
	journal_end_ours(&j);
	cr_expect_eq(journal_send(fd, j.address.sun_path, &e), -ENOENT);
	close(fd);
}

Test(journal, open_takes_no_standard_descriptor)
{
	int saved = dup(STDIN_FILENO), fd;

	close(STDIN_FILENO);
	fd = journal_open();
	cr_expect_geq(fd, 3);
	cr_expect_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
	cr_expect_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
}

/* --- the log, to it ------------------------------------------------------------------------------------ */

static const char *take(const struct journal *j)
{
	static char got[JOURNAL_ENTRY_MAX + 1];
	ssize_t n = recv(j->fd, got, sizeof(got) - 1, 0);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

/* Standard error goes through this pair while the log is looked at. */
static void log_some(char *text, size_t size)
{
	int pair[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	dup2(pair[0], STDERR_FILENO);
	errno = EDOM;
	log_warning("odd", LOG_STR("task", "x\ny"), LOG_STR("none", NULL), LOG_INT("n", -1),
		    LOG_UINT("u", UINT64_MAX), LOG_HEX("session", 255));
	cr_expect_eq(errno, EDOM);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pair[0]);
	n = recv(pair[1], text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(pair[1]);
}

/* A string compare sees the entry up to the length of the value with the newline, so that comes last. */
Test(journal, log)
{
	static const char head[] = "MESSAGE=odd task=\"x\\ny\" n=-1 u=18446744073709551615 "
				   "session=0xff\nPRIORITY=4\nSYSLOG_IDENTIFIER=";
	static const char tail[] = "\nZKLEADER_EVENT=odd\nZKLEADER_TASK\n\x03";
	static const char rest[] = "x\ny\nZKLEADER_N=-1\nZKLEADER_U=18446744073709551615\n"
				   "ZKLEADER_SESSION=0xff\n";
	struct journal j;
	const char *got;
	char text[1024];

	journal_begin_ours(&j);
	log_setup(LOG_INFO, LOG_TEXT, true);
	log_to_journal(j.address.sun_path);
	log_some(text, sizeof(text));
	cr_expect_str_empty(text);
	got = take(&j);
	cr_expect(strncmp(got, head, strlen(head)) == 0, "%s", got);
	got = strchr(got + strlen(head), '\n');
	cr_assert(got && strcmp(got, tail) == 0, "%s", got);
	cr_expect_str_eq(got + strlen(tail) + 7, rest);
	log_setup(LOG_INFO, LOG_JSON, true);
	log_some(text, sizeof(text));
	cr_expect_str_empty(text);
	got = take(&j);
	cr_expect(strncmp(got, "MESSAGE={\"time\":\"", 17) == 0, "%s", got);
	cr_expect(strstr(got, "\"session\":\"0xff\"}\nPRIORITY=4\n"), "%s", got);
	journal_end_ours(&j);
	/* With no journal there, what is left is the stream. */
	log_setup(LOG_INFO, LOG_TEXT, true);
	log_some(text, sizeof(text));
	cr_expect(strncmp(text, "<4>odd task=", 12) == 0 && text[strlen(text) - 1] == '\n', "%s",
		  text);
}

Test(journal, log_does_not_wait, .timeout = 60)
{
	struct journal j;
	int pair[2], saved = dup(STDERR_FILENO);

	journal_begin_ours(&j);
	log_setup(LOG_INFO, LOG_TEXT, true);
	log_to_journal(j.address.sun_path);
	/* Neither the journal nor the stream is read, and the stream would block. */
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	dup2(pair[0], STDERR_FILENO);
	for (int i = 0; i < 20000; i++)
		log_warning("a line of some length, again and again", LOG_INT("i", i));
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pair[0]);
	close(pair[1]);
	journal_end_ours(&j);
}
