/* Hostnames for people: without the domain that all of them have in common. */
#ifndef ZKLEADER_CLIENT_HOST_H
#define ZKLEADER_CLIENT_HOST_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_DOMAIN_MAX 255

/* The end that all hosts so far have in common, from a dot on; at first none has been seen. */
struct host_domain {
	bool seen;
	char text[HOST_DOMAIN_MAX + 1];
};

/* One more host, which is not to be "-" or "". An IP address has no domain. */
void host_domain_add(struct host_domain *d, const char *host);
/* How many bytes of the host are left without the common domain, which it has as all do. */
size_t host_length(const struct host_domain *d, const char *host);

#endif
