#include "node/fleet/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "node/fleet/own_record.h"
#include "node/fleet/registration.h"
#include "node/tree/paths.h"
#include "wire/records/record.h"

#define REFUSED_MAX 1000 /* worker nodes with bad records, beside as many members as there may be */

const struct member *registry_self(const struct registry *r)
{
	return r->id[0] ? fleet_find(&r->fleet, r->id) : NULL;
}

const struct worker *registry_coming(const struct registry *r)
{
	const struct member *self = registry_self(r);

	return r->attempt ? r->attempt : self ? self->worker : NULL;
}

void registry_forget(struct registry *r, const char *id)
{
	const struct member *m = fleet_find(&r->fleet, id);

	if (!m)
		return;
	char list[WORKER_LIST_LEN + 1];

	r->handlers.left(r->handlers.arg, m);
	memcpy(list, m->worker->list, sizeof(list));
	fleet_remove(&r->fleet, id);
	lists_left(&r->lists, list);
}

/*
 * How much later than we others may know of a change, as those of a big fleet list it at different
 * times. A leader that yields before its successor knows the fleet has its task claimed by a third.
 */
static int64_t others_lag_ms(const struct registry *r)
{
	int64_t every = (int64_t)(folder_names(&r->workers) / FOLDER_LIST_NAMES_PER_MS);

	return every > FOLDER_LIST_EVERY_MS ? every - FOLDER_LIST_EVERY_MS : 0;
}

/* registered_at: by the server's wall clock, of our own by ours. */
void registry_add(struct registry *r, struct worker *w, int64_t session, int64_t registered_at)
{
	char list[WORKER_LIST_LEN + 1];

	memcpy(list, w->list, sizeof(list));
	lists_joined(&r->lists, w);
	int64_t seen_ms = host_now_ms(r->session->host) + others_lag_ms(r);
	struct member *m = fleet_add(&r->fleet, w, session, seen_ms);
	if (!m) {
		lists_left(&r->lists, list);
		return;
	}
	m->registered_at = registered_at;
	r->handlers.joined(r->handlers.arg, m);
	clocks_joined(&r->clocks, m->worker);
}

static void refuse(struct registry *r, const char *id, const char *why)
{
	char path[STORE_PATH_MAX];

	path_of(r->settings, PATH_WORKERS, id, path);
	log_warning("worker record refused", LOG_STR("znode", path), LOG_STR("why", why));
	if (r->n_refused == REGISTRY_REFUSED_MAX)
		return;
	struct registry_refusal *refusal = &r->refused[r->n_refused++];
	snprintf(refusal->id, sizeof(refusal->id), "%s", id);
	refusal->why = why;
}

/* Appends what reading the member's node says, if we would write the same; of our own, nobody. */
static bool on_roll_record(void *arg, const struct member *m, struct buffer *out)
{
	(void)arg;
	return m->plain && record_pack_worker(out, m->worker) == 0;
}

/* Whether our release writes the worker as it is: another one may have keys that we do not know. */
static bool is_plain(const struct registry *r, const struct worker *w,
		     const struct store_reply *reply)
{
	struct buffer bytes;

	if (!roll_is_wanted(&r->roll))
		return false;
	buffer_init(&bytes, RECORD_WORKER_MAX);
	bool plain = record_pack_worker(&bytes, w) == 0 && bytes.len == reply->len &&
		     memcmp(bytes.data, reply->data, reply->len) == 0;
	buffer_done(&bytes);
	return plain;
}

static void add_read(struct registry *r, struct worker *w, const struct store_reply *reply)
{
	char id[NAME_ID_MAX + 1];
	bool plain = is_plain(r, w, reply);

	memcpy(id, w->id, sizeof(id));
	roll_joined(&r->roll, id, reply, plain);
	registry_add(r, w, reply->stat.owner, reply->stat.ctime);
	struct member *m = fleet_find(&r->fleet, id);
	if (m)
		m->plain = plain;
}

static void on_record(void *arg, const char *id, const struct store_reply *reply)
{
	struct registry *r = arg;
	struct worker *w;
	const char *why;

	if (reply->code != STORE_OK) {
		refuse(r, id, reply->text);
	} else if (registration_is_left_over(r, id, reply)) {
		registration_remove(r, id);
	} else if (!name_is_id(id, strlen(id))) {
		refuse(r, id, "the znode's name is no worker id");
	} else if (reply->stat.owner == 0) {
		refuse(r, id, "not ephemeral");
	} else if (record_parse_worker(reply->data, reply->len, &w, &why) != 0) {
		refuse(r, id, why);
	} else if (strcmp(w->id, id) != 0) {
		refuse(r, id, "id: is not the znode's name");
		worker_free(w);
	} else {
		if (r->fleet.n_members >= FLEET_MEMBERS_MAX)
			refuse(r, id, "the fleet has more members than zkleader's limit");
		add_read(r, w, reply);
		return;
	}
	roll_joined(&r->roll, id, reply, false);
}

static void on_gone(void *arg, const char *id)
{
	struct registry *r = arg;

	/*
	 * If our own record is gone, a write tells for certain, and leads to another registration.
	 */
	roll_left(&r->roll, id);
	if (strcmp(id, r->id) == 0)
		session_confirm(r->session);
	else
		registry_forget(r, id);
	for (size_t i = r->n_refused; i-- > 0;)
		if (strncmp(r->refused[i].id, id, NAME_ID_MAX) == 0)
			r->refused[i] = r->refused[--r->n_refused];
}

