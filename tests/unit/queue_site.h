/* A node with one queue, "q", that takes submits of it, does its jobs or leads it (node_site.h). */
#ifndef ZKLEADER_TEST_QUEUE_SITE_H
#define ZKLEADER_TEST_QUEUE_SITE_H

#include "node_site.h"

#include "node/queue/queue_parts.h"

#define UUID "01234567-89ab-cdef-0123-456789abcdef"

static struct queues queues;
static struct queue_settings queue_settings = {.slots = 2,
					       .attempts = 3,
					       .backoff_ms = 5000,
					       .backoff_max_ms = 60000,
					       .rerun = true,
					       .timeout_ms = 60000,
					       .keep_ms = 86400000,
					       .keep_dead_ms = 86400000,
					       .max_queued = 10000};
static struct job_id id = {.queue = "q", .uuid = UUID};
static struct {
	size_t n;
	enum job_outcome outcome;
	char why[200], state[16], id[40];
	size_t jobs; /* of a request about several */
	bool more;
	struct job_id job;
} told;
static size_t n_jobs;
static bool refuses;

static inline void on_told(void *arg, const struct job_answer *a)
{
	(void)arg;
	told.n++;
	told.outcome = a->outcome;
	snprintf(told.why, sizeof(told.why), "%s", a->why ? a->why : "");
	snprintf(told.id, sizeof(told.id), "%s", a->id.uuid);
	told.jobs = a->n;
	told.more = a->more;
	told.job = a->id;
	snprintf(told.state, sizeof(told.state), "%s", a->record ? a->record->state : "");
}

static inline bool on_job(void *arg, const char *queue, const struct job_id *job)
{
	(void)arg, (void)queue, (void)job;
	n_jobs++;
	return !refuses;
}

static inline void on_watched(enum store_watch type, const char *path)
{
	queues_watch(&queues, type, path);
}

static inline void on_changed(struct task *t)
{
	(void)t;
	queues_changed(&queues);
}

static inline void begin_node(void)
{
	const struct queues_handlers handlers = {.job = on_job};
	struct task_settings s = settings_of("q");

	site_begin();
	queues_init(&queues, &session, &registry, &leaders, &handlers);
	site.watched = on_watched;
	site.task_changed = on_changed;
	s.queue = &queue_settings;
	tasks_apply(&leaders, &site_timing, &s, 1);
	queues_configured(&queues);
	id.minute = host_wall_ms(&host) / JOB_MINUTE_MS;
	turn();
	/* The list of given jobs is read at once: there are none. */
	for (size_t i = 0; i < store.n_open; i++)
		if (strstr(store.open[i].text, "list! jobs/q/at/here"))
			script_answer(i, names(NULL, NULL));
}

static const char *key_of_job; /* NULL: none */

/* As it lies in ZooKeeper; the bytes are borrowed until the next call. "purged": its trace. */
static inline struct store_reply job_of(const char *state, int64_t attempt, int32_t version)
{
	static struct buffer data;
	struct job_record j = {.attempt = attempt,
			       .exit_status = -1,
			       .submitted = 1,
			       .due = INT64_C(1795000000000),
			       .payload = "bytes",
			       .payload_len = 5};

	job_id_format(&id, j.id);
	snprintf(j.queue, sizeof(j.queue), "q");
	j.purged = strcmp(state, "purged") == 0;
	snprintf(j.state, sizeof(j.state), "%s", j.purged ? "cancelled" : state);
	snprintf(j.key, sizeof(j.key), "%s", key_of_job ? key_of_job : "");
	snprintf(j.by, sizeof(j.by), "user");
	snprintf(j.host, sizeof(j.host), "host");
	if (attempt > 0)
		snprintf(j.node, sizeof(j.node), "here:/s");
	if (strcmp(j.state, "queued") != 0 && strcmp(j.state, "running") != 0)
		j.ended = 5;
	buffer_done(&data);
	buffer_init(&data, RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&data, &j), 0);
	return holds(data.data, data.len, (struct store_stat){.version = version});
}

static inline struct store_reply at_of(int64_t of_session, int64_t token)
{
	static struct buffer data;
	struct at_record a = {.session = of_session, .worker = "me"};

	buffer_done(&data);
	buffer_init(&data, RECORD_AT_MAX);
	cr_assert_eq(record_pack_at(&data, &a), 0);
	return holds(data.data, data.len, (struct store_stat){.czxid = token});
}

/* The oldest open request, whatever it is, ends with this. */
static inline void asks_of(const char *end, struct store_reply reply)
{
	pass(0);
	script_confirm();
	cr_assert_gt(store.n_open, 0, "nothing is asked, wanted: ...%s", end);
	const char *text = store.open[0].text;
	cr_assert(strstr(text, end), "asked: %s, wanted: ...%s", text, end);
	script_answer(0, reply);
	script_confirm();
}

/* Requests from before are not of interest here. */
static inline void forget_open(void)
{
	pass(0);
	script_confirm();
	while (store.n_open > 0) {
		script_answer(0, failed(STORE_NODE_EXISTS));
		script_confirm();
	}
}

/* Answers what is of no interest until that is asked. */
static inline void until(const char *part)
{
	for (int i = 0; i < 60; i++) {
		pass(i % 5 == 4 ? 200 : 0);
		script_confirm();
		if (store.n_open > 0 && strstr(store.open[0].text, part))
			return;
		if (store.n_open > 0)
			script_answer(0, ok());
	}
	cr_assert_fail("never asked: %s", part);
}

/* Somebody serves it, and so many submits have their places. */
static inline struct member *serve(unsigned left)
{
	struct queue *queue = queue_find(&queues, "q");
	struct member *m = joins("other", "1.0", 1);

	m->worker->queues = mem_calloc(1, sizeof(*m->worker->queues));
	m->worker->n_queues = 1;
	snprintf(m->worker->queues[0].queue, sizeof(m->worker->queues[0].queue), "q");
	m->worker->queues[0].slots = 1;
	queue->room.round = 4;
	queue->room.left = left;
	queues_changed(&queues);
	turn();
	return m;
}

static inline void lead_queue(void)
{
	begin_node();
	struct member *m = joins("me", "1.0", 5);
	m->worker->queues = mem_calloc(1, sizeof(*m->worker->queues));
	m->worker->n_queues = 1;
	snprintf(m->worker->queues[0].queue, sizeof(m->worker->queues[0].queue), "q");
	m->worker->queues[0].slots = 2;
	until("get! leaders/q");
	script_answer(0, failed(STORE_NO_NODE));
	until("create* leaders/q");
	script_answer(0, of_stat((struct store_stat){.mzxid = TOKEN}));
	until("get! leaders/q");
	script_answer(0, led_by("me", TOKEN));
}

#endif
