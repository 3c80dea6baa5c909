#include "node/election/audit.h"

#include <stdlib.h>

#include "base/text/names.h"
#include "core/election/election_times.h"
#include "node/election/inheritance.h"
#include "node/election/leader_node.h"
#include "node/election/leaders.h"
#include "node/tree/paths.h"

static void on_audit_reply(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;

	if (reply->code != STORE_OK)
		return;
	char **names = names_sorted(reply->names, reply->n_names);
	bool all = true;
	size_t glances = 0;
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = l->tasks[i];
		bool there = names_has(names, reply->n_names, t->name);
		if (!there && t->audit.missing && t->election.state == ELECTION_FOLLOWING)
			leaders_refresh(t);
		t->audit.missing = !there;
		all &= there;
		if (there && election_wants_glance(&t->election) && ++glances <= AUDIT_GLANCES_MAX)
			leader_node_glance(t);
	}
	free(names);
	l->audit.clean = all && glances <= AUDIT_GLANCES_MAX ? l->audit.listing : 0;
}

/*
 * The folder is not listed if the last audit found nothing missing and no leader node was made or
 * deleted since.
 */
static void on_audit_folder(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK || reply->stat.pzxid == l->audit.clean)
		return;
	l->audit.listing = reply->stat.pzxid;
	path_of(l->registry->settings, PATH_LEADERS, NULL, path);
	store_children(l->session->store, path, false, on_audit_reply, l);
}

static void on_audit(void *arg)
{
	struct leaders *l = arg;
	char path[STORE_PATH_MAX];

	host_timer_start(&l->audit.timer, AUDIT_MS);
	if (!session_is_up(l->session))
		return;
	inheritance_retry(l);
	if (l->n_tasks == 0)
		return;
	path_of(l->registry->settings, PATH_LEADERS, NULL, path);
	store_exists(l->session->store, path, false, on_audit_folder, l);
}

void audit_init(struct leaders *l)
{
	struct host *host = l->session->host;
	uint32_t draw;

	/* A fleet that was started at once does not list the folder at once. */
	host_random(host, &draw, sizeof(draw));
	host_timer_init(&l->audit.timer, host, on_audit, l);
	host_timer_start(&l->audit.timer, AUDIT_MS / 2 + draw % AUDIT_MS);
}

void audit_done(struct leaders *l)
{
	host_timer_done(&l->audit.timer);
}

void audit_forget(struct leaders *l)
{
	for (size_t i = 0; i < l->n_tasks; i++)
		l->tasks[i]->audit.missing = false;
}
