#include "daemon/registry.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "wire/record.h"

#define RETRY_MS 1000

static void send_registration(struct registry *r);
static void list_workers(struct registry *r);

void registry_path(const struct registry *r, const char *folder, const char *name,
		   char path[ZK_PATH_MAX])
{
	snprintf(path, ZK_PATH_MAX, "%s%s/%s%s%s", r->config->chroot ? r->config->chroot : "",
		 r->config->root, folder, name ? "/" : "", name ? name : "");
}

const struct member *registry_self(const struct registry *r)
{
	return r->id[0] ? fleet_find(&r->fleet, r->id) : NULL;
}

/* --- registering -------------------------------------------------------------------------------
 */

static struct worker *describe_self(const struct registry *r)
{
	struct worker *w = worker_new();
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, w->id);
	memcpy(w->version, r->version, sizeof(w->version));
	memcpy(w->ip, r->ip, sizeof(w->ip));
	memcpy(w->hostname, r->hostname, sizeof(w->hostname));
	memcpy(w->random_ints, r->random_ints, sizeof(w->random_ints));
	w->started_at = r->started_at;
	w->timeout_ms = zk_timeout(r->session->zk);
	worker_set_tasks(w, r->tasks, r->n_tasks);
	return w;
}

static void forget_member(struct registry *r, const char *id)
{
	const struct member *m = fleet_find(&r->fleet, id);

	if (!m)
		return;
	r->handlers.left(r->handlers.arg, m);
	fleet_remove(&r->fleet, id);
	r->dirty = true;
}

static void add_member(struct registry *r, struct worker *w, int64_t session)
{
	const struct member *m = fleet_add(&r->fleet, w, session, clock_boot_ms());

	if (!m)
		return;
	r->handlers.joined(r->handlers.arg, m);
	r->dirty = true;
}

/* Tells of changes once all that is on its way has come. */
static void tell_changes(struct registry *r)
{
	if (!r->dirty || !r->ready || r->reads_pending > 0)
		return;
	r->dirty = false;
	r->handlers.changed(r->handlers.arg);
}

static void on_retry(uv_timer_t *timer)
{
	send_registration(timer->data);
}

static void retry_later(struct registry *r)
{
	uv_timer_start(&r->retry, on_retry, RETRY_MS, 0);
}

/* Our own record need not be read back: the fleet has it from here, without a moment in between. */
static void registered(struct registry *r, struct worker *w, int64_t sent_ms)
{
	char path[ZK_PATH_MAX];

	log_info("registered", LOG_STR("id", w->id), LOG_STR("was", r->id[0] ? r->id : NULL),
		 LOG_STR("version", w->version), LOG_STR("ip", w->ip),
		 LOG_INT("tasks", w->n_tasks));
	if (r->id[0])
		forget_member(r, r->id);
	memcpy(r->id, w->id, sizeof(r->id));
	r->maybe[0] = '\0';
	registry_path(r, "workers", r->id, path);
	add_member(r, w, zk_session(r->session->zk));
	session_registered(r->session, path, sent_ms);
	tell_changes(r);
	if (r->again)
		send_registration(r);
}

/* Goes on once a second for as long as it lasts, but is logged once. */
static void refused_by_server(struct registry *r, const char *what, const struct zk_reply *reply)
{
	char problem[200];

	snprintf(problem, sizeof(problem), "%s refused by the server: %s%s", what, reply->text,
		 reply->code == ZK_NO_AUTH ? ": see auth-file and the ACL of root" : "");
	if (session_set_problem(r->session, problem))
		log_error("refused", LOG_STR("why", problem), LOG_STR("root", r->config->root));
}

static void registration_refused(struct registry *r, const struct zk_reply *reply)
{
	if (reply->code == ZK_NO_NODE && reply->failed_op == 0) {
		r->again = true;
		registry_make_parents(r);
		return;
	}
	if (reply->code == ZK_NO_NODE) {
		/* The record to be replaced is not there: then it is the one that we were unsure
		 * of. */
		memcpy(r->id, r->maybe, sizeof(r->id));
		r->maybe[0] = '\0';
		send_registration(r);
		return;
	}
	refused_by_server(r, "registration", reply);
	retry_later(r);
}

