/* Common to TLS and SASL, in builds with and without them. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "daemon/zookeeper/zk_store.h"

#define DAY_S 86400

static _Thread_local char why[TROUBLE_MESSAGE_MAX];

void zk_why_set(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
}

char *zk_why_take(void)
{
	char *taken = why[0] ? mem_strdup(why) : NULL;

	why[0] = '\0';
	return taken;
}

#ifdef ZKLEADER_TLS

zhandle_t *zk_secure_open(struct store *store, const struct store_options *options,
			  const clientid_t *id, watcher_fn watcher, log_callback_fn log)
{
	zcert_t cert = {.open = zk_tls_open, .failed = zk_tls_failed, .context = store};
	zoo_sasl_params_t sasl;
	bool has_tls = store->security && store->security->tls;
	bool has_sasl = store->security && store->security->sasl != ZK_SASL_NONE;

	if (!has_tls && !has_sasl)
		return zookeeper_init2(options->servers, watcher, options->timeout_ms, id, store,
				       ZOO_NO_LOG_CLIENTENV, log);
	if (has_sasl) {
		int error = zk_sasl_begin(store, options, &sasl);

		if (error < 0) {
			errno = -error;
			return NULL;
		}
	}
	return zookeeper_init_tls(options->servers, watcher, options->timeout_ms, id, store,
				  ZOO_NO_LOG_CLIENTENV, log, has_tls ? &cert : NULL,
				  has_sasl ? &sasl : NULL);
}

#else

zhandle_t *zk_secure_open(struct store *store, const struct store_options *options,
			  const clientid_t *id, watcher_fn watcher, log_callback_fn log)
{
	if (store->security && (store->security->tls || store->security->sasl)) {
		errno = ENOTSUP;
		return NULL;
	}
	return zookeeper_init2(options->servers, watcher, options->timeout_ms, id, store, 0, log);
}

void zk_sasl_end(struct store *store)
{
	(void)store;
}

void zk_security_check(struct zk_security *security, zk_security_fn fn, void *arg)
{
	static const char remedy[] = "this sidecar was built without TLS and SASL: install the "
				     "package zkleader, or build "
				     "again after make zookeeper-client";

	if (security->tls)
		fn(arg, "tls", remedy);
	if (security->sasl)
		fn(arg, "sasl", remedy);
}

#endif

static void tell_end(const char *what, const char *key, int64_t ends_s, int64_t now_s,
		     zk_security_fn fn, void *arg)
{
	char text[256], date[32];
	time_t ends = (time_t)ends_s;
	struct tm tm;

	if (ends_s == 0 || ends_s - now_s >= (int64_t)ZK_EXPIRES_DAYS * DAY_S)
		return;
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&ends, &tm));
	if (ends_s <= now_s)
		snprintf(text, sizeof(text), "%s has expired at %s: renew it", what, date);
	else
		snprintf(text, sizeof(text), "%s expires at %s, in %" PRId64 " days: renew it",
			 what, date, (ends_s - now_s) / DAY_S);
	fn(arg, key, text);
}

void zk_security_expiring(const struct zk_security *security, int64_t now_s, zk_security_fn fn,
			  void *arg)
{
	if (!security->tls)
		return;
	tell_end("the certificate in tls-ca", "tls-ca", security->ca_ends, now_s, fn, arg);
	tell_end("the sidecar's certificate in tls-cert", "tls-cert", security->cert_ends, now_s,
		 fn, arg);
	tell_end("the ZooKeeper server's certificate", "zookeeper", security->server_ends, now_s,
		 fn, arg);
}
