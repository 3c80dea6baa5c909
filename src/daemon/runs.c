#include "daemon/runs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/ledger.h"
#include "daemon/sidecar.h"

#define FINISH_MS 30000 /* how long a finished run's record is tried to be written */
#define AGAIN_MS  50	/* before a claim that met something unexpected is tried again */

enum phase {
	RUN_WAITING,   /* for leadership, for the tick, or for another's run to end */
	RUN_GOING,     /* the job runs, and holds the task */
	RUN_DYING,     /* its supervisor is gone: the job may live until the lease is over */
	RUN_FINISHING, /* its end is being written */
	RUN_OVER       /* freed as soon as nothing of it is on its way */
};

struct run {
	struct run *prev, *next;
	struct runs *runs;
	struct client *client; /* NULL: gone */
	uint32_t msgid;	       /* of the claim, then of the finish */
	uint32_t id;
	struct task *task; /* NULL: gone */
	char task_name[NAME_TASK_MAX + 1];
	struct run_options options;
	char tick[TICK_NAME_SIZE]; /* "": none */
	char uuid[NAME_ID_MAX + 1];
	enum phase phase;
	bool busy;   /* a request to the ledger is on its way */
	bool looked; /* there, record and version are what the watch stands for */
	bool there;
	bool readable;
	bool counts; /* the ledger takes the tick for claimed, whether it has a record of it or not */
	int64_t not_before_ms; /* nothing is tried again before */
	struct run_record record;
	int32_t version;
	int64_t deadline_ms; /* of the wait, of the dying and of the finishing */
	bool orphan_seen;    /* the runner's session has ended: deadline_ms counts again */
	bool holds;
};

static void finish(struct run *r, const char *state, int64_t exit_status);

void runs_changed(struct runs *r)
{
	if (!r->list || r->dirty)
		return;
	r->dirty = true;
	/* Makes the loop come round at once, and so the prepare handle be called. */
	uv_timer_start(&r->due, r->due.timer_cb, 0, 0);
}

/* --- the end of a run ------------------------------------------------------------------------------ */

static void set_hold(struct run *r, bool on)
{
	if (r->holds == on)
		return;
	r->holds = on;
	if (r->task)
		leaders_hold(r->task, on, clock_boot_ms() + r->task->config->hold_max_ms);
}

static void over(struct run *r)
{
	set_hold(r, false);
	if (r->client)
		r->client->parked--;
	r->client = NULL;
	r->phase = RUN_OVER;
	runs_changed(r->runs);
}

static void answer(struct run *r, const char *outcome, const char *why)
{
	const struct member *self = registry_self(&r->runs->sidecar->registry);
	struct pack *p = control_begin(r->client);

	rpc_pack_result(p, r->msgid);
	pack_map(p, 9);
	pack_kv_str(p, "outcome", outcome);
	pack_kv_str(p, "tick", r->tick[0] ? r->tick : NULL);
	pack_kv_int(p, "token", r->record.token);
	pack_kv_int(p, "attempt", r->record.attempt);
	pack_kv_str(p, "worker_id", self ? self->worker->id : "");
	pack_kv_str(p, "version", self ? self->worker->version : "");
	pack_kv_int(p, "lease_ms", r->task ? leaders_lease_left(r->task) : 0);
	pack_kv_uint(p, "run", r->id);
	pack_kv_str(p, "why", why);
	control_end(r->client, r->msgid);
}

static void refuse(struct run *r, const char *outcome, const char *why)
{
	if (r->client)
		answer(r, outcome, why);
	over(r);
}

/* The tick is ours: the caller starts, or has what it wanted. */
static void start(struct run *r)
{
	if (!r->client) {
		/* It went while its claim was on its way: the tick is spent. */
		finish(r, r->options.once ? "claimed" : "lost", -1);
		return;
	}
	log_info("run claimed", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_INT("attempt", r->record.attempt), LOG_INT("token", r->record.token),
		 LOG_INT("pid", r->client->peer.pid));
	if (r->options.once) {
		refuse(r, "yours", "");
		return;
	}
	r->phase = RUN_GOING;
	set_hold(r, true);
	answer(r, "yours", "");
}

/* --- claiming -------------------------------------------------------------------------------------- */