static void on_registration_reply(void *arg, const struct zk_reply *reply)
{
	struct registry *r = arg;
	struct worker *w = r->attempt;

	r->attempt = NULL;
	if (reply->code == ZK_OK) {
		registered(r, w, reply->sent_ms);
		return;
	}
	if (reply->code == ZK_UNKNOWN) {
		memcpy(r->maybe, w->id, sizeof(r->maybe));
		r->again = true;
		retry_later(r); /* a new connection comes before, as a rule */
	}
	worker_free(w);
	if (reply->code != ZK_UNKNOWN && reply->code != ZK_ABANDONED)
		registration_refused(r, reply);
}

static bool connected(const struct registry *r)
{
	return r->session->state == SESSION_CONNECTED || r->session->state == SESSION_UP;
}

/*
 * One transaction makes the new record and takes the old one away, so that the fleet never sees two
 * of us or none.
 */
static void send_registration(struct registry *r)
{
	char new_path[ZK_PATH_MAX], old_path[ZK_PATH_MAX];
	struct buffer data;

	if (!connected(r) || r->attempt || r->parents_pending > 0) {
		r->again = true;
		return;
	}
	r->again = false;
	if (r->config->address)
		snprintf(r->ip, sizeof(r->ip), "%s", r->config->address);
	else if (zk_local_address(r->session->zk, r->ip, sizeof(r->ip)) != 0)
		snprintf(r->ip, sizeof(r->ip), "127.0.0.1");
	if (!r->id[0]) {
		memcpy(r->id, r->maybe, sizeof(r->id));
		r->maybe[0] = '\0';
	}
	r->attempt = describe_self(r);
	registry_path(r, "workers", r->attempt->id, new_path);
	registry_path(r, "workers", r->id, old_path);
	buffer_init(&data, RECORD_WORKER_MAX);
	int error = record_pack_worker(&data, r->attempt);
	assert(error == 0); /* registry_set_tasks() has seen to the sum of the names */
	(void)error;
	struct zk_op ops[2] = {
		{.type = ZK_OP_CREATE_EPHEMERAL,
		 .path = new_path,
		 .data = data.data,
		 .len = data.len},
		{.type = ZK_OP_DELETE, .path = old_path, .version = -1},
	};
	zk_multi(r->session->zk, ops, r->id[0] ? 2 : 1, on_registration_reply, r);
	buffer_done(&data);
}

static void on_parent_reply(void *arg, const struct zk_reply *reply)
{
	struct registry *r = arg;

	r->parents_pending--;
	if (reply->code == ZK_NO_AUTH || reply->code == ZK_FAILED)
		refused_by_server(r, "making the root", reply);
	if (r->parents_pending > 0 || reply->code == ZK_ABANDONED || reply->code == ZK_UNKNOWN)
		return;
	if (!r->id[0] || r->again)
		retry_later(r);
	if (reply->code == ZK_OK || reply->code == ZK_NODE_EXISTS) {
		uv_timer_stop(&r->retry);
		if (!r->id[0] || r->again)
			send_registration(r);
	}
}

static void make_parent(struct registry *r, const char *path)
{
	r->parents_pending++;
	zk_create(r->session->zk, path, on_parent_reply, r);
}

void registry_make_parents(struct registry *r)
{
	static const char *const folders[] = {"workers", "leaders"};
	char path[ZK_PATH_MAX];

	if (r->parents_pending > 0 || !connected(r))
		return;
	snprintf(path, sizeof(path), "%s%s", r->config->chroot ? r->config->chroot : "",
		 r->config->root);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		make_parent(r, path);
		*slash = '/';
	}
	make_parent(r, path);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		registry_path(r, folders[i], NULL, path);
		make_parent(r, path);
	}
}

/* --- reading the others ------------------------------------------------------------------------
 */

