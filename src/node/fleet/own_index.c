#include "node/fleet/own_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/tree/paths.h"
#include "wire/records/recipe_record.h"

#define RETRY_MS 100 /* pause while our registration is being renewed */

struct own_index_ask {
	STAILQ_ENTRY(own_index_ask) link;
	int64_t deadline_ms;
	own_index_fn fn;
	void *arg;
};

/* Answers the oldest requester. */
static void tell_first(struct own_index *o, int64_t index, const char *why)
{
	struct own_index_ask *ask = STAILQ_FIRST(&o->asks);

	STAILQ_REMOVE_HEAD(&o->asks, link);
	o->n_asks--;
	o->n_proved -= o->n_proved > 0;
	ask->fn(ask->arg, index, why);
	free(ask);
}

/* When the oldest request is answered at the latest; INT64_MAX: there is none. */
static int64_t first_due_ms(const struct own_index *o)
{
	const struct own_index_ask *ask = STAILQ_FIRST(&o->asks);

	return ask ? ask->deadline_ms : INT64_MAX;
}

/* The reason why there is no number now; NULL: none, a number is to be expected. */
static const char *obstacle(const struct own_index *o)
{
	const struct member *self = registry_self(o->registry);
	char path[STORE_PATH_MAX];

	if (!session_is_up(o->session))
		return SESSION_NONE;
	if (!self || !o->session->registration[0] || !registry_is_proven(o->registry) ||
	    o->registry->workers.lists < o->lists)
		return "the fleet is not known yet";
	if (self->twin)
		return "another machine has this node's name: see zkleader status";
	if (!path_of_node(o->registry->settings, o->registry->node, path))
		return "the node's name is too long: set the key node";
	return NULL;
}

static void on_due(void *arg)
{
	struct own_index *o = arg;
	int64_t now = host_now_ms(o->session->host);
	const char *why = obstacle(o);

	while (first_due_ms(o) <= now)
		tell_first(o, -1, why ? why : "no number was given out yet: see the log");
	own_index_go_on(o);
}

/* --- asking --------------------------------------------------------------- */

static void read_record(struct own_index *o);

static void on_exists(void *arg, const struct store_reply *reply)
{
	struct own_index *o = arg;

	o->asking = false;
	/* If there is none, the watch tells of the record, or the next connection does. */
	if (reply->code == STORE_OK)
		own_index_go_on(o);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct own_index *o = arg;
	struct roster_record record;
	const char *why = reply->text;
	char path[STORE_PATH_MAX];

	o->asking = o->unread = false;
	if (store_is_lost(reply->code))
		return;
	path_of_node(o->registry->settings, o->registry->node, path);
	if (reply->code == STORE_NO_NODE && !obstacle(o)) {
		o->asking = true;
		watches_exists(&o->session->watches, path, WATCH_RECIPE, o, on_exists, o);
		return;
	}
	if (reply->code == STORE_OK &&
	    record_parse_roster(reply->data, reply->len, &record, &why) == 0) {
		if (record.departed)
			return; /* the number counts once our return is noted: the watch tells */
		o->known = true;
		o->index = record.index;
		o->version = reply->stat.version;
		own_index_go_on(o);
	} else if (reply->code != STORE_NO_NODE) {
		log_warning("own number not understood", LOG_STR("znode", path),
			    LOG_STR("why", why));
		o->unread = true;
		while (!STAILQ_EMPTY(&o->asks))
			tell_first(o, -1,
				   "no number: this node's entry in the roster cannot be read, see "
				   "zkleader status");
		host_timer_stop(&o->due);
	}
}

static void read_record(struct own_index *o)
{
	char path[STORE_PATH_MAX];

	path_of_node(o->registry->settings, o->registry->node, path);
	o->asking = true;
	watches_get(&o->session->watches, path, WATCH_RECIPE, o, on_record, o);
}

static void on_proved(void *arg, const struct store_reply *reply)
{
	struct own_index *o = arg;

	o->asking = false;
	if (store_is_lost(reply->code))
		return;
	if (reply->code == STORE_OK && o->known && !obstacle(o)) {
		/*
		 * The proof holds only for requests that came before it; later ones need another.
		 */
		while (o->n_proved > 0)
			tell_first(o, o->index, NULL);
		host_timer_stop(&o->due);
		own_index_go_on(o);
		return;
	}
	if (reply->code == STORE_NO_NODE && reply->failed_op != 1)
		session_confirm(o->session);
	o->known = false;
	if (!STAILQ_EMPTY(&o->asks))
		host_timer_start(&o->due, RETRY_MS);
}

/* Proves that we are registered and that the record is as we know it, both now. */
static void prove(struct own_index *o)
{
	char path[STORE_PATH_MAX];

	path_of_node(o->registry->settings, o->registry->node, path);
	struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = o->session->registration, .version = -1},
		{.type = STORE_OP_CHECK, .path = path, .version = o->version},
	};
	o->asking = true;
	o->n_proved = o->n_asks;
	store_multi(o->session->store, ops, 2, on_proved, o);
}

void own_index_go_on(struct own_index *o)
{
	int64_t now = host_now_ms(o->session->host), due_ms = first_due_ms(o);

	if (due_ms == INT64_MAX)
		return;
	host_timer_start(&o->due, due_ms > now ? due_ms - now : 0);
	if (o->asking || obstacle(o))
		return;
	if (o->known)
		prove(o);
	else
		read_record(o);
}

/* --- from outside --------------------------------------------------------- */

void own_index_ask(struct own_index *o, own_index_fn fn, void *arg)
{
	struct own_index_ask *ask = mem_calloc(1, sizeof(*ask));

	ask->deadline_ms = host_now_ms(o->session->host) + OWN_INDEX_WAIT_MS;
	ask->fn = fn;
	ask->arg = arg;
	STAILQ_INSERT_TAIL(&o->asks, ask, link);
	o->n_asks++;
	o->lists = registry_relist(o->registry);
	own_index_go_on(o);
}

void own_index_watch(struct own_index *o, const char *path)
{
	char own[STORE_PATH_MAX];

	if (!path_behind(o->registry->settings, PATH_ROSTER, path) ||
	    !path_of_node(o->registry->settings, o->registry->node, own) || strcmp(path, own) != 0)
		return;
	o->known = o->unread = false;
	own_index_go_on(o);
}

void own_index_expired(struct own_index *o)
{
	o->known = o->unread = false;
}

void own_index_init(struct own_index *o, struct session *session, struct registry *registry)
{
	*o = (struct own_index){.session = session, .registry = registry};
	STAILQ_INIT(&o->asks);
	host_timer_init(&o->due, session->host, on_due, o);
}

void own_index_done(struct own_index *o)
{
	while (!STAILQ_EMPTY(&o->asks))
		tell_first(o, -1, "the sidecar has ended");
	host_timer_done(&o->due);
}
