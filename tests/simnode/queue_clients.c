/*
 * Clients of queues: submitters, which repeat what they were not answered, and supervisors, whose
 * processes live until they end, or until the lease that they were told of is over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/session/id.h"
#include "faults.h"
#include "oracle.h"
#include "simq.h"
#include "recipes.h"
#include "scenario.h"

#define HOLDERS_MAX 512
#define SUBMITS_MAX 256
#define AWAY_US	    (30 * SECOND)
#define AGAIN_US    (200 * MS)
#define HUNG_US	    (30 * SECOND) /* after which a runner that hangs counts as one that is away */

const char *const queue_names[QUEUES] = {"q-rerun", "q-skip", "q-rate", "q.small"};
struct queue_settings queue_settings[QUEUES];

static struct doer {
	enum { FREE, ASKING, RUNNING, ENDED } phase;
	uint64_t serial; /* of this use of the place */
	unsigned site;
	struct job_id id;
	uint64_t number;
	int64_t attempt, deadline_ms; /* its machine's CLOCK_BOOTTIME */
	int64_t since;
	bool connected, attaching, told, callback, lost;
	struct attempt_end what;
} holders[HOLDERS_MAX];
static uint64_t last_serial;

/* Attempts of jobs that are not to be run again, and whether their end was reported. */
static struct {
	char uuid[37];
	int64_t attempt;
	bool reported;
} begun[1 << 14];
static size_t n_begun;

static struct submit {
	bool used;
	uint64_t serial;
	struct job_id id;
	int64_t until; /* it is repeated until then */
	int64_t in_ms;
	char key[8];
	bool while_open;
	bool callback, lost;
	bool was_there; /* committed before it was asked for last */
} submits[SUBMITS_MAX];

static struct queues *node_of(const struct doer *h)
{
	return &sites[h->site].node.queues;
}

static int64_t boot_ms(const struct doer *h)
{
	return host_now_ms(machine_host(&machines[h->site]));
}

static bool is_alive(const struct doer *h)
{
	return h->phase == RUNNING && boot_ms(h) < h->deadline_ms;
}

static bool listens(const struct doer *h)
{
	return sites[h->site].running && !sites[h->site].parting &&
	       machine_listens(&machines[h->site]);
}

static void at(struct doer *h, int64_t in_us, event_fn fn)
{
	event_at(sim.now + in_us, fn, h, h->serial);
}

static void over(struct doer *h)
{
	bool connected = h->connected;

	h->phase = FREE;
	h->connected = false;
	h->serial = 0;
	if (connected && sites[h->site].running)
		queues_owner_gone(node_of(h), h);
	machine_wake(&machines[h->site], 0);
}

bool simq_alive(const char *uuid, int64_t *ret_attempt)
{
	for (const struct doer *h = holders; h < holders + HOLDERS_MAX; h++) {
		if (h->phase != RUNNING || h->callback || strcmp(h->id.uuid, uuid) != 0 ||
		    !is_alive(h) || oracle_has_shrunk(h->site) || h->lost)
			continue;
		*ret_attempt = h->attempt;
		return true;
	}
	return false;
}

bool simq_ended_by_others(const char *uuid, int64_t attempt)
{
	for (const struct doer *h = holders; h < holders + HOLDERS_MAX; h++)
		if (h->phase == ENDED && !h->callback && h->attempt == attempt &&
		    strcmp(h->id.uuid, uuid) == 0)
			return h->what.interrupted || h->what.timeout;
	return false;
}

bool simq_is_held(const char *uuid)
{
	for (const struct doer *h = holders; h < holders + HOLDERS_MAX; h++)
		if (h->phase != FREE && strcmp(h->id.uuid, uuid) == 0)
			return true;
	return false;
}

bool simq_goes_on(const struct site *s)
{
	for (const struct doer *h = holders; h < holders + HOLDERS_MAX; h++)
		if (h->phase == RUNNING && h->site == s->id && h->connected && is_alive(h) &&
		    !h->lost)
			return true;
	return false;
}

