/* Whether a crontab has a column of users, by which of the words are users of this host. */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/printable.h"
#include "cli/run/crontab.h"

#define SHOWN_SIZE 100 /* bytes of a word that are shown */

static bool is_program(const char *name)
{
	static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					      "/usr/bin",	 "/sbin",	   "/bin"};
	char path[300];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

enum answer { IS_USER, IS_NONE, IS_UNKNOWN };

/* Whether the word in front of a command is a user of this host; UNKNOWN: or a command as well. */
static enum answer look_up(const char *word)
{
	if (!getpwnam(word))
		return IS_NONE;
	return is_program(word) ? IS_UNKNOWN : IS_USER;
}

/* The numbers of jobs whose command begins with a user, or with something else. */
struct column {
	size_t users, others;
	int user_line, other_line; /* the first of them */
	char user[SHOWN_SIZE], other[SHOWN_SIZE];
};

static void count_line(struct column *n, int line, const char *text, size_t len)
{
	struct crontab_line l;
	enum answer is = IS_UNKNOWN;

	crontab_parse(text, len, true, &l);
	if (l.user && l.user[0])
		is = look_up(l.user);
	/* A user's name with nothing behind it is no column. */
	if (is == IS_USER && !l.command)
		is = IS_UNKNOWN;
	if (is == IS_USER && n->users++ == 0) {
		n->user_line = line;
		printable(n->user, sizeof(n->user), l.user, strlen(l.user));
	} else if (is == IS_NONE && n->others++ == 0) {
		n->other_line = line;
		printable(n->other, sizeof(n->other), l.user, strlen(l.user));
	}
	crontab_line_done(&l);
}

bool crontab_column_fits(const struct context *c, const char *text, size_t len, bool user)
{
	struct column n = {.users = 0};
	int line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t size = end ? (size_t)(end - text) - at : len - at;

		count_line(&n, line, text + at, size);
		at += size + 1;
	}
	if (user && n.users > 0 && n.users >= n.others)
		output_error(
			&c->output,
			"%s:%d: \"%s\" is a user of this host: the file has a column of users, as "
			"/etc/crontab. Leave --user out, or say --force",
			c->args[0], n.user_line, n.user);
	else if (!user && n.users == 0 && n.others > 0)
		output_error(
			&c->output,
			"%s:%d: \"%s\" is no user of this host: the file has no column of users, "
			"as what crontab -l prints. Say whose it is by --user NAME, or --force",
			c->args[0], n.other_line, n.other);
	else
		return true;
	return false;
}
