#include "node/recipes/recipes.h"

void recipes_up(struct recipes *r)
{
	counters_up(&r->counters);
	parties_up(&r->barriers);
	roster_go_on(&r->roster);
	own_index_go_on(&r->index);
	rolling_up(&r->rolling);
	locks_up(&r->locks);
	parties_up(&r->gangs);
}

void recipes_leased(struct recipes *r)
{
	locks_leased(&r->locks);
	parties_leased(&r->gangs);
}

void recipes_expired(struct recipes *r)
{
	parties_expired(&r->barriers);
	locks_expired(&r->locks);
	parties_expired(&r->gangs);
	roster_expired(&r->roster);
	own_index_expired(&r->index);
}

void recipes_watch(struct recipes *r, enum store_watch type, const char *path)
{
	parties_watch(&r->barriers, path);
	roster_watch(&r->roster, path);
	own_index_watch(&r->index, path);
	rolling_watch(&r->rolling, path);
	locks_watch(&r->locks, type, path);
	parties_watch(&r->gangs, path);
}

void recipes_fleet_changed(struct recipes *r)
{
	roster_go_on(&r->roster);
	own_index_go_on(&r->index);
}

void recipes_init(struct recipes *r, struct session *session, struct registry *registry,
		  const struct rolling_handlers *rolling_handlers)
{
	counters_init(&r->counters, session, registry);
	parties_init(&r->barriers, &barrier_kind, session, registry, NULL);
	roster_init(&r->roster, session, registry);
	own_index_init(&r->index, session, registry);
	rolling_init(&r->rolling, session, registry, rolling_handlers);
	locks_init(&r->locks, session, registry, &r->roster);
	parties_init(&r->gangs, &gang_kind, session, registry, &r->roster);
}

void recipes_done(struct recipes *r)
{
	counters_done(&r->counters);
	parties_done(&r->barriers);
	roster_done(&r->roster);
	own_index_done(&r->index);
	rolling_done(&r->rolling);
	locks_done(&r->locks);
	parties_done(&r->gangs);
}

void recipes_take_over(struct recipes *r, int64_t timeout_ms)
{
	parties_take_over(&r->barriers, timeout_ms);
	lock_sweep_take_over(&r->locks.sweep, timeout_ms);
	parties_take_over(&r->gangs, timeout_ms);
}

size_t recipes_going(const struct recipes *r)
{
	return locks_going(&r->locks) + parties_going(&r->gangs);
}

void recipes_stop(struct recipes *r)
{
	locks_stop(&r->locks);
	parties_stop(&r->gangs);
}

void recipes_revoke(struct recipes *r)
{
	locks_revoke(&r->locks);
	parties_revoke(&r->gangs);
}

void recipes_keep(struct recipes *r)
{
	locks_keep(&r->locks);
	parties_keep(&r->gangs);
}
