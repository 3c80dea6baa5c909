/*
 * Judges what is promised of jobs by the transactions that are committed. Each job is in one place,
 * goes from one state to the next that follows, is begun by the worker that it was given to, is
 * taken from it by the leader alone, and ends once. Only the leader that raised the epoch last
 * assigns, within slots, concurrency and rate. No more jobs are submitted than `max-queued` lets
 * wait. A job of a key is made only once the previous job of that key has gone, or has ended where
 * `while_open` says so.
 */
#include <stdio.h>
#include <string.h>

#include "node/tree/paths.h"
#include "oracle.h"
#include "scenario.h"
#include "simq.h"
#include "wall.h"
#include "wire/records/job_record.h"

#define JOBS_MAX  (1 << 15)
#define NODES_MAX HOSTS_MAX
#define STUCK_US  (150 * SECOND)
#define STUCK_FAR_US \
	(1000 *      \
	 SECOND) /* where clocks were set: until all have asked for the servers' time again */
#define LATE_MS	       40000	      /* the longest that a request may be on its way */
#define EARLY_MS       40000	      /* by which clocks may differ that agree, and a little */
#define KNOWN_US       (600 * SECOND) /* for which the id of a purged job is known */
#define QUEUE_KEYS_MAX 64
#define TOLD_US	       (10 * SECOND) /* until a worker's leader knows what has become of it */

static struct judged_job {
	struct job_id id;
	unsigned queue;
	bool exists, told, touched;
	bool made;	   /* by this transaction */
	bool fresh;	   /* it waits as it was submitted: it was never given to anybody */
	bool handled;	   /* a hand has changed its pointers: what becomes of it is that hand's */
	bool keyed;	   /* a key names it */
	bool has_key;	   /* its record does */
	int64_t purged_at; /* 0: it was not */
	char state[JOB_STATE_MAX + 1];
	int64_t attempt, base, due_ms;
	unsigned due, at, dead; /* pointers */
	int64_t at_session;
	int64_t idle_at; /* since when it was somebody's, and nothing went on of it; 0: it did */
	char node[64];
} list[JOBS_MAX];
static size_t n_jobs;

static struct {
	int64_t epoch_session;
	int64_t moved;	/* when somebody was given something, or has ended it */
	unsigned fresh; /* of those */
	double level; /* of a bucket, laxer than the leader's window, with what may be on its way */
	int64_t level_at;
	char token[24]; /* of who has raised the epoch last */
} states[QUEUES];

/* The jobs that keys name. */
static struct {
	path_id path;
	struct judged_job *job; /* NULL: none */
} keys[QUEUE_KEYS_MAX];

static const struct node_settings paths = {.root = SITE_ROOT};

static struct judged_job *find(unsigned queue, const char *uuid)
{
	for (size_t i = n_jobs; i-- > 0;)
		if (list[i].queue == queue && strcmp(list[i].id.uuid, uuid) == 0)
			return &list[i];
	return NULL;
}

static struct judged_job *job_of(unsigned queue, int64_t minute, const char *uuid)
{
	struct judged_job *j = find(queue, uuid);

	if (j)
		return j;
	if (n_jobs == JOBS_MAX) {
		sim_violation("too many jobs for the judge");
		return &list[0];
	}
	j = &list[n_jobs++];
	*j = (struct judged_job){.queue = queue};
	j->id.minute = minute;
	snprintf(j->id.queue, sizeof(j->id.queue), "%s", queue_names[queue]);
	snprintf(j->id.uuid, sizeof(j->id.uuid), "%s", uuid);
	return j;
}

static bool has_ended(const struct judged_job *j)
{
	return j->state[0] != 'q' && j->state[0] != 'r';
}

static bool is_letter(const struct judged_job *j)
{
	return strcmp(j->state, "dead") == 0 || strcmp(j->state, "lost") == 0;
}

/* --- what a transaction does ----------------------------------------------------------------------------- */

