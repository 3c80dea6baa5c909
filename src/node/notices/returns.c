#include "node/notices/returns.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/fleet/registry.h"
#include "node/notices/notices.h"
#include "node/session/id.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

#define NAMES_SHOWN 10 /* in the text */

static bool is_wanted(const struct returns *r)
{
	return notices_wanted(r->registry, NOTICE_DISCONNECTED, "");
}

/* How many workers come before this one in the order of the ids. */
static int64_t count_before(const struct returns *r)
{
	const struct fleet *f = &r->registry->fleet;
	int64_t before = 0;

	for (size_t i = 0; i < f->n_members; i++)
		before += strcmp(f->by_id[i]->worker->id, r->registry->id) < 0;
	return before;
}

/* The first in that order collects first, so that the others find nothing. */
static void collect_soon(struct returns *r, int64_t ms)
{
	host_timer_start(&r->collect, ms + count_before(r) * RETURNS_STAGGER_MS);
}

/* --- the own note --------------------------------------------------------- */

static void on_noted(void *arg, const struct store_reply *reply);

static void put_note(struct returns *r)
{
	char path[STORE_PATH_MAX];
	struct buffer data;

	r->noting = true;
	path_of(r->session->settings, PATH_OUTAGES, r->own.id, path);
	buffer_init(&data, RECORD_NOTICE_MAX);
	int error = record_pack_notice(&data, &r->own);
	assert(error == 0);
	(void)error;
	const struct store_op op = {
		.type = STORE_OP_CREATE, .path = path, .data = data.data, .len = data.len};
	store_multi(r->session->store, &op, 1, on_noted, r);
	buffer_done(&data);
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct returns *r = arg;

	r->noting = false;
	if (reply->code != STORE_ABANDONED)
		host_timer_start(&r->note, reply->code == STORE_OK ? 0 : RETURNS_AGAIN_MS);
}

static void on_noted(void *arg, const struct store_reply *reply)
{
	struct returns *r = arg;
	char path[STORE_PATH_MAX];

	r->noting = false;
	if (reply->code == STORE_NO_NODE) {
		r->noting = true;
		path_of(r->session->settings, PATH_OUTAGES, NULL, path);
		store_create(r->session->store, path, on_folder, r);
	} else if (reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS) {
		r->to_note = false;
		collect_soon(r, RETURNS_WAIT_MS);
	} else if (store_is_refusal(reply->code)) {
		r->to_note = false;
		log_warning("an event was not noted", LOG_STR("why", reply->text));
	} else if (reply->code != STORE_ABANDONED) {
		host_timer_start(&r->note, RETURNS_AGAIN_MS);
	}
}

static void on_note_due(void *arg)
{
	struct returns *r = arg;

	if (r->to_note && !r->noting && session_is_up(r->session))
		put_note(r);
}

void returns_note(struct returns *r, int64_t since)
{
	if (!is_wanted(r))
		return;
	notice_init(r->registry, &r->own, NOTICE_DISCONNECTED, "");
	r->own.since = since;
	id_new(r->session->host, r->own.id);
	r->to_note = true;
	host_timer_start(&r->note, 0);
}

/* --- the message ---------------------------------------------------------- */

static void next(struct returns *r);

static void end(struct returns *r)
{
	names_free(r->names, r->n);
	r->names = NULL;
	r->n = 0;
	r->looking = false;
}

static void on_told(void *arg, const struct store_reply *reply)
{
	struct returns *r = arg;

	end(r);
	/* With another code another node has collected some of them: there may be more. */
	if (reply->code != STORE_ABANDONED && reply->code != STORE_OK)
		collect_soon(r, RETURNS_AGAIN_MS);
}

