#include "cli/ui/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/names.h"

int selection_parse_order(const char *word, enum selection_order *ret_order)
{
	static const char *const words[] = {[SELECTION_NAME] = "name",
					    [SELECTION_LEADER] = "leader",
					    [SELECTION_SINCE] = "since",
					    [SELECTION_LAST] = "last"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) == 0) {
			*ret_order = (enum selection_order)i;
			return 0;
		}
	}
	return -EINVAL;
}

int selection_check_state(const char *state)
{
	static const char *const states[] = {"leading", "following",	"contending", "paused",
					     "drained", "disconnected", "unhealthy"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(state, states[i]) == 0)
			return 0;
	return -EINVAL;
}

/* Whether a host is wanted. The name "db1" also selects db1.example.com. */
static bool is_host(const char *wanted, const char *host)
{
	size_t len = strlen(wanted);

	return fnmatch(wanted, host, 0) == 0 ||
	       (strncmp(host, wanted, len) == 0 && host[len] == '.');
}

static bool is_led_by(const json_t *task, const char *wanted)
{
	const json_t *leader = json_object_get(task, "leader"),
		     *owners = json_object_get(task, "owners"), *owner;
	size_t i;

	json_array_foreach(owners, i, owner) if (is_led_by(owner, wanted)) return true;
	return json_is_object(leader) && (is_host(wanted, json_worker_name(leader)) ||
					  is_host(wanted, json_text(leader, "hostname", "")));
}

bool selection_is_led(const json_t *task)
{
	const json_t *owners = json_object_get(task, "owners"), *owner;
	size_t i;

	json_array_foreach(owners, i, owner) if (!selection_is_led(owner)) return false;
	return i > 0 || json_is_object(json_object_get(task, "leader"));
}

static bool is_named(const struct selection *s, const char *task)
{
	for (size_t i = 0; i < s->n_names; i++)
		if (strcmp(s->names[i], task) == 0 || fnmatch(s->names[i], task, 0) == 0)
			return true;
	return s->n_names == 0;
}

const char *selection_state(const json_t *task)
{
	const char *state = json_text(task, "state", "-");

	return json_text(task, "unhealthy", NULL) && strcmp(state, "following") == 0 ? "unhealthy"
										     : state;
}

static bool is_wanted(const struct selection *s, const json_t *task)
{
	return is_named(s, json_text(task, "task", "-")) && (!s->mine || json_flag(task, "self")) &&
	       (!s->leader || is_led_by(task, s->leader)) &&
	       (!s->state || strcmp(selection_state(task), s->state) == 0) &&
	       (!s->no_leader || !selection_is_led(task));
}

/* --- order ---------------------------------------------------------------- */

/* An entry and its key. The key "" comes last if keys are times, and first if they are leaders. */
struct sorted {
	json_t *task;
	const char *name, *key;
	bool is_time;
};

static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	/* RFC 3339 in UTC sorts as text; the latest comes first. */
	int order = x->is_time ? strcmp(y->key, x->key) : names_natural(x->key, y->key);

	return order ? order : names_natural(x->name, y->name);
}

static struct sorted sorted_by(enum selection_order order, json_t *task)
{
	const json_t *leader = json_object_get(task, "leader"),
		     *last = json_object_get(task, "last");
	struct sorted s = {.task = task, .name = json_text(task, "task", "-"), .key = ""};

	switch (order) {
	case SELECTION_NAME: break;
	case SELECTION_LEADER:
		s.key = json_is_object(leader) ? json_worker_name(leader) : "";
		break;
	case SELECTION_SINCE:
		s.key = json_text(task, "since", "");
		s.is_time = true;
		break;
	case SELECTION_LAST:
		s.key = json_text(last, "ended_at", json_text(last, "tick", ""));
		s.is_time = true;
		break;
	}
	return s;
}

json_t *selection_take(const struct selection *s, const json_t *tasks)
{
	mem_auto struct sorted *list = mem_calloc(json_array_size(tasks) + 1, sizeof(*list));
	json_t *taken = json_array(), *task;
	size_t i, n = 0;

	json_array_foreach(tasks, i, task) if (is_wanted(s, task)) list[n++] =
		sorted_by(s->order, task);
	qsort(list, n, sizeof(*list), compare);
	for (i = 0; i < n; i++)
		json_array_append(taken, list[i].task);
	return taken;
}

/* --- what was typed ------------------------------------------------------- */

static bool has_text(const json_t *object, const char *text)
{
	static const char *const keys[] = {"task",    "state", "hostname",   "node",
					   "version", "ip",    "description"};
	static const char *const inner[] = {"leader", "last"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcasestr(json_text(object, keys[i], ""), text))
			return true;
	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		const json_t *value = json_object_get(object, inner[i]);

		if (json_is_object(value) && has_text(value, text))
			return true;
	}
	return false;
}

json_t *selection_find(const json_t *entries, const char *text)
{
	json_t *found = json_array(), *entry;
	size_t i;

	json_array_foreach(entries, i, entry) if (has_text(entry, text))
		json_array_append(found, entry);
	return found;
}
