#include "web/page/home_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "web/page/page_parts.h"

#define SEARCHED_SIZE 1400 /* bytes of what is searched of a task */

const char *const home_trouble_words[HOME_TROUBLES] = {"nobody", "overdue", "failed", "lost",
						       "missed", "halted",  "paused", "problems"};

/* --- what a task is --------------------------------------------------------------- */

static bool is_paused(const json_t *t)
{
	const json_t *d;
	size_t i;

	json_array_foreach(json_object_get(t, "decisions"), i, d)
	{
		if (strcmp(json_text(d, "kind", ""), "pause") == 0)
			return true;
	}
	return strcmp(json_text(t, "state", ""), "paused") == 0;
}

static bool is_led(const json_t *t)
{
	int64_t partitions = json_number(t, "partitions", 0);

	return partitions > 0 ? json_number(t, "led", 0) >= partitions
			      : json_is_object(json_object_get(t, "leader"));
}

static bool has_problem(const json_t *t, const json_t *status)
{
	const char *name = json_text(t, "task", "");
	const json_t *p;
	size_t i;

	json_array_foreach(json_object_get(status, "problems"), i, p)
	{
		if (strcmp(json_text(p, "file", ""), name) == 0)
			return true;
	}
	return json_text(t, "unhealthy", NULL) || json_text(t, "problem", NULL);
}

static const char *last_state(const json_t *t)
{
	return json_text(json_object_get(t, "last"), "state", "");
}

bool home_has(const json_t *t, const json_t *status, enum home_trouble trouble)
{
	switch (trouble) {
	case HOME_NOBODY: return !is_led(t) && !is_paused(t);
	case HOME_OVERDUE: return json_flag(t, "overdue");
	case HOME_FAILED:
		return strcmp(last_state(t), "failed") == 0 ||
		       strcmp(last_state(t), "timeout") == 0;
	case HOME_LOST:
	case HOME_MISSED: return strcmp(last_state(t), home_trouble_words[trouble]) == 0;
	case HOME_PAUSED: return is_paused(t);
	case HOME_PROBLEMS: return has_problem(t, status);
	case HOME_HALTED:
	case HOME_TROUBLES: break;
	}
	return false;
}

/* The worst trouble of the task; HOME_TROUBLES: it has none. */
static enum home_trouble worst(const json_t *t, const json_t *status)
{
	enum home_trouble trouble = 0;

	while (trouble < HOME_TROUBLES && !home_has(t, status, trouble))
		trouble++;
	return trouble;
}

/* --- which are shown -------------------------------------------------------------- */

static bool has_state(const json_t *t, const json_t *status, const char *state)
{
	if (strcmp(state, "attention") == 0)
		return worst(t, status) < HOME_TROUBLES;
	for (enum home_trouble i = 0; i < HOME_TROUBLES; i++)
		if (strcmp(state, home_trouble_words[i]) == 0)
			return home_has(t, status, i);
	return strcmp(last_state(t), state) == 0 || strcmp(json_text(t, "state", ""), state) == 0;
}

static bool is_node(const json_t *leader, const char *node)
{
	return json_is_object(leader) && (strcmp(part_node(leader), node) == 0 ||
					  strcmp(json_text(leader, "hostname", ""), node) == 0);
}

static bool is_led_by(const json_t *t, const char *node)
{
	const json_t *owner;
	size_t i;

	json_array_foreach(json_object_get(t, "owners"), i, owner)
	{
		if (is_node(json_object_get(owner, "leader"), node))
			return true;
	}
	return is_node(json_object_get(t, "leader"), node);
}

static bool is_found(const json_t *t, const char *words)
{
	const json_t *leader = json_object_get(t, "leader");
	char text[SEARCHED_SIZE];

	snprintf(text, sizeof(text), "%s %s %s %s", json_text(t, "task", ""),
		 json_text(t, "description", ""), leader ? part_node(leader) : "",
		 json_text(leader, "version", ""));
	return query_has_words(text, words);
}

static bool is_shown(const json_t *t, const struct page_home *p)
{
	const struct query *q = p->query;

	return (!q->state[0] || has_state(t, p->status, q->state)) &&
	       (!q->leader[0] || is_led_by(t, q->leader)) && (!q->q[0] || is_found(t, q->q));
}

/* --- in what order ---------------------------------------------------------------- */

struct row {
	const json_t *task;
	const char *key; /* the smaller the earlier, after the rank */
	int rank;
	bool downwards; /* the greater key is the earlier */
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = x->rank - y->rank;

	if (order == 0)
		order = x->downwards ? names_natural(y->key, x->key)
				     : names_natural(x->key, y->key);
	return order ? order
		     : names_natural(json_text(x->task, "task", ""),
				     json_text(y->task, "task", ""));
}

/* Sets the place of a row. Tasks that lack what is sorted by come last. */
static void place(struct row *r, const json_t *status, const char *sort)
{
	const json_t *leader = json_object_get(r->task, "leader");

	r->key = "";
	if (strcmp(sort, "leader") == 0) {
		r->key = json_is_object(leader) ? part_node(leader) : "";
	} else if (strcmp(sort, "since") == 0) {
		r->key = json_text(r->task, "since", "");
		r->downwards = true;
	} else if (strcmp(sort, "last") == 0) {
		r->key = json_text(json_object_get(r->task, "last"), "tick", "");
		r->downwards = true;
	} else if (strcmp(sort, "next") == 0) {
		r->key = json_text(r->task, "due", "");
	} else if (strcmp(sort, "name") != 0) {
		r->rank = (int)worst(r->task, status);
		return;
	}
	r->rank = !r->key[0] && strcmp(sort, "name") != 0;
}

const json_t **home_select(const struct page_home *p, size_t *ret_n)
{
	const char *sort = p->query->sort + (p->query->sort[0] == '-');
	size_t n = 0, i, all = json_array_size(p->tasks);
	mem_auto struct row *rows = mem_calloc(all + 1, sizeof(*rows));
	const json_t **list = mem_calloc(all + 1, sizeof(const json_t *));
	const json_t *t;

	json_array_foreach(p->tasks, i, t)
	{
		if (!is_shown(t, p))
			continue;
		rows[n].task = t;
		place(&rows[n++], p->status, sort);
	}
	qsort(rows, n, sizeof(*rows), compare);
	for (i = 0; i < n; i++)
		list[i] = rows[p->query->sort[0] == '-' ? n - 1 - i : i].task;
	*ret_n = n;
	return list;
}