/* A record was written: whether it follows from the one before. */
static void check_record(const struct transaction *x, struct judged_job *j,
			 const struct job_record *r)
{
	const char *from = j->state, *to = r->state;
	bool begins = strcmp(to, "running") == 0;
	int64_t session = states[j->queue].epoch_session;

	if (is_letter(j) && r->purged) {
		j->purged_at = sim.now;
		return;
	}
	if (has_ended(j) &&
	    !(is_letter(j) && strcmp(to, "queued") == 0 && r->attempt == j->attempt)) {
		sim_violation("job %s was %s, and is written as %s", j->id.uuid, from, to);
	} else if (begins && (strcmp(from, "queued") != 0 || r->attempt != j->attempt + 1)) {
		sim_violation("job %s was %s, attempt %lld, and begins attempt %lld", j->id.uuid,
			      from, (long long)j->attempt, (long long)r->attempt);
	} else if (strcmp(from, "queued") == 0 && !begins && strcmp(to, "cancelled") != 0) {
		sim_violation("job %s ends an attempt that has not begun, as %s", j->id.uuid, to);
	} else if (begins && x->session != j->at_session) {
		sim_violation("job %s is begun by who was not given it", j->id.uuid);
	} else if (!begins && strcmp(from, "running") == 0 && x->session != j->at_session &&
		   x->session != session) {
		sim_violation("job %s is ended by who has nothing to do with it", j->id.uuid);
	} else if (!begins && r->attempt != j->attempt) {
		sim_violation("job %s: attempt %lld ends as %lld", j->id.uuid,
			      (long long)j->attempt, (long long)r->attempt);
	}
	if (strcmp(to, "ok") == 0 && strcmp(from, "running") == 0 &&
	    simq_ended_by_others(j->id.uuid, r->attempt))
		sim_violation("job %s is recorded as ok, and was ended by others", j->id.uuid);
	int64_t alive;
	/* An attempt after a requeue is wanted. */
	if (begins && !queue_settings[j->queue].rerun && j->attempt > j->base &&
	    simq_crashed(j->id.uuid, j->attempt))
		sim_violation("job %s, which is not to be run again after a crash, is", j->id.uuid);
	if (!begins && strcmp(from, "running") == 0 && x->session != j->at_session &&
	    simq_alive(j->id.uuid, &alive) && alive == j->attempt)
		sim_violation("job %s is taken away while it runs", j->id.uuid);
}

/* The leader's transactions check the epoch. */
static bool prunes(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (x->ops[i].type == STORE_OP_CHECK &&
		    strncmp(path_text(x->ops[i].path), SITE_ROOT "/jobs/",
			    strlen(SITE_ROOT "/jobs/")) == 0 &&
		    !strchr(path_text(x->ops[i].path) + strlen(SITE_ROOT "/jobs/"), '/'))
			return true;
	return false;
}

static void on_job(const struct transaction *x, const struct op *op, unsigned queue,
		   const char *rest)
{
	char minute_text[16];
	const char *slash = strchr(rest, '/'), *uuid = strrchr(rest, '/') + 1;
	struct job_record r;
	const char *why;
	int64_t minute;

	if (!slash || slash == strrchr(rest, '/') || strlen(uuid) != 36)
		return; /* a folder */
	snprintf(minute_text, sizeof(minute_text), "%.*s", (int)(slash - rest), rest);
	if (!job_minute_parse(minute_text, strlen(minute_text), &minute))
		return;
	struct judged_job *j = job_of(queue, minute, uuid);
	j->touched = true;
	if (op->type == STORE_OP_CHECK)
		return;
	if (op->type == STORE_OP_DELETE) {
		if (!has_ended(j))
			sim_violation("job %s is deleted as %s", uuid, j->state);
		if (j->exists && is_letter(j) && !prunes(x))
			j->purged_at = sim.now;
		j->exists = false;
		return;
	}
	if (record_parse_job(op->data->bytes, op->data->len, &r, &why) != 0) {
		sim_violation("job %s is written so that nobody can read it: %s", uuid, why);
		return;
	}
	if (op->type == STORE_OP_CREATE && j->exists)
		sim_violation("job %s is made twice", uuid);
	if (op->type == STORE_OP_CREATE && j->purged_at > 0 && sim.now < j->purged_at + KNOWN_US)
		sim_violation("job %s is made again, and was purged", uuid);
	j->made |= op->type == STORE_OP_CREATE;
	j->has_key = r.key[0] != '\0';
	if (op->type == STORE_OP_SET)
		check_record(x, j, &r);
	j->exists = true;
	snprintf(j->state, sizeof(j->state), "%s", r.state);
	j->attempt = r.attempt;
	j->base = r.base;
	j->due_ms = r.due;
	if (has_ended(j))
		states[queue].moved = sim.now;
}

