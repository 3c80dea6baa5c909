/* The identity of a connection by SASL, with Cyrus SASL's plugins. */
#include "daemon/zookeeper/zk_store.h"

#ifdef ZKLEADER_TLS

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/machine/server_names.h"

/* The data of the callbacks. It lives as long as the handle. */
struct zk_sasl_client {
	char *user;
	sasl_secret_t *secret;
	char host[SERVER_NAME_SIZE]; /* of the present connection; in the IO thread */
	sasl_callback_t callbacks[5];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_result;

static void begin_once(void)
{
	once_result = sasl_client_init(NULL);
}

static int give_user(void *context, int id, const char **result, unsigned *len)
{
	const struct zk_sasl_client *c = context;

	if (id != SASL_CB_USER && id != SASL_CB_AUTHNAME)
		return SASL_BADPARAM;
	*result = c->user;
	if (len)
		*len = (unsigned)strlen(c->user);
	return SASL_OK;
}

static int give_secret(sasl_conn_t *conn, void *context, int id, sasl_secret_t **ret_secret)
{
	const struct zk_sasl_client *c = context;

	(void)conn;
	if (id != SASL_CB_PASS)
		return SASL_BADPARAM;
	*ret_secret = c->secret;
	return SASL_OK;
}

static int give_realm(void *context, int id, const char **realms, const char **result)
{
	(void)context;
	if (id != SASL_CB_GETREALM || !realms || !realms[0])
		return SASL_BADPARAM;
	*result = realms[0];
	return SASL_OK;
}

/* For Kerberos: whose ticket is asked for, by the name of the server. */
static const char *host_of(void *context, const char *server)
{
	struct store *store = context;
	char names[SERVER_NAMES_MAX][SERVER_NAME_SIZE];
	char *host = store->sasl->host;

	if (store->security->server_name)
		snprintf(host, SERVER_NAME_SIZE, "%s", store->security->server_name);
	else if (server_names_find(server, names) > 0)
		snprintf(host, SERVER_NAME_SIZE, "%s", names[0]);
	else
		snprintf(host, SERVER_NAME_SIZE, "%.*s", (int)strcspn(server, ":"), server);
	return host;
}

static void take_credential(struct zk_sasl_client *c, const char *credential)
{
	const char *colon = strchr(credential, ':');

	if (!colon)
		return;
	size_t len = strlen(colon + 1);
	c->user = mem_strndup(credential, (size_t)(colon - credential));
	c->secret = mem_calloc(1, sizeof(*c->secret) + len + 1);
	c->secret->len = len;
	memcpy(c->secret->data, colon + 1, len);
}

int zk_sasl_begin(struct store *store, const struct store_options *options,
		  zoo_sasl_params_t *ret_params)
{
	bool is_digest = store->security->sasl == ZK_SASL_DIGEST_MD5;

	pthread_once(&once, begin_once);
	if (once_result != SASL_OK)
		return -ENOSYS;
	struct zk_sasl_client *c = mem_calloc(1, sizeof(*c));
	store->sasl = c;
	if (is_digest && options->auth_credential)
		take_credential(c, options->auth_credential);
	size_t n = 0;
	if (c->user) {
		c->callbacks[n++] = (sasl_callback_t){SASL_CB_USER,
						      (int (*)(void))(void (*)(void))give_user, c};
		c->callbacks[n++] = (sasl_callback_t){SASL_CB_AUTHNAME,
						      (int (*)(void))(void (*)(void))give_user, c};
		c->callbacks[n++] = (sasl_callback_t){
			SASL_CB_PASS, (int (*)(void))(void (*)(void))give_secret, c};
		c->callbacks[n++] = (sasl_callback_t){SASL_CB_GETREALM,
						      (int (*)(void))(void (*)(void))give_realm, c};
	}
	c->callbacks[n] = (sasl_callback_t){SASL_CB_LIST_END, NULL, NULL};
	*ret_params = (zoo_sasl_params_t){.service = "zookeeper",
					  /* the name that the servers have for DIGEST-MD5 */
					  .host = is_digest ? "zk-sasl-md5" : NULL,
					  .mechlist = is_digest ? "DIGEST-MD5" : "GSSAPI",
					  .callbacks = c->callbacks,
					  .host_of = host_of,
					  .host_context = store};
	return 0;
}

void zk_sasl_end(struct store *store)
{
	struct zk_sasl_client *c = store->sasl;

	if (!c)
		return;
	store->sasl = NULL;
	free(c->user);
	if (c->secret)
		explicit_bzero(c->secret->data, c->secret->len);
	free(c->secret);
	free(c);
}

#endif