bool simq_crashed(const char *uuid, int64_t attempt)
{
	for (size_t i = n_begun; i-- > 0;)
		if (begun[i].attempt == attempt && strcmp(begun[i].uuid, uuid) == 0)
			return !begun[i].reported;
	return false;
}

static void note_begun(const struct doer *h)
{
	if (h->callback || n_begun == sizeof(begun) / sizeof(begun[0]))
		return;
	snprintf(begun[n_begun].uuid, sizeof(begun[0].uuid), "%s", h->id.uuid);
	begun[n_begun].reported = false;
	begun[n_begun++].attempt = h->attempt;
}

static void note_reported(const struct doer *h)
{
	for (size_t i = n_begun; i-- > 0 && !h->callback;)
		if (begun[i].attempt == h->attempt && strcmp(begun[i].uuid, h->id.uuid) == 0)
			begun[i].reported = true;
}

/* --- the end of a process ---------------------------------------------------------------------------------- */

static void on_done(void *arg, bool recorded)
{
	struct doer *h = arg;

	if (h->phase != ENDED || !h->told)
		return;
	sim.figures.jobs[recorded ? 2 : 3]++;
	h->connected = false;
	over(h);
}

static void attach(struct doer *h);

static void on_report(void *arg, uint64_t serial)
{
	struct doer *h = arg;
	const struct job_end end = {.what = h->what,
				    .retry_ms = random_chance(100) ? 1000 : -1,
				    .output = "output",
				    .len = 6};

	if (h->serial != serial || h->phase != ENDED)
		return;
	if (sim.now > h->since + AWAY_US) {
		over(h);
		return;
	}
	at(h, AGAIN_US, on_report);
	if (h->told || !listens(h))
		return;
	if (!h->connected) {
		attach(h);
	} else if (!h->attaching) {
		h->told = true;
		note_reported(h);
		if (!queues_finish(node_of(h), h, h->number, &end, on_done, h))
			over(h);
	}
	machine_wake(&machines[h->site], 0);
}

static void end(struct doer *h, struct attempt_end what, const char *why)
{
	TRACE("job %s: its process at site %u %s", h->id.uuid, h->site, why);
	h->phase = ENDED;
	h->since = sim.now;
	h->what = what;
	h->told = false;
	on_report(h, h->serial);
}

/* Every third job exits 0 on the signal that ends it: that status says nothing. */
static int ended_status(const struct doer *h)
{
	return h->serial % 3 == 0 ? 0 : 143;
}

static void cut(struct doer *h, const char *why)
{
	end(h, (struct attempt_end){.interrupted = true, .exit_status = ended_status(h)}, why);
}

static void on_end(void *arg, uint64_t serial)
{
	struct doer *h = arg;
	const struct attempt_end ok = {.exit_status = 0}, failed = {.exit_status = 1},
				 refused = {.answer = ATTEMPT_REFUSED, .exit_status = -1},
				 late = {.timeout = true, .exit_status = ended_status(h)};
	const struct attempt_end whats[] = {ok, ok, ok, ok, failed, failed, refused, late};

	if (h->serial != serial || !is_alive(h))
		return;
	if (machines[h->site].suspended)
		at(h, 300 * MS, on_end);
	else
		end(h, whats[random_range(0, 7)], "has ended");
}

static void on_deadline(void *arg, uint64_t serial)
{
	struct doer *h = arg;

	if (h->serial != serial || h->phase != RUNNING)
		return;
	if (is_alive(h))
		event_at(machine_when(&machines[h->site], h->deadline_ms), on_deadline, h, serial);
	else if (machines[h->site].suspended)
		at(h, 300 * MS, on_deadline);
	else
		cut(h, "is killed at the end of its lease");
}

