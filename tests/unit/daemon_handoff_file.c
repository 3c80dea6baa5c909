#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/files/handoff_file.h"

static char folder[] = "/tmp/zkl-keep-XXXXXX";
static char sock[64], file[80], lock[80];
static const char *why_not = "";

static const struct kept example = {
	.handoff = {.session = -0x7edcba9876543210,
		    .password = {0, 1, 255, 16, 17},
		    .timeout_ms = 4000,
		    .counted_ms = 2000,
		    .promise_ms = 1500,
		    .promised_ms = INT64_C(77000000000),
		    .worker = "3f1c2a9e-8f6e-4c4b",
		    .random_ints = {INT32_MIN, -1, 0, 1, INT32_MAX},
		    .started_at = INT64_C(1795140000000)},
	.asked_ms = 10000,
	.jobs = 2,
	.of = "127.0.0.1:2181 /myapps -",
};

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void setup(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(sock, sizeof(sock), "%s/s", folder);
	snprintf(file, sizeof(file), "%s.session", sock);
	snprintf(lock, sizeof(lock), "%s.lock", sock);
	make_file(lock);
}

static void teardown(void)
{
	char draft[100];

	snprintf(draft, sizeof(draft), "%s.new", file);
	unlink(draft);
	unlink(file);
	unlink(lock);
	rmdir(folder);
}

TestSuite(handoff_file, .init = setup, .fini = teardown);

static void expect_ignored(int error, const char *why)
{
	struct kept back = {.handoff = {.session = 7}};
	const char *got = "";

	cr_expect_eq(handoff_file_read(sock, &back, &got), error, "%s", got);
	cr_expect_str_eq(got, why);
	cr_expect_eq(back.handoff.session, 7, "touched");
}

Test(handoff_file, there_and_back)
{
	struct kept back;
	struct stat st;
	const char *why;

	memset(&back, 0x55, sizeof(back));
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(handoff_file_read(sock, &back, &why), 0);
	cr_expect_eq(back.handoff.session, example.handoff.session);
	cr_expect_eq(memcmp(back.handoff.password, example.handoff.password,
			    sizeof(back.handoff.password)),
		     0);
	cr_expect_eq(back.asked_ms, example.asked_ms);
	cr_expect_eq(back.handoff.timeout_ms, example.handoff.timeout_ms);
	cr_expect_eq(back.handoff.counted_ms, example.handoff.counted_ms);
	cr_expect_eq(back.handoff.promise_ms, example.handoff.promise_ms);
	cr_expect_eq(back.handoff.promised_ms, example.handoff.promised_ms);
	cr_expect_str_eq(back.handoff.worker, example.handoff.worker);
	cr_expect_eq(memcmp(back.handoff.random_ints, example.handoff.random_ints,
			    sizeof(back.handoff.random_ints)),
		     0);
	cr_expect_eq(back.handoff.started_at, example.handoff.started_at);
	cr_expect_eq(back.jobs, example.jobs);
	cr_expect_str_eq(back.of, example.of);
	handoff_file_remove(sock);
	cr_expect_eq(handoff_file_read(sock, &back, &why), -ENOENT);
}

Test(handoff_file, what_others_could_read_or_write_is_ignored)
{
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	cr_assert_eq(chmod(file, 0640), 0);
	expect_ignored(-EPERM, "it is not ours alone: owner or mode");
	cr_assert_eq(chmod(file, 0602), 0);
	expect_ignored(-EPERM, "it is not ours alone: owner or mode");
	if (geteuid() == 0) {
		cr_assert_eq(chmod(file, 0600), 0);
		cr_assert_eq(chown(file, 65534, 65534), 0);
		expect_ignored(-EPERM, "it is not ours alone: owner or mode");
	}
}

Test(handoff_file, what_is_no_file_is_ignored)
{
	cr_assert_eq(symlink("/etc/passwd", file), 0);
	expect_ignored(-ELOOP, "it cannot be read");
	unlink(file);
	cr_assert_eq(mkfifo(file, 0600), 0);
	expect_ignored(-EPERM, "it is no file");
}

/* Every byte of it cut off, and every byte of it another: never a crash, never half of it. */
Test(handoff_file, what_is_damaged_is_ignored)
{
	unsigned char data[4096];
	struct kept back;
	const char *why;

	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	int fd = open(file, O_RDWR);
	ssize_t n = read(fd, data, sizeof(data));
	cr_assert_gt(n, 100);
	for (ssize_t i = 0; i < n; i++) {
		data[i] ^= 0x80;
		cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
		data[i] ^= 0x80;
		handoff_file_read(sock, &back, &why);
	}
	for (ssize_t i = n - 1; i >= 0; i--) {
		cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
		cr_assert_eq(ftruncate(fd, i), 0);
		cr_assert_eq(handoff_file_read(sock, &back, &why), -EBADMSG);
	}
	close(fd);
}

/* The n-th byte behind that key is another. */
static void change(const char *key, size_t n)
{
	unsigned char data[4096];
	int fd = open(file, O_RDWR);
	ssize_t len = read(fd, data, sizeof(data));
	unsigned char *at = memmem(data, (size_t)len, key, strlen(key));

	cr_assert(at);
	at[strlen(key) + n] ^= 1;
	cr_assert_eq(pwrite(fd, data, (size_t)len, 0), len);
	close(fd);
}

#define COPY "it is a copy: of another machine, or of another socket's"

