#include "node/ledger/unclaimed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/election/leaders.h"
#include "node/notices/notices.h"
#include "node/notices/run_event.h"

#define TELLERS	     2			    /* nodes that tell their callers */
#define LOG_EVERY_MS (INT64_C(3600) * 1000) /* while the row goes on */

/* The number of workers that rank above this node, without the leader; SIZE_MAX: no rank here. */
static size_t count_better(const struct task *t)
{
	const struct fleet *f = &t->leaders->registry->fleet;
	const struct member *self = registry_self(t->leaders->registry);
	const struct member *leader = leaders_leader(t);
	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	size_t n = fleet_rank(f, &t->contest, t->index, list), before = 0;
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		found = list[i].member == self;
		before += !found && list[i].member != leader && list[i].why != WHY_NOT_LISTED;
	}
	free(list);
	return found ? before : SIZE_MAX;
}

static struct unclaimed *of(struct task *t)
{
	if (!t->unclaimed)
		t->unclaimed = mem_calloc(1, sizeof(*t->unclaimed));
	return t->unclaimed;
}

void unclaimed_forget(struct task *t)
{
	struct unclaimed *u = t->unclaimed;

	for (size_t i = 0; u && i < u->room; i++)
		free(u->kept[i].leader);
	if (u)
		free(u->kept);
	free(u);
	t->unclaimed = NULL;
}

/* --- which they were ------------------------------------------------------ */

const char *unclaimed_find(const struct task *t, const char *tick)
{
	const struct unclaimed *u = t->unclaimed;

	for (size_t i = 0; u && i < u->room; i++)
		if (u->kept[i].leader && strcmp(u->kept[i].name, tick) == 0)
			return u->kept[i].leader;
	return NULL;
}

static void keep(struct task *t, const char *tick, const char *leader)
{
	struct unclaimed *u = of(t);
	struct unclaimed_tick *k;

	if (unclaimed_find(t, tick))
		return;
	if (u->n == u->room && u->room < UNCLAIMED_KEPT) {
		size_t room = u->room == 0 ? 4 : u->room * 2;

		room = room < UNCLAIMED_KEPT ? room : UNCLAIMED_KEPT;
		u->kept = mem_resize(u->kept, room, sizeof(*u->kept));
		memset(u->kept + u->room, 0, (room - u->room) * sizeof(*u->kept));
		u->room = room;
	}
	k = &u->kept[u->n++ % u->room];
	free(k->leader);
	snprintf(k->name, sizeof(k->name), "%s", tick);
	k->leader = mem_strdup(leader);
}

/* --- who says so ---------------------------------------------------------- */

/* The log gets the 1st, 2nd, 4th, 8th, ... tick in a row, and one an hour. */
static bool is_for_the_log(struct unclaimed *u, const char *tick, int64_t now_ms)
{
	if (strcmp(u->tick, tick) == 0)
		return false;
	snprintf(u->tick, sizeof(u->tick), "%s", tick);
	u->row++;
	if ((u->row & (u->row - 1)) != 0 && now_ms - u->told_ms < LOG_EVERY_MS)
		return false;
	u->told_ms = now_ms;
	return true;
}

/* The event is noted without a transaction, as there is no record. */
static void note_event(const struct task *t, const char *tick, const char *leader, const char *text,
		       uint64_t ticks)
{
	const struct registry *r = t->leaders->registry;
	struct notice_record event;
	char detail[RECORD_DETAIL_MAX + 1];

	notice_init(r, &event, NOTICE_MISSED, t->name);
	event.token = t->election.node.token;
	event.failed = ticks < INT32_MAX ? (int64_t)ticks : INT32_MAX;
	snprintf(event.tick, sizeof(event.tick), "%s", tick);
	snprintf(event.text, sizeof(event.text), "%.*s", NOTICE_TEXT_MAX, text);
	snprintf(detail, sizeof(detail), UNCLAIMED_DETAIL, leader);
	run_why_set(event.why, event.detail, UNCLAIMED_WHY, detail);
	notices_note(r, &event);
}

void unclaimed_tell(struct task *t, const char *tick, int64_t waited_ms,
		    char notice[UNCLAIMED_TEXT_MAX])
{
	const struct member *leader = leaders_leader(t);
	const char *name = leader ? identity_name(leader) : t->leader.id;
	size_t better = count_better(t);
	char text[UNCLAIMED_TEXT_MAX];

	snprintf(text, sizeof(text),
		 "tick %s of %s was not run: %s leads it and did not claim the tick; is "
		 "cron running there, with the same line?",
		 tick, t->name, name);
	keep(t, tick, name);
	if (is_for_the_log(of(t), tick, host_now_ms(t->leaders->session->host))) {
		log_warning("tick not claimed", LOG_STR("task", t->name), LOG_STR("tick", tick),
			    LOG_STR("leader", name), LOG_INT("waited_ms", waited_ms),
			    LOG_INT("in_a_row", of(t)->row), LOG_STR("why", UNCLAIMED_WHY));
		if (better == 0)
			note_event(t, tick, name, text, of(t)->row - of(t)->told_row);
		of(t)->told_row = of(t)->row;
	}
	snprintf(notice, UNCLAIMED_TEXT_MAX, "%s", better < TELLERS ? text : "");
}

void unclaimed_end(struct task *t)
{
	if (t->unclaimed)
		t->unclaimed->row = t->unclaimed->told_row = 0;
}
