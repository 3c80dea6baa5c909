/* Hostnames for people: without the domain that all of them have in common. */
#ifndef ZKLEADER_CLI_UI_HOST_H
#define ZKLEADER_CLI_UI_HOST_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_DOMAIN_MAX 255

/* The common domain of all hosts so far, beginning with a dot. */
struct host_domain {
	bool seen;
	char text[HOST_DOMAIN_MAX + 1];
};

/*
 * Adds a host, which is neither "-" nor "". An IP address has no domain. HOSTNAME:SOCKET is always
 * shown whole.
 */
void host_domain_add(struct host_domain *d, const char *host);
/* The length of the host without the common domain. */
size_t host_length(const struct host_domain *d, const char *host);

#endif
