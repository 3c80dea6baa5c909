#include "node/fleet/registration.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/fleet/own_record.h"
#include "node/tree/paths.h"
#include "wire/records/record.h"

#define RETRY_MS 1000

static void on_retry(void *arg)
{
	registration_send(arg);
}

static void retry_later(struct registry *r)
{
	host_timer_start(&r->retry, RETRY_MS);
}

void registration_forget_self(struct registry *r)
{
	if (!r->id[0])
		return;
	roll_left(&r->roll, r->id);
	registry_forget(r, r->id);
	folder_remove(&r->workers, r->id);
}

/* Adds our own record to the fleet at once: it need not be read back, and is never away. */
static void registered(struct registry *r, struct worker *w, int64_t sent_ms)
{
	char path[STORE_PATH_MAX];

	log_info("registered", LOG_STR("id", w->id), LOG_STR("was", r->id[0] ? r->id : NULL),
		 LOG_STR("version", w->version), LOG_STR("ip", w->ip),
		 LOG_INT("tasks", w->n_tasks));
	registration_forget_self(r);
	memcpy(r->id, w->id, sizeof(r->id));
	r->maybe[0] = '\0';
	r->was_there = true;
	path_of(r->settings, PATH_WORKERS, r->id, path);
	registry_add(r, w, store_session(r->session->store), host_wall_ms(r->session->host));
	folder_add(&r->workers, r->id);
	roll_joined_self(&r->roll);
	session_registered(r->session, path, w->timeout_ms, sent_ms);
	clocks_registered(&r->clocks);
	folder_touch(&r->workers);
	if (r->again)
		registration_send(r);
}

/* Tried again once a second for as long as it lasts, but logged once. */
static void refused_by_server(struct registry *r, const char *what, const struct store_reply *reply)
{
	char problem[200];

	snprintf(problem, sizeof(problem), "%s refused by the server: %s%s", what, reply->text,
		 reply->code == STORE_NO_AUTH ? ": see auth-file and the ACL of root" : "");
	if (session_set_problem(r->session, problem))
		log_error("refused", LOG_STR("why", problem), LOG_STR("root", r->settings->root));
}

/* The record to be replaced is not there: this one, or none, is in its place. */
static void replaced_by(struct registry *r, const char *id)
{
	registration_forget_self(r);
	snprintf(r->id, sizeof(r->id), "%s", id);
	r->maybe[0] = '\0';
	registration_send(r);
}

static void registration_refused(struct registry *r, const struct store_reply *reply)
{
	if (reply->code == STORE_NO_NODE && reply->failed_op == 0) {
		r->again = true;
		registry_make_parents(r);
		return;
	}
	if (reply->code == STORE_NO_NODE && r->list_op > 0 && reply->failed_op == r->list_op) {
		lists_own_gone(&r->lists);
		registration_send(r);
		return;
	}
	if (reply->code == STORE_NODE_EXISTS && r->maybe[0]) {
		replaced_by(r, r->maybe); /* it describes us as of that attempt */
		return;
	}
	if (reply->code == STORE_NO_NODE) {
		replaced_by(r, ""); /* replaced by nothing: somebody has deleted it */
		return;
	}
	refused_by_server(r, "registration", reply);
	retry_later(r);
}

static void on_registration_reply(void *arg, const struct store_reply *reply)
{
	struct registry *r = arg;
	struct worker *w = r->attempt;

	r->attempt = NULL;
	if (reply->code == STORE_OK) {
		registered(r, w, reply->sent_ms);
		return;
	}
	if (reply->code == STORE_UNKNOWN) {
		memcpy(r->maybe, w->id, sizeof(r->maybe));
		r->again = true;
		retry_later(r); /* a new connection comes before, as a rule */
	}
	worker_free(w);
	if (!store_is_lost(reply->code))
		registration_refused(r, reply);
}

static bool connected(const struct registry *r)
{
	return r->session->state == SESSION_CONNECTED || r->session->state == SESSION_UP;
}

static void find_ip(struct registry *r)
{
	if (r->settings->address)
		snprintf(r->ip, sizeof(r->ip), "%s", r->settings->address);
	else if (store_local_address(r->session->store, r->ip, sizeof(r->ip)) != 0)
		snprintf(r->ip, sizeof(r->ip), "127.0.0.1");
}

/* Our record, if the list that it names is there; NULL: that is made first. */
static struct worker *described(struct registry *r)
{
	struct buffer list;
	struct worker *w;

	buffer_init(&list, RECORD_LIST_MAX);
	w = own_record(r, &list);
	if (!lists_publish(&r->lists, w->list, list.data, list.len)) {
		worker_free(w);
		w = NULL;
	}
	buffer_done(&list);
	return w;
}

/*
 * Makes the new record and deletes the old one in one transaction, so that the fleet never sees two
 * of us or none. If its outcome is unknown, the next one uses the same id: so no more than one of
 * the records can exist.
 */