static bool is_refused(const struct registry *r, const char *id)
{
	for (size_t i = 0; i < r->n_refused; i++)
		if (strcmp(r->refused[i], id) == 0)
			return true;
	return false;
}

static void refuse(struct registry *r, const char *id, const char *why)
{
	char path[ZK_PATH_MAX];

	registry_path(r, "workers", id, path);
	log_warning("worker record refused", LOG_STR("znode", path), LOG_STR("why", why));
	if (r->n_refused >= FLEET_MEMBERS_MAX)
		return;
	r->refused = mem_resize(r->refused, r->n_refused + 1, sizeof(char *));
	r->refused[r->n_refused++] = mem_strdup(id);
}

struct record_read {
	struct registry *r;
	char id[]; /* as the znode is named: not trusted */
};

static void take_record(struct registry *r, const char *id, const struct zk_reply *reply)
{
	struct worker *w;
	const char *why;

	if (reply->stat.owner == 0) {
		refuse(r, id, "not ephemeral");
	} else if (record_parse_worker(reply->data, reply->len, &w, &why) != 0) {
		refuse(r, id, why);
	} else if (strcmp(w->id, id) != 0) {
		refuse(r, id, "id: is not the znode's name");
		worker_free(w);
	} else {
		if (r->fleet.n_members >= FLEET_MEMBERS_MAX)
			refuse(r, id, "the fleet has more members than zkleader's limit");
		add_member(r, w, reply->stat.owner);
	}
}

static void on_record(void *arg, const struct zk_reply *reply)
{
	struct record_read *read = arg;
	struct registry *r = read->r;

	r->reads_pending--;
	if (reply->code == ZK_OK)
		take_record(r, read->id, reply);
	else if (reply->code == ZK_NO_AUTH || reply->code == ZK_FAILED)
		refuse(r, read->id, reply->text);
	if (reply->code != ZK_ABANDONED && reply->code != ZK_UNKNOWN && r->reads_pending == 0) {
		r->ready = true;
		tell_changes(r);
	}
	free(read);
}

