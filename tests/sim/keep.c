/* As src/daemon/keep.c and what of sidecar.c, registry.c and runs.c belongs to it: a session and its jobs go on. */
#include <string.h>

#include "ticks.h"

void keep_session(struct sidecar *s)
{
	struct kept *k = &s->kept;

	if (s->state != SESSION_UP || !s->self)
		return;
	k->session = s->session;
	k->record = s->self;
	memcpy(k->random_ints, s->random_ints, sizeof(k->random_ints));
}

/* The file of the jobs is written whenever one begins or is over: it says what is so when the process ends. */
void keep_jobs(struct sidecar *s)
{
	struct kept *k = &s->kept;

	k->n_jobs = 0;
	for (size_t i = 0; i < s->n_runs && k->n_jobs < KEPT_JOBS_MAX; i++) {
		const struct sim_run *r = &s->runs[i];
		if (r->used && run_is_open(&r->state))
			k->jobs[k->n_jobs++] =
				(struct kept_job){r->id, r->task, r->tick, r->record.token, r->era};
	}
}

void keep_forget(struct sidecar *s)
{
	s->kept = (struct kept){0};
}

/* At the start of a process, before it connects. */
void keep_take_over(struct sidecar *s)
{
	const struct kept *k = &s->kept;

	s->taken_over = k->session;
	s->found = 0;
	s->recovers = s->was_there = false;
	if (k->session == 0)
		return;
	TRACE("sidecar %u takes session %lld over, %zu jobs", s->id, (long long)k->session,
	      k->n_jobs);
	sim.figures.taken_over++;
	memcpy(s->random_ints, k->random_ints, sizeof(s->random_ints));
	s->found = k->record;
	for (size_t i = 0; i < k->n_jobs && sim.options.plant != PLANT_FORGET_JOBS; i++)
		runs_inherit(s, &k->jobs[i]);
}

/* Its own record as the one before it left it. */
static bool says_the_same(const struct sidecar *s, const struct record *r)
{
	return r->version == s->version && r->tasks == s->tasks_mask &&
	       r->timeout_ms == s->lib.timeout_ms;
}

bool keep_look(struct sidecar *s)
{
	struct request q = {.type = REQUEST_GET, .target = WATCH_WORKERS, .record = s->found};

	if (!s->found || s->self || s->lib.session != s->taken_over)
		return false;
	ask(s, &q, ASK_FOUND);
	return true;
}

void keep_reply(struct sidecar *s, const struct item *item)
{
	uint32_t record = s->found;
	bool ours = item->reply.code == CODE_OK && item->reply.session == s->lib.session;

	if (item->reply.code == CODE_UNKNOWN || s->self || s->attempt || !record)
		return;
	s->found = 0;
	s->recovers = true; /* the session is its own, whatever became of the record */
	if (ours)
		s->self = record;
	s->was_there |= ours;
	if (ours && says_the_same(s, &records[record])) {
		TRACE("sidecar %u goes on as %s", s->id, records[record].id);
		registry_go_on(s);
	} else {
		registry_publish_anew(s);
	}
}

/* Once the fleet is known, so that nothing is given up for not knowing it. */
void keep_recover(struct sidecar *s)
{
	if (!s->recovers || s->state != SESSION_UP || !s->ready)
		return;
	s->recovers = false;
	leaders_recover(s);
}
