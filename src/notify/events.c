#include "notify/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "wire/pack.h"

#define TOLD_MAX     20
#define PROBLEM_SIZE 400

/* --- events --------------------------------------------------------------- */

static bool is_known(const struct events *e, const char *id)
{
	size_t n = e->n_known < EVENTS_KNOWN_MAX ? e->n_known : EVENTS_KNOWN_MAX;

	for (size_t i = 0; i < n; i++)
		if (strcmp(e->known[i], id) == 0)
			return true;
	return false;
}

static void note_taken(struct events *e, const char *id)
{
	if (!is_known(e, id))
		snprintf(e->known[e->n_known++ % EVENTS_KNOWN_MAX], SPOOL_ID_SIZE, "%s", id);
	e->taken = mem_resize(e->taken, e->n_taken + 1, sizeof(*e->taken));
	snprintf(e->taken[e->n_taken++], SPOOL_ID_SIZE, "%s", id);
}

static bool spool_for(struct events *e, const struct notify_config *c, const char *id,
		      const json_t *event)
{
	char channel[SPOOL_CHANNEL_SIZE];

	if (c->url) {
		snprintf(channel, sizeof(channel), "%s/url", c->name);
		if (!spool_add(e->spool, channel, id, event))
			return false;
	}
	snprintf(channel, sizeof(channel), "%s/command", c->name);
	return c->n_command == 0 || spool_add(e->spool, channel, id, event);
}

/* Whether the end before this one was not good either. */
static bool is_repeat(const json_t *event, enum notice_event kind)
{
	return (kind == NOTICE_FAILED || kind == NOTICE_LOST || kind == NOTICE_MISSED) &&
	       json_is_false(json_object_get(event, "first"));
}

void events_take(struct events *e, const json_t *event)
{
	const char *name = json_text(event, "event", ""), *id = json_text(event, "id", "");
	const char *task = json_text(event, "task", "");
	enum notice_event kind;
	bool good = true;

	if (id[0] == '\0' || strlen(id) >= SPOOL_ID_SIZE ||
	    !notice_event_parse(name, strlen(name), &kind)) {
		log_warning("the sidecar said what makes no sense", LOG_STR("method", "notice"));
		return;
	}
	for (size_t i = 0; good && !is_known(e, id) && i < e->channels->good.n; i++) {
		const struct notify_config *c = &e->channels->good.list[i];
		const struct notice_rule rule = notify_config_rule(c);

		if (notice_rule_matches(&rule, kind, task) && !(c->first && is_repeat(event, kind)))
			good = spool_for(e, c, id, event);
	}
	e->refused |= !good;
	if (good)
		note_taken(e, id);
}

bool events_pack_taken(struct events *e, struct buffer *params)
{
	size_t n = e->n_taken < EVENTS_TAKEN_MAX ? e->n_taken : EVENTS_TAKEN_MAX;
	struct pack p;

	if (n == 0)
		return false;
	pack_init(&p, params);
	pack_array(&p, 1);
	pack_array(&p, n);
	for (size_t i = 0; i < n; i++)
		pack_str(&p, e->taken[i]);
	/*
	 * If this request is lost, the sidecar tells these events again, and they are noted again.
	 */
	e->n_taken -= n;
	memmove(e->taken, e->taken + n, e->n_taken * sizeof(*e->taken));
	return true;
}

/* --- problems ------------------------------------------------------------- */

struct problem_list {
	char texts[TOLD_MAX][PROBLEM_SIZE];
	const char *files[TOLD_MAX];
	size_t n;
};

static void find_problems(const struct events *e, struct problem_list *list)
{
	const char *channel, *why;
	size_t n;

	list->n = 0;
	if (e->spool->problem[0]) {
		list->files[list->n] = e->spool->path;
		snprintf(list->texts[list->n++], PROBLEM_SIZE, "%s", e->spool->problem);
	}
	for (size_t i = 0; i < e->channels->n_refusals && list->n < TOLD_MAX; i++) {
		list->files[list->n] = e->channels->refusals[i].file;
		snprintf(list->texts[list->n++], PROBLEM_SIZE,
			 "nobody is told by its sections notify: %.300s",
			 e->channels->refusals[i].why);
	}
	for (size_t i = 0; list->n < TOLD_MAX && sends_problem(e->sends, i, &channel, &n, &why);
	     i++) {
		list->files[list->n] = channel;
		snprintf(list->texts[list->n++], PROBLEM_SIZE,
			 "messages wait to be sent, and the last try failed: %.200s", why);
	}
}

/* All problems in one text, to see whether they have changed. */
static char *text_of(const struct problem_list *list)
{
	char *text = NULL;
	size_t len;
	FILE *f = mem_stream(&text, &len);

	for (size_t i = 0; i < list->n; i++)
		fprintf(f, "%s: %s\n", list->files[i], list->texts[i]);
	mem_stream_end(f);
	return text;
}

bool events_pack_problems(struct events *e, struct buffer *params)
{
	struct problem_list list;
	struct pack p;

	if (!e->to_register)
		return false;
	e->to_register = false;
	find_problems(e, &list);
	free(e->problems);
	e->problems = text_of(&list);
	pack_init(&p, params);
	pack_array(&p, 1);
	pack_array(&p, list.n);
	for (size_t i = 0; i < list.n; i++) {
		pack_map(&p, 2);
		pack_kv_str(&p, "file", list.files[i]);
		pack_kv_str(&p, "message", list.texts[i]);
	}
	return true;
}

void events_advance(struct events *e)
{
	int64_t now_ms = clock_boot_ms();
	struct problem_list list;
	mem_auto char *text = NULL;
	bool good;

	if (now_ms < e->look_ms)
		return;
	e->look_ms = now_ms + EVENTS_LOOK_MS;
	good = spool_is_good(e->spool);
	find_problems(e, &list);
	text = text_of(&list);
	/* After a new registration the sidecar repeats the events that could not be spooled. */
	if ((good && e->refused) || (e->problems && strcmp(text, e->problems) != 0))
		e->to_register = true;
	if (good)
		e->refused = false;
}

int64_t events_due_ms(const struct events *e)
{
	return e->look_ms;
}

void events_register(struct events *e)
{
	e->to_register = true;
	e->refused = false;
	e->n_taken = 0;
}

void events_init(struct events *e, const struct channels *channels, struct spool *spool,
		 const struct sends *sends)
{
	*e = (struct events){.channels = channels, .spool = spool, .sends = sends};
}

void events_done(struct events *e)
{
	free(e->taken);
	free(e->problems);
}
