#include "node/notices/notice_list.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/registry.h"
#include "node/session/id.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

/* --- one notice ----------------------------------------------------------- */

void notice_rename(struct notice *m)
{
	snprintf(m->name, sizeof(m->name), "%" PRIx64 ".%" PRIx64 ".%s", (uint64_t)m->record.time,
		 (uint64_t)m->notices->session->id, m->record.id);
}

struct notice *notice_new(struct notices *n, const struct notice_record *record)
{
	struct notice *m = mem_calloc(1, sizeof(*m));

	m->notices = n;
	m->record = *record;
	if (!m->record.id[0])
		id_new(n->session->host, m->record.id);
	if (record->output_len > 0) {
		m->output = mem_alloc(record->output_len);
		memcpy(m->output, record->output, record->output_len);
	}
	m->record.output = m->output;
	m->to_mark = record->event == NOTICE_LEADER;
	m->unsure = m->to_mark && !record->led;
	notice_rename(m);
	return m;
}

void notice_free(struct notice *m)
{
	free(m->output);
	free(m);
}

struct store_op notice_op(const struct notice *m, char path[STORE_PATH_MAX], struct buffer *data)
{
	buffer_init(data, RECORD_NOTICE_MAX);
	int error = record_pack_notice(data, &m->record);
	assert(error == 0);
	(void)error;
	path_of(m->notices->session->settings, PATH_NOTICES, m->name, path);
	return (struct store_op){.type = STORE_OP_CREATE,
				 .path = path,
				 .data = data->data,
				 .len = data->len,
				 .closed = true};
}

/* --- the list ------------------------------------------------------------- */

bool notices_has_room(struct notices *n, size_t beside)
{
	if (n->n + beside < NOTICES_MAX) {
		n->drops = false;
		return true;
	}
	n->dropped++;
	if (!n->drops)
		log_warning("people are not told of events", LOG_STR("why", "too many wait"),
			    LOG_INT("limit", NOTICES_MAX),
			    LOG_STR("remedy", "see that zkleader-notify runs on this node"));
	n->drops = true;
	return false;
}

bool notices_have(const struct notices *n, const char *name)
{
	for (const struct notice *m = TAILQ_FIRST(&n->list); m; m = TAILQ_NEXT(m, link))
		if (strcmp(m->name, name) == 0)
			return true;
	return false;
}

void notice_keep(struct notice *m)
{
	struct notices *n = m->notices;

	TAILQ_INSERT_TAIL(&n->list, m, link);
	n->n++;
	host_timer_start(&n->timer, 0);
}

static void drop(struct notices *n, struct notice *m)
{
	TAILQ_REMOVE(&n->list, m, link);
	n->n--;
	notice_free(m);
}

void notices_drop_all(struct notices *n)
{
	while (!TAILQ_EMPTY(&n->list))
		drop(n, TAILQ_FIRST(&n->list));
}

/* --- its znode ------------------------------------------------------------ */

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct notices *n = arg;

	n->making = false;
	n->there = reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS;
	if (n->there)
		host_timer_start(&n->timer, 0);
	else if (!store_is_lost(reply->code))
		notices_takeover_soon(n, NOTICES_RETRY_MS);
}

void notices_make_folder(struct notices *n)
{
	char path[STORE_PATH_MAX];

	if (n->making || !session_is_up(n->session))
		return;
	n->making = true;
	path_of(n->session->settings, PATH_NOTICES, NULL, path);
	store_create(n->session->store, path, on_folder, n);
}

void notices_folder_missing(struct notices *n, const struct store_reply *reply)
{
	log_warning("an event was not noted", LOG_STR("why", reply->text));
	n->there = false;
	notices_make_folder(n);
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct notice *m = arg;
	struct notices *n = m->notices;

	if (m->state != NOTICE_NOTING)
		return;
	/* If the answer is lost, the znode is created again and then exists already. */
	m->state = reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS ? NOTICE_THERE
									       : NOTICE_TO_NOTE;
	if (!store_is_lost(reply->code) && m->state == NOTICE_TO_NOTE) {
		notices_folder_missing(n, reply);
		return;
	}
	host_timer_start(&n->timer, 0);
}

static void make(struct notice *m)
{
	char path[STORE_PATH_MAX];
	struct buffer data;
	struct store_op op = notice_op(m, path, &data);

	m->state = NOTICE_NOTING;
	store_multi(m->notices->session->store, &op, 1, on_made, m);
	buffer_done(&data);
}