/* Each begins with a full bucket. */
static void note_leadership(unsigned queue, const struct op *op)
{
	char token[24];

	snprintf(token, sizeof(token), "%.*s", op->data ? (int)op->data->len : 0,
		 op->data ? (const char *)op->data->bytes : "");
	if (strcmp(token, states[queue].token) != 0)
		states[queue].level += queue_settings[queue].rate;
	memcpy(states[queue].token, token, sizeof(token));
}

/*
 * Starts that were delayed may come together: the level may be higher by as many as fit into the
 * delay.
 */
static void check_rate(unsigned queue)
{
	const struct queue_settings *s = &queue_settings[queue];
	double each_ms = s->rate > 0 ? (double)s->rate_ms / s->rate : 0;
	double most = s->rate + (each_ms > 0 ? LATE_MS / each_ms : 0);

	if (s->rate == 0)
		return;
	states[queue].level += (double)(sim.now - states[queue].level_at) / 1000 / each_ms;
	if (states[queue].level > most)
		states[queue].level = most;
	states[queue].level_at = sim.now;
	states[queue].level--;
	if (states[queue].level < -1 - (double)s->rate)
		sim_violation("queue %s: more is begun than its rate allows", queue_names[queue]);
}

static void check_limits(unsigned queue, const char *node)
{
	unsigned all = 0, here = 0;

	for (size_t i = 0; i < n_jobs; i++) {
		if (list[i].queue != queue || list[i].at == 0)
			continue;
		all++;
		here += strcmp(list[i].node, node) == 0;
	}
	if (here > QUEUE_SLOTS)
		sim_violation("queue %s: %s was given %u jobs", queue_names[queue], node, here);
	if (queue_settings[queue].concurrency > 0 && all > queue_settings[queue].concurrency)
		sim_violation("queue %s: %u jobs at a time", queue_names[queue], all);
}

/* By the clock that most say, once its leader can know that. */
static void check_time(const struct transaction *x, const struct judged_job *j)
{
	int64_t now_ms;

	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && sites[i].node.session.id == x->session &&
		    wall_jobs(&sites[i], &now_ms) && j->due_ms > now_ms + EARLY_MS)
			sim_violation("job %s is assigned %lld ms early", j->id.uuid,
				      (long long)(j->due_ms - now_ms));
}

/* In quiet times its leader knows that: the worker has said so. */
static void check_runner(const struct judged_job *j)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && strcmp(sites[i].name, j->node) == 0 &&
		    !scenario_is_storm() && simq_hangs_since(&sites[i]) > 0 &&
		    sim.now > simq_hangs_since(&sites[i]) + sim.timeout_ms * MS + TOLD_US)
			sim_violation("job %s is given to a runner that hangs", j->id.uuid);
}

static void on_at(const struct transaction *x, const struct op *op, unsigned queue,
		  const char *rest)
{
	const char *slash = strchr(rest, '/');
	struct job_pointer p;
	struct at_record at;
	const char *why;

	if (!slash || !job_pointer_parse(slash + 1, strlen(slash + 1), false, &p) || p.callback)
		return;
	struct judged_job *j = job_of(queue, p.minute, p.uuid);
	j->touched = true;
	j->handled |= x->session == HAND;
	states[queue].moved = sim.now;
	if (op->type == STORE_OP_DELETE)
		j->at--;
	if (op->type != STORE_OP_CREATE)
		return;
	if (record_parse_at(op->data->bytes, op->data->len, &at, &why) != 0) {
		sim_violation("job %s: its assignment cannot be read: %s", p.uuid, why);
		return;
	}
	if (x->session != states[queue].epoch_session)
		sim_violation("queue %s: a deposed leader assigns", queue_names[queue]);
	check_time(x, j);
	j->at++;
	j->at_session = at.session;
	snprintf(j->node, sizeof(j->node), "%.*s", (int)(slash - rest), rest);
	check_runner(j);
	check_limits(queue, j->node);
	check_rate(queue);
	sim.figures.jobs[1]++;
}

