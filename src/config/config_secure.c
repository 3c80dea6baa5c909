#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "config/config_values.h"
#include "config/text/keytab.h"
#include "config/text/textfile.h"

#define PEM_MAX (1024 * 1024) /* bytes of a file: a system's bundle of CAs has a quarter of it */

static const char *const names[CONFIG_SECURE_KEYS] = {
	[CONFIG_TLS] = "tls",
	[CONFIG_TLS_CA] = "tls-ca",
	[CONFIG_TLS_CERT] = "tls-cert",
	[CONFIG_TLS_KEY] = "tls-key",
	[CONFIG_TLS_SERVER_NAME] = "tls-server-name",
	[CONFIG_SASL] = "sasl",
	[CONFIG_SASL_KEYTAB] = "sasl-keytab",
	[CONFIG_SASL_PRINCIPAL] = "sasl-principal",
};

const char *config_secure_name(enum config_secure_key key)
{
	return names[key];
}

static bool is_file(enum config_secure_key key)
{
	return key == CONFIG_TLS_CA || key == CONFIG_TLS_CERT || key == CONFIG_TLS_KEY ||
	       key == CONFIG_SASL_KEYTAB;
}

/* The error of a secret's owner and mode; NULL: none. */
static const char *bad_owner(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user: chown it to the sidecar's user";
	if (st->st_mode & (S_IRWXG | S_IRWXO))
		return "can be read or changed by others than its owner: chmod 600 it";
	return NULL;
}

/* Reads a file of the key, which may be empty; NULL: there is none, or a problem was added. */
static char *read_file(struct config_values *v, enum config_secure_key key, bool is_secret,
		       size_t *ret_len)
{
	const char *path = v->c->secure.texts[key], *wrong = NULL;
	struct stat st;
	char *text = NULL;
	int r;

	if (!path)
		return NULL;
	r = textfile_read(path, PEM_MAX, &text, ret_len, &st);
	if (r < 0) {
		config_problem(v, names[key], "\"%s\" %s", path, textfile_error(r));
		return NULL;
	}
	if (is_secret)
		wrong = bad_owner(&st);
	if (!wrong)
		return text;
	config_problem(v, names[key], "\"%s\" %s", path, wrong);
	explicit_bzero(text, *ret_len);
	free(text);
	return NULL;
}

static void check_pem(struct config_values *v, enum config_secure_key key, const char *mark,
		      const char *remedy)
{
	const char *lacks =
		key == CONFIG_TLS_KEY ? "has no private key in it" : "has no certificate in it";
	size_t len;
	char *text = read_file(v, key, key == CONFIG_TLS_KEY, &len);

	if (text && !strstr(text, mark))
		config_problem(v, names[key], "\"%s\" %s: %s", v->c->secure.texts[key],
			       len > 0 ? lacks : "is empty", remedy);
	if (text)
		explicit_bzero(text, len);
	free(text);
}

static void check_keytab(struct config_values *v)
{
	const char *path = v->c->secure.texts[CONFIG_SASL_KEYTAB];
	const char *principal = v->c->secure.texts[CONFIG_SASL_PRINCIPAL];
	size_t len;
	char *bytes = read_file(v, CONFIG_SASL_KEYTAB, true, &len);

	if (bytes && !keytab_has(bytes, len, NULL))
		config_problem(v, names[CONFIG_SASL_KEYTAB],
			       "\"%s\" is no keytab, or has no key: make one with kadmin's ktadd",
			       path);
	else if (bytes && principal && !keytab_has(bytes, len, principal))
		config_problem(v, names[CONFIG_SASL_PRINCIPAL],
			       "\"%.200s\" has no key in \"%s\": write it as klist -k shows it",
			       principal, path);
	if (bytes)
		explicit_bzero(bytes, len);
	free(bytes);
}

/* The keys that say nothing without another one. */
static void check_together(struct config_values *v)
{
	const struct config_secure *s = &v->c->secure;

	for (enum config_secure_key k = CONFIG_TLS_CA; k <= CONFIG_TLS_SERVER_NAME; k++)
		if (s->lines[k] && !s->tls)
			config_problem(v, names[k], "is of no use without tls = true: add that");
	if (s->lines[CONFIG_TLS_CERT] && !s->lines[CONFIG_TLS_KEY])
		config_problem(v, "tls-cert", "needs its private key: name that in tls-key");
	if (s->lines[CONFIG_TLS_KEY] && !s->lines[CONFIG_TLS_CERT])
		config_problem(v, "tls-key", "needs its certificate: name that in tls-cert");
	for (enum config_secure_key k = CONFIG_SASL_KEYTAB; k <= CONFIG_SASL_PRINCIPAL; k++)
		if (s->lines[k] && s->sasl != CONFIG_SASL_GSSAPI)
			config_problem(v, names[k],
				       "is of no use without sasl = \"gssapi\": add that");
	if (s->sasl == CONFIG_SASL_GSSAPI && !s->lines[CONFIG_SASL_KEYTAB])
		config_problem(v, "sasl",
			       "\"gssapi\" needs the sidecar's keys: name the file in "
			       "sasl-keytab");
	if (s->sasl == CONFIG_SASL_DIGEST_MD5 && !config_text(v, "auth-file"))
		config_problem(v, "sasl",
			       "\"digest-md5\" needs a user and a password: name a file "
			       "with the line digest:USER:PASSWORD in auth-file");
}

void config_take_secure(struct config_values *v)
{
	struct config_secure *s = &v->c->secure;
	const char *name;

	s->tls = config_number(v, "tls") == 1;
	s->sasl = (enum config_sasl)config_number(v, "sasl");
	for (enum config_secure_key k = 0; k < CONFIG_SECURE_KEYS; k++) {
		s->lines[k] = settings_get(v->settings, v->settings->sections, names[k])->line;
		s->texts[k] = is_file(k) ? config_path(v, names[k]) : config_copy(v, names[k]);
	}
	check_together(v);
	check_pem(v, CONFIG_TLS_CA, "-----BEGIN ",
		  "it is to be PEM, with -----BEGIN CERTIFICATE-----");
	check_pem(v, CONFIG_TLS_CERT, "-----BEGIN CERTIFICATE-----",
		  "it is to be PEM, with -----BEGIN CERTIFICATE-----");
	check_pem(v, CONFIG_TLS_KEY, "PRIVATE KEY-----",
		  "it is to be PEM, with -----BEGIN PRIVATE KEY-----");
	check_keytab(v);
	name = s->texts[CONFIG_TLS_SERVER_NAME];
	if (name && !name_is_ip(name, strlen(name)) && !config_is_host_name(name))
		config_problem(v, "tls-server-name", "\"%.100s\" is no name or address of a host",
			       name);
	if (!v->c->auth_scheme && s->sasl == CONFIG_SASL_GSSAPI) {
		v->c->auth_scheme = mem_strdup(CONFIG_AUTH_SASL);
		v->c->auth_credential = mem_strdup("");
	}
}
