/* The leader's view of the assigned jobs: ROOT/jobs/Q/at/NODE. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/queue/lead/queue_lead.h"
#include "node/tree/paths.h"

#define QUIET_MS 60000 /* an empty folder of a node that is away is deleted after so long */

/* --- the lists ------------------------------------------------------------ */

struct given_node *given_node_of(struct queue_lead *lead, const char *node, bool make)
{
	struct given_set *s = &lead->given;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->nodes[i]->node, node) == 0)
			return s->nodes[i];
	if (!make)
		return NULL;
	struct given_node *n = mem_calloc(1, sizeof(*n));
	n->lead = lead;
	snprintf(n->node, sizeof(n->node), "%s", node);
	s->nodes = mem_resize(s->nodes, s->n + 1, sizeof(struct given_node *));
	s->nodes[s->n++] = n;
	return n;
}

static struct given *find(const struct given_node *n, const struct job_pointer *p)
{
	for (size_t i = 0; i < n->n; i++)
		if (job_pointer_same(&n->list[i]->pointer, p))
			return n->list[i];
	return NULL;
}

static struct given *add(struct given_node *n, const struct job_pointer *p)
{
	struct given *g = mem_calloc(1, sizeof(*g));

	g->pointer = *p;
	g->there = true;
	if (n->n == n->room) {
		n->room = n->room * 2 + 8;
		n->list = mem_resize(n->list, n->room, sizeof(struct given *));
	}
	assert(n->list);
	n->list[n->n++] = g;
	return g;
}

static void given_free(struct given_node *n, struct given *g)
{
	takeover_forget(n->lead, g);
	free(g);
}

void given_add(struct given_node *n, const struct job_pointer *p, int64_t session,
	       int64_t timeout_ms)
{
	struct given *g = find(n, p);

	if (!g)
		g = add(n, p);
	g->session = session;
	g->timeout_ms = timeout_ms;
}

void given_remove(struct given_node *n, struct given *g)
{
	for (size_t i = 0; i < n->n; i++) {
		if (n->list[i] != g)
			continue;
		n->list[i] = n->list[--n->n];
		given_free(n, g);
		return;
	}
}

static void node_free(struct given_node *n)
{
	char path[STORE_PATH_MAX];

	if (path_of_at(lead_paths(n->lead), lead_name(n->lead), n->node, NULL, path))
		queue_unwatch(lead_calls(n->lead), path, WATCH_CHILDREN, n);
	queue_calls_forget(lead_calls(n->lead), n);
	for (size_t i = 0; i < n->n; i++)
		given_free(n, n->list[i]);
	free(n->list);
	free(n);
}

/* --- reading -------------------------------------------------------------- */

/* Reads the session of an assignment that an earlier leader has made. */
static void on_at(void *arg, const struct store_reply *reply)
{
	struct given_node *n = arg;
	struct queue_lead *lead = n->lead;
	struct given *g = NULL;
	struct at_record at;
	char path[STORE_PATH_MAX];
	const char *why;

	lead->given.reads--;
	/* Reads are answered in the order in which they were sent. */
	for (size_t i = 0; i < n->n && !g; i++)
		if (n->list[i]->reading && n->list[i]->order == n->answered)
			g = n->list[i];
	n->answered++;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(lead, reply);
		return;
	}
	queues_wake(lead_queues(lead), 0);
	if (!g)
		return; /* the assignment has gone meanwhile */
	g->reading = false;
	if (reply->code == STORE_NO_NODE) {
		given_remove(n, g);
	} else if (record_parse_at(reply->data, reply->len, &at, &why) == 0) {
		g->session = at.session;
	} else {
		(void)path_of_at(lead_paths(lead), lead_name(lead), n->node, &g->pointer, path);
		log_warning("assignment not understood", LOG_STR("znode", path),
			    LOG_STR("why", why));
		g->session = -1; /* belongs to no session */
	}
}

