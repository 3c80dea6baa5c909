/* The key ping-url: the URL that is told when runs of a task begin and end. */
#ifndef ZKLEADER_CONFIG_KEYS_PING_URL_H
#define ZKLEADER_CONFIG_KEYS_PING_URL_H

#include <stdbool.h>
#include <stddef.h>

#define PING_URL_MAX  1000		  /* bytes */
#define PING_URL_SIZE (PING_URL_MAX + 80) /* with a word behind its path, a rid, and a NUL */

/*
 * Whether the text is good for the key: http or https, a host, no fragment, printable ASCII alone.
 */
bool ping_url_is_good(const char *url);
/*
 * The URL with "/WORD" behind its path, before a query, and the UUID of the run as "rid" in the
 * query, unless that has one; "" for none. The word is a short one of letters.
 */
void ping_url_add(const char *url, const char *word, const char *rid, char ret_url[PING_URL_SIZE]);
/* The scheme and host of the URL, without user and password, for the log: no more may be shown. */
void ping_url_shown(const char *url, char ret_text[PING_URL_SIZE]);

#endif