static void fill_record(struct run *r, int64_t attempt)
{
	const struct sidecar *s = r->runs->sidecar;
	const struct member *self = registry_self(&s->registry);

	memset(&r->record, 0, sizeof(r->record));
	snprintf(r->record.state, sizeof(r->record.state), "%s",
		 r->options.once ? "claimed" : "running");
	if (self) {
		memcpy(r->record.id, self->worker->id, sizeof(r->record.id));
		memcpy(r->record.hostname, self->worker->hostname, sizeof(r->record.hostname));
	}
	memcpy(r->record.run, r->uuid, sizeof(r->record.run));
	r->record.session = s->session.id;
	r->record.token = r->task->election.node.token;
	r->record.attempt = attempt;
	r->record.started_at = clock_wall_ms();
	r->record.exit_status = -1;
}

static void on_claimed(void *arg, enum ledger_result result, const struct run_record *record,
		       int32_t version)
{
	struct run *r = arg;

	(void)record, (void)version;
	r->busy = false;
	switch (result) {
	case LEDGER_DONE:
		r->version = r->there ? r->version + 1 : 0;
		start(r);
		return;
	case LEDGER_PRESENT:
		/* Perhaps by a claim of ours whose answer was lost, or another's to take over. */
		r->counts = true;
		break;
	case LEDGER_ABSENT:
	case LEDGER_AGAIN:
	case LEDGER_UNKNOWN:
		r->counts = false;
		r->not_before_ms = clock_boot_ms() + AGAIN_MS;
		break;
	case LEDGER_FAILED:
		if (r->client)
			control_error(r->client, r->msgid, RPC_CANNOT_TELL,
				      "the ledger cannot be written: see the sidecar's log");
		over(r);
		return;
	}
	r->looked = false;
	runs_changed(r->runs);
}

static void on_looked(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct run *r = arg;

	r->busy = false;
	r->looked = result == LEDGER_ABSENT || result == LEDGER_PRESENT;
	r->there = result == LEDGER_PRESENT;
	r->readable = record != NULL;
	r->version = version;
	if (record)
		r->record = *record;
	runs_changed(r->runs);
}

static void look(struct run *r)
{
	r->busy = true;
	ledger_look(&r->runs->sidecar->leaders, r->task_name, r->tick, on_looked, r);
}

static void claim(struct run *r)
{
	r->busy = true;
	fill_record(r, 1);
	ledger_claim(&r->runs->sidecar->leaders, r->task_name, r->tick, &r->record,
		     (size_t)r->task->config->history, on_claimed, r);
}

static void take_over(struct run *r)
{
	int64_t attempt = r->record.attempt + 1;

	log_info("taking a run over", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_STR("from", r->record.hostname), LOG_INT("attempt", attempt));
	r->busy = true;
	fill_record(r, attempt);
	ledger_write(&r->runs->sidecar->leaders, r->task_name, r->tick, &r->record, r->version,
		     true, on_claimed, r);
}

/*
 * Whether the session that runs it may be alive. Its lease ended before the session did, and its job
 * with the lease. While records are being read, a worker that registers anew is not to be found.
 */
static bool runner_may_live(const struct run *r)
{
	const struct registry *registry = &r->runs->sidecar->registry;

	return !registry->ready || registry->reads_pending > 0 || registry->listing ||
	       fleet_find_session(&registry->fleet, r->record.session) != NULL;
}

/* The tick has a record. */
static void advance_claimed(struct run *r, bool leads)
{
	bool rerun = !r->options.once && r->task->config->on_crash == TASK_ON_CRASH_RERUN;
	bool running = strcmp(r->record.state, "running") == 0 && r->record.session != 0;
	bool lost = strcmp(r->record.state, "lost") == 0; /* and so dead, says who ran it */

	if (r->readable && strcmp(r->record.run, r->uuid) == 0) {
		start(r); /* ours: only the answer was lost */
	} else if (!rerun || !r->readable || !(running || lost)) {
		refuse(r, "taken", "");
	} else if (running && runner_may_live(r)) {
		return; /* stands by */
	} else if (leads) {
		take_over(r);
	} else if (!r->orphan_seen) {
		r->orphan_seen = true;
		r->deadline_ms = clock_boot_ms() + r->options.wait_ms;
	} else if (clock_boot_ms() >= r->deadline_ms) {
		refuse(r, "waited", "");
	}
}