static void tell(struct returns *r)
{
	struct notice_record event;
	struct store_op *ops = mem_calloc(r->n + 1, sizeof(*ops));
	char(*paths)[STORE_PATH_MAX] = mem_calloc(r->n, STORE_PATH_MAX);

	ops[0] = (struct store_op){
		.type = STORE_OP_CHECK, .path = r->session->registration, .version = -1};
	for (size_t i = 0; i < r->n; i++) {
		path_of(r->session->settings, PATH_OUTAGES, r->names[i], paths[i]);
		ops[i + 1] =
			(struct store_op){.type = STORE_OP_DELETE, .path = paths[i], .version = -1};
	}
	notice_init(r->registry, &event, NOTICE_DISCONNECTED, "");
	snprintf(event.node, sizeof(event.node), "%s", r->n_read == 1 ? r->node : "");
	event.version[0] = '\0';
	if (r->n_read == 1)
		snprintf(event.text, sizeof(event.text),
			 "1 server was without ZooKeeper, and is back: %.330s", r->text);
	else
		snprintf(event.text, sizeof(event.text),
			 "%zu servers were without ZooKeeper, and are back: %.310s", r->n_read,
			 r->text);
	if (r->shown < r->n_read)
		snprintf(event.text + strlen(event.text), sizeof(event.text) - strlen(event.text),
			 " and %zu more", r->n_read - r->shown);
	event.output = r->output;
	event.output_len = r->output_len;
	notices_multi(r->registry, ops, r->n + 1, r->n_read > 0 ? &event : NULL, on_told, r);
	free(ops);
	free(paths);
}

/* Adds a node to what people are told. */
static void take(struct returns *r, const struct notice_record *note)
{
	char since[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE], line[WORKER_NODE_MAX + 80];
	size_t used = strlen(r->text), len = strlen(note->node);

	r->n_read++;
	snprintf(r->node, sizeof(r->node), "%s", note->node);
	if (r->shown < NAMES_SHOWN && r->shown + 1 == r->n_read && used + len + 2 < 310) {
		snprintf(r->text + used, sizeof(r->text) - used, "%s%.*s", used ? ", " : "",
			 (int)len, note->node);
		r->shown++;
	}
	clock_format(note->since, since);
	clock_format(note->time, until);
	snprintf(line, sizeof(line), "%s from %s to %s\n", note->node, since, until);
	len = strlen(line);
	if (r->output_len + len > sizeof(r->output))
		return;
	memcpy(r->output + r->output_len, line, len);
	r->output_len += len;
}

static void on_read(void *arg, const struct store_reply *reply)
{
	struct returns *r = arg;
	struct notice_record note;
	const char *why;

	if (store_is_lost(reply->code)) {
		end(r);
		if (reply->code == STORE_UNKNOWN)
			collect_soon(r, RETURNS_AGAIN_MS);
		return;
	}
	if (reply->code == STORE_OK &&
	    record_parse_notice(reply->data, reply->len, &note, &why) == 0)
		take(r, &note);
	r->at++;
	next(r);
}

static void next(struct returns *r)
{
	char path[STORE_PATH_MAX];

	if (r->at == r->n) {
		tell(r);
		return;
	}
	path_of(r->session->settings, PATH_OUTAGES, r->names[r->at], path);
	store_get(r->session->store, path, false, on_read, r);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct returns *r = arg;

	r->names = mem_calloc(RETURNS_MAX, sizeof(*r->names));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names && r->n < RETURNS_MAX; i++)
		r->names[r->n++] = mem_strdup(reply->names[i]);
	if (r->n > 0) {
		next(r);
		return;
	}
	end(r);
	if (reply->code == STORE_UNKNOWN)
		collect_soon(r, RETURNS_AGAIN_MS);
}

static void on_collect_due(void *arg)
{
	struct returns *r = arg;
	char path[STORE_PATH_MAX];

	if (r->looking || !is_wanted(r) || !session_is_up(r->session) ||
	    !registry_self(r->registry))
		return;
	r->looking = true;
	r->at = r->n_read = r->shown = r->output_len = 0;
	r->text[0] = r->node[0] = '\0';
	path_of(r->session->settings, PATH_OUTAGES, NULL, path);
	store_children(r->session->store, path, false, on_names, r);
}

void returns_changed(struct returns *r)
{
	if (!is_wanted(r))
		return;
	if (r->to_note)
		host_timer_start(&r->note, 0);
	if (!host_timer_is_set(&r->collect) && count_before(r) == 0)
		collect_soon(r, RETURNS_WAIT_MS);
}

/* --- begin and end -------------------------------------------------------- */

void returns_init(struct returns *r, struct session *session, struct registry *registry)
{
	*r = (struct returns){.session = session, .registry = registry};
	host_timer_init(&r->note, session->host, on_note_due, r);
	host_timer_init(&r->collect, session->host, on_collect_due, r);
}

void returns_done(struct returns *r)
{
	host_timer_done(&r->note);
	host_timer_done(&r->collect);
}