static void read_at(struct given_node *n, struct given *g)
{
	char path[STORE_PATH_MAX];

	if (!path_of_at(lead_paths(n->lead), lead_name(n->lead), n->node, &g->pointer, path))
		return;
	g->reading = true;
	g->order = n->asked++;
	n->lead->given.reads++;
	queue_get(lead_calls(n->lead), path, on_at, n);
}

static void take_names(struct given_node *n, const struct store_reply *reply)
{
	struct job_pointer p;

	for (size_t i = 0; i < n->n; i++)
		n->list[i]->there = false;
	for (size_t i = 0; i < reply->n_names; i++) {
		if (!job_pointer_parse(reply->names[i], strlen(reply->names[i]), false, &p))
			continue;
		struct given *g = find(n, &p);
		if (g)
			g->there = true;
		else
			add(n, &p);
	}
	size_t kept = 0;
	for (size_t i = 0; i < n->n; i++) {
		struct given *g = n->list[i];

		assert(g);
		if (g->there)
			n->list[kept++] = g;
		else
			given_free(n, g);
	}
	n->n = kept;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct given_node *n = arg;
	struct queue_lead *lead = n->lead;

	n->listing = false;
	lead->given.lists--;
	n->list_ms = queues_now(lead_queues(lead)) + queue_list_every(reply->n_names);
	if (reply->code == STORE_OK) {
		n->listed = true;
		take_names(n, reply);
	} else if (reply->code == STORE_NO_NODE) {
		n->listed = true;
		n->there = false;
		while (n->n > 0)
			given_remove(n, n->list[0]);
	} else if (lead_took(lead, reply)) {
		return;
	}
	queues_wake(lead_queues(lead), 0);
}

static void on_dropped(void *arg, const struct store_reply *reply)
{
	struct given_node *n = arg;

	n->dropping = false;
	if (reply->code == STORE_OK || reply->code == STORE_NO_NODE)
		n->there = false;
	else
		n->dirty = true; /* the folder has got an entry */
}

/* A node that returns makes its folder again. */
static void drop(struct given_node *n)
{
	char path[STORE_PATH_MAX];
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};

	if (!path_of_at(lead_paths(n->lead), lead_name(n->lead), n->node, NULL, path))
		return;
	n->dropping = true;
	queue_multi(lead_calls(n->lead), &op, 1, on_dropped, n);
}

static bool is_away(const struct given_node *n)
{
	const struct fleet *f = &lead_queues(n->lead)->registry->fleet;

	for (size_t i = 0; i < f->n_members; i++)
		if (strcmp(f->by_id[i]->worker->node, n->node) == 0)
			return false;
	return true;
}

static void look_whether_it_is_needed(struct given_node *n, int64_t now)
{
	if (!n->there || n->n > 0 || !is_away(n))
		return;
	if (now >= n->list_ms + QUIET_MS)
		drop(n);
	else
		queues_wake(lead_queues(n->lead), n->list_ms + QUIET_MS - now);
}

static void list(struct given_node *n, int64_t now)
{
	struct queue_lead *lead = n->lead;
	char path[STORE_PATH_MAX];

	if (n->listed && !n->dirty && !n->listing && !n->dropping)
		look_whether_it_is_needed(n, now);
	if (n->listing || n->dropping || !n->there || (n->listed && !n->dirty))
		return;
	if (now < n->list_ms || lead->given.lists >= LEAD_LISTS_MAX) {
		queues_wake(lead_queues(lead), n->list_ms > now ? n->list_ms - now : 1);
		return;
	}
	if (!path_of_at(lead_paths(lead), lead_name(lead), n->node, NULL, path)) {
		n->listed = true;
		return;
	}
	n->listing = true;
	n->dirty = false;
	lead->given.lists++;
	queue_watch_children(lead_calls(lead), path, WATCH_QUEUE, on_names, n);
}