void registration_send(struct registry *r)
{
	char new_path[STORE_PATH_MAX], old_path[STORE_PATH_MAX], list_path[STORE_PATH_MAX];
	struct buffer data;

	if (!connected(r) || !r->health_known || r->attempt || r->parents_pending > 0) {
		r->again = true;
		return;
	}
	if (!clocks_ready(&r->clocks)) {
		r->again = true; /* once the offset of our clock is known */
		return;
	}
	find_ip(r);
	struct worker *w = described(r);
	if (!w) {
		r->again = true; /* once our list is there */
		return;
	}
	r->again = false;
	r->attempt = w;
	path_of(r->settings, PATH_WORKERS, w->id, new_path);
	path_of(r->settings, PATH_WORKERS, r->id, old_path);
	path_of(r->settings, PATH_LISTS, w->list, list_path);
	buffer_init(&data, RECORD_WORKER_MAX);
	int error = record_pack_worker(&data, w);
	assert(error == 0); /* the files' tasks have no more than WORKER_TASK_BYTES_MAX */
	(void)error;
	struct store_op ops[3] = {{.type = STORE_OP_CREATE_EPHEMERAL,
				   .path = new_path,
				   .data = data.data,
				   .len = data.len}};
	size_t n = 1;
	if (r->id[0])
		ops[n++] =
			(struct store_op){.type = STORE_OP_DELETE, .path = old_path, .version = -1};
	r->list_op = w->list[0] ? (int)n : 0;
	if (w->list[0])
		ops[n++] =
			(struct store_op){.type = STORE_OP_CHECK, .path = list_path, .version = -1};
	store_multi(r->session->store, ops, n, on_registration_reply, r);
	buffer_done(&data);
}

/* The list that our record names is what we list, and is made again if it is not there. */
static void take_own_list(struct registry *r, struct worker *w)
{
	struct buffer list;

	if (!w->list[0])
		return;
	buffer_init(&list, RECORD_LIST_MAX);
	struct worker *self = own_record(r, &list);
	worker_adopt(w, self);
	worker_free(self);
	r->both = !w->apart;
	(void)lists_publish(&r->lists, w->list, list.data, list.len);
	buffer_done(&list);
}

static void go_on_as(struct registry *r, struct worker *w, int64_t registered_at)
{
	char path[STORE_PATH_MAX];

	log_info("registration taken over", LOG_STR("id", w->id), LOG_STR("version", w->version),
		 LOG_INT("tasks", w->n_tasks));
	take_own_list(r, w);
	memcpy(r->id, w->id, sizeof(r->id));
	r->was_there = true;
	path_of(r->settings, PATH_WORKERS, r->id, path);
	registry_add(r, w, store_session(r->session->store), registered_at);
	folder_add(&r->workers, r->id);
	roll_joined_self(&r->roll);
	session_found(r->session, path, w->timeout_ms);
	clocks_taken_over(&r->clocks, w);
}

static void on_found(void *arg, const struct store_reply *reply)
{
	struct registry *r = arg;
	struct worker *w = NULL;
	const char *why;

	if (store_is_lost(reply->code) || r->id[0] || r->attempt)
		/* the next connection looks again, or there is nothing to look for any more */
		return;
	bool ours = reply->code == STORE_OK &&
		    reply->stat.owner == store_session(r->session->store) &&
		    record_parse_worker(reply->data, reply->len, &w, &why) == 0 &&
		    strcmp(w->id, r->kept_id) == 0;
	r->kept_session = 0;
	r->recovers = true; /* its session goes on, even without the record */
	r->same_node = ours && strcmp(w->node, r->node) == 0;
	find_ip(r);
	if (ours && own_record_is(r, w)) {
		go_on_as(r, w, reply->stat.ctime);
		return;
	}
	worker_free(w);
	if (ours)
		memcpy(r->id, r->kept_id, sizeof(r->id)); /* a new record takes its place */
	registration_send(r);
}

bool registration_is_left_over(const struct registry *r, const char *id,
			       const struct store_reply *reply)
{
	return reply->stat.owner != 0 && reply->stat.owner == store_session(r->session->store) &&
	       r->id[0] && strcmp(id, r->id) != 0 && strcmp(id, r->maybe) != 0 &&
	       !(r->attempt && strcmp(id, r->attempt->id) == 0);
}

struct left_over {
	struct registry *registry;
	char id[NAME_ID_MAX + 1];
};

/* The watch tells of the removal; if the outcome is unknown, the next list does. */
static void on_left_over_removed(void *arg, const struct store_reply *reply)
{
	struct left_over *l = arg;

	if (reply->code == STORE_UNKNOWN)
		folder_remove(&l->registry->workers, l->id);
	free(l);
}

