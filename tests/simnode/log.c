/* The log of nodes, which goes to the trace if there is one; and an overview of the whole fleet. */
#include <stdio.h>

#include "base/log/log.h"
#include "scenario.h"
#include "server.h"

bool log_enabled(enum log_level level)
{
	/* Fields of a log line read clocks, so with --creep a run without a trace would go another way than one with it. */
	return (sim.tracing || sim.options.creep) && level != LOG_DEBUG;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	char line[512];
	size_t n = 0;

	(void)level;
	if (!sim.tracing)
		return;
	line[0] = '\0';
	for (const struct log_field *f = fields; f->key && n < sizeof(line); f++) {
		if (f->type == LOG_TYPE_STRING && !f->string)
			continue;
		if (f->type == LOG_TYPE_LIST) {
			for (int64_t i = 0; i < f->integer && n < sizeof(line); i++)
				n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s",
						      i > 0 ? "," : " list=", f->list[i]);
			continue;
		}
		n += (size_t)(f->type == LOG_TYPE_STRING
				      ? snprintf(line + n, sizeof(line) - n, " %s=%s", f->key,
						 f->string)
				      : snprintf(line + n, sizeof(line) - n, " %s=%lld", f->key,
						 (long long)f->integer));
	}
	TRACE("    %s%s", message, line);
}

/* --- the fleet ------------------------------------------------------------------------------------- */

static void trace_site(const struct site *s)
{
	TRACE("site %u:%s%s %s, version %s, tasks %llx, session %lld, lease %lld ms, members %zu",
	      s->id, s->running ? " running" : "", s->stopping ? " stopping" : "",
	      s->running ? session_state_name(&s->node.session) : "-", version_names[s->version],
	      (unsigned long long)s->tasks, s->running ? (long long)s->node.session.id : 0,
	      s->running ? (long long)session_lease_left(&s->node.session) : 0,
	      s->running ? s->node.registry.fleet.n_members : 0);
	if (s->running)
		TRACE("  clock wrong by %lld ms, published %lld, the server's is %sknown",
		      (long long)s->machine->wall_ms, (long long)s->node.registry.clocks.offset_ms,
		      s->node.registry.clocks.skew.known ? "" : "not ");
	const struct roll *r = &s->node.registry.roll;
	if (s->running && sim.options.roll)
		TRACE("  roll: state %d, known up to %lld, head %lld%s%s%s", r->state,
		      (long long)r->zxid, (long long)r->head.zxid, r->vacant ? ", vacant" : "",
		      r->watched ? "" : ", keeper not watched", r->busy ? ", busy" : "");
	for (size_t k = 0; s->running && k < s->node.leaders.n_tasks; k++) {
		const struct election *e = &s->node.leaders.tasks[k]->election;
		TRACE("  %s: %s%s place %u%s%s owner %lld token %lld",
		      s->node.leaders.tasks[k]->name, election_state_name(e->state),
		      e->view.candidate ? " candidate" : "", e->view.place,
		      e->node.known ? " known" : "", e->node.exists ? " exists" : "",
		      (long long)e->node.owner, (long long)e->node.token);
	}
}

void log_fleet(void)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		trace_site(&sites[i]);
	for (unsigned i = 0; i < sim.n_servers; i++) {
		const struct server *s = &servers[i];
		const struct znode *folder = tree_get(&s->tree, path_intern(SITE_ROOT "/workers"));
		TRACE("server %u:%s%s role %d epoch %lld log %zu applied %zu sessions %zu", i,
		      s->alive ? " alive" : "", s->inbox.paused ? " paused" : "", (int)s->role,
		      (long long)s->epoch, s->n_log, s->applied, s->tree.n_sessions);
		for (size_t j = 0; folder && j < folder->n_children; j++)
			TRACE("  worker %s, session %lld", path_name(folder->children[j]),
			      (long long)tree_get(&s->tree, folder->children[j])->stat.owner);
	}
}
