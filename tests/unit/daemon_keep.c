#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/keep.h"

static char folder[] = "/tmp/zkl-keep-XXXXXX";
static char sock[64], file[80];

static const struct kept example = {
	.session = -0x7edcba9876543210,
	.password = {0, 1, 255, 16, 17},
	.asked_ms = 10000,
	.timeout_ms = 4000,
	.worker = "3f1c2a9e-8f6e-4c4b",
	.random_ints = {INT32_MIN, -1, 0, 1, INT32_MAX},
	.started_at = INT64_C(1795140000000),
	.jobs = 2,
	.of = "127.0.0.1:2181 /myapps -",
};

static void setup(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(sock, sizeof(sock), "%s/s", folder);
	snprintf(file, sizeof(file), "%s.session", sock);
}

static void teardown(void)
{
	char draft[100];

	snprintf(draft, sizeof(draft), "%s.new", file);
	unlink(draft);
	unlink(file);
	rmdir(folder);
}

TestSuite(keep, .init = setup, .fini = teardown);

static void expect_ignored(int error, const char *why)
{
	struct kept back = {.session = 7};
	const char *got = "";

	cr_expect_eq(keep_read(sock, &back, &got), error, "%s", got);
	cr_expect_str_eq(got, why);
	cr_expect_eq(back.session, 7, "touched");
}

Test(keep, there_and_back)
{
	struct kept back;
	struct stat st;
	const char *why;

	memset(&back, 0x55, sizeof(back));
	cr_assert_eq(keep_write(sock, &example), 0);
	cr_assert_eq(stat(file, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(keep_read(sock, &back, &why), 0);
	cr_expect_eq(back.session, example.session);
	cr_expect_eq(memcmp(back.password, example.password, sizeof(back.password)), 0);
	cr_expect_eq(back.asked_ms, example.asked_ms);
	cr_expect_eq(back.timeout_ms, example.timeout_ms);
	cr_expect_str_eq(back.worker, example.worker);
	cr_expect_eq(memcmp(back.random_ints, example.random_ints, sizeof(back.random_ints)), 0);
	cr_expect_eq(back.started_at, example.started_at);
	cr_expect_eq(back.jobs, example.jobs);
	cr_expect_str_eq(back.of, example.of);
	keep_remove(sock);
	cr_expect_eq(keep_read(sock, &back, &why), -ENOENT);
}

Test(keep, what_others_could_read_or_write_is_ignored)
{
	cr_assert_eq(keep_write(sock, &example), 0);
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

Test(keep, what_is_no_file_is_ignored)
{
	cr_assert_eq(symlink("/etc/passwd", file), 0);
	expect_ignored(-ELOOP, "it cannot be read");
	unlink(file);
	cr_assert_eq(mkfifo(file, 0600), 0);
	expect_ignored(-EPERM, "it is no file");
}

/* Every byte of it cut off, and every byte of it another: never a crash, never half of it. */
Test(keep, what_is_damaged_is_ignored)
{
	unsigned char data[4096];
	struct kept back;
	const char *why;

	cr_assert_eq(keep_write(sock, &example), 0);
	int fd = open(file, O_RDWR);
	ssize_t n = read(fd, data, sizeof(data));
	cr_assert_gt(n, 100);
	for (ssize_t i = 0; i < n; i++) {
		data[i] ^= 0x80;
		cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
		data[i] ^= 0x80;
		keep_read(sock, &back, &why);
	}
	for (ssize_t i = n - 1; i >= 0; i--) {
		cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
		cr_assert_eq(ftruncate(fd, i), 0);
		cr_assert_eq(keep_read(sock, &back, &why), -EBADMSG);
	}
	close(fd);
}

Test(keep, what_is_of_before_the_boot_is_ignored)
{
	unsigned char data[4096];

	cr_assert_eq(keep_write(sock, &example), 0);
	int fd = open(file, O_RDWR);
	ssize_t n = read(fd, data, sizeof(data));
	unsigned char *at = memmem(data, (size_t)n, "boot", 4);
	cr_assert(at);
	at[6] = at[6] == '0' ? '1' : '0'; /* behind the key and the head of its string */
	cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
	close(fd);
	expect_ignored(-ESTALE, "it is of before the system was started");
}

Test(keep, where_it_cannot_be_written)
{
	struct kept long_one = example;

	snprintf(sock, sizeof(sock), "/nonexistent/s");
	cr_expect_eq(keep_write(sock, &long_one), -ENOENT);
}
