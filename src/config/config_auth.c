#include "config/config_values.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "config/text/textfile.h"

/* The error in a line scheme:credential; NULL: none. No message may quote the secret. */
static const char *bad_auth(const char *line)
{
	size_t scheme = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (scheme == 0 || line[scheme] != ':' || !line[scheme + 1])
		return "does not begin with a line scheme:credential, such as digest:user:password";
	if (!text_is_printable(line))
		return "has a control character in its first line, or is not UTF-8";
	if (scheme == 6 && strncmp(line, "digest", 6) == 0) {
		const char *colon = strchr(line + 7, ':');

		if (!colon || colon == line + 7 || !colon[1])
			return "needs a user and a password: digest:user:password";
	}
	return NULL;
}

/*
 * For SASL: "digest:USER:PASSWORD", or without the scheme. Returns what begins with
 * the user; sets *ret_wrong if there is none.
 */
static const char *sasl_credential(const char *line, const char **ret_wrong)
{
	const char *user = line, *colon;

	if (strncmp(line, "digest:", 7) == 0 && strchr(line + 7, ':'))
		user += 7;
	colon = strchr(user, ':');
	if (!colon || colon == user || !colon[1])
		*ret_wrong = "needs a user and a password: digest:USER:PASSWORD";
	else if (!text_is_printable(line))
		*ret_wrong = "has a control character in its first line, or is not UTF-8";
	return user;
}

static const char *bad_auth_owner(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user: chown it to root or to the sidecar's user";
	if (st->st_mode & (S_IRGRP | S_IROTH))
		return "can be read by others: chmod 600 it";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others: chmod 600 it";
	return NULL;
}

void config_take_auth(struct config_values *v)
{
	struct config *c = v->c;
	const char *wrong;
	struct stat st;
	size_t len;
	char *line;
	int r;

	c->auth_file = config_path(v, "auth-file");
	if (!c->auth_file)
		return;
	r = textfile_read_line(c->auth_file, CONFIG_LINE_MAX, &line, &len, &st);
	if (r < 0) {
		config_problem(v, "auth-file", "\"%s\" %s", c->auth_file, textfile_error(r));
		return;
	}
	bool is_sasl = c->secure.sasl == CONFIG_SASL_DIGEST_MD5;
	const char *credential = line;
	wrong = bad_auth_owner(&st);
	if (!wrong && strlen(line) != len)
		wrong = "has a NUL byte in its first line";
	else if (!wrong && is_sasl)
		credential = sasl_credential(line, &wrong);
	else if (!wrong)
		wrong = bad_auth(line);
	free(c->auth_scheme);
	free(c->auth_credential);
	c->auth_scheme = c->auth_credential = NULL;
	if (wrong) {
		config_problem(v, "auth-file", "\"%s\" %s", c->auth_file, wrong);
	} else if (is_sasl) {
		c->auth_scheme = mem_strdup(CONFIG_AUTH_SASL);
		c->auth_credential = mem_strdup(credential);
	} else {
		char *colon = strchr(line, ':');

		c->auth_scheme = mem_strndup(line, (size_t)(colon - line));
		c->auth_credential = mem_strdup(colon + 1);
	}
	explicit_bzero(line, len);
	free(line);
}
