#include "cli/ui/host.h"

#include <stdio.h>
#include <string.h>

#include "base/text/name.h"

/* The part after the first label, such as ".example.com", or "". An IP address has none. */
static const char *domain_of(const char *host)
{
	return host + (name_is_ip(host, strlen(host)) ? strlen(host) : strcspn(host, "."));
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), len_end = strlen(end);

	return len >= len_end && strcmp(text + len - len_end, end) == 0;
}

void host_domain_add(struct host_domain *d, const char *host)
{
	const char *domain = domain_of(host);
	const char *common = d->text;

	if (strchr(host, ':'))
		return;
	if (!d->seen) {
		d->seen = true;
		snprintf(d->text, sizeof(d->text), "%s",
			 strlen(domain) > HOST_DOMAIN_MAX ? "" : domain);
		return;
	}
	while (*common != '\0' && !ends_with(domain, common))
		common += 1 + strcspn(common + 1, ".");
	memmove(d->text, common, strlen(common) + 1);
}

size_t host_length(const struct host_domain *d, const char *host)
{
	size_t len = strlen(host);

	/* A host that was never added may have another domain, which it keeps. */
	return !strchr(host, ':') && ends_with(domain_of(host), d->text) ? len - strlen(d->text)
									 : len;
}
