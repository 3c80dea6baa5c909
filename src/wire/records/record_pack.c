#include "wire/records/record.h"

#include <errno.h>

#include "wire/pack.h"
#include "wire/records/worker_queues.h"

/* Takes back what was appended since `before`, if it is not to be. */
static int finish(struct pack *p, size_t before, size_t max)
{
	if (p->failed == 0 && p->buffer->len - before <= max)
		return 0;
	buffer_truncate(p->buffer, before);
	return -ENOBUFS;
}

static void pack_names(struct pack *p, const char *key, char *const *names, size_t n)
{
	pack_str(p, key);
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_str(p, names[i]);
}

/* Seven that every record has, and those that say something. */
static size_t worker_pairs(const struct worker *w)
{
	size_t n = 7;

	n += w->timeout_ms > 0;
	n += w->node[0] != '\0';
	n += w->machine[0] != '\0';
	n += w->clock_tolerance_ms > 0 ? 2 : 0;
	n += w->returned;
	n += w->sick;
	n += w->n_unhealthy > 0;
	n += w->scheme > 0;
	n += w->n_digests > 0;
	n += w->knows_splits;
	n += w->n_groups > 0;
	n += w->n_queues > 0;
	n += w->n_answers > 0;
	n += w->n_renamed > 0;
	return n;
}

/* As a rule all are alike, and one says it: every sidecar reads every record. */
static size_t digests_to_pack(const struct worker *w)
{
	for (size_t i = 1; i < w->n_digests; i++)
		if (w->digests[i] != w->digests[0])
			return w->n_digests;
	return w->n_digests == w->n_tasks ? 1 : w->n_digests;
}

int record_pack_worker(struct buffer *out, const struct worker *w)
{
	size_t before = out->len, n_digests = digests_to_pack(w);
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, worker_pairs(w));
	pack_kv_str(&p, "id", w->id);
	pack_kv_str(&p, "version", w->version);
	pack_kv_str(&p, "ip", w->ip);
	pack_str(&p, "random_ints");
	pack_array(&p, WORKER_RANDOM_INTS);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		pack_int(&p, w->random_ints[i]);
	pack_kv_str(&p, "hostname", w->hostname);
	pack_names(&p, "tasks", w->tasks, w->n_tasks);
	pack_kv_int(&p, "started_at", w->started_at);
	if (w->timeout_ms > 0)
		pack_kv_int(&p, "timeout_ms", w->timeout_ms);
	if (w->node[0])
		pack_kv_str(&p, "node", w->node);
	if (w->machine[0])
		pack_kv_str(&p, "machine", w->machine);
	if (w->clock_tolerance_ms > 0) {
		pack_kv_int(&p, "clock_offset_ms", w->clock_offset_ms);
		pack_kv_int(&p, "clock_tolerance_ms", w->clock_tolerance_ms);
	}
	if (w->returned)
		pack_kv_bool(&p, "returned", true);
	if (w->sick)
		pack_kv_bool(&p, "sick", true);
	if (w->n_unhealthy > 0)
		pack_names(&p, "unhealthy", w->unhealthy, w->n_unhealthy);
	if (w->scheme > 0)
		pack_kv_int(&p, "scheme", w->scheme);
	if (w->n_digests > 0) {
		pack_str(&p, "digests");
		pack_array(&p, n_digests);
		for (size_t i = 0; i < n_digests; i++)
			pack_uint(&p, w->digests[i]);
	}
	if (w->knows_splits) {
		pack_str(&p, "partitions");
		pack_map(&p, w->n_splits);
		for (size_t i = 0; i < w->n_splits; i++)
			pack_kv_int(&p, w->splits[i].task, w->splits[i].partitions);
	}
	if (w->n_groups > 0)
		pack_names(&p, "groups", w->groups, w->n_groups);
	if (w->n_queues > 0)
		worker_queues_pack(&p, w);
	if (w->n_answers > 0)
		pack_names(&p, "answers", w->answers, w->n_answers);
	if (w->n_renamed > 0)
		pack_names(&p, "renamed", w->renamed, w->n_renamed);
	return finish(&p, before, RECORD_WORKER_MAX);
}

