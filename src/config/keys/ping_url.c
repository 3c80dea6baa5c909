#include "config/keys/ping_url.h"

#include <stdio.h>
#include <string.h>

/* The part of the URL from the host, or the user before it, on; NULL: another scheme. */
static const char *authority_of(const char *url)
{
	if (strncmp(url, "http://", 7) == 0)
		return url + 7;
	return strncmp(url, "https://", 8) == 0 ? url + 8 : NULL;
}

/* The host and port, behind a user and password if there are any, and their length. */
static const char *host_of(const char *authority, size_t *ret_len)
{
	size_t len = strcspn(authority, "/?");

	for (size_t i = len; i > 0; i--) {
		if (authority[i - 1] != '@')
			continue;
		*ret_len = len - i;
		return authority + i;
	}
	*ret_len = len;
	return authority;
}

bool ping_url_is_good(const char *url)
{
	const char *authority = authority_of(url);
	size_t len;

	if (!authority || strlen(url) > PING_URL_MAX)
		return false;
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"#<>\\^`{|}", *c))
			return false;
	const char *host = host_of(authority, &len);
	return len > 0 && host[0] != ':';
}

/* Whether the query of the URL names a run by itself. */
static bool has_rid(const char *query)
{
	return strstr(query, "?rid=") || strstr(query, "&rid=");
}

void ping_url_add(const char *url, const char *word, const char *rid, char ret_url[PING_URL_SIZE])
{
	size_t path = strcspn(url, "?"), end = path;
	bool adds = rid[0] && !has_rid(url + path);
	const char *key = url[path] ? "&rid=" : "?rid=";

	while (end > 0 && url[end - 1] == '/')
		end--;
	snprintf(ret_url, PING_URL_SIZE, "%.*s/%s%s%s%s", (int)end, url, word, url + path,
		 adds ? key : "", adds ? rid : "");
}

void ping_url_shown(const char *url, char ret_text[PING_URL_SIZE])
{
	const char *authority = authority_of(url);
	size_t len = 0;
	const char *host = authority ? host_of(authority, &len) : "";

	snprintf(ret_text, PING_URL_SIZE, "%.*s%.*s", authority ? (int)(authority - url) : 0, url,
		 (int)len, host);
}