/* Kills the job and its supervisor, or cuts their connection. */
static void on_accident(void *arg, uint64_t serial)
{
	struct doer *h = arg;

	if (h->serial != serial || machines[h->site].suspended)
		return;
	if (h->phase != RUNNING || random_chance(500)) {
		over(h);
		return;
	}
	h->connected = h->attaching = false;
	if (sites[h->site].running)
		queues_owner_gone(node_of(h), h);
}

static void on_cancel(void *arg, uint64_t serial)
{
	struct doer *h = arg;

	if (h->serial == serial && is_alive(h) && !machines[h->site].suspended)
		cut(h, "is ended, as it was cancelled");
}

void simq_on_cancel(void *site, void *owner, uint64_t number)
{
	struct doer *h = owner;

	(void)site;
	if (h->phase == RUNNING && h->number == number && random_chance(800))
		at(h, random_exp(100 * MS), on_cancel);
}

/* --- while it runs ----------------------------------------------------------------------------------------- */

static void on_attached(void *arg, const struct job_begun *b)
{
	struct doer *h = arg;

	if (!h->attaching || (h->phase != RUNNING && h->phase != ENDED) || !sites[h->site].running)
		return;
	h->attaching = false;
	if (b->yours) {
		h->number = b->number;
	} else if (h->phase == ENDED) {
		h->connected = false;
		over(h);
	} else {
		h->connected = false;
		h->deadline_ms = 0; /* TERM at once */
		on_deadline(h, h->serial);
	}
}

static void attach(struct doer *h)
{
	h->connected = h->attaching = true;
	queues_attach(node_of(h), h, &h->id, h->attempt, on_attached, h);
}

static void take_lease(struct doer *h, int64_t lease_ms)
{
	recipes_renewed(&sites[h->site], "a job", lease_ms);
	if (lease_ms > 0) {
		h->deadline_ms = boot_ms(h) + lease_ms;
		return;
	}
	h->connected &= lease_ms == 0;
	h->deadline_ms = 0;
	on_deadline(h, h->serial);
}

static void on_renew(void *arg, uint64_t serial)
{
	struct doer *h = arg;

	if (h->serial != serial || !is_alive(h))
		return;
	at(h, sim.timeout_ms * MS / 12, on_renew);
	if (sites[h->site].stopping)
		at(h, random_exp(SECOND), on_end);
	if (!listens(h) || machines[h->site].suspended)
		return;
	if (!h->connected)
		attach(h);
	else if (!h->attaching)
		take_lease(h, queues_renew(node_of(h), h, h->number));
	machine_wake(&machines[h->site], 0);
}

static void check_begin(const struct doer *h)
{
	for (const struct doer *o = holders; o < holders + HOLDERS_MAX; o++)
		if (o != h && strcmp(o->id.uuid, h->id.uuid) == 0 && o->callback == h->callback &&
		    is_alive(o) && !o->lost && !oracle_has_shrunk(o->site) && !h->callback)
			sim_violation("job %s has two attempts at a time: site %u begins",
				      h->id.uuid, h->site);
}

static void on_begun(void *arg, const struct job_begun *b)
{
	struct doer *h = arg;
	int64_t lease_ms;

	if (h->phase != ASKING || !h->connected || !sites[h->site].running)
		return;
	if (!b->yours) {
		h->connected = false;
		over(h);
		return;
	}
	h->number = b->number;
	h->attempt = b->attempt;
	h->callback = b->callback != NULL;
	lease_ms = queues_renew(node_of(h), h, h->number);
	note_begun(h);
	if (lease_ms <= 0) {
		cut(h, "is not begun");
		return;
	}
	h->deadline_ms = boot_ms(h) + lease_ms;
	h->phase = RUNNING;
	check_begin(h);
	sim.figures.jobs[0]++;
	TRACE("job %s: site %u begins attempt %lld, lease %lld ms", h->id.uuid, h->site,
	      (long long)h->attempt, (long long)lease_ms);
	at(h, random_exp(random_chance(100) ? 20 * SECOND : SECOND), on_end);
	event_at(machine_when(&machines[h->site], h->deadline_ms), on_deadline, h, h->serial);
	at(h, 50 * MS, on_renew);
	if (random_chance(100))
		at(h, random_exp(SECOND), on_accident);
}