Test(handoff_file, what_is_a_copy_is_ignored)
{
	struct kept back;
	const char *why;
	char name[256] = "";
	unsigned char data[4096];

	gethostname(name, sizeof(name) - 1);
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	/* A file of another machine: its id comes behind the key and the head of its string. */
	change("host", 2);
	expect_ignored(-ESTALE, COPY);
	/* A file of another host. */
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	change(name, 0);
	expect_ignored(-ESTALE, COPY);
	/* Beside a lock that is another's, though the whole folder was copied. */
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	char other[100];
	snprintf(other, sizeof(other), "%s/l", folder);
	make_file(other);
	cr_assert_eq(rename(other, lock), 0);
	expect_ignored(-ESTALE, COPY);
	/* Beside the socket of another sidecar. */
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	int fd = open(file, O_RDONLY);
	ssize_t n = read(fd, data, sizeof(data));
	close(fd);
	unlink(file);
	char old_lock[80];
	memcpy(old_lock, lock, sizeof(old_lock)); /* it keeps its number */
	snprintf(sock, sizeof(sock), "%s/t", folder);
	snprintf(file, sizeof(file), "%s.session", sock);
	snprintf(lock, sizeof(lock), "%s.lock", sock);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(write(fd, data, (size_t)n), n);
	close(fd);
	expect_ignored(-ENOENT, "there is no lock beside it");
	make_file(lock);
	expect_ignored(-ESTALE, COPY);
	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	cr_expect_eq(handoff_file_read(sock, &back, &why), 0, "its own is good");
	unlink(old_lock);
}

/* As one is where ProcSubset=pid hides the boot's id from a sidecar of 0.1.0. */
Test(handoff_file, an_empty_boot_is_ignored)
{
	unsigned char data[4096];

	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	int fd = open(file, O_RDWR);
	ssize_t n = read(fd, data, sizeof(data));
	unsigned char *at = memmem(data, (size_t)n, "boot", 4);
	cr_assert(at);
	/* A string of 36 bytes behind two of its head; an empty one is one byte. */
	at[4] = 0xa0;
	memmove(at + 5, at + 6 + 36, (size_t)(data + n - (at + 6 + 36)));
	cr_assert_eq(pwrite(fd, data, (size_t)n - 37, 0), n - 37);
	cr_assert_eq(ftruncate(fd, n - 37), 0);
	close(fd);
	expect_ignored(-EBADMSG, "boot: not good");
}

Test(handoff_file, where_there_is_no_lock)
{
	unlink(lock);
	cr_expect_eq(handoff_file_write(sock, &example, &why_not), -ENOENT);
	cr_expect_str_eq(why_not, "there is no lock beside it");
}

Test(handoff_file, what_is_of_before_the_boot_is_ignored)
{
	unsigned char data[4096];

	cr_assert_eq(handoff_file_write(sock, &example, &why_not), 0);
	int fd = open(file, O_RDWR);
	ssize_t n = read(fd, data, sizeof(data));
	unsigned char *at = memmem(data, (size_t)n, "boot", 4);
	cr_assert(at);
	at[6] = at[6] == '0' ? '1' : '0'; /* behind the key and the head of its string */
	cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
	close(fd);
	expect_ignored(-ESTALE, "it is of before the system was started");
}

Test(handoff_file, where_it_cannot_be_written)
{
	struct kept long_one = example;

	snprintf(sock, sizeof(sock), "/nonexistent/s");
	cr_expect_eq(handoff_file_write(sock, &long_one, &why_not), -ENOENT);
}

/* --- the runs that are going on -------------------------------------------------------------------- */

static void expect_jobs(const char *text, size_t n, bool all)
{
	struct handoff_run *runs = NULL;
	char jobs[80];
	size_t got = 0;
	bool got_all = false;

	snprintf(jobs, sizeof(jobs), "%s.jobs", sock);
	int fd = open(jobs, O_RDWR | O_CREAT | O_TRUNC, 0600);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	cr_assert_eq(handoff_file_read_runs(sock, &runs, &got, &got_all), 0);
	cr_expect_eq(got, n, "%zu of %s", got, text);
	cr_expect_eq(got_all, all, "%s", text);
	free(runs);
}

Test(handoff_file, jobs_there_and_back)
{
	static const struct handoff_run two[] = {
		{.task = "nightly",
		 .tick = "2026-09-21T14:13:00Z",
		 .id = "a-1",
		 .token = 1234567890123},
		{.task = "other", .tick = "", .id = "b", .token = -1},
	};
	struct handoff_run *runs = NULL;
	size_t n = 0;
	bool all = false;

	cr_expect_eq(handoff_file_read_runs(sock, &runs, &n, &all), -ENOENT);
	cr_assert_eq(handoff_file_write_runs(sock, two, 2), 0);
	cr_assert_eq(handoff_file_read_runs(sock, &runs, &n, &all), 0);
	cr_assert_eq(n, 2);
	cr_expect(all);
	for (size_t i = 0; i < n; i++) {
		cr_expect_str_eq(runs[i].task, two[i].task);
		cr_expect_str_eq(runs[i].tick, two[i].tick);
		cr_expect_str_eq(runs[i].id, two[i].id);
		cr_expect_eq(runs[i].token, two[i].token);
	}
	free(runs);
	handoff_file_remove(sock);
}

/* A line that is not understood may have been about a job: who reads it is told. */
Test(handoff_file, jobs_that_are_damaged)
{
	expect_jobs("", 0, true);
	expect_jobs("nightly - a 1\n", 1, true);
	expect_jobs("nightly - a\n", 0, false);
	expect_jobs("nightly\nother - b 2\n", 1, false);
	expect_jobs("nightly 2026-09-21 a 1\n", 0, false);
	expect_jobs("../x - a 1\n", 0, false);
	expect_jobs("nightly - a/b 1\n", 0, false);
	handoff_file_remove(sock);
}