static void read_record(struct registry *r, const char *id)
{
	size_t len = strlen(id);
	char path[ZK_PATH_MAX];

	if (!name_is_id(id, len)) {
		refuse(r, id, "the znode's name is no worker id");
		return;
	}
	struct record_read *read = mem_alloc(sizeof(*read) + len + 1);
	read->r = r;
	memcpy(read->id, id, len + 1);
	registry_path(r, "workers", id, path);
	r->reads_pending++;
	zk_get(r->session->zk, path, false, on_record, read);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_name(char *const *sorted, size_t n, const char *name)
{
	return n > 0 && bsearch(&name, sorted, n, sizeof(*sorted), compare_names) != NULL;
}

/* names is sorted. */
static void compare_with_fleet(struct registry *r, char *const *names, size_t n)
{
	for (size_t i = r->fleet.n_members; i-- > 0;) {
		const char *id = r->fleet.by_id[i]->worker->id;
		if (!has_name(names, n, id) && strcmp(id, r->id) != 0)
			forget_member(r, id);
	}
	for (size_t i = r->n_refused; i-- > 0;) {
		if (has_name(names, n, r->refused[i]))
			continue;
		free(r->refused[i]);
		r->refused[i] = r->refused[--r->n_refused];
	}
	if (r->id[0] && !has_name(names, n, r->id))
		session_confirm(
			r->session); /* will tell for certain, and lead to another registration */
	for (size_t i = 0; i < n; i++)
		if (!fleet_find(&r->fleet, names[i]) && !is_refused(r, names[i]))
			read_record(r, names[i]);
}

static void on_list_timer(uv_timer_t *timer)
{
	list_workers(timer->data);
}

static void on_list(void *arg, const struct zk_reply *reply)
{
	struct registry *r = arg;

	r->listing = false;
	if (reply->code == ZK_NO_NODE) {
		registry_make_parents(r);
		uv_timer_start(&r->list_timer, on_list_timer, RETRY_MS, 0);
	}
	if (reply->code != ZK_OK)
		return;
	char **names = mem_calloc(reply->n_names + 1, sizeof(char *));
	if (reply->n_names > 0)
		memcpy(names, reply->names, reply->n_names * sizeof(char *));
	qsort(names, reply->n_names, sizeof(char *), compare_names);
	compare_with_fleet(r, names, reply->n_names);
	free(names);
	if (r->reads_pending == 0) {
		r->ready = true;
		tell_changes(r);
	}
	if (r->list_again)
		list_workers(r);
}

static void list_workers(struct registry *r)
{
	char path[ZK_PATH_MAX];
	int64_t now = clock_boot_ms();

	if (!session_is_up(r->session))
		return;
	if (r->listing) {
		r->list_again = true;
		return;
	}
	if (now < r->listed_ms + REGISTRY_LIST_EVERY_MS) {
		uv_timer_start(&r->list_timer, on_list_timer,
			       (uint64_t)(r->listed_ms + REGISTRY_LIST_EVERY_MS - now), 0);
		return;
	}
	r->list_again = false;
	r->listed_ms = now;
	registry_path(r, "workers", NULL, path);
	r->listing = true;
	zk_children(r->session->zk, path, true, on_list, r);
}

/* --- from outside ------------------------------------------------------------------------------
 */

void registry_init(struct registry *r, uv_loop_t *loop, const struct config *config,
		   struct session *session, const struct registry_handlers *handlers)
{
	memset(r, 0, sizeof(*r));
	r->config = config;
	r->session = session;
	r->handlers = *handlers;
	fleet_init(&r->fleet);
	r->started_at = clock_wall_ms();
	if (gethostname(r->hostname, sizeof(r->hostname) - 1) != 0 ||
	    !name_is_host(r->hostname, strlen(r->hostname)))
		snprintf(r->hostname, sizeof(r->hostname), "unknown");
	ssize_t got = getrandom(r->random_ints, sizeof(r->random_ints), 0);
	assert(got == (ssize_t)sizeof(r->random_ints)); /* never short below 256 bytes */
	(void)got;
	uv_timer_init(loop, &r->retry);
	uv_timer_init(loop, &r->list_timer);
	r->retry.data = r;
	r->list_timer.data = r;
}

void registry_done(struct registry *r)
{
	for (size_t i = 0; i < r->n_refused; i++)
		free(r->refused[i]);
	free(r->refused);
	worker_free(r->attempt);
	fleet_done(&r->fleet);
}

void registry_set_version(struct registry *r, const char *version)
{
	if (strcmp(r->version, version) == 0)
		return;
	snprintf(r->version, sizeof(r->version), "%s", version);
	if (r->id[0] || r->attempt)
		send_registration(r);
}

static bool same_tasks(const struct registry *r, const char *const *names, size_t n)
{
	if (n != r->n_tasks)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], r->tasks[i]) != 0)
			return false;
	return true;
}

void registry_set_tasks(struct registry *r, const char *const *names, size_t n)
{
	bool same = same_tasks(r, names, n);

	r->tasks = names;
	r->n_tasks = n;
	if (!same && (r->id[0] || r->attempt))
		send_registration(r);
}

void registry_connected(struct registry *r)
{
	uv_timer_stop(&r->retry);
	send_registration(r);
}

void registry_up(struct registry *r)
{
	r->list_again = false;
	r->listing = false;
	r->listed_ms = 0;
	list_workers(r);
	if (r->again)
		send_registration(r);
}

void registry_cut(struct registry *r)
{
	uv_timer_stop(&r->list_timer);
}

void registry_expired(struct registry *r)
{
	r->id[0] = '\0';
	r->maybe[0] = '\0';
	r->ready = false;
	uv_timer_stop(&r->list_timer);
	uv_timer_stop(&r->retry);
}

void registry_watch(struct registry *r, enum zk_watch type, const char *path)
{
	char workers[ZK_PATH_MAX];

	(void)path;
	registry_path(r, "workers", NULL, workers);
	if (strcmp(path, workers) == 0 && (type == ZK_CHILDREN_CHANGED || type == ZK_NODE_DELETED))
		list_workers(r);
}
