/* Selects and sorts tasks by the words and options of `zkleader tasks`. */
#ifndef ZKLEADER_CLI_UI_SELECTION_H
#define ZKLEADER_CLI_UI_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum selection_order { SELECTION_NAME, SELECTION_LEADER, SELECTION_SINCE, SELECTION_LAST };

struct selection {
	const char *const *names; /* task names and globs; none: all */
	size_t n_names;
	const char *leader; /* a host's name, whole or without its domain, or a glob; NULL: any */
	const char *state;  /* NULL: any */
	bool mine;	    /* led here */
	bool no_leader;
	enum selection_order order;
};

/* Parse an order, and check a state. 0, or -EINVAL: there is no such order, or state. */
int selection_parse_order(const char *word, enum selection_order *ret_order);
int selection_check_state(const char *state);
/*
 * The state that tables show: as in JSON, or "unhealthy" if only its health check keeps this node
 * from leading.
 */
const char *selection_state(const json_t *task);
/* Whether the task is led; with partitions, whether each of them is. */
bool selection_is_led(const json_t *task);
/* The entries of an answer to `tasks` that are selected, sorted, in a new array for the caller. */
json_t *selection_take(const struct selection *s, const json_t *tasks);
/*
 * The entries of an answer that contain the text in a column, ignoring case, in a new array for the
 * caller.
 */
json_t *selection_find(const json_t *entries, const char *text);

#endif