static void on_ask(void *arg, uint64_t serial)
{
	struct doer *h = arg;

	if (h->serial != serial || h->phase != ASKING || h->connected)
		return;
	if (!listens(h)) {
		over(h); /* the runner hears of it again */
		return;
	}
	h->connected = true;
	queues_begin(node_of(h), h, &h->id, on_begun, h);
	machine_wake(&machines[h->site], 0);
}

bool simq_on_job(void *site, const char *queue, const struct job_id *id)
{
	struct site *s = site;
	struct doer *h = holders;

	(void)queue;
	if (random_chance(20) || simq_is_hung(s))
		return false; /* no runner is there */
	for (const struct doer *o = holders; o < holders + HOLDERS_MAX; o++)
		if (o->phase == ASKING && o->site == s->id && strcmp(o->id.uuid, id->uuid) == 0)
			return true;
	while (h < holders + HOLDERS_MAX && h->phase != FREE)
		h++;
	if (h == holders + HOLDERS_MAX || random_chance(50))
		return true;
	*h = (struct doer){.serial = ++last_serial, .phase = ASKING, .site = s->id, .id = *id};
	h->since = sim.now;
	/* A supervisor on a site that hangs asks when that wakes, whoever has the job by then. */
	at(h, random_exp(5 * MS) + (s->hung_until > sim.now ? s->hung_until - sim.now : 0), on_ask);
	return true;
}

bool simq_is_hung(const struct site *s)
{
	return s->hung_at > 0 && sim.now >= s->hung_at + HUNG_US && sim.now < s->hung_until;
}

int64_t simq_hangs_since(const struct site *s)
{
	return simq_is_hung(s) ? s->hung_at + HUNG_US : 0;
}

static void on_hung(void *arg, uint64_t number)
{
	struct site *s = arg;

	(void)number;
	if (sim.now >= s->hung_until)
		s->hung_at = s->hung_until = 0;
	TRACE("the runner of site %u %s", s->id, s->hung_at ? "hangs" : "goes on");
	if (s->running && !s->stopping)
		site_set_health(s);
}

static void hang_a_runner(struct site *s)
{
	if (s->hung_at > 0)
		return;
	TRACE("the runner of site %u is stopped", s->id);
	s->hung_at = sim.now;
	s->hung_until = sim.now + random_exp(HUNG_US);
	if (s->hung_until > sim.now + 3 * HUNG_US)
		s->hung_until = sim.now + 3 * HUNG_US;
	event_at(s->hung_until, on_hung, s, 0);
	if (s->hung_until > sim.now + HUNG_US)
		event_at(sim.now + HUNG_US, on_hung, s, 0);
}

/* --- submitters -------------------------------------------------------------------------------------------- */

static void on_submit(void *arg, uint64_t serial);

static void on_answer(void *arg, const struct job_answer *a)
{
	struct submit *s = arg;

	if (!s->used)
		return;
	sim.figures.submits[a->outcome == JOB_DONE ? 0 : a->outcome == JOB_UNKNOWN ? 2 : 1]++;
	if (a->outcome == JOB_DONE && !s->lost)
		judge_told(&a->id);
	if ((a->outcome == JOB_NOT_NOW || a->outcome == JOB_MISUSE) && s->was_there && !s->lost &&
	    judge_has(&s->id))
		sim_violation("job %s is committed, and its submitter is refused: %s", s->id.uuid,
			      a->why);
	/*
	 * The answer about a submit that was done is lost now and then on its way to the submitter.
	 */
	if ((a->outcome == JOB_UNKNOWN || (a->outcome == JOB_DONE && random_chance(200))) &&
	    sim.now < s->until && !s->lost) {
		event_at(sim.now + random_exp(2 * SECOND), on_submit, s, s->serial);
		return;
	}
	s->used = false;
}

