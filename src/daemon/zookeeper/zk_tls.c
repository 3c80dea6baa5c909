/* The TLS of a connection: made by the library's IO thread from files that are read each time. */
#include "daemon/zookeeper/zk_store.h"

#ifdef ZKLEADER_TLS

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "daemon/machine/server_names.h"

#define NAMES_TEXT 120 /* bytes of a list of names in a message */

/* --- words ----------------------------------------------------------------- */

static const char *last_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	return reason ? reason : "the reason is not known";
}

static void add_name(char text[NAMES_TEXT], const char *name, size_t len)
{
	size_t used = strlen(text);

	snprintf(text + used, NAMES_TEXT - used, "%s%.*s", used ? ", " : "",
		 len < 100 ? (int)len : 100, name);
}

static void add_general_name(char text[NAMES_TEXT], const GENERAL_NAME *g)
{
	char ip[INET6_ADDRSTRLEN];
	const ASN1_STRING *s = g->type == GEN_DNS     ? g->d.dNSName
			       : g->type == GEN_IPADD ? g->d.iPAddress
						      : NULL;

	if (!s)
		return;
	const unsigned char *bytes = ASN1_STRING_get0_data(s);
	int len = ASN1_STRING_length(s);
	if (g->type == GEN_DNS)
		add_name(text, (const char *)bytes, (size_t)len);
	else if ((len == 4 || len == 16) &&
		 inet_ntop(len == 4 ? AF_INET : AF_INET6, bytes, ip, sizeof(ip)))
		add_name(text, ip, strlen(ip));
}

static void subject_of(X509_NAME *name, char text[NAMES_TEXT])
{
	text[0] = '\0';
	if (X509_NAME_get_text_by_NID(name, NID_commonName, text, NAMES_TEXT) <= 0)
		X509_NAME_oneline(name, text, NAMES_TEXT);
}

/* Whom the certificate is for. */
static void names_of(X509 *cert, char text[NAMES_TEXT])
{
	GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);

	text[0] = '\0';
	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++)
		add_general_name(text, sk_GENERAL_NAME_value(all, i));
	GENERAL_NAMES_free(all);
	if (!text[0])
		subject_of(X509_get_subject_name(cert), text);
}

static int64_t seconds(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void say_when(const ASN1_TIME *t, char text[32])
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1 || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, 32, "a time that cannot be read");
}

/* --- the server's certificate ------------------------------------------------ */

/* The names that the server may have, for people. */
static void expected_names(const struct store *store, const char *server, char text[NAMES_TEXT])
{
	char names[SERVER_NAMES_MAX][SERVER_NAME_SIZE];
	size_t n = server_names_find(server, names);

	text[0] = '\0';
	if (store->security->server_name)
		n = 0, add_name(text, store->security->server_name, SIZE_MAX);
	for (size_t i = 0; i < n; i++)
		add_name(text, names[i], SIZE_MAX);
	if (!text[0])
		add_name(text, server, SIZE_MAX);
}

static void say_refused(const struct store *store, const char *server, X509 *cert, int error)
{
	char is_for[NAMES_TEXT], other[NAMES_TEXT], date[32];

	names_of(cert, is_for);
	switch (error) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		expected_names(store, server, other);
		zk_why_set("the server's certificate is for %s, not for %s: correct the key "
			   "zookeeper, or say in tls-server-name whom to expect",
			   is_for, other);
		return;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		say_when(X509_get0_notAfter(cert), date);
		zk_why_set("the certificate of %s has expired at %s: renew it", is_for, date);
		return;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		say_when(X509_get0_notBefore(cert), date);
		zk_why_set("the certificate of %s is not valid before %s: see both clocks", is_for,
			   date);
		return;
	default:
		subject_of(X509_get_issuer_name(cert), other);
		zk_why_set("the certificate of %s, issued by %s, is not trusted (%s): %s", is_for,
			   other, X509_verify_cert_error_string(error),
			   store->security->ca ? "put who issued it into tls-ca"
					       : "name a file with who issued it in tls-ca");
	}
}

/* Called by OpenSSL for each certificate of the chain, and at each error. */
static int on_verify(int good, X509_STORE_CTX *chain)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct store *store = SSL_get_app_data(ssl);
	X509 *cert = X509_STORE_CTX_get_current_cert(chain);

	if (X509_STORE_CTX_get_error_depth(chain) == 0 && cert)
		store->security->server_ends = seconds(X509_get0_notAfter(cert));
	if (!good && cert)
		say_refused(store, store->tls_server, cert, X509_STORE_CTX_get_error(chain));
	return good;
}

static bool is_ip(const char *name)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* "address:port" without the port, and without brackets. */
static void address_of(const char *server, char address[SERVER_NAME_SIZE])
{
	snprintf(address, SERVER_NAME_SIZE, "%s", server[0] == '[' ? server + 1 : server);
	char *end = strrchr(address, ':');
	if (end && end > address && end[-1] == ']')
		end--;
	if (end)
		*end = '\0';
}

/* The names of which the certificate has to have one. A host's name goes before an address. */
static bool expect_names(SSL *ssl, const struct store *store, const char *server)
{
	char names[SERVER_NAMES_MAX][SERVER_NAME_SIZE];
	const char *given = store->security->server_name, *host = NULL;
	size_t n = given ? 1 : server_names_find(server, names);

	if (given)
		snprintf(names[0], SERVER_NAME_SIZE, "%s", given);
	if (n == 0)
		address_of(server, names[n++]);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	for (size_t i = 0; i < n; i++) {
		if (is_ip(names[i]))
			continue;
		if (SSL_add1_host(ssl, names[i]) != 1)
			return false;
		host = host ? host : names[i];
	}
	if (host)
		return SSL_set_tlsext_host_name(ssl, host) == 1;
	return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), names[0]) == 1;
}