static void on_gone(void *arg, const struct store_reply *reply)
{
	struct notice *m = arg;

	if (!store_is_lost(reply->code))
		drop(m->notices, m);
	else
		m->state = NOTICE_THERE; /* asked for again once the session is up */
}

static void take_away(struct notice *m)
{
	char path[STORE_PATH_MAX];

	path_of(m->notices->session->settings, PATH_NOTICES, m->name, path);
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};
	m->state = NOTICE_GOING;
	store_multi(m->notices->session->store, &op, 1, on_gone, m);
}

/* --- the first leader of a task ------------------------------------------- */

static void on_marked(void *arg, const struct store_reply *reply)
{
	struct notice *m = arg;
	struct notices *n = m->notices;

	m->asking = false;
	if (store_is_lost(reply->code))
		return; /* asked again once the session is up */
	m->taken |= m->unsure && reply->code == STORE_OK;
	m->unsure = false; /* if that failed, one notice too many is better than none */
	m->to_mark = false;
	host_timer_start(&n->timer, 0);
}

static void on_led_folder(void *arg, const struct store_reply *reply)
{
	struct notice *m = arg;
	char path[STORE_PATH_MAX];

	if (store_is_lost(reply->code)) {
		m->asking = false;
		return;
	}
	path_of(m->notices->session->settings, PATH_LED, m->record.task, path);
	store_create(m->notices->session->store, path, on_marked, m);
}

static void on_marked_first(void *arg, const struct store_reply *reply)
{
	struct notice *m = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_NO_NODE) {
		on_marked(arg, reply);
		return;
	}
	path_of(m->notices->session->settings, PATH_LED, NULL, path);
	store_create(m->notices->session->store, path, on_led_folder, m);
}

static void mark(struct notice *m)
{
	char path[STORE_PATH_MAX];

	m->asking = true;
	path_of(m->notices->session->settings, PATH_LED, m->record.task, path);
	store_create(m->notices->session->store, path, on_marked_first, m);
}

/* --- all of them ---------------------------------------------------------- */

static void tell(struct notices *n)
{
	size_t told = 0;

	for (struct notice *m = TAILQ_FIRST(&n->list); m && n->listening && told < NOTICES_TOLD_MAX;
	     m = TAILQ_NEXT(m, link)) {
		if (!m->told && !m->unsure && !m->taken && !n->tell(n->arg, &m->record))
			return;
		m->told |= !m->unsure;
		told += m->told && !m->taken;
	}
}

void notices_advance(struct notices *n)
{
	bool up = session_is_up(n->session);

	for (struct notice *m = TAILQ_FIRST(&n->list), *next; m; m = next) {
		next = TAILQ_NEXT(m, link);
		if (m->asking || m->state == NOTICE_NOTING || m->state == NOTICE_GOING)
			continue; /* until that is answered */
		if (m->to_mark && up)
			mark(m);
		else if (m->taken && (m->state == NOTICE_TO_NOTE || m->state == NOTICE_HERE))
			drop(n, m);
		else if (m->taken && m->state == NOTICE_THERE && up)
			take_away(m);
		else if (m->state == NOTICE_TO_NOTE && n->there && up)
			make(m);
	}
	tell(n);
	if ((n->n_rules > 0 || n->n > 0) && !n->there && up)
		notices_make_folder(n);
	else if (n->look_due && up)
		notices_takeover(n);
}

void notices_on_due(void *arg)
{
	notices_advance(arg);
}

void notices_listen(struct notices *n, bool on)
{
	n->listening = on;
	for (struct notice *m = TAILQ_FIRST(&n->list); m; m = TAILQ_NEXT(m, link))
		m->told = false;
	if (on && n->n_rules > 0)
		notices_takeover_soon(n, 0);
	host_timer_start(&n->timer, 0);
}

void notices_go_on(struct notices *n)
{
	if (n->n > 0)
		host_timer_start(&n->timer, 0);
}

void notices_taken(struct notices *n, const char *id, size_t len)
{
	for (struct notice *m = TAILQ_FIRST(&n->list); m; m = TAILQ_NEXT(m, link))
		if (strlen(m->record.id) == len && memcmp(m->record.id, id, len) == 0)
			m->taken = true;
	host_timer_start(&n->timer, 0);
}