static void on_changed(void *arg)
{
	struct registry *r = arg;

	if (r->reads_many && r->workers.n_wanted == 0) {
		r->reads_many = false;
		r->read_ms = host_now_ms(r->session->host) + others_lag_ms(r);
	}
	lists_sweep(&r->lists);
	own_record_look(r);
	roll_settled(&r->roll);
	r->handlers.changed(r->handlers.arg);
}

static bool on_listed(void *arg)
{
	struct registry *r = arg;

	r->reads_many |=
		others_lag_ms(r) > 0 && 4 * r->workers.n_wanted >= folder_names(&r->workers);
	return roll_listed(&r->roll);
}

static void on_missing(void *arg)
{
	registry_make_parents(arg);
}

void registry_init(struct registry *r, const struct node_settings *settings,
		   struct session *session, const struct registry_handlers *handlers)
{
	const struct folder_handlers folder_handlers = {.take = on_record,
							.gone = on_gone,
							.changed = on_changed,
							.missing = on_missing,
							.listed = on_listed,
							.arg = r};
	char path[STORE_PATH_MAX];

	memset(r, 0, sizeof(*r));
	r->settings = settings;
	r->session = session;
	r->handlers = *handlers;
	fleet_init(&r->fleet);
	r->started_at = host_wall_ms(session->host);
	snprintf(r->hostname, sizeof(r->hostname), "%s", settings->hostname);
	snprintf(r->node, sizeof(r->node), "%s", settings->name);
	snprintf(r->machine, sizeof(r->machine), "%s", settings->machine ? settings->machine : "");
	host_random(session->host, r->random_ints, sizeof(r->random_ints));
	registration_init(r);
	clocks_init(&r->clocks, r, session->host);
	lists_init(&r->lists, r);
	path_of(r->settings, PATH_WORKERS, NULL, path);
	folder_init(&r->workers, session, path, REFUSED_MAX + FLEET_MEMBERS_MAX, &folder_handlers);
	roll_init(&r->roll, session, &r->workers, &r->fleet, r->id, settings->roll_from,
		  &(struct roll_handlers){.record = on_roll_record, .arg = r});
}

void registry_done(struct registry *r)
{
	registration_done(r);
	lists_done(&r->lists);
	clocks_done(&r->clocks);
	roll_done(&r->roll);
	folder_done(&r->workers);
	fleet_done(&r->fleet);
}

/* Whether the record that is, or is being, registered answers for the same queues. */
static bool answers_as_said(const struct registry *r, const struct worker *w)
{
	const struct member *self = registry_self(r);
	const struct worker *said = r->attempt ? r->attempt : self ? self->worker : w;

	for (size_t i = 0; said->n_answers == w->n_answers && i < w->n_answers; i++)
		if (strcmp(said->answers[i], w->answers[i]) != 0)
			return false;
	return said->n_answers == w->n_answers;
}

void registry_answers_changed(struct registry *r)
{
	struct worker *w = worker_new();

	if (r->add_answers)
		r->add_answers(r->answers_arg, w);
	if (!answers_as_said(r, w))
		registration_send(r);
	worker_free(w);
}

bool registry_recovers(const struct registry *r)
{
	return r->recovers;
}

void registry_recovered(struct registry *r)
{
	r->recovers = false;
}

void registry_up(struct registry *r)
{
	roll_up(&r->roll);
	folder_up(&r->workers);
	lists_up(&r->lists);
	if (r->again)
		registration_send(r);
}

void registry_cut(struct registry *r)
{
	roll_cut(&r->roll);
	folder_cut(&r->workers);
	lists_cut(&r->lists);
}

void registry_expired(struct registry *r)
{
	registration_forget_self(r);
	r->id[0] = '\0';
	r->maybe[0] = '\0';
	r->kept_session = 0;
	registry_recovered(r);
	roll_expired(&r->roll);
	folder_expired(&r->workers);
	lists_expired(&r->lists);
	r->form_seen = false;
	host_timer_stop(&r->form);
	clocks_expired(&r->clocks);
	host_timer_stop(&r->retry);
}

void registry_watch(struct registry *r, enum store_watch type, const char *path)
{
	folder_watch(&r->workers, type, path);
	roll_watch(&r->roll, type, path);
	lists_watch(&r->lists, type, path);
}

bool registry_ready(const struct registry *r)
{
	return r->workers.ready && lists_settled(&r->lists);
}

bool registry_settled(const struct registry *r)
{
	return folder_settled(&r->workers) && lists_settled(&r->lists);
}

bool registry_is_gone(struct registry *r, int64_t session)
{
	/* All that are asked for while a list is due are proven by that one. */
	return !fleet_find_session(&r->fleet, session) && roll_is_sure(&r->roll, session) &&
	       registry_settled(r);
}

bool registry_is_proven(struct registry *r)
{
	return registry_settled(r) && roll_is_proven(&r->roll);
}

uint64_t registry_relist(struct registry *r)
{
	return r->workers.quiet ? folder_refresh(&r->workers) : r->workers.lists;
}
