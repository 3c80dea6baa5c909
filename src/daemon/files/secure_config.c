#include "daemon/files/secure_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "config/text/keytab.h"
#include "config/text/textfile.h"

#define KEYTAB_MAX (1024 * 1024)

struct check {
	const struct config *c;
	struct problems *problems;
};

void secure_config_take(const struct config *c, struct zk_security *ret_security)
{
	const struct config_secure *s = &c->secure;

	*ret_security = (struct zk_security){
		.tls = s->tls,
		.ca = s->texts[CONFIG_TLS_CA],
		.cert = s->texts[CONFIG_TLS_CERT],
		.key = s->texts[CONFIG_TLS_KEY],
		.server_name = s->texts[CONFIG_TLS_SERVER_NAME],
		.sasl = s->sasl == CONFIG_SASL_DIGEST_MD5 ? ZK_SASL_DIGEST_MD5
			: s->sasl == CONFIG_SASL_GSSAPI	  ? ZK_SASL_GSSAPI
							  : ZK_SASL_NONE,
	};
}

static int line_of(const struct config *c, const char *key)
{
	for (enum config_secure_key k = 0; k < CONFIG_SECURE_KEYS; k++)
		if (strcmp(config_secure_name(k), key) == 0 && c->secure.lines[k])
			return c->secure.lines[k];
	return PROBLEM_WHOLE_FILE;
}

static void add_problem(void *arg, const char *key, const char *text)
{
	const struct check *check = arg;

	problems_add(check->problems, check->c->file, line_of(check->c, key), "%s: %s", key, text);
}

int secure_config_check(const struct config *c, struct zk_security *ret_security,
			struct problems *problems)
{
	struct check check = {c, problems};
	size_t total = problems->total;

	secure_config_take(c, ret_security);
	zk_security_check(ret_security, add_problem, &check);
	return problems->total == total ? 0 : -EINVAL;
}

void secure_config_expiring(const struct config *c, const struct zk_security *security,
			    int64_t now_s, struct problems *problems)
{
	struct check check = {c, problems};

	zk_security_expiring(security, now_s, add_problem, &check);
}

/* A keytab that holds the keys of the principal alone, as the library takes the first of a file. */
static int keytab_fd(const char *path, const char *principal)
{
	size_t len, size;
	char *bytes;
	int fd = -1;

	if (textfile_read(path, KEYTAB_MAX, &bytes, &len, NULL) < 0)
		return -1;
	char *only = mem_alloc(len + 1);
	size = keytab_only(bytes, len, principal, only);
	if (size > 0)
		fd = memfd_create("keytab", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, only, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	explicit_bzero(bytes, len);
	explicit_bzero(only, len);
	free(bytes);
	free(only);
	return fd;
}

void secure_config_kerberos(const struct config *c)
{
	const char *path = c->secure.texts[CONFIG_SASL_KEYTAB];
	const char *principal = c->secure.texts[CONFIG_SASL_PRINCIPAL];
	int fd = path && principal ? keytab_fd(path, principal) : -1;
	char name[4200];

	if (c->secure.sasl != CONFIG_SASL_GSSAPI || !path)
		return;
	if (fd >= 0)
		snprintf(name, sizeof(name), "FILE:/proc/self/fd/%d", fd);
	else
		snprintf(name, sizeof(name), "FILE:%s", path);
	setenv("KRB5_CLIENT_KTNAME", name, 1);
	/* The tickets are nobody else's, and end with the sidecar. */
	setenv("KRB5CCNAME", "MEMORY:zkleader", 1);
}
