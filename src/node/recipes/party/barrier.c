/*
 * Barriers: the record has the last rounds with their members. A member without a command has
 * nothing to do once it was counted; one with a command is inside until it leaves, and the next
 * round opens when all have left.
 */
#include "node/recipes/party/barrier.h"

#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

static bool is_last(const struct party *p, uint64_t id)
{
	const struct barrier_record *r = p->rounds;

	for (size_t i = 0; r->n_rounds > 0 && i < r->sizes[0]; i++)
		if (r->ids[i] == id)
			return true;
	return false;
}

/* All members that were counted share one place. */
static int index_of(const struct party *p, uint64_t id)
{
	for (size_t i = 0; i < p->rounds->n_ids; i++)
		if (p->rounds->ids[i] == id)
			return 0;
	return -1;
}

/* Whether the member may have been counted in a round that the record no longer has. */
static bool is_forgotten(const struct party *p, const struct party_member *m)
{
	int64_t first = p->rounds->round - (int64_t)p->rounds->n_rounds + 1;

	return m->placed && (!p->there || p->czxid != m->czxid || first > m->round + 1);
}

/* --- next steps of a member ----------------------------------------------- */

/*
 * The member was counted. Without a command it is done, and a node of a repeated attempt is
 * deleted.
 */
static void be_counted(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	const struct party_answer answer = {.outcome = PARTY_OPENED,
					    .round = is_last(p, m->id) ? p->rounds->round : 0,
					    .count = m->count};

	m->round = answer.round;
	m->czxid = p->czxid;
	m->deadline_ms = INT64_MAX;
	party_move(m, m->kind != 'c' ? PARTY_ENDS : m->fn ? PARTY_RUNS : PARTY_LOSES);
	if (own && m->state != PARTY_RUNS)
		party_delete_node(p, own, PARTY_IN_ANY_CASE);
	else if (m->state != PARTY_RUNS) {
		party_tell(m, &answer);
		return;
	}
	party_tell_early(m, &answer);
}

static void end(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	static const struct party_answer forgotten = {
		.outcome = PARTY_FAILED,
		.why = "the barrier has forgotten whether it opened meanwhile"};

	if (!party_end(p, m, own))
		party_tell(m, m->fn && is_forgotten(p, m) ? &forgotten : &m->answer);
}

/* The first waiter's count is the barrier's. */
static unsigned wanted(const struct party *p)
{
	for (size_t i = 0; i < p->sight->n; i++)
		if (p->sight->tickets[i].index < 0)
			return p->sight->tickets[i].count;
	return 0;
}

static void look_waiting(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	unsigned count = own ? wanted(p) : m->count;

	if (p->refused) {
		m->answer = (struct party_answer){.outcome = PARTY_FAILED, .why = p->why};
	} else if (count != m->count) {
		m->answer = (struct party_answer){.outcome = PARTY_OTHER_COUNT, .count = count};
	} else if (own || !is_forgotten(p, m)) {
		if (!own && p->there && party_make_node(p, m, NULL)) {
			m->placed = true;
			m->round = p->rounds->round;
			m->czxid = p->czxid;
		}
		return;
	}
	end(p, m, own);
}

/* A random member of the last round that has not left; NULL: all have left. */
static const struct party_ticket *inside(const struct party *p)
{
	const struct party_ticket *found = NULL;
	uint64_t n = 0, random;

	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		if (t->kind != 'c' || !is_last(p, t->id))
			continue;
		host_random(p->all->session->host, &random, sizeof(random));
		if (random % ++n == 0)
			found = t;
	}
	return found;
}

static void look_leaving(struct party *p, struct party_member *m, const struct party_ticket *own)
{
	if (m->czxid == 0)
		m->czxid = p->czxid; /* made by the previous sidecar */
	if (own && !p->refused)
		party_delete_node(p, own, PARTY_IN_ANY_CASE);
	else if (!m->fn || !p->there || p->czxid != m->czxid || p->rounds->round != m->round ||
		 !inside(p))
		party_tell(m, &(struct party_answer){.outcome = PARTY_LEFT});
}

static void check(struct party *p, struct party_member *m)
{
	const struct party_ticket *own = party_node(p, m->id, true);

	if (!own && m->state != PARTY_WAITS)
		own = party_node(p, m->id, false);
	switch (m->state) {
	case PARTY_RUNS: break;
	case PARTY_LEAVES:
	case PARTY_LOSES: look_leaving(p, m, own); break;
	case PARTY_WAITS:
	case PARTY_ENDS:
		if (index_of(p, m->id) >= 0)
			be_counted(p, m, own);
		else if (m->state == PARTY_WAITS)
			look_waiting(p, m, own);
		else
			end(p, m, own);
		break;
	}
}

/* --- next steps of the barrier -------------------------------------------- */

/* The barrier stays closed while a member of an earlier round is inside. */
static void choose(const struct party *p, struct party_chosen *c)
{
	for (size_t i = 0; i < p->sight->n; i++)
		if (p->sight->tickets[i].kind == 'c' && p->sight->tickets[i].index >= 0)
			return;
	party_choose(p, c);
}

