/* The main configuration file of zkleaderd. */
#ifndef ZKLEADER_CONFIG_CONFIG_H
#define ZKLEADER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log/log.h"
#include "config/keys/health_config.h"
#include "config/keys/zone_file.h"
#include "config/text/problem.h"
#include "config/text/settings.h"

/* The file, where none is named. */
#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc" /* unless the Makefile defines it, for files with a main() alone */
#endif
#define CONFIG_FILE		  SYSCONFDIR "/zkleader/zkleader.conf"

#define CONFIG_HOSTS_MAX	  16
#define CONFIG_PORT_DEFAULT	  2181
#define CONFIG_ROOT_MAX		  255 /* bytes of root, and of a chroot */
#define CONFIG_SESSION_MIN_MS	  500
#define CONFIG_SESSION_MAX_MS	  (INT64_C(10) * 60 * 1000)
#define CONFIG_YIELD_MAX_MS	  (INT64_C(3600) * 1000)
#define CONFIG_STOP_WAIT_MAX_MS	  (INT64_C(60) * 1000) /* less than the unit's TimeoutStopSec */
#define CONFIG_SERVER_TICK_MAX_MS 60000
#define CONFIG_GUARD_LIMIT_MS	  (INT64_C(30) * 1000) /* tick-guard is below it */
#define CONFIG_CLOCK_MIN_MS	  1000
#define CONFIG_CLOCK_MAX_MS	  (INT64_C(24) * 3600 * 1000)
#define CONFIG_ROLL_FROM	  "200" /* workers */
#define CONFIG_ROLL_FROM_MAX	  100000
#define CONFIG_AUTH_SASL	  "sasl" /* scheme of an identity that SASL proves, USER:PASSWORD */
#define CONFIG_LINE_MAX		  4096	 /* bytes of the first line of version-file and auth-file */

struct config_host {
	char *host; /* a name or an address, without brackets */
	uint16_t port;
};

/* The keys of TLS and SASL to ZooKeeper. */
enum config_secure_key {
	CONFIG_TLS,
	CONFIG_TLS_CA,
	CONFIG_TLS_CERT,
	CONFIG_TLS_KEY,
	CONFIG_TLS_SERVER_NAME,
	CONFIG_SASL,
	CONFIG_SASL_KEYTAB,
	CONFIG_SASL_PRINCIPAL,
	CONFIG_SECURE_KEYS
};

enum config_sasl { CONFIG_SASL_NONE, CONFIG_SASL_DIGEST_MD5, CONFIG_SASL_GSSAPI };

struct config_secure {
	bool tls;
	enum config_sasl sasl;
	char *texts[CONFIG_SECURE_KEYS]; /* paths to open, and names; NULL: not set */
	int lines[CONFIG_SECURE_KEYS];	 /* 0: not in the file */
};

struct config {
	char *file; /* as it was given */

	char *zookeeper; /* as it was written */
	struct config_host hosts[CONFIG_HOSTS_MAX];
	size_t n_hosts;
	char *chroot; /* "/some/path", NULL: none */
	char *root;
	int64_t session_timeout_ms;

	char *version;	    /* in force: from the key or the file's first line; stripped */
	char *version_file; /* path to open, NULL: the version is fixed */
	int version_file_line;
	char *version_strip; /* prefix that is cut off the version; NULL: nothing */
	char *node;	     /* NULL: the hostname, with the socket if sidecars share the host */
	char *address;	     /* NULL: that of the route to ZooKeeper */

	char *socket;
	mode_t socket_mode;
	char *socket_group;  /* NULL: none */
	gid_t socket_gid;    /* valid if there is a socket_group */
	char **recipe_users; /* users of the recipes, besides those who may change something */
	size_t n_recipe_users;
	int recipe_users_line;

	struct zone_file *timezone; /* for schedules that name none; owned reference */

	char *task_dir; /* path to open */
	int task_dir_line;

	char *auth_file;       /* path, NULL: none */
	char *auth_scheme;     /* "digest"; CONFIG_AUTH_SASL; NULL without an identity */
	char *auth_credential; /* never to be logged or shown */
	struct config_secure secure;

	int64_t yield_delay_ms;
	int64_t stop_wait_ms;
	int64_t server_tick_ms; /* 0: not known */
	int64_t tick_guard_ms;
	int64_t clock_tolerance_ms;
	size_t roll_from;	     /* workers from which there is a roll; 0: never */
	struct health_config health; /* health of the node */
	enum log_level log_level;
	enum log_format log_format;
};

/*
 * Reads and checks the file, and the version-file and auth-file that it names. Returns 0, or
 * -EINVAL (-errno if the file cannot be read) with at least one problem added. Adds every problem
 * that it finds, not only the first. Not for several threads at once: libconfuse's lexer is global.
 *
 * running: the configuration of the start, when the file is read again; NULL: this is the start. A
 * socket-group takes effect, and is looked up, only at the start, as that can take long.
 */
int config_load(const char *path, const struct config *running, struct config **ret_config,
		struct problems *problems);
/*
 * For a check of all files. After -EINVAL, too, there may be a configuration: it is good for
 * taskdir_load() and config_free() alone. NULL: there is none.
 */
int config_examine(const char *path, struct config **ret_config, struct problems *problems);
void config_free(struct config *c);
const char *config_secure_name(enum config_secure_key key);
/* The servers as "name:port,[v6]:port", each with its port; on the heap, for the caller. */
char *config_servers(const struct config *c);
/*
 * Reads the version anew from the first line of the version-file, without white space at its ends
 * and without version-strip. Returns 0, or -EINVAL or another negative errno with a problem added.
 * A misleading form of version adds a warning. c has a version_file.
 */
int config_read_version(const struct config *c, char **ret_version, struct problems *problems);
/* All keys with their defaults, to compare them with the documentation. */
const struct setting_key *config_keys(size_t *ret_n);

#endif
