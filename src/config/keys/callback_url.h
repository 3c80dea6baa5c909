/* The URLs that a job's end may be posted to: submitters name them, callback-allow lists them. */
#ifndef ZKLEADER_CONFIG_KEYS_CALLBACK_URL_H
#define ZKLEADER_CONFIG_KEYS_CALLBACK_URL_H

#include <stdbool.h>
#include <stddef.h>

#define CALLBACK_URL_MAX 1000 /* bytes */

/* The error in an entry of callback-allow, for people; NULL: none. */
const char *callback_allow_problem(const char *prefix);
/*
 * The reason why nothing may be posted to the URL: it is malformed, or no entry allows it; NULL: it
 * is allowed. An entry allows URLs with its scheme, host and port, and a path that begins with its
 * path, up to a "/".
 */
const char *callback_url_problem(const char *url, char *const *allow, size_t n_allow);

#endif