static void on_pointer(const struct transaction *x, const struct op *op, unsigned queue,
		       const char *rest, bool due)
{
	const char *name = due ? strchr(rest, '/') : rest;
	struct job_pointer p;

	if (!name ||
	    !job_pointer_parse(due ? name + 1 : name, strlen(due ? name + 1 : name), due, &p) ||
	    p.callback || op->type == STORE_OP_CHECK)
		return;
	struct judged_job *j = job_of(queue, p.minute, p.uuid);
	j->touched = true;
	j->handled |= x->session == HAND;
	unsigned *n = due ? &j->due : &j->dead;
	*n += op->type == STORE_OP_CREATE ? 1U : 0U;
	*n -= op->type == STORE_OP_DELETE ? 1U : 0U;
}

/* Jobs that come back may exceed the limit. Submitted ones may not, whoever leads. */
static void check_room(struct judged_job *j, bool made)
{
	bool waits = j->exists && strcmp(j->state, "queued") == 0 && j->due == 1;

	if (made && !j->fresh)
		states[j->queue].fresh++;
	j->fresh |= made;
	if (j->fresh && !waits) {
		j->fresh = false;
		states[j->queue].fresh--;
	}
	if (made && states[j->queue].fresh > queue_settings[j->queue].max_queued)
		sim_violation("queue %s: %u wait that were submitted", queue_names[j->queue],
			      states[j->queue].fresh);
}

/* The key that names one names another from now on. */
static void check_key(const struct judged_job *from, const struct judged_job *to)
{
	if (from == to || !from->exists || from->purged_at > 0)
		return;
	if (!has_ended(from) || !simq_while_open(to->id.uuid))
		sim_violation("job %s is %s, and its key goes to job %s", from->id.uuid,
			      from->state, to->id.uuid);
}

static void on_key(const struct transaction *x, const struct op *op, unsigned queue)
{
	size_t i = 0;
	char name[JOB_NAME_MAX + 1];
	struct job_id id;

	while (i < QUEUE_KEYS_MAX && keys[i].path != op->path && keys[i].path != 0)
		i++;
	if (i == QUEUE_KEYS_MAX || op->type == STORE_OP_CHECK)
		return;
	keys[i].path = op->path;
	struct judged_job *before = keys[i].job;
	if (keys[i].job) {
		keys[i].job->keyed = false;
		keys[i].job->touched = true;
	}
	keys[i].job = NULL;
	if (op->type == STORE_OP_DELETE || !op->data)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)op->data->len, (const char *)op->data->bytes);
	name[strcspn(name, " ")] = '\0';
	if (!job_name_parse(name, strlen(name), &id))
		return;
	keys[i].job = job_of(queue, id.minute, id.uuid);
	keys[i].job->keyed = keys[i].job->touched = true;
	if (before && x->session != HAND)
		check_key(before, keys[i].job);
}

static void on_op(const struct transaction *x, const struct op *op)
{
	char name[NAME_TASK_MAX + 1], path[STORE_PATH_MAX];
	const char *text = path_text(op->path), *rest = path_in_queue(&paths, text, name);

	for (unsigned k = 0; k < QUEUES; k++) {
		path_of_queue(&paths, queue_names[k], NULL, NULL, path);
		if (strcmp(path, text) == 0 && op->type == STORE_OP_SET) {
			note_leadership(k, op);
			states[k].epoch_session = x->session;
		}
		if (!rest || strcmp(name, queue_names[k]) != 0)
			continue;
		if (strncmp(rest, "job/", 4) == 0)
			on_job(x, op, k, rest + 4);
		else if (strncmp(rest, "due/", 4) == 0)
			on_pointer(x, op, k, rest + 4, true);
		else if (strncmp(rest, "at/", 3) == 0)
			on_at(x, op, k, rest + 3);
		else if (strncmp(rest, "dead/", 5) == 0)
			on_pointer(x, op, k, rest + 5, false);
		else if (strncmp(rest, "key/", 4) == 0)
			on_key(x, op, k);
	}
}

