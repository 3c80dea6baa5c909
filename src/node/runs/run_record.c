/* The record of a run: how this node writes it, and what it takes from one that was read. */
#include "node/runs/run_steps.h"

#include <stdio.h>
#include <string.h>

#include "core/fleet/identity.h"
#include "wire/records/record.h"

/* Records the name of this node, unless it is the hostname. */
static void take_node(struct run *r, const struct member *self)
{
	const char *name = identity_name(self);

	if (strcmp(name, self->worker->hostname) != 0)
		memcpy(r->record.node, name, strlen(name));
}

void run_record_fill(struct run *r, int64_t attempt)
{
	const struct leaders *l = r->runs->leaders;
	const struct member *self = registry_self(l->registry);

	char by[RECORD_BY_MAX + 1];
	/* Counts the failure of the recorded attempt, unless that attempt itself is begun anew. */
	int64_t failures =
		r->record.failures + (attempt > r->state.seen.attempt && r->state.seen.failed);

	/* The trigger's user stays with its further attempts. */
	memcpy(by, r->record.by, sizeof(by));
	memset(&r->record, 0, sizeof(r->record));
	memcpy(r->record.by, by, sizeof(by));
	snprintf(r->record.state, sizeof(r->record.state), "%s",
		 r->options.once ? "claimed" : "running");
	if (self) {
		memcpy(r->record.id, self->worker->id, sizeof(r->record.id));
		memcpy(r->record.hostname, self->worker->hostname, sizeof(r->record.hostname));
		take_node(r, self);
	}
	memcpy(r->record.run, r->uuid, sizeof(r->record.run));
	r->record.session = l->session->id;
	r->record.token = r->task->election.node.token;
	r->record.attempt = attempt;
	r->record.failures = attempt > 1 ? failures : 0;
	r->record.started_at = host_wall_ms(r->runs->host);
	r->record.exit_status = -1;
}

struct run_seen run_record_seen(const struct run *r, const struct run_record *record)
{
	return (struct run_seen){.readable = true,
				 .ours = strcmp(record->run, r->uuid) == 0,
				 .running = strcmp(record->state, "running") == 0 &&
					    record->session != 0,
				 .lost = strcmp(record->state, "lost") == 0,
				 .failed = strcmp(record->state, "failed") == 0 ||
					   strcmp(record->state, "timeout") == 0,
				 .ended = strcmp(record->state, r->record.state) == 0,
				 .session = record->session,
				 .token = record->token,
				 .attempt = record->attempt};
}

/* Takes the record without the output, which is not kept. */
void run_record_take(struct run *r, const struct run_record *record)
{
	r->record = *record;
	r->record.output = NULL;
	r->record.output_len = 0;
	/* An earlier release counts lost attempts as failures, too. */
	if (r->record.failures < 0)
		r->record.failures = r->record.attempt - 1;
}
