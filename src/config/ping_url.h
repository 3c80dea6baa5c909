/* Key ping-url: where a task's runs are told as they begin and end. */
#ifndef ZKLEADER_CONFIG_PING_URL_H
#define ZKLEADER_CONFIG_PING_URL_H

#include <stdbool.h>
#include <stddef.h>

#define PING_URL_MAX  1000		  /* bytes */
#define PING_URL_SIZE (PING_URL_MAX + 32) /* with a word behind its path, and a NUL */

/* Whether it is one: http or https, a host, no fragment, nothing but printable ASCII. */
bool ping_url_is_good(const char *url);
/* The URL with "/WORD" behind its path, before a query; the word is a short one of letters. */
void ping_url_add(const char *url, const char *word, char ret_url[PING_URL_SIZE]);
/* Its scheme and host without user and password, for the log: nothing else of it may be told. */
void ping_url_shown(const char *url, char ret_text[PING_URL_SIZE]);

#endif