/* --- our files --------------------------------------------------------------- */

/* The latest end of the certificates in a file; 0: there is none. */
static int64_t file_ends(const char *path)
{
	FILE *file = fopen(path, "re");
	int64_t ends = 0;
	X509 *cert;

	while (file && (cert = PEM_read_X509(file, NULL, NULL, NULL))) {
		int64_t end = seconds(X509_get0_notAfter(cert));
		ends = end > ends ? end : ends;
		X509_free(cert);
	}
	if (file)
		fclose(file);
	ERR_clear_error();
	return ends;
}

/* There is nobody to ask for a password. */
static int no_password(char *buffer, int size, int rwflag, void *arg)
{
	(void)buffer, (void)size, (void)rwflag, (void)arg;
	return -1;
}

/* Loads the files. Returns the key of the configuration that is wrong; NULL: none. */
static const char *load(SSL_CTX *ctx, struct zk_security *s)
{
	SSL_CTX_set_default_passwd_cb(ctx, no_password);
	if (s->ca) {
		if (SSL_CTX_load_verify_locations(ctx, s->ca, NULL) != 1)
			return "tls-ca";
		s->ca_ends = file_ends(s->ca);
	} else if (SSL_CTX_set_default_verify_paths(ctx) != 1) {
		return "tls-ca";
	}
	if (!s->cert)
		return NULL;
	if (SSL_CTX_use_certificate_chain_file(ctx, s->cert) != 1)
		return "tls-cert";
	s->cert_ends = seconds(X509_get0_notAfter(SSL_CTX_get0_certificate(ctx)));
	return SSL_CTX_use_PrivateKey_file(ctx, s->key, SSL_FILETYPE_PEM) == 1 ? NULL : "tls-key";
}

static SSL_CTX *new_context(struct zk_security *s, const char **ret_key)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	*ret_key = "tls";
	if (!ctx)
		return NULL;
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	/* ZooKeeper's messages have a length: an end within one is found without TLS's help. */
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verify);
	*ret_key = load(ctx, s);
	if (!*ret_key)
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

static const char *file_of(const struct zk_security *s, const char *key)
{
	const char *file = strcmp(key, "tls-ca") == 0	  ? s->ca
			   : strcmp(key, "tls-cert") == 0 ? s->cert
							  : s->key;

	return file ? file : "the system's";
}

static void say_file(const struct zk_security *s, const char *key, char text[TROUBLE_MESSAGE_MAX])
{
	bool mismatch = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;

	snprintf(text, TROUBLE_MESSAGE_MAX, "\"%.150s\" cannot be used: %s%s", file_of(s, key),
		 last_reason(),
		 mismatch ? ", so it is the key of another certificate: see tls-cert" : "");
	ERR_clear_error();
}

void zk_security_check(struct zk_security *s, zk_security_fn fn, void *arg)
{
	char text[TROUBLE_MESSAGE_MAX];
	const char *key;

	if (!s->tls)
		return;
	ERR_clear_error();
	SSL_CTX *ctx = new_context(s, &key);
	SSL_CTX_free(ctx);
	if (ctx)
		return;
	say_file(s, key, text);
	fn(arg, key, text);
}

/* --- called by the library ----------------------------------------------------- */

SSL *zk_tls_open(void *context, const char *server)
{
	struct store *store = context;
	char text[TROUBLE_MESSAGE_MAX];
	const char *key;
	SSL_CTX *ctx = new_context(store->security, &key);
	SSL *ssl = ctx ? SSL_new(ctx) : NULL;

	SSL_CTX_free(ctx);
	snprintf(store->tls_server, sizeof(store->tls_server), "%s", server);
	if (!ssl) {
		say_file(store->security, key ? key : "tls", text);
		zk_why_set("%s: %.300s", key ? key : "tls", text);
		return NULL;
	}
	SSL_set_app_data(ssl, store);
	if (expect_names(ssl, store, server))
		return ssl;
	zk_why_set("tls-server-name: that cannot be looked for in a certificate");
	SSL_free(ssl);
	return NULL;
}

static bool is_refusal_of_ours(int reason)
{
	switch (reason) {
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED: return true;
	default: return false;
	}
}

void zk_tls_failed(void *context, SSL *ssl)
{
	const struct store *store = context;
	int reason = ERR_GET_REASON(ERR_peek_last_error());

	/* A fault of the server's certificate was said when that was looked at. */
	if (SSL_get_verify_result(ssl) != X509_V_OK)
		return;
	if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG)
		zk_why_set("the port does not speak TLS: name the one that does "
			   "(secureClientPort) in the key zookeeper");
	else if (is_refusal_of_ours(reason) && !store->security->cert)
		zk_why_set("the server wants a certificate of the sidecar (%s): name one in "
			   "tls-cert and tls-key",
			   last_reason());
	else if (is_refusal_of_ours(reason))
		zk_why_set("the server refuses the sidecar's certificate (%s): see tls-cert, and "
			   "the server's ssl.trustStore.location",
			   last_reason());
	else
		zk_why_set("TLS fails: %s", last_reason());
}

#endif