/* Behind a transaction that had to do with it. */
static void check_places(const struct judged_job *j)
{
	bool waits = strcmp(j->state, "queued") == 0, runs = strcmp(j->state, "running") == 0;

	if (j->keyed && (!j->exists || j->purged_at > 0))
		sim_violation("job %s has gone, and its key is there", j->id.uuid);
	if (j->made && j->has_key && !j->keyed)
		sim_violation("job %s is made, and its key is another's", j->id.uuid);
	if (j->handled)
		return;
	if (!j->exists) {
		if (j->due + j->at + j->dead > 0)
			sim_violation("job %s has no record, and is pointed to", j->id.uuid);
	} else if ((waits && (j->due + j->at != 1 || j->dead > 0)) ||
		   (runs && (j->due > 0 || j->at != 1 || j->dead > 0)) ||
		   (has_ended(j) && (j->due + j->at > 0 || j->dead != is_letter(j)))) {
		sim_violation("job %s is %s: %u times due, %u times given, %u times dead",
			      j->id.uuid, j->state, j->due, j->at, j->dead);
	}
}

void judge_commit(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops; i++)
		if (strncmp(path_text(x->ops[i].path), SITE_ROOT "/jobs/",
			    strlen(SITE_ROOT "/jobs/")) == 0)
			on_op(x, &x->ops[i]);
	for (size_t i = n_jobs; i-- > 0 && !sim.stop;) {
		if (!list[i].touched)
			continue;
		list[i].touched = false;
		list[i].idle_at = 0;
		check_places(&list[i]);
		check_room(&list[i], list[i].made);
		list[i].made = false;
	}
}

void judge_told(const struct job_id *id)
{
	for (unsigned k = 0; k < QUEUES; k++) {
		struct judged_job *j =
			strcmp(id->queue, queue_names[k]) == 0 ? find(k, id->uuid) : NULL;
		if (strcmp(id->queue, queue_names[k]) != 0)
			continue;
		if (!j)
			sim_violation("job %s was told as committed, and is not", id->uuid);
		else
			j->told = true;
	}
}

bool judge_has(const struct job_id *id)
{
	for (unsigned k = 0; k < QUEUES; k++) {
		const struct judged_job *j =
			strcmp(id->queue, queue_names[k]) == 0 ? find(k, id->uuid) : NULL;
		if (j)
			return j->exists;
	}
	return false;
}

bool judge_any(struct job_id *ret_id)
{
	if (n_jobs == 0)
		return false;
	*ret_id =
		list[random_range(n_jobs > 60 ? (int64_t)n_jobs - 60 : 0, (int64_t)n_jobs - 1)].id;
	return true;
}

/* --- at rest ----------------------------------------------------------------------------------------------- */

static bool is_served(unsigned queue)
{
	for (unsigned i = 0; i < sim.n_hosts; i++) {
		const struct member *m =
			sites[i].running ? registry_self(&sites[i].node.registry) : NULL;
		if (m && !m->drained && !m->twin && !sites[i].sick && !sites[i].stopping &&
		    simq_has(&sites[i], queue))
			return true;
	}
	return false;
}

/* Its process is looked for only at rest; where its supervisor was killed, its lease ends first. */
static bool is_stuck(struct judged_job *j)
{
	if (j->at == 0 || j->handled || simq_is_held(j->id.uuid))
		j->idle_at = 0;
	else if (j->idle_at == 0)
		j->idle_at = sim.now;
	if (j->idle_at == 0 || sim.now <= j->idle_at + STUCK_US)
		return false;
	TRACE("job %s of %s is %s at %s in session %lld, and nothing becomes of it", j->id.uuid,
	      j->id.queue, j->state, j->node, (long long)j->at_session);
	return true;
}

const char *judge_at_rest(void)
{
	bool far = sim.figures.faults[FAULT_SERVER_CLOCK] > 0 || sim.figures.faults[FAULT_WALL] > 0;
	int64_t bound = far ? STUCK_FAR_US : STUCK_US;
	int leader = servers_leader();

	if (leader < 0)
		return NULL;
	for (size_t i = 0; i < n_jobs; i++) {
		struct judged_job *j = &list[i];
		if (!j->exists || !is_served(j->queue))
			continue;
		if (is_stuck(j))
			return "a job is somebody's, and nothing becomes of it";
		if (strcmp(j->state, "queued") != 0 || j->due == 0 || j->handled)
			continue;
		if (j->due_ms + bound / MS < server_ms(&servers[leader]) &&
		    sim.now > states[j->queue].moved + bound)
			return "jobs wait, and nobody is given any";
	}
	return NULL;
}

void judge_forget(void)
{
	n_jobs = 0;
	memset(keys, 0, sizeof(keys));
	memset(states, 0, sizeof(states));
}

void judge_reset(void)
{
	judge_forget();
}