int record_pack_leader(struct buffer *out, const struct leader_record *l)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 5);
	pack_kv_str(&p, "id", l->id);
	pack_kv_str(&p, "ip", l->ip);
	pack_kv_str(&p, "hostname", l->hostname);
	pack_kv_str(&p, "version", l->version);
	pack_kv_int(&p, "since", l->since);
	return finish(&p, before, RECORD_LEADER_MAX);
}

int record_pack_run(struct buffer *out, const struct run_record *r)
{
	size_t before = out->len, n = 6;
	struct pack p;

	n += r->node[0] != '\0';
	n += r->run[0] != '\0';
	n += r->session > 0;
	n += r->ended_at > 0;
	n += r->exit_status >= 0;
	n += r->failures >= 0;
	n += r->by[0] != '\0';
	n += r->why[0] != '\0';
	n += r->detail[0] != '\0';
	n += r->output_len > 0;
	pack_init(&p, out);
	pack_map(&p, n);
	pack_kv_str(&p, "state", r->state);
	pack_kv_str(&p, "id", r->id);
	pack_kv_str(&p, "hostname", r->hostname);
	pack_kv_int(&p, "token", r->token);
	pack_kv_int(&p, "attempt", r->attempt);
	if (r->failures >= 0)
		pack_kv_int(&p, "failures", r->failures);
	pack_kv_int(&p, "started_at", r->started_at);
	if (r->node[0])
		pack_kv_str(&p, "node", r->node);
	if (r->run[0])
		pack_kv_str(&p, "run", r->run);
	if (r->session > 0)
		pack_kv_int(&p, "session", r->session);
	if (r->ended_at > 0)
		pack_kv_int(&p, "ended_at", r->ended_at);
	if (r->exit_status >= 0)
		pack_kv_int(&p, "exit_status", r->exit_status);
	if (r->by[0])
		pack_kv_str(&p, "by", r->by);
	if (r->why[0])
		pack_kv_str(&p, "why", r->why);
	if (r->detail[0])
		pack_kv_str(&p, "detail", r->detail);
	if (r->output_len > 0)
		pack_kv_bin(&p, "output", r->output, r->output_len);
	return finish(&p, before, RECORD_RUN_MAX);
}

int record_pack_policy(struct buffer *out, const struct policy_record *r)
{
	size_t before = out->len, n = 4;
	struct pack p;

	n += r->task[0] != '\0';
	n += r->node[0] != '\0';
	n += r->machine[0] != '\0';
	n += r->version[0] != '\0';
	n += r->reason[0] != '\0';
	n += r->until > 0;
	n += r->rolling[0] != '\0';
	n += r->halted;
	pack_init(&p, out);
	pack_map(&p, n);
	pack_kv_str(&p, "kind", r->kind);
	pack_kv_str(&p, "by", r->by);
	pack_kv_str(&p, "host", r->host);
	pack_kv_int(&p, "since", r->since);
	if (r->task[0])
		pack_kv_str(&p, "task", r->task);
	if (r->node[0])
		pack_kv_str(&p, "node", r->node);
	if (r->machine[0])
		pack_kv_str(&p, "machine", r->machine);
	if (r->version[0])
		pack_kv_str(&p, "version", r->version);
	if (r->reason[0])
		pack_kv_str(&p, "reason", r->reason);
	if (r->until > 0)
		pack_kv_int(&p, "until", r->until);
	if (r->rolling[0])
		pack_kv_str(&p, "rolling", r->rolling);
	if (r->halted)
		pack_kv_bool(&p, "halted", true);
	return finish(&p, before, RECORD_POLICY_MAX);
}

int record_pack_split(struct buffer *out, const struct split_record *r)
{
	size_t before = out->len, n = 4;
	struct pack p;

	n += r->reason[0] != '\0';
	n += r->by[0] != '\0';
	pack_init(&p, out);
	pack_map(&p, n);
	pack_kv_int(&p, "partitions", r->partitions);
	pack_kv_int(&p, "from", r->from);
	pack_kv_str(&p, "host", r->host);
	pack_kv_int(&p, "since", r->since);
	if (r->reason[0])
		pack_kv_str(&p, "reason", r->reason);
	if (r->by[0])
		pack_kv_str(&p, "by", r->by);
	return finish(&p, before, RECORD_SPLIT_MAX);
}

int record_pack_marker(struct buffer *out)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 1);
	pack_kv_bool(&p, "partitions", true);
	return finish(&p, before, RECORD_LEADER_MAX);
}
