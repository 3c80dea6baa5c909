#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/text/trusted.h"

#define NOBODY 65534

static char folder[64];

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("files of root's are made");
	strcpy(folder, "/tmp/zkleader-trusted-XXXXXX");
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	umask(022);
	cr_assert_eq(mkdir("d", 0755), 0);
	int fd = open("d/file", O_WRONLY | O_CREAT, 0644);
	cr_assert(fd >= 0 && write(fd, "text", 4) == 4 && close(fd) == 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void teardown(void)
{
	if (folder[0])
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(trusted, .init = setup, .fini = teardown, .timeout = 60);

/* expected: 0, or a negative errno and a part of why. */
static void opens(const char *path, int expected, const char *words)
{
	char why[TRUSTED_WHY_SIZE] = "", text[5] = "";
	struct stat st;
	int fd = trusted_open(path, &st, why);

	if (expected < 0) {
		cr_expect_eq(fd, expected, "%s: %d, %s", path, fd, why);
		cr_expect(strstr(why, words), "%s: %s", path, why);
	} else {
		cr_expect(fd >= 0 && S_ISREG(st.st_mode), "%s: %d, %s", path, fd, why);
		cr_expect_eq(read(fd, text, sizeof(text)), 4);
		cr_expect_str_eq(text, "text");
	}
	if (fd >= 0)
		close(fd);
}

Test(trusted, whose_it_is)
{
	opens("d/file", 0, "");
	cr_assert_eq(chown("d/file", NOBODY, 0), 0);
	opens("d/file", -EPERM, "d/file is not root's");
	cr_assert_eq(chown("d/file", 0, NOBODY), 0);
	opens("d/file", 0, "");
	cr_assert_eq(chown("d", NOBODY, 0), 0);
	opens("d/file", -EPERM, "d is not root's");
}

Test(trusted, who_may_write)
{
	cr_assert_eq(chmod("d/file", 0664), 0);
	opens("d/file", -EPERM, "chmod g-w");
	cr_assert_eq(chmod("d/file", 0646), 0);
	opens("d/file", -EPERM, "chmod go-w");
	cr_assert_eq(chmod("d/file", 0644), 0);
	cr_assert_eq(chmod("d", 0777), 0);
	opens("d/file", -EPERM, "chmod go-w");
	cr_assert_eq(chmod("d", 01777), 0);
	opens("d/file", 0, "");
}

Test(trusted, links)
{
	char target[PATH_MAX];

	cr_assert_eq(symlink("d/file", "relative"), 0);
	opens("relative", 0, "");
	snprintf(target, sizeof(target), "%s/d/../relative", folder);
	cr_assert_eq(symlink(target, "absolute"), 0);
	opens("absolute", 0, "");
	cr_assert_eq(lchown("absolute", NOBODY, 0), 0);
	opens("absolute", -EPERM, "absolute is not root's");
	cr_assert_eq(symlink("loop", "loop"), 0);
	opens("loop", -ELOOP, "");
	cr_assert_eq(symlink("nowhere", "dangling"), 0);
	opens("dangling", -ENOENT, "nowhere");
	cr_assert_eq(chmod("d", 0777), 0);
	opens("relative", -EPERM, "chmod go-w");
}

Test(trusted, what_is_no_file)
{
	opens("d", -EISDIR, "is a folder");
	opens("d/", -EISDIR, "is a folder");
	opens("d/file/", 0, "");
	opens("d/file/x", -ENOTDIR, "d/file");
	opens("none", -ENOENT, "none");
	cr_assert_eq(mkfifo("fifo", 0644), 0);
	opens("fifo", -EINVAL, "is not a regular file");
}

/* A folder and a file whose names together are the one that is asked for. */
Test(trusted, a_name_that_is_too_long)
{
	char name[NAME_MAX + 2], path[2 * NAME_MAX];

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	cr_assert_eq(mkdir(name, 0755), 0);
	snprintf(path, sizeof(path), "%s/m", name);
	cr_assert_eq(rename("d/file", path), 0);
	opens(path, 0, "");
	strcat(name, "m");
	opens(name, -ENAMETOOLONG, "");
	memset(path, 'n', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	opens(path, -ENAMETOOLONG, "");
}