static unsigned queue_number(const char *name)
{
	unsigned k = 0;

	while (strcmp(queue_names[k], name) != 0)
		k++;
	return k;
}

static void on_submit(void *arg, uint64_t serial)
{
	static const char payload[] = "\0\xff payload";
	struct submit *s = arg;
	struct site *site = recipes_any_site();
	const struct job_submit submit = {.id = &s->id,
					  .payload = payload,
					  .len = sizeof(payload),
					  .in_ms = s->in_ms,
					  .key = s->key[0] ? s->key : NULL,
					  .while_open = s->while_open,
					  .callback = s->callback ? "http://receiver/" : NULL,
					  .by = "user"};

	if (!s->used || s->serial != serial)
		return;
	if (!site || !simq_has(site, queue_number(s->id.queue))) {
		event_at(sim.now + SECOND, on_submit, s, serial);
		return;
	}
	s->was_there = judge_has(&s->id);
	queues_submit(&site->node.queues, &submit, on_answer, s);
	machine_wake(site->machine, 0);
}

bool simq_while_open(const char *uuid)
{
	for (const struct submit *s = submits; s < submits + SUBMITS_MAX; s++)
		if (strcmp(s->id.uuid, uuid) == 0)
			return s->while_open;
	return true;
}

static void submit_one(struct site *site, unsigned queue)
{
	struct submit *s = submits;
	char uuid[NAME_ID_MAX + 1];

	while (s < submits + SUBMITS_MAX && s->used)
		s++;
	if (s == submits + SUBMITS_MAX)
		return;
	*s = (struct submit){
		.used = true, .serial = ++last_serial, .until = sim.now + 300 * SECOND};
	for (size_t i = 0; i < 36; i++)
		uuid[i] = i == 8 || i == 13 || i == 18 || i == 23
				  ? '-'
				  : "0123456789abcdef"[random_range(0, 15)];
	uuid[36] = '\0';
	snprintf(s->id.queue, sizeof(s->id.queue), "%s", queue_names[queue]);
	s->id.minute = host_wall_ms(machine_host(site->machine)) / JOB_MINUTE_MS;
	snprintf(s->id.uuid, sizeof(s->id.uuid), "%.36s", uuid);
	s->in_ms = random_chance(200) ? random_range(0, random_chance(200) ? 180000 : 20000) : 0;
	s->callback = random_chance(100);
	if (random_chance(50))
		snprintf(s->key, sizeof(s->key), "key-%d", (int)random_range(0, 3));
	s->while_open = s->key[0] && random_chance(500);
	on_submit(s, s->serial);
}

/* --- people ------------------------------------------------------------------------------------------------- */

static void on_told(void *arg, const struct job_answer *answer)
{
	(void)arg, (void)answer;
}

static void on_view(void *arg, const struct queue_view *view)
{
	(void)arg, (void)view;
}

static void on_list(void *arg, const struct job_record *const *jobs, size_t n)
{
	(void)arg, (void)jobs, (void)n;
}

static void ask(struct site *s)
{
	struct queues *q = &s->node.queues;
	const char *queue = queue_names[random_range(0, QUEUES - 1)];
	struct job_id id;

	if (!judge_any(&id) || !simq_has(s, queue_number(queue)) ||
	    !simq_has(s, queue_number(id.queue)))
		return;
	switch (random_range(0, 9)) {
	case 0: queues_cancel(q, &id, "user", on_told, NULL); break;
	case 1: queues_requeue(q, &id, on_told, NULL); break;
	case 2: queues_view(q, queue, on_view, NULL); break;
	case 3: queues_dead(q, queue, random_chance(500) ? &id : NULL, on_list, NULL); break;
	case 4:
		if (random_chance(100))
			queues_requeue_all(q, queue, NULL, on_told, NULL);
		break;
	case 5:
		if (random_chance(300))
			queues_purge(q, queue, NULL, on_told, NULL);
		break;
	default: queues_read(q, &id, random_chance(300) ? 5000 : 0, NULL, on_told, NULL); break;
	}
}