/* A member without a command has nothing more to do here: its node goes. */
static void open_round(struct party *p, const struct party_chosen *c)
{
	mem_auto struct barrier_record *record = mem_alloc(sizeof(*record));
	uint64_t ids[BARRIER_COUNT_MAX];
	struct party_ops o;

	*record = *p->rounds;
	for (size_t i = 0; i < c->n; i++)
		ids[i] = c->list[i]->id;
	barrier_record_open(record, ids, c->n);
	party_ops_init(&o, p, c->n + 1, false);
	party_ops_record(&o, STORE_OP_SET, p->version, record);
	for (size_t i = 0; i < c->n; i++)
		party_ops_node(&o, c->list[i]->kind == 'c' ? STORE_OP_CHECK : STORE_OP_DELETE,
			       c->list[i], NULL);
	party_ops_send(&o, party_on_done);
}

/* The first local member that waits for others to leave watches one of their nodes. */
static void decided(struct party *p)
{
	if (p->busy == 1)
		party_consider(p);
	if (p->busy > 1)
		return; /* the state is read again */
	const struct party_ticket *t = inside(p);
	for (struct party_member *m = p->members; m; m = m->next) {
		if (m->state != PARTY_LEAVES && m->state != PARTY_WAITS)
			continue;
		party_watch_end(m, t);
		t = NULL;
	}
}

/* An unused barrier is removed, unless a member has come or it has opened. */
static void on_removed(void *arg, const struct store_reply *reply)
{
	(void)reply;
	party_answered(arg);
}

static void sweep(struct party *p)
{
	struct party_ops o;

	if (!p->there || p->sight->n_names > 0 || p->refused)
		return;
	party_ops_init(&o, p, 2, true);
	party_ops_record(&o, STORE_OP_DELETE, p->version, NULL);
	party_ops_send(&o, on_removed);
}

static int pack(struct buffer *out, const void *record)
{
	return record_pack_barrier(out, record);
}

static int parse(const void *data, size_t len, void *ret_record, const char **ret_why)
{
	return record_parse_barrier(data, len, ret_record, ret_why);
}

const struct party_kind barrier_kind = {
	.word = "barrier",
	.refused = "barrier refused by the server",
	.strange = "barrier not understood",
	.foreign = "there is something else in the barrier's place",
	.folder = PATH_BARRIERS,
	.keep_ms = BARRIER_KEEP_MS,
	.orphan_ms = BARRIER_ORPHAN_MS,
	.record_size = sizeof(struct barrier_record),
	.record_max = RECORD_BARRIER_MAX,
	.pack = pack,
	.parse = parse,
	.index = index_of,
	.check = check,
	.decided = decided,
	.sweep = sweep,
	.choose = choose,
	.open = open_round,
};

/* --- from outside --------------------------------------------------------- */

/* The limit that the member exceeds; NULL: none. */
static const char *limit(const struct parties *all, const struct barrier_entry *e)
{
	char path[STORE_PATH_MAX];
	const char *why = party_limit(all);

	if (why)
		return why;
	/* Each path takes its version and header as well, see docs/SCALE.md. */
	path_of(all->registry->settings, PATH_BARRIERS, e->name, path);
	size_t len = strlen(path) + 1 + PARTY_NAME_MAX;
	if (len >= STORE_PATH_MAX || (len + 20) * e->count > BARRIER_PATHS_MAX)
		return "the root's path is too long for so many members";
	return NULL;
}

static struct party_member *member_of(struct parties *all, const struct barrier_entry *e,
				      party_fn fn, void *arg)
{
	struct party_member *m = party_add(party_get(all, e->name), e->id);

	m->fn = fn;
	m->arg = arg;
	m->count = e->count;
	m->kind = e->command ? 'c' : 'w';
	m->round = e->round;
	m->patient = true;
	holder_take(&m->held, e->owner);
	return m;
}

void barriers_enter(struct parties *all, const struct barrier_entry *e, party_fn fn, void *arg)
{
	struct party_answer no = {.outcome = PARTY_MISUSE, .why = limit(all, e)};

	if (!no.why && !session_is_up(all->session) && !e->again)
		no = (struct party_answer){.outcome = PARTY_FAILED, .why = SESSION_NONE};
	else if (!no.why && parties_know(all, e->name, e->id))
		no.why = "that member is there already";
	if (no.why) {
		fn(arg, &no);
		return;
	}
	struct party_member *m = member_of(all, e, fn, arg);
	if (e->timeout_ms >= 0)
		m->deadline_ms = host_now_ms(all->session->host) + e->timeout_ms;
	if (e->command && e->round > 0) {
		m->deadline_ms = INT64_MAX;
		party_move(m, PARTY_RUNS);
		party_tell_early(m, &(struct party_answer){.outcome = PARTY_OPENED,
							   .round = e->round,
							   .count = e->count});
	}
	party_changed(m->party);
}

void barriers_leave(struct parties *all, const char *name, uint64_t id, int64_t round, void *owner,
		    party_fn fn, void *arg)
{
	const struct barrier_entry left = {.name = name, .id = id, .round = round, .owner = owner};
	struct party_member *m = party_find(party_get(all, name), id);

	if (m && (m->state != PARTY_RUNS || m->fn)) {
		fn(arg, &(struct party_answer){.outcome = PARTY_MISUSE,
					       .why = "that member is not inside"});
		return;
	}
	if (!m) /* made by the previous sidecar */
		m = member_of(all, &left, NULL, NULL);
	holder_take(&m->held, owner);
	m->fn = fn;
	m->arg = arg;
	party_move(m, PARTY_LEAVES);
	party_changed(m->party);
}
