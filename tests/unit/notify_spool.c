/* The spool: what was acknowledged is on the disk, and comes back whoever wrote into its folder. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json.h"
#include "notify/spool.h"

static char folder[] = "/tmp/zkl-spool-XXXXXX";
static char path[60];

static void make(void)
{
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/spool", folder);
}

static void remove_all(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(spool, .init = make, .fini = remove_all);

static void put_file(const char *name, const char *text)
{
	char file[120];
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	f = fopen(file, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

static bool is_there(const char *name)
{
	char file[120];

	snprintf(file, sizeof(file), "%s/%s", path, name);
	return access(file, F_OK) == 0;
}

static bool add(struct spool *s, const char *channel, const char *id)
{
	json_t *event = json_pack("{s:s, s:s}", "id", id, "text", "x");
	bool added = spool_add(s, channel, id, event);

	json_decref(event);
	return added;
}

Test(spool, what_was_added_is_there_for_the_next_process)
{
	struct spool s;
	json_t *event;

	spool_init(&s, path);
	cr_assert(add(&s, "ops/url", "a"), "%s", s.problem);
	cr_assert(add(&s, "ops/url", "b"));
	cr_assert(add(&s, "chat/command", "a"));
	cr_assert(add(&s, "ops/url", "a"), "once more is no other message");
	cr_expect_eq(s.n, 3);
	spool_done(&s);

	spool_init(&s, path);
	cr_assert_eq(s.n, 3);
	cr_expect_str_eq(TAILQ_FIRST(&s.list)->id, "a", "the oldest first");
	cr_expect_str_eq(TAILQ_FIRST(&s.list)->channel, "ops/url");
	event = spool_read(&s, TAILQ_FIRST(&s.list));
	cr_expect_str_eq(json_text(event, "text", ""), "x");
	json_decref(event);
	spool_remove(&s, TAILQ_NEXT(TAILQ_FIRST(&s.list), link));
	cr_assert(add(&s, "ops/url", "c"), "the end of the list is known");
	spool_remove(&s, TAILQ_LAST(&s.list, spooled_list));
	cr_assert(add(&s, "ops/url", "d"), "likewise when the last one has gone");
	spool_done(&s);

	spool_init(&s, path);
	cr_expect_eq(s.n, 3);
	spool_done(&s);
}

Test(spool, its_folder_is_made_for_this_user_alone)
{
	struct stat st;
	struct spool s;

	spool_init(&s, path);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0700);
	spool_done(&s);
}

Test(spool, a_folder_that_cannot_be_made_has_a_remedy_and_is_tried_again)
{
	struct spool s;
	char below[80];

	snprintf(below, sizeof(below), "%s/missing/spool", folder);
	spool_init(&s, below);
	cr_expect_not(add(&s, "ops/url", "a"));
	cr_expect_not_null(strstr(s.problem, "install -d -m 0700 -o "), "%s", s.problem);
	*strrchr(below, '/') = '\0';
	cr_assert_eq(mkdir(below, 0700), 0);
	cr_expect(add(&s, "ops/url", "a"), "%s", s.problem);
	cr_expect_str_eq(s.problem, "");
	spool_done(&s);
}

/* Names as of messages, with what no message is: kept aside, and not read again. */
Test(spool, garbage_is_set_aside_and_a_torn_write_removed)
{
	static const char *const garbage[] = {"", "{", "[]", "{\"channel\":\"ops/url\"}",
					      "{\"channel\":7,\"event\":{\"id\":\"a\"}}"};
	char name[40], bad[48];
	struct spool s;

	cr_assert_eq(mkdir(path, 0700), 0);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		snprintf(name, sizeof(name), "0000019000000000.0000000%zu", i);
		put_file(name, garbage[i]);
	}
	put_file("0000019000000000.00000009.part", "{\"chan");
	put_file("README", "of somebody else");
	put_file("0000019000000001.00000000",
		 "{\"channel\":\"ops/url\",\"since\":5,\"event\":{\"id\":\"a\"}}");
	spool_init(&s, path);
	cr_expect_eq(s.n, 1);
	cr_expect_eq(TAILQ_FIRST(&s.list)->since, 5);
	spool_done(&s);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		snprintf(bad, sizeof(bad), "bad-0000019000000000.0000000%zu", i);
		cr_expect(is_there(bad), "%s", bad);
	}
	cr_expect_not(is_there("0000019000000000.00000009.part"));
	cr_expect(is_there("README"));
}

/* A link to another file is not followed: neither what it names is read, nor written. */
Test(spool, a_link_is_no_message)
{
	char to[80], link[120];
	struct spool s;

	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(to, sizeof(to), "%s/secret", folder);
	FILE *f = fopen(to, "w");
	cr_assert_not_null(f);
	fputs("{\"channel\":\"ops/url\",\"event\":{\"id\":\"a\"}}", f);
	fclose(f);
	snprintf(link, sizeof(link), "%s/0000019000000001.00000000", path);
	cr_assert_eq(symlink(to, link), 0);
	spool_init(&s, path);
	cr_expect_eq(s.n, 0);
	spool_done(&s);
}