/* A child of the folder at random, 0: there is none. */
static path_id any_child(const struct tree *t, path_id folder)
{
	const struct znode *node = folder ? tree_get(t, folder) : NULL;

	if (!node || node->n_children == 0)
		return 0;
	return node->children[random_range(0, (int64_t)node->n_children - 1)];
}

static void on_pointer_back(void *arg, uint64_t path)
{
	(void)arg;
	hand_delete((path_id)path);
}

/*
 * Changes the pointer of a job that is due or was given: it is deleted, or made unreadable until
 * the hand takes it away. What becomes of that job is not judged; all others go on.
 */
static void change_pointer_by_hand(void)
{
	const char *queue = queue_names[random_range(0, QUEUES - 1)];
	const struct tree *t = servers_tree();
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/jobs/%s/%s", queue,
		 random_chance(500) ? "due" : "at");
	path_id pointer = t ? any_child(t, any_child(t, path_intern(path))) : 0;
	if (!pointer)
		return;
	TRACE("%s is changed by hand", path_text(pointer));
	if (random_chance(500)) {
		hand_delete(pointer);
		return;
	}
	struct transaction *x = transaction_new(TRANSACTION_OPS, HAND, 1);
	x->ops[0] = (struct op){
		.type = STORE_OP_SET, .path = pointer, .version = -1, .data = blob_new("\xc1", 1)};
	event_at(sim.now + 5 * SECOND, on_pointer_back, NULL, pointer);
	servers_by_hand(x);
}

/* Somebody deletes what belongs to a queue by hand; its leader may not hear of it for a while. */
static void change_by_hand(void)
{
	const char *queue = queue_names[random_range(0, QUEUES - 1)];
	const struct tree *t = servers_tree();
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/leaders/%s", queue);
	const struct znode *node = t ? tree_get(t, path_intern(path)) : NULL;
	for (unsigned i = 0; node && i < sim.n_hosts; i++)
		if (sites[i].running && sites[i].node.session.id == node->stat.owner &&
		    !sites[i].machine->inbox.paused && random_chance(700))
			pause_site(&sites[i], false, fault_time());
	if (random_chance(200))
		snprintf(path, sizeof(path), SITE_ROOT "/jobs/%s/open", queue);
	TRACE("%s is deleted by hand", path);
	hand_delete(path_intern(path));
}

static bool is_paused(const char *queue)
{
	for (unsigned i = 0; i < sim.n_hosts; i++)
		if (sites[i].running && policy_find(&sites[i].node.policy, POLICY_PAUSE, queue, ""))
			return true;
	return false;
}

/* Until it is not paused any more, whatever becomes of an order, and however late one comes. */
static void on_resume(void *arg, uint64_t times)
{
	const char *queue = arg;

	order_pause(queue, false);
	if (times < 6 || !recipes_any_site() || is_paused(queue))
		event_at(sim.now + 8 * SECOND, on_resume, arg, times + 1);
}

static void pause_a_queue(void)
{
	const char *queue = queue_names[random_range(0, QUEUES - 1)];

	if (order_pause(queue, true))
		event_at(sim.now + random_exp(10 * SECOND), on_resume, (void *)(uintptr_t)queue, 0);
}

static void on_file_back(void *arg, uint64_t queue)
{
	struct site *s = arg;

	if (s->running && (s->stopping || !machine_listens(s->machine))) {
		event_at(sim.now + SECOND, on_file_back, s, queue);
		return;
	}
	s->queues |= UINT64_C(1) << queue;
	TRACE("site %u has queue %s again", s->id, queue_names[queue]);
	if (s->running)
		site_configure(s);
}

