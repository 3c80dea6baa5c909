#include "config/keys/callback_url.h"

#include <string.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	"0123456789"

struct parts {
	bool tls;
	const char *host;
	size_t host_len;
	long port;
	const char *path; /* from its "/" on */
	size_t path_len;
	bool query;
};

/* --- the parts ------------------------------------------------------------ */

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Reads the character at *at, decoded if it is written as %XX. Moves *at behind it. */
static char next_char(const char **at, const char *end)
{
	const char *p = (*at)++;

	if (*p != '%' || end - p < 3 || hex_digit(p[1]) < 0 || hex_digit(p[2]) < 0)
		return *p;
	*at += 2;
	return (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
}

/*
 * Whether the path has a segment that a server may take for the folder itself or the one above,
 * however it is written: encoded, with a "\", or with a parameter behind a ";".
 */
static bool has_dot_segment(const char *path, size_t len)
{
	const char *end = path + len, *at = path;
	size_t dots = 0;
	bool only_dots = true, parameter = false;

	while (at < end) {
		char c = next_char(&at, end);

		if (c == '/' || c == '\\') {
			if (only_dots && dots > 0 && dots <= 2)
				return true;
			dots = 0;
			only_dots = true;
			parameter = false;
		} else if (c == ';') {
			parameter = true;
		} else if (!parameter) {
			dots += c == '.';
			only_dots &= c == '.';
		}
	}
	return only_dots && dots > 0 && dots <= 2;
}

static const char *take_port(struct parts *p, const char *text, size_t len)
{
	p->port = p->tls ? 443 : 80;
	if (len == 0)
		return NULL;
	if (len < 2 || len > 6 || strspn(text + 1, DIGITS) < len - 1)
		return "its port is no number from 1 to 65535";
	p->port = 0;
	for (size_t i = 1; i < len; i++)
		p->port = p->port * 10 + (text[i] - '0');
	return p->port < 1 || p->port > 65535 ? "its port is no number from 1 to 65535" : NULL;
}

static const char *take_authority(struct parts *p, const char *text, size_t len)
{
	const char *colon;

	if (memchr(text, '@', len))
		return "it has a user or password in it, which it must not have";
	p->host = text;
	if (len > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (!close ||
		    strspn(text + 1, DIGITS "abcdefABCDEF:.") < (size_t)(close - text - 1))
			return "its host is no name and no address";
		p->host_len = (size_t)(close - text) + 1;
	} else {
		colon = memchr(text, ':', len);
		p->host_len = colon ? (size_t)(colon - text) : len;
		if (p->host_len == 0 || strspn(text, LETTERS DIGITS "._-") < p->host_len)
			return "its host is no name and no address";
	}
	if (p->host_len < len && text[p->host_len] != ':')
		return "its host is no name and no address";
	return take_port(p, text + p->host_len, len - p->host_len);
}

static const char *take_parts(struct parts *p, const char *url)
{
	const char *why;
	size_t len;

	memset(p, 0, sizeof(*p));
	if (strlen(url) > CALLBACK_URL_MAX)
		return "it is over 1,000 bytes long";
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"#<>\\^`{|}", *c))
			return "it has a character in it that a URL has only encoded, or a #";
	p->tls = strncasecmp(url, "https://", 8) == 0;
	if (!p->tls && strncasecmp(url, "http://", 7) != 0)
		return "it does not begin with http:// or https://";
	url += p->tls ? 8 : 7;
	len = strcspn(url, "/?");
	why = take_authority(p, url, len);
	if (why)
		return why;
	p->path = url[len] == '/' ? url + len : "/";
	p->path_len = url[len] == '/' ? strcspn(p->path, "?") : 1;
	p->query = strchr(url, '?') != NULL;
	return has_dot_segment(p->path, p->path_len) ? "it has a segment of dots in its path"
						     : NULL;
}

/* --- which are allowed ---------------------------------------------------- */

const char *callback_allow_problem(const char *prefix)
{
	struct parts p;
	const char *why = take_parts(&p, prefix);

	return !why && p.query ? "it has a query: the path alone is compared" : why;
}

/* Whether the URL is below the entry. An entry without a "/" at its end counts as one with it. */
static bool is_below(const struct parts *url, const struct parts *entry)
{
	size_t len = entry->path_len - (entry->path[entry->path_len - 1] == '/');

	return url->tls == entry->tls && url->port == entry->port &&
	       url->host_len == entry->host_len &&
	       strncasecmp(url->host, entry->host, url->host_len) == 0 && url->path_len > len &&
	       memcmp(url->path, entry->path, len) == 0 && url->path[len] == '/';
}

const char *callback_url_problem(const char *url, char *const *allow, size_t n_allow)
{
	struct parts parts, entry;
	const char *why = take_parts(&parts, url);

	for (size_t i = 0; !why && i < n_allow; i++)
		if (!take_parts(&entry, allow[i]) && is_below(&parts, &entry))
			return NULL;
	return why ? why : "the queue's callback-allow has no entry for it";
}
