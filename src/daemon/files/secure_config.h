/* TLS and SASL of a configuration: for the connections, checked with what they name. */
#ifndef ZKLEADER_DAEMON_FILES_SECURE_CONFIG_H
#define ZKLEADER_DAEMON_FILES_SECURE_CONFIG_H

#include "config/config.h"
#include "daemon/zookeeper/zk.h"

/* The texts are those of the configuration. */
void secure_config_take(const struct config *c, struct zk_security *ret_security);
/* Checks what this build can do, and reads the files. 0, or -EINVAL with problems added. */
int secure_config_check(const struct config *c, struct zk_security *ret_security,
			struct problems *problems);
/* Adds a problem for each certificate that expires soon. */
void secure_config_expiring(const struct config *c, const struct zk_security *security,
			    int64_t now_s, struct problems *problems);
/* Tells the Kerberos library of the keys. Before there are threads. */
void secure_config_kerberos(const struct config *c);

#endif
