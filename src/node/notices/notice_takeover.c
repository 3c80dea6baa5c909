/*
 * Takes over the notices of sessions that have ended: a transaction renames each to this session,
 * so that only one of the nodes that try gets it. Notices of our own session that this process does
 * not know are ours: an answer was lost, or the previous sidecar made them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/fleet/registry.h"
#include "node/notices/notice_list.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

struct look {
	struct notices *notices;
	char **names; /* names to read; owned, as is each */
	size_t n, at;
	struct notice *made; /* the notice that is being taken over */
};

/* Parses a znode's name; false: it is not a notice's. */
static bool parse_name(const char *name, int64_t *ret_time, int64_t *ret_session)
{
	uint64_t time = 0, session = 0;
	uint64_t *part = &time;
	size_t i = 0, dots = 0;

	for (; name[i] && dots < 2; i++) {
		char c = name[i];

		if (c == '.') {
			dots++;
			part = &session;
		} else if (c >= '0' && c <= '9') {
			*part = *part << 4 | (uint64_t)(c - '0');
		} else if (c >= 'a' && c <= 'f') {
			*part = *part << 4 | (uint64_t)(c - 'a' + 10);
		} else {
			return false;
		}
	}
	*ret_time = (int64_t)time;
	*ret_session = (int64_t)session;
	return dots == 2 && name_is_id(name + i, strlen(name + i)) &&
	       strlen(name) < NOTICE_NAME_SIZE;
}

static void end(struct look *k)
{
	k->notices->looking = false;
	names_free(k->names, k->n);
	free(k);
}

static bool is_ours(const struct look *k)
{
	int64_t time, session;

	return parse_name(k->names[k->at], &time, &session) && session == k->notices->session->id;
}

static void next(struct look *k);

static void on_taken_over(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	struct notice *m = k->made;

	k->made = NULL;
	if (reply->code == STORE_OK) {
		log_info("an event that another node noted is told from here",
			 LOG_STR("event", notice_event_name(m->record.event)),
			 LOG_STR("task", m->record.task[0] ? m->record.task : NULL),
			 LOG_STR("from", m->record.node));
		m->state = NOTICE_THERE;
		notice_keep(m);
	} else {
		notice_free(m);
	}
	if (store_is_lost(reply->code)) {
		end(k);
		return;
	}
	k->at++;
	next(k);
}

static void take_over(struct look *k)
{
	struct notices *n = k->notices;
	char old[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct buffer data;

	path_of(n->session->settings, PATH_NOTICES, k->names[k->at], old);
	notice_rename(k->made);
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = n->session->registration, .version = -1},
		{.type = STORE_OP_DELETE, .path = old, .version = -1},
		notice_op(k->made, path, &data),
	};
	store_multi(n->session->store, ops, 3, on_taken_over, k);
	buffer_done(&data);
}

static void on_notice(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	struct notices *n = k->notices;
	struct notice_record record;
	const char *why;

	if (store_is_lost(reply->code)) {
		end(k);
		return;
	}
	if (reply->code == STORE_OK &&
	    record_parse_notice(reply->data, reply->len, &record, &why) != 0) {
		char path[STORE_PATH_MAX];

		path_of(n->session->settings, PATH_NOTICES, k->names[k->at], path);
		log_warning("notice refused", LOG_STR("znode", path), LOG_STR("why", why));
	} else if (reply->code == STORE_OK && !notices_have(n, k->names[k->at]) &&
		   notices_has_room(n, 0)) {
		struct notice *m = notice_new(n, &record);

		if (record.event == NOTICE_LEADER && record.token == 0)
			m->record.token = reply->stat.czxid;
		k->made = m;
		if (!is_ours(k)) {
			take_over(k);
			return;
		}
		snprintf(m->name, sizeof(m->name), "%s", k->names[k->at]);
		m->state = NOTICE_THERE;
		notice_keep(m);
		k->made = NULL;
	}
	k->at++;
	next(k);
}

