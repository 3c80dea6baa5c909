/*
 * Deletes queue entries of a killed sidecar, in the process that has taken its session over: no
 * order serves them, and the entries behind them would wait for ever. Their names begin with the
 * session, so a listing finds them.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "node/recipes/rolling/rolling_op.h"
#include "node/tree/paths.h"

#define GROUPS_MAX 10000

static void next_group(struct rolling *r);

/* Handles each answer. A lost one ends the sweep, which starts again once the session is up. */
static void end_one(struct rolling *r, const struct store_reply *reply)
{
	struct rolling_sweep *s = &r->sweep;

	s->pending--;
	s->broken |= store_is_lost(reply->code);
	if (s->pending > 0 || (s->at < s->n && !s->broken))
		return;
	names_free(s->groups, s->n);
	s->groups = NULL;
	s->n = 0;
	s->done = !s->broken;
	s->broken = false;
}

static void on_left(void *arg, const struct store_reply *reply)
{
	end_one(arg, reply);
}

static bool is_served(const struct rolling *r, const char *name)
{
	for (const struct rolling_op *op = LIST_FIRST(&r->ops); op; op = LIST_NEXT(op, link))
		if (rolling_is_queued(op, name))
			return true;
	return false;
}

/* Deletes queue entries of this session that belong to no order of this process. */
static void leave_queue(struct rolling *r, const struct store_reply *reply)
{
	char prefix[ROLLING_SESSION_SIZE], path[STORE_PATH_MAX];
	const char *group = r->sweep.groups[r->sweep.at];

	rolling_session_name(r->session, prefix);
	for (size_t i = 0; i < reply->n_names; i++) {
		if (strncmp(reply->names[i], prefix, strlen(prefix)) != 0 ||
		    is_served(r, reply->names[i]))
			continue;
		path_of_rolling(r->registry->settings, group, "waiting", reply->names[i], path);
		struct store_op op = {.type = STORE_OP_DELETE, .path = path, .version = -1};
		r->sweep.pending++;
		store_multi(r->session->store, &op, 1, on_left, r);
	}
}

static void on_queue(void *arg, const struct store_reply *reply)
{
	struct rolling *r = arg;

	if (store_is_lost(reply->code)) {
		end_one(r, reply);
		return;
	}
	if (reply->code == STORE_OK)
		leave_queue(r, reply);
	r->sweep.at++;
	if (r->sweep.at < r->sweep.n)
		next_group(r);
	end_one(r, reply);
}

static void next_group(struct rolling *r)
{
	char path[STORE_PATH_MAX];

	path_of_rolling(r->registry->settings, r->sweep.groups[r->sweep.at], "waiting", NULL, path);
	r->sweep.pending++;
	store_children(r->session->store, path, false, on_queue, r);
}

static void on_groups(void *arg, const struct store_reply *reply)
{
	struct rolling *r = arg;
	struct rolling_sweep *s = &r->sweep;

	if (reply->code == STORE_OK && reply->n_names > 0) {
		s->n = reply->n_names < GROUPS_MAX ? reply->n_names : GROUPS_MAX;
		s->groups = names_sorted(reply->names, s->n);
		for (size_t i = 0; i < s->n; i++)
			s->groups[i] = mem_strdup(s->groups[i]);
		s->at = 0;
		next_group(r);
	}
	end_one(r, reply);
}

void rolling_sweep(struct rolling *r)
{
	struct rolling_sweep *s = &r->sweep;
	const struct session *session = r->session;
	char path[STORE_PATH_MAX];

	if (s->done || s->pending > 0 || session->id == 0 || session->id != session->taken_over)
		return;
	path_of(r->registry->settings, PATH_ROLLING, NULL, path);
	s->at = 0;
	s->pending++;
	store_children(session->store, path, false, on_groups, r);
}