static void advance_waiting(struct run *r)
{
	struct sidecar *s = r->runs->sidecar;
	bool leads = leaders_lease_left(r->task) > 0, up = session_is_up(&s->session);
	bool late = clock_boot_ms() >= r->deadline_ms;

	if (!r->client) {
		over(r);
	} else if (clock_boot_ms() < r->not_before_ms) {
		return;
	} else if (!r->tick[0] && leads) {
		fill_record(r, 1);
		start(r);
	} else if (up && leads && !r->looked && !r->counts && r->tick[0]) {
		claim(r);
	} else if (up && !r->looked && r->tick[0]) {
		look(r);
	} else if (up && r->looked && r->there) {
		advance_claimed(r, leads);
	} else if (up && r->looked && r->counts) {
		refuse(r, "taken", ""); /* older than what the ledger keeps */
	} else if (up && r->looked && leads) {
		claim(r);
	} else if (late && !up) {
		refuse(r, "waited", "no confirmed session with ZooKeeper");
	} else if (late) {
		const struct election_node *node = &r->task->election.node;
		bool elsewhere = node->known && node->exists && !node->mine;
		refuse(r, "waited", elsewhere ? "" : "nobody leads the task");
	}
}

/* --- finishing ------------------------------------------------------------------------------------- */

static void on_finished(void *arg, enum ledger_result result, const struct run_record *record,
			int32_t version)
{
	struct run *r = arg;

	(void)record, (void)version;
	r->busy = false;
	if (result == LEDGER_UNKNOWN && clock_boot_ms() < r->deadline_ms) {
		runs_changed(r->runs);
		return;
	}
	/* After an unknown outcome another version means, as a rule, that it was written. */
	if (result != LEDGER_DONE)
		log_warning("the end of a run was not recorded", LOG_STR("task", r->task_name),
			    LOG_STR("tick", r->tick));
	if (r->client) {
		struct pack *p = control_begin(r->client);
		rpc_pack_result(p, r->msgid);
		pack_bool(p, result == LEDGER_DONE);
		control_end(r->client, r->msgid);
	}
	over(r);
}

static void write_end(struct run *r)
{
	r->busy = true;
	ledger_write(&r->runs->sidecar->leaders, r->task_name, r->tick, &r->record, r->version,
		     false, on_finished, r);
}

static void finish(struct run *r, const char *state, int64_t exit_status)
{
	snprintf(r->record.state, sizeof(r->record.state), "%s", state);
	r->record.ended_at = clock_wall_ms();
	r->record.exit_status = exit_status;
	log_info("run ended", LOG_STR("task", r->task_name), LOG_STR("tick", r->tick),
		 LOG_STR("state", state), LOG_INT("exit_status", exit_status),
		 LOG_INT("ms", r->record.ended_at - r->record.started_at));
	set_hold(r, false); /* the job is dead */
	r->phase = RUN_FINISHING;
	r->deadline_ms = clock_boot_ms() + FINISH_MS;
	if (!r->tick[0])
		on_finished(r, LEDGER_DONE, NULL, 0);
	else
		runs_changed(r->runs);
}

static void advance(struct run *r)
{
	if (r->busy)
		return;
	switch (r->phase) {
	case RUN_WAITING: advance_waiting(r); break;
	case RUN_DYING:
		if (clock_boot_ms() >= r->deadline_ms)
			finish(r, "lost", -1);
		break;
	case RUN_FINISHING:
		if (session_is_up(&r->runs->sidecar->session))
			write_end(r);
		else if (clock_boot_ms() >= r->deadline_ms)
			on_finished(r, LEDGER_FAILED, NULL, 0);
		break;
	case RUN_GOING:
	case RUN_OVER: break;
	}
}

/* --- looking at all of them ------------------------------------------------------------------------ */

static void free_over(struct runs *runs)
{
	struct run *next;

	for (struct run *r = runs->list; r; r = next) {
		next = r->next;
		if (r->phase != RUN_OVER || r->busy)
			continue;
		if (r->prev)
			r->prev->next = next;
		else
			runs->list = next;
		if (next)
			next->prev = r->prev;
		free(r);
	}
}

