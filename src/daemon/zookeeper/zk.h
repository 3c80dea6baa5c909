/* Settings of the ZooKeeper client library behind node/store.h. */
#ifndef ZKLEADER_DAEMON_ZOOKEEPER_ZK_H
#define ZKLEADER_DAEMON_ZOOKEEPER_ZK_H

#include <stdbool.h>
#include <stdint.h>

#define ZK_AUTH_SASL \
	"sasl"		   /* the scheme of an identity that SASL proves: user:password, or empty */
#define ZK_EXPIRES_DAYS 14 /* a certificate that expires sooner is a problem */

/*
 * TLS and SASL of the connections: what store_options.world points to; NULL: neither. The texts
 * belong to the creator, and outlive the stores.
 */
struct zk_security {
	bool tls;
	const char *ca, *cert, *key; /* files, read at each connection; NULL: the system's, none */
	const char *server_name;     /* NULL: the name that was looked up */
	enum zk_sasl { ZK_SASL_NONE, ZK_SASL_DIGEST_MD5, ZK_SASL_GSSAPI } sasl;
	/* Ends of certificates as read last, in seconds since the epoch; 0: not known. */
	_Atomic int64_t ca_ends, cert_ends, server_ends;
};

/* Gets a problem about a key of the configuration. */
typedef void (*zk_security_fn)(void *arg, const char *key, const char *problem);

/* With detail, the library's informational lines go to our log at debug level as well. */
void zk_log_detail(bool detail);
/* Whether the library can do what is wanted, and the files can be used. Reads them: any thread. */
void zk_security_check(struct zk_security *security, zk_security_fn fn, void *arg);
/* Tells of certificates that have expired or will soon; the key of a server's is "zookeeper". */
void zk_security_expiring(const struct zk_security *security, int64_t now_s, zk_security_fn fn,
			  void *arg);

#endif
