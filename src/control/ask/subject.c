#include "control/ask/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/nearest.h"
#include "control/ask/explain_text.h"
#include "node/election/partitions.h"
#include "node/election/tasks.h"

bool subject_find(const struct leaders *l, const char *name, size_t len, struct subject *ret)
{
	struct task *t = tasks_find(l, name, len);
	struct listing *listing = t ? t->listing : listings_find(l, name, len);

	*ret = (struct subject){listing, t};
	return t || listing;
}

struct subject subject_of(struct listing *l)
{
	bool whole = partitions_state(l) == PARTITIONS_PLAIN && l->n == 1;

	return (struct subject){l, whole ? l->tasks[0] : NULL};
}

const char *subject_name(const struct subject *s)
{
	return s->task ? s->task->name : s->listing->name;
}

struct task *const *subject_tasks(const struct subject *s, size_t *ret_n)
{
	*ret_n = s->task ? 1 : s->listing->n;
	return s->task ? &s->task : s->listing->tasks;
}

void subject_task_of(const char *name, char *ret)
{
	snprintf(ret, NAME_ELECTION_MAX + 1, "%.*s", (int)strcspn(name, ":"), name);
}

/* If the name is a partition of a known task, says why there is no such one. False otherwise. */
static bool say_no_partition(const struct leaders *l, struct reader_text name,
			     char text[EXPLAIN_TEXT_MAX])
{
	char problem[PARTITIONS_TEXT_MAX];
	struct listing *listing;
	size_t len;

	if (!name_partition_parse(name.data, name.len, &len, NULL))
		return false;
	listing = listings_find(l, name.data, len);
	if (!listing)
		return false;
	if (partitions_problem(listing, problem))
		explain_say(text, "%s: %s", listing->name, problem);
	else if (partitions_state(listing) == PARTITIONS_PLAIN)
		explain_say(text, "%s has no partitions", listing->name);
	else if (listing->n == 0)
		explain_say(text, "how many partitions %s has is not known yet", listing->name);
	else
		explain_say(text, "%s has %zu partitions: %s:0 to %s:%zu", listing->name,
			    listing->n, listing->name, listing->name, listing->n - 1);
	return true;
}

void subject_say_refused(const struct call *call, char *text)
{
	const struct problems *problems = call->m->process->problems;

	if (problems->n > 0)
		explain_say(text, " (refused: %s:%d: %s)", problems->list[0].file,
			    problems->list[0].line, problems->list[0].message);
}

static void unknown(const struct call *call, struct reader_text name)
{
	const struct leaders *l = &call->m->node->leaders;
	int len = (int)(name.len > NAME_ELECTION_MAX ? NAME_ELECTION_MAX : name.len);
	char text[EXPLAIN_TEXT_MAX] = "";
	struct nearest nearest;

	if (say_no_partition(l, name, text)) {
		call_refuse(call, text);
		return;
	}
	nearest_init(&nearest, name.data, name.len);
	for (size_t i = 0; i < l->n_listings; i++)
		nearest_offer(&nearest, l->listings[i]->name);
	explain_say(text, "unknown task \"%.*s\"", len, name.data);
	if (nearest.best)
		explain_say(text, ": did you mean \"%s\"?", nearest.best);
	subject_say_refused(call, text);
	call_refuse(call, text);
}

bool subject_take(struct call *call, struct subject *ret)
{
	struct reader_text name;

	if (reader_str(&call->params, &name) != 0) {
		call_refuse(call, "a parameter is not the name of a task");
		return false;
	}
	if (subject_find(&call->m->node->leaders, name.data, name.len, ret))
		return true;
	unknown(call, name);
	return false;
}

/* --- several subjects ---------------------------------------------------------------- */

/* How an election was named: itself, with its whole task, or as the first of a whole task. */
enum { NAMED_ITSELF = 1, NAMED_WITH_ITS_LISTING = 2, NAMED_AS_LISTING = 4 };

static void add(struct subjects *all, const struct subject *s, unsigned char *named)
{
	const char *name = subject_name(s);
	size_t n;
	struct task *const *tasks = subject_tasks(s, &n);
	unsigned char how = s->task ? NAMED_ITSELF : NAMED_AS_LISTING;

	/* The first partition of a task carries the mark for the whole task. */
	if (n > 0 && (named[tasks[0]->index] & how))
		return;
	if (buffer_append(&all->names, name, strlen(name) + 1) < 0)
		return; /* never: there is room for all names that fit into a request */
	all->n++;
	for (size_t i = 0; i < n; i++) {
		if (!named[tasks[i]->index])
			all->tasks[all->n_tasks++] = tasks[i];
		named[tasks[i]->index] |= s->task ? NAMED_ITSELF : NAMED_WITH_ITS_LISTING;
	}
	if (n > 0)
		named[tasks[0]->index] |= how;
}

bool subjects_take(struct call *call, struct subjects *ret)
{
	size_t n = call->m->node->leaders.n_tasks;
	mem_auto unsigned char *named = NULL;

	if (call->n_params > METHODS_NAMES_MAX) {
		call_refuse(call, "too many names");
		return false;
	}
	named = mem_calloc(n + 1, 1);
	*ret = (struct subjects){.tasks = mem_calloc(n + 1, sizeof(struct task *))};
	buffer_init(&ret->names, RPC_REQUEST_MAX + METHODS_NAMES_MAX);
	for (size_t i = 0; i < call->n_params; i++) {
		struct subject s;
		if (!subject_take(call, &s)) {
			subjects_done(ret);
			return false;
		}
		add(ret, &s, named);
	}
	return true;
}

void subjects_done(struct subjects *s)
{
	free(s->tasks);
	buffer_done(&s->names);
}

const char *subjects_next(const struct subjects *s, const char *name)
{
	if (s->n == 0 || s->names.len == 0)
		return NULL;
	const char *end = (const char *)s->names.data + s->names.len;

	name = name ? name + strlen(name) + 1 : (const char *)s->names.data;
	return name < end ? name : NULL;
}

/* --- a list of partitions in a text ------------------------------------------------------ */

size_t subject_list(const struct listing *l, bool (*is)(const struct task *t, const void *arg),
		    const void *arg, char ret_text[SUBJECT_LIST_SIZE])
{
	size_t n = 0, used = 0;

	ret_text[0] = '\0';
	for (size_t k = 0; k < l->n; k++) {
		size_t first = k;
		char range[48];

		if (!is(l->tasks[k], arg))
			continue;
		while (k + 1 < l->n && is(l->tasks[k + 1], arg))
			k++;
		n += k - first + 1;
		if (k > first)
			snprintf(range, sizeof(range), "%s%zu-%zu", used ? ", " : "", first, k);
		else
			snprintf(range, sizeof(range), "%s%zu", used ? ", " : "", k);
		if (used + strlen(range) + sizeof(", ...") < SUBJECT_LIST_SIZE)
			used += (size_t)sprintf(ret_text + used, "%s", range);
		else if (ret_text[used - 1] != '.')
			used += (size_t)sprintf(ret_text + used, ", ...");
	}
	return n;
}
