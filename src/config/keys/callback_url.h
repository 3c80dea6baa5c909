/* The URLs that a job's end may be posted to: submitters name them, callback-allow lists them. */
#ifndef ZKLEADER_CONFIG_KEYS_CALLBACK_URL_H
#define ZKLEADER_CONFIG_KEYS_CALLBACK_URL_H

#include <stdbool.h>
#include <stddef.h>

#define CALLBACK_URL_MAX 1000 /* bytes */

/* What is wrong with an entry of callback-allow, for people; NULL: nothing. */
const char *callback_allow_problem(const char *prefix);
/*
 * What is wrong with the URL, or that no entry allows it; NULL: it may be posted to. An entry
 * allows URLs with its scheme, host and port, and a path that begins with its path, up to a "/".
 */
const char *callback_url_problem(const char *url, char *const *allow, size_t n_allow);

#endif