static void next(struct look *k)
{
	struct notices *n = k->notices;
	char path[STORE_PATH_MAX];

	if (k->at == k->n || !session_is_up(n->session)) {
		end(k);
		notices_advance(n);
		return;
	}
	path_of(n->session->settings, PATH_NOTICES, k->names[k->at], path);
	store_get(n->session->store, path, false, on_notice, k);
}

static void on_outdated(void *arg, const struct store_reply *reply)
{
	(void)arg, (void)reply;
}

static void drop_outdated(struct notices *n, const char *name)
{
	char path[STORE_PATH_MAX];

	log_warning("an event that nobody was told of is forgotten", LOG_STR("znode", name));
	path_of(n->session->settings, PATH_NOTICES, name, path);
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};
	store_multi(n->session->store, &op, 1, on_outdated, n);
}

/* Whether the notice of this name is to be read. */
static bool is_wanted(struct notices *n, const char *name)
{
	int64_t time, session;

	if (!parse_name(name, &time, &session) || notices_have(n, name))
		return false;
	if (session == n->session->id)
		return true;
	if (fleet_find_session(&n->registry->fleet, session))
		return false;
	if (!registry_is_gone(n->registry, session)) {
		notices_takeover_soon(n, NOTICES_RETRY_MS);
		return false;
	}
	if (host_wall_ms(n->session->host) - time < NOTICES_KEEP_MS)
		return n->listening;
	drop_outdated(n, name);
	return false;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct look *k = arg;
	struct notices *n = k->notices;

	if (reply->code == STORE_NO_NODE)
		n->there = false;
	/* Only a settled fleet tells which sessions have ended. */
	if (reply->code == STORE_OK && !registry_settled(n->registry))
		notices_takeover_soon(n, NOTICES_RETRY_MS);
	if (reply->code != STORE_OK || !registry_settled(n->registry)) {
		end(k);
		return;
	}
	k->names = mem_calloc(reply->n_names + 1, sizeof(*k->names));
	for (size_t i = 0; i < reply->n_names && k->n < NOTICES_MAX; i++)
		if (is_wanted(n, reply->names[i]))
			k->names[k->n++] = mem_strdup(reply->names[i]);
	if (k->n > 0)
		qsort(k->names, k->n, sizeof(*k->names), names_compare);
	next(k);
}

void notices_takeover(struct notices *n)
{
	int64_t now_ms = host_now_ms(n->session->host);
	char path[STORE_PATH_MAX];

	if (n->looking)
		return;
	if (n->look_ms > now_ms) {
		host_timer_start(&n->timer, n->look_ms - now_ms);
		return;
	}
	n->look_due = false;
	n->looking = true;
	struct look *k = mem_calloc(1, sizeof(*k));
	k->notices = n;
	path_of(n->session->settings, PATH_NOTICES, NULL, path);
	store_children(n->session->store, path, false, on_names, k);
}

void notices_takeover_soon(struct notices *n, int64_t ms)
{
	int64_t at_ms = host_now_ms(n->session->host) + ms;

	if (!n->look_due || at_ms < n->look_ms)
		n->look_ms = at_ms;
	n->look_due = true;
	host_timer_start(&n->timer, 0);
}

void notices_up(struct notices *n)
{
	if (n->n_rules > 0 || n->n > 0)
		notices_takeover_soon(n, 0);
}

/* The first in the order of the ids looks first, so that the others find nothing. */
void notices_left(struct notices *n)
{
	const struct fleet *f = &n->registry->fleet;
	int64_t before = 0;

	if (n->n_rules == 0 || !n->listening)
		return;
	for (size_t i = 0; i < f->n_members; i++)
		before += strcmp(f->by_id[i]->worker->id, n->registry->id) < 0;
	notices_takeover_soon(n, NOTICES_RETRY_MS + before * NOTICES_STAGGER_MS);
}