static void look_at_all(struct runs *runs)
{
	int64_t first = INT64_MAX, now = clock_boot_ms();

	runs->dirty = false;
	for (struct run *r = runs->list; r; r = r->next)
		advance(r);
	free_over(runs);
	for (struct run *r = runs->list; r; r = r->next) {
		/* NOLINTNEXTLINE: those that were freed are out of the list */
		if (r->phase != RUN_GOING && r->deadline_ms > now && r->deadline_ms < first)
			first = r->deadline_ms;
		if (r->not_before_ms > now && r->not_before_ms < first)
			first = r->not_before_ms;
	}
	if (runs->dirty)
		uv_timer_start(&runs->due, runs->due.timer_cb, 0, 0);
	else if (first != INT64_MAX)
		uv_timer_start(&runs->due, runs->due.timer_cb, (uint64_t)(first - now), 0);
}

static void on_look(uv_prepare_t *prepare)
{
	struct runs *runs = prepare->data;

	if (runs->dirty)
		look_at_all(runs);
}

static void on_due(uv_timer_t *timer)
{
	look_at_all(timer->data);
}

void runs_init(struct runs *r, struct sidecar *s, uv_loop_t *loop)
{
	memset(r, 0, sizeof(*r));
	r->sidecar = s;
	uv_prepare_init(loop, &r->look);
	uv_timer_init(loop, &r->due);
	r->look.data = r;
	r->due.data = r;
	r->due.timer_cb = on_due;
	uv_prepare_start(&r->look, on_look);
}

/* --- the methods ----------------------------------------------------------------------------------- */

void runs_claim(struct runs *runs, struct client *c, uint32_t msgid, struct task *t,
		const struct run_options *options)
{
	struct run *r = mem_calloc(1, sizeof(*r));
	uuid_t uuid;

	uuid_generate(uuid);
	uuid_unparse_lower(uuid, r->uuid);
	r->runs = runs;
	r->client = c;
	r->msgid = msgid;
	r->id = ++runs->last_id;
	r->task = t;
	snprintf(r->task_name, sizeof(r->task_name), "%s", t->name);
	r->options = *options;
	r->deadline_ms = clock_boot_ms() + options->wait_ms;
	if (options->tick_ms > 0 &&
	    !tick_name(tick_floor(options->now_ms, options->tick_ms), r->tick)) {
		free(r);
		control_error(c, msgid, RPC_MISUSE, "the clock says a time beyond the year 9999");
		return;
	}
	r->next = runs->list;
	if (r->next)
		r->next->prev = r;
	runs->list = r;
	c->parked++;
	leaders_refresh(t);
	runs_changed(runs);
}

static struct run *find(const struct runs *runs, const struct client *c, uint64_t id)
{
	for (struct run *r = runs->list; r; r = r->next)
		if (r->client == c && r->id == id && r->phase == RUN_GOING)
			return r;
	return NULL;
}

/* Whether the job may go on: the leadership is the one that it started under. */
static bool still_leads(const struct run *r)
{
	return r->task && !r->runs->revoked && leaders_lease_left(r->task) > 0 &&
	       r->task->election.node.token == r->record.token;
}

void runs_renew(struct runs *runs, struct client *c, uint32_t msgid, uint64_t id)
{
	struct run *r = find(runs, c, id);

	if (!r) {
		control_error(c, msgid, RPC_MISUSE, "no such run on this connection");
		return;
	}
	struct pack *p = control_begin(c);
	rpc_pack_result(p, msgid);
	pack_map(p, 2);
	pack_kv_bool(p, "leads", still_leads(r));
	pack_kv_int(p, "lease_ms", still_leads(r) ? leaders_lease_left(r->task) : 0);
	control_end(c, msgid);
}

void runs_finish(struct runs *runs, struct client *c, uint32_t msgid, uint64_t id,
		 int64_t exit_status)
{
	struct run *r = find(runs, c, id);

	if (!r) {
		control_error(c, msgid, RPC_MISUSE, "no such run on this connection");
		return;
	}
	r->msgid = msgid;
	finish(r, exit_status == 0 ? "ok" : "failed", exit_status);
}

/* --- history --------------------------------------------------------------------------------------- */

struct history_call {
	struct runs *runs;
	struct client *client; /* compared only: it may be gone */
	uint32_t msgid;
};

static void pack_time(struct pack *p, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(wall_ms, text);
	pack_kv_str(p, key, wall_ms > 0 ? text : NULL);
}