void registration_remove(struct registry *r, const char *id)
{
	struct left_over *l = mem_calloc(1, sizeof(*l));
	char path[STORE_PATH_MAX];

	l->registry = r;
	snprintf(l->id, sizeof(l->id), "%s", id);
	log_warning("a worker record of ours that was left over is removed", LOG_STR("id", id));
	path_of(r->settings, PATH_WORKERS, id, path);
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};
	store_multi(r->session->store, &op, 1, on_left_over_removed, l);
}

static void on_parent_reply(void *arg, const struct store_reply *reply)
{
	struct registry *r = arg;

	r->parents_pending--;
	if (store_is_refusal(reply->code))
		refused_by_server(r, "making the root", reply);
	if (r->parents_pending > 0 || store_is_lost(reply->code))
		return;
	if (!r->id[0] || r->again)
		retry_later(r);
	if (reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS) {
		host_timer_stop(&r->retry);
		if (!r->id[0] || r->again)
			registration_send(r);
	}
}

static void make_parent(struct registry *r, const char *path)
{
	r->parents_pending++;
	store_create(r->session->store, path, on_parent_reply, r);
}

void registry_make_parents(struct registry *r)
{
	static const enum path_folder folders[] = {PATH_WORKERS, PATH_LEADERS, PATH_POLICY,
						   PATH_SPLITS};
	char path[STORE_PATH_MAX];

	if (r->parents_pending > 0 || !connected(r))
		return;
	snprintf(path, sizeof(path), "%s", r->settings->root);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		make_parent(r, path);
		*slash = '/';
	}
	make_parent(r, path);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		path_of(r->settings, folders[i], NULL, path);
		make_parent(r, path);
	}
}

void registry_set_version(struct registry *r, const char *version)
{
	if (strcmp(r->version, version) == 0)
		return;
	snprintf(r->version, sizeof(r->version), "%s", version);
	if (r->id[0] || r->attempt)
		registration_send(r);
}

void registry_retimed(struct registry *r)
{
	if (r->id[0] || r->attempt)
		registration_send(r);
}

void registry_clocked(struct registry *r)
{
	if (r->again)
		registration_send(r);
	if (r->id[0]) /* claims may wait for that as well */
		r->handlers.changed(r->handlers.arg);
}

void registry_set_tasks(struct registry *r, const struct registry_tasks *tasks)
{
	bool same = own_record_same_tasks(&r->tasks, tasks);

	r->tasks = *tasks;
	if (!same && (r->id[0] || r->attempt))
		registration_send(r);
}

void registry_connected(struct registry *r)
{
	char path[STORE_PATH_MAX];

	host_timer_stop(&r->retry);
	if (!r->health_known)
		return; /* called again once it is known */
	if (r->kept_session == 0 || r->kept_session != store_session(r->session->store) ||
	    r->id[0]) {
		registration_send(r);
		return;
	}
	path_of(r->settings, PATH_WORKERS, r->kept_id, path);
	store_get(r->session->store, path, false, on_found, r);
}

static bool same_health(const struct registry *r, const struct node_health *h)
{
	if (h->sick != r->sick || h->n_unhealthy != r->n_unhealthy)
		return false;
	for (size_t i = 0; i < h->n_unhealthy; i++)
		if (strcmp(h->unhealthy[i].task, r->unhealthy[i]) != 0)
			return false;
	return true;
}

static void forget_health(struct registry *r)
{
	free(r->sick_says);
	names_free(r->unhealthy, r->n_unhealthy);
	names_free(r->unhealthy_says, r->n_unhealthy);
}

void registry_set_health(struct registry *r, const struct node_health *h)
{
	bool first = h->known && !r->health_known, same = same_health(r, h);

	forget_health(r);
	r->health_known = h->known;
	r->sick = h->sick;
	r->sick_says = mem_strdup(h->sick ? h->says : "");
	r->unhealthy = mem_calloc(h->n_unhealthy + 1, sizeof(*r->unhealthy));
	r->unhealthy_says = mem_calloc(h->n_unhealthy + 1, sizeof(*r->unhealthy_says));
	r->n_unhealthy = h->n_unhealthy;
	for (size_t i = 0; i < h->n_unhealthy; i++) {
		r->unhealthy[i] = mem_strdup(h->unhealthy[i].task);
		r->unhealthy_says[i] = mem_strdup(h->unhealthy[i].says);
	}
	if (first && connected(r) && !r->id[0] && !r->attempt)
		registry_connected(r);
	else if (!same || (first && r->again))
		registration_send(r);
}

void registry_take_over(struct registry *r, const struct handoff *h)
{
	memcpy(r->random_ints, h->random_ints, sizeof(r->random_ints));
	memcpy(r->kept_id, h->worker, sizeof(r->kept_id));
	r->kept_session = h->session;
	r->started_at = h->started_at;
}

void registration_init(struct registry *r)
{
	host_timer_init(&r->retry, r->session->host, on_retry, r);
	own_record_init(r);
}

void registration_done(struct registry *r)
{
	host_timer_done(&r->retry);
	own_record_done(r);
	worker_free(r->attempt);
	forget_health(r);
}