static void on_nodes(void *arg, const struct store_reply *reply)
{
	struct queue_lead *lead = arg;
	struct given_set *s = &lead->given;
	char node[WORKER_NODE_MAX + 1];

	s->listing = false;
	s->list_ms = queues_now(lead_queues(lead)) + queue_list_every(reply->n_names);
	if (reply->code == STORE_NO_NODE) {
		const struct queue_folders folders = {.job_minute = -1, .due_minute = -1};
		queue_make_folders(lead->queue, &folders);
		s->dirty = true;
		return;
	}
	if (reply->code != STORE_OK) {
		(void)lead_took(lead, reply);
		return;
	}
	for (size_t i = 0; i < reply->n_names; i++) {
		if (!path_is_node(reply->names[i], node))
			continue;
		struct given_node *n = given_node_of(lead, node, true);
		n->listed &= n->there; /* a folder that was made again is listed anew */
		n->there = true;
	}
	s->listed = true;
	queues_wake(lead_queues(lead), 0);
}

/* Frees the nodes whose folder has gone. */
static void forget_gone(struct given_set *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct given_node *n = s->nodes[i];
		if (n->there || n->n > 0 || n->listing || n->dropping || !n->listed ||
		    n->asked != n->answered)
			s->nodes[kept++] = n;
		else
			node_free(n);
	}
	s->n = kept;
}

void given_pump(struct queue_lead *lead, int64_t now)
{
	struct given_set *s = &lead->given;
	char path[STORE_PATH_MAX];

	if ((!s->listed || s->dirty) && !s->listing && now >= s->list_ms) {
		s->listing = true;
		s->dirty = false;
		path_of_queue(lead_paths(lead), lead_name(lead), "at", NULL, path);
		queue_watch_children(lead_calls(lead), path, WATCH_QUEUE, on_nodes, lead);
	}
	forget_gone(s);
	for (size_t i = 0; i < s->n; i++) {
		struct given_node *n = s->nodes[i];
		list(n, now);
		for (size_t k = 0; k < n->n; k++) {
			struct given *g = n->list[k];
			if (g->session == 0 && !g->reading && s->reads < LEAD_READS_MAX)
				read_at(n, g);
			else if (g->session != 0)
				takeover_look(n, g, now);
		}
	}
}

void given_watch(struct queue_lead *lead, const char *rest)
{
	char node[WORKER_NODE_MAX + 1];
	struct given_node *n;

	if (strcmp(rest, "at") == 0)
		lead->given.dirty = true;
	if (strncmp(rest, "at/", 3) != 0 || strchr(rest + 3, '/') || !path_is_node(rest + 3, node))
		return;
	n = given_node_of(lead, node, false);
	if (n)
		n->dirty = true;
}

/* --- for the others ------------------------------------------------------- */

bool given_is_known(const struct queue_lead *lead)
{
	const struct given_set *s = &lead->given;

	for (size_t i = 0; i < s->n; i++)
		if (s->nodes[i]->there && !s->nodes[i]->listed)
			return false;
	return s->listed;
}

static size_t count_of(const struct given_node *n, bool callbacks)
{
	size_t count = 0;

	for (size_t i = 0; i < n->n; i++)
		count += n->list[i]->pointer.callback == callbacks;
	return count;
}

size_t given_count(const struct queue_lead *lead)
{
	size_t n = 0;

	for (size_t i = 0; i < lead->given.n; i++)
		n += count_of(lead->given.nodes[i], false);
	return n;
}

size_t given_to(const struct queue_lead *lead, const char *node, bool callbacks)
{
	for (size_t i = 0; i < lead->given.n; i++)
		if (strcmp(lead->given.nodes[i]->node, node) == 0)
			return count_of(lead->given.nodes[i], callbacks);
	return 0;
}

void given_done(struct queue_lead *lead)
{
	char path[STORE_PATH_MAX];

	path_of_queue(lead_paths(lead), lead_name(lead), "at", NULL, path);
	queue_unwatch(lead_calls(lead), path, WATCH_CHILDREN, lead);
	for (size_t i = 0; i < lead->given.n; i++)
		node_free(lead->given.nodes[i]);
	free(lead->given.nodes);
	memset(&lead->given, 0, sizeof(lead->given));
}