static void pack_entry(struct pack *p, const struct registry *registry,
		       const struct ledger_entry *e)
{
	const struct run_record *r = &e->record;
	bool lost = strcmp(r->state, "running") == 0 && registry->ready &&
		    registry->reads_pending == 0 &&
		    !fleet_find_session(&registry->fleet, r->session);

	pack_map(p, 9);
	pack_kv_str(p, "tick", e->tick);
	pack_kv_str(p, "state", lost ? "lost" : r->state);
	pack_kv_str(p, "id", r->id);
	pack_kv_str(p, "hostname", r->hostname);
	pack_kv_int(p, "token", r->token);
	pack_kv_int(p, "attempt", r->attempt);
	pack_time(p, "started_at", r->started_at);
	pack_time(p, "ended_at", r->ended_at);
	if (r->exit_status >= 0)
		pack_kv_int(p, "exit_status", r->exit_status);
	else
		pack_kv_nil(p, "exit_status");
}

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct history_call *call = arg;
	struct client *c = call->runs->sidecar->control.clients;

	while (c && c != call->client)
		c = c->next;
	if (c && !ok) {
		control_error(c, call->msgid, RPC_CANNOT_TELL, "the ledger could not be read");
	} else if (c) {
		struct pack *p = control_begin(c);
		rpc_pack_result(p, call->msgid);
		pack_array(p, n);
		for (size_t i = 0; i < n; i++)
			pack_entry(p, &call->runs->sidecar->registry, &entries[i]);
		control_end(c, call->msgid);
	}
	free(call);
}

void runs_history(struct runs *runs, struct client *c, uint32_t msgid, struct task *t)
{
	if (!session_is_up(&runs->sidecar->session)) {
		control_error(c, msgid, RPC_CANNOT_TELL, "no confirmed session with ZooKeeper");
		return;
	}
	struct history_call *call = mem_calloc(1, sizeof(*call));
	call->runs = runs;
	call->client = c;
	call->msgid = msgid;
	ledger_history(&runs->sidecar->leaders, t->name, on_history, call);
}

/* --- what happens elsewhere ------------------------------------------------------------------------ */

size_t runs_going(const struct runs *runs)
{
	size_t n = 0;

	for (const struct run *r = runs->list; r; r = r->next)
		n += r->phase == RUN_GOING || r->phase == RUN_DYING || r->phase == RUN_FINISHING;
	return n;
}

bool runs_hold(const struct runs *runs, const struct task *t)
{
	for (const struct run *r = runs->list; r; r = r->next)
		if (r->task == t && r->holds)
			return true;
	return false;
}

void runs_revoke(struct runs *runs)
{
	runs->revoked = true;
}

void runs_client_gone(struct runs *runs, const struct client *c)
{
	for (struct run *r = runs->list; r; r = r->next) {
		if (r->client != c)
			continue;
		r->client->parked--;
		r->client = NULL;
		if (r->phase == RUN_GOING) {
			/* The guard ends the job, at the latest when the lease is over that it knew of. */
			log_warning("the supervisor of a run is gone",
				    LOG_STR("task", r->task_name), LOG_STR("tick", r->tick));
			r->phase = RUN_DYING;
			r->deadline_ms =
				clock_boot_ms() + session_lease_left(&runs->sidecar->session);
		} else if (r->phase == RUN_WAITING && !r->busy) {
			r->phase = RUN_OVER;
		}
	}
	runs_changed(runs);
}

void runs_task_removed(struct runs *runs, const struct task *t)
{
	for (struct run *r = runs->list; r; r = r->next) {
		if (r->task != t)
			continue;
		r->task = NULL;
		r->holds = false;
		if (r->phase == RUN_WAITING && r->client)
			control_error(r->client, r->msgid, RPC_MISUSE, "the task has been removed");
		if (r->phase == RUN_WAITING)
			over(r);
	}
}

void runs_watch(struct runs *runs, const char *path)
{
	char own[ZK_PATH_MAX];

	for (struct run *r = runs->list; r; r = r->next) {
		if (r->phase != RUN_WAITING || !r->tick[0])
			continue;
		ledger_path(&runs->sidecar->leaders, r->task_name, r->tick, own);
		if (strcmp(path, own) == 0)
			r->looked = false;
	}
	runs_changed(runs);
}
