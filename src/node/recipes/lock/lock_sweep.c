#include "node/recipes/lock/lock_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/lock/lock.h"
#include "node/tree/paths.h"

#define LOOKS_MAX 20 /* outstanding reads of folders */

struct lock_sweep_round {
	struct lock_sweep *sweep; /* NULL: the sweep has ended */
	char **names;		  /* names of the folders; owned, as is each */
	size_t n, next, flying;
	bool recovers, left; /* looks for leftovers of the previous sidecar; some may exist */
};

struct look {
	struct lock_sweep_round *round;
	char name[NAME_TASK_MAX + 1];
};

static void go_on(struct lock_sweep_round *r);

static void round_free(struct lock_sweep_round *r)
{
	if (r->sweep)
		r->sweep->round = NULL;
	if (r->sweep && r->recovers && !r->left && r->next == r->n)
		r->sweep->recovered = true;
	for (size_t i = 0; i < r->n; i++)
		free(r->names[i]);
	free(r->names);
	free(r);
}

/* A folder that is not empty, or has gone, stays as it is. */
static void on_deleted(void *arg, const struct store_reply *reply)
{
	(void)arg, (void)reply;
}

static void delete_node(struct locks *k, const char *path)
{
	struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};

	store_multi(k->session->store, &op, 1, on_deleted, NULL);
}

static bool is_first(const struct lock_sweep *s)
{
	return roster_is_assigner(s->roster);
}

/* Deletes nodes of our session that no lock here has. */
static void delete_left(struct lock_sweep_round *r, const char *lock,
			const struct store_reply *reply)
{
	struct locks *k = r->sweep->locks;
	char path[STORE_PATH_MAX];
	struct lock_name n;

	for (size_t i = 0; i < reply->n_names; i++) {
		if (!lock_name_parse(reply->names[i], &n) || n.session != k->session->id ||
		    locks_know(k, n.id))
			continue;
		lock_path_of(k->registry->settings, lock, reply->names[i], path);
		delete_node(k, path);
		r->left = true;
	}
}

static void on_looked(void *arg, const struct store_reply *reply)
{
	struct look *look = arg;
	struct lock_sweep_round *r = look->round;
	struct lock_sweep *s = r->sweep;
	char path[STORE_PATH_MAX];

	r->flying--;
	r->left |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	if (s && reply->code == STORE_OK && session_is_up(s->locks->session)) {
		path_of(s->locks->registry->settings, PATH_LOCKS, look->name, path);
		if (s->recovered || s->former.until_ms == 0 || r->recovers)
			delete_left(r, look->name, reply);
		if (reply->n_names == 0 && is_first(s))
			delete_node(s->locks, path);
	}
	free(look);
	go_on(r);
}

static void look_at(struct lock_sweep_round *r, const char *name)
{
	struct locks *k = r->sweep->locks;
	struct look *look = mem_calloc(1, sizeof(*look));
	char path[STORE_PATH_MAX];

	look->round = r;
	memcpy(look->name, name, strlen(name));
	path_of(k->registry->settings, PATH_LOCKS, name, path);
	r->flying++;
	store_children(k->session->store, path, false, on_looked, look);
}

static void go_on(struct lock_sweep_round *r)
{
	while (r->sweep && r->next < r->n && r->flying < LOOKS_MAX &&
	       session_is_up(r->sweep->locks->session))
		look_at(r, r->names[r->next++]);
	if (r->flying == 0)
		round_free(r);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct lock_sweep_round *r = arg;

	r->flying--;
	r->left |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	if (reply->code == STORE_OK && reply->n_names > 0)
		r->names = mem_calloc(reply->n_names, sizeof(*r->names));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		if (name_is_task(reply->names[i], strlen(reply->names[i])))
			r->names[r->n++] = mem_strdup(reply->names[i]);
	go_on(r);
}

/* Whether leftovers of the previous sidecar have to be found. */
static bool recovers(const struct lock_sweep *s)
{
	return s->former.until_ms != 0 && !s->recovered &&
	       host_now_ms(s->locks->session->host) >= s->former.until_ms;
}

static void on_due(void *arg)
{
	struct lock_sweep *s = arg;
	struct session *session = s->locks->session;
	char path[STORE_PATH_MAX];

	host_timer_start(&s->due, LOCK_SWEEP_MS);
	if (s->round || !session_is_up(session) || (!is_first(s) && !recovers(s)))
		return;
	s->round = mem_calloc(1, sizeof(*s->round));
	s->round->sweep = s;
	s->round->recovers = recovers(s);
	s->round->flying = 1;
	path_of(s->locks->registry->settings, PATH_LOCKS, NULL, path);
	store_children(session->store, path, false, on_names, s->round);
}

void lock_sweep_take_over(struct lock_sweep *s, int64_t timeout_ms)
{
	holder_former_take_over(&s->former, s->locks->session, timeout_ms);
}

void lock_sweep_up(struct lock_sweep *s)
{
	holder_former_up(&s->former, s->locks->session);
	if (!host_timer_is_set(&s->due))
		host_timer_start(&s->due, LOCK_SWEEP_MS);
}

void lock_sweep_expired(struct lock_sweep *s)
{
	s->former = (struct holder_former){.until_ms = 0};
	s->recovered = false;
}

void lock_sweep_init(struct lock_sweep *s, struct locks *locks, struct roster *roster)
{
	*s = (struct lock_sweep){.locks = locks, .roster = roster};
	host_timer_init(&s->due, locks->session->host, on_due, s);
}

void lock_sweep_done(struct lock_sweep *s)
{
	if (s->round)
		s->round->sweep = NULL; /* freed behind its answers */
	host_timer_done(&s->due);
}