/* The file of a queue goes, and comes back by a reload of a sidecar whose session is up. */
void simq_take_file(struct site *s)
{
	unsigned k = (unsigned)random_range(0, QUEUES - 1);

	s->queues &= ~(UINT64_C(1) << k);
	TRACE("site %u has queue %s no more", s->id, queue_names[k]);
	if (s->running)
		site_configure(s);
	event_at(sim.now + random_exp(5 * SECOND), on_file_back, s, k);
}

static void on_use(void *arg, uint64_t number)
{
	struct site *s = recipes_any_site();
	int64_t n = random_chance(20) ? random_range(5, 40) : 1;
	bool floods = random_chance(10); /* the one that is full at 20 */

	(void)arg, (void)number;
	if (s && random_chance(300))
		ask(s);
	if (scenario_is_storm() && random_chance(30))
		change_by_hand();
	if (scenario_is_storm() && random_chance(30))
		change_pointer_by_hand();
	if (scenario_is_storm() && random_chance(20))
		pause_a_queue();
	if (s && !s->stopping && random_chance(10))
		simq_take_file(s);
	if (s && random_chance(3))
		hang_a_runner(s);
	for (int64_t i = 0; s && i < (floods ? 60 : n); i++)
		submit_one(s, floods ? QUEUES - 1 : (unsigned)random_range(0, QUEUES - 1));
	if (s)
		machine_wake(s->machine, 0);
	event_at(sim.now + random_exp(700 * MS), on_use, NULL, 0);
}

/* --- with the sidecars --------------------------------------------------------------------------------------- */

void simq_ended(const struct site *s)
{
	for (struct doer *h = holders; h < holders + HOLDERS_MAX; h++) {
		if (h->phase == FREE || h->site != s->id)
			continue;
		h->connected = h->attaching = h->told = false;
		h->since = sim.now;
		if (h->phase == ASKING)
			over(h);
	}
}

bool simq_has(const struct site *s, unsigned queue)
{
	return s->queues >> queue & 1;
}

size_t simq_list(const struct site *s, struct task_settings *ret)
{
	size_t n = 0;

	for (unsigned k = 0; k < QUEUES; k++) {
		if (!simq_has(s, k))
			continue;
		ret[n++] = (struct task_settings){.name = queue_names[k],
						  .yield = ELECTION_YIELD_RANK,
						  .rank_position = -1,
						  .tick_ms = 60000,
						  .wait_ms = 10000,
						  .hold_max_ms = 3600000,
						  .history = 10,
						  .version_policy =
							  k == 2 ? VERSION_ANY : VERSION_NEWEST,
						  .queue = &queue_settings[k]};
	}
	return n;
}

static void draw_settings(void)
{
	for (unsigned k = 0; k < QUEUES; k++)
		queue_settings[k] = (struct queue_settings){
			.slots = QUEUE_SLOTS,
			.assign = (enum queue_assign)random_range(0, 2),
			.concurrency = k == 1 ? 3 : 0,
			.rate = k == 2 ? 2 : 0,
			.rate_ms = k == 2 ? 20000 : 0,
			.attempts = k == 3 ? 1 : 3,
			.backoff_ms = 500,
			.backoff_max_ms = 4000,
			.rerun = k != 1 && k != 3,
			.timeout_ms = 60000,
			.keep_ms = random_chance(500) ? 600000 : 86400000,
			.keep_dead_ms = random_chance(500) ? 900000 : 7 * INT64_C(86400000),
			.max_queued = k == 3 ? 20 : 10000};
}

void simq_forget(void)
{
	judge_forget();
	for (struct doer *h = holders; h < holders + HOLDERS_MAX; h++)
		h->lost = true;
	for (struct submit *s = submits; s < submits + SUBMITS_MAX; s++)
		s->lost = true;
	n_begun = 0;
}

void simq_reset(void)
{
	memset(holders, 0, sizeof(holders));
	memset(submits, 0, sizeof(submits));
	last_serial = 0;
	n_begun = 0;
	draw_settings();
	judge_reset();
	if (sim.options.queues)
		event_at(random_range(SECOND, 5 * SECOND), on_use, NULL, 0);
}
