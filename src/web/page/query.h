/*
 * The parameters of the pages, as a URL has them: each is checked, and bounded, before anything is
 * asked or shown.
 */
#ifndef ZKLEADER_WEB_PAGE_QUERY_H
#define ZKLEADER_WEB_PAGE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUERY_TEXT_MAX	  200 /* bytes of a parameter */
#define QUERY_WHY_SIZE	  900
#define QUERY_WINDOW_MS	  (INT64_C(24) * 3600 * 1000) /* shown if nothing else is asked for */
#define QUERY_LONGEST_MS  (INT64_C(31) * 24 * 3600 * 1000)
#define QUERY_SHORTEST_MS 60000

enum query_page { QUERY_HOME, QUERY_RUNS, QUERY_NIGHT };

/* "" and 0: not set. */
struct query {
	char state[QUERY_TEXT_MAX + 1]; /* one of the words of the page */
	char leader[QUERY_TEXT_MAX + 1];
	char q[QUERY_TEXT_MAX + 1];
	char sort[QUERY_TEXT_MAX + 1];
	char task[QUERY_TEXT_MAX + 1]; /* a name or a glob */
	/* As they were given, for the form. */
	char since[QUERY_TEXT_MAX + 1], from[QUERY_TEXT_MAX + 1], to[QUERY_TEXT_MAX + 1];
	int64_t since_ms, before_ms; /* of runs */
	int64_t from_ms, to_ms;	     /* of the night: set in any case */
};

/* A parameter of the request as it was decoded, NULL: none. */
typedef const char *(*query_get_fn)(void *arg, const char *name);

/* False: one is bad, and why names it and says what it takes. */
bool query_take(struct query *q, enum query_page page, int64_t now_ms, query_get_fn get, void *arg,
		char ret_why[QUERY_WHY_SIZE]);
/* Whether the parameter `task` is a name, and no glob. */
bool query_is_name(const struct query *q);
/* Whether a name matches a glob of * and ?; takes no more steps than the product of the lengths. */
bool query_glob(const char *glob, const char *name);
/* Whether each word of `words` is in the text, whatever its case. */
bool query_has_words(const char *text, const char *words);
/* The words that `state` and `sort` take, each ended by NULL, in the order of a menu. */
const char *const *query_states(enum query_page page);
const char *const *query_sorts(void);

#endif
