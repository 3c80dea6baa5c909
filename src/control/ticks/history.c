#include "control/ticks/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/options.h"
#include "control/ask/refusal.h"
#include "control/ask/subject.h"
#include "node/ledger/ledger.h"
#include "node/node.h"
#include "node/notices/run_event.h"

#define TOGETHER    4		       /* ledgers that are read at a time */
#define ENTRIES_MAX 40000	       /* entries of an answer, in equal parts from each ledger */
#define OUTPUTS_MAX (16 * 1024 * 1024) /* bytes of outputs; the newest entries keep theirs */

/* A ledger that is read for a request. */
struct source {
	char name[NAME_ELECTION_MAX + 1];
	unsigned partition;
	bool is_partition;
	bool outputs;	/* the client may run the task, and so see its output */
	bool scheduled; /* its ticks are those of a schedule */
};

/* The options of a request. */
struct wanted {
	struct ledger_range range; /* of each ledger */
	bool no_outputs;
};

/* A request whose answer is outstanding. */
struct history {
	struct ask ask;
	struct wanted wanted;
	bool named; /* the request is about all partitions or tasks: each entry names its own */
	bool failed;
	struct source *sources;
	size_t n_ledgers, asked, answered;
	struct entry *entries;
	size_t n;
};

/* A ledger that is being read. */
struct part {
	struct history *history;
	const struct source *source;
};

struct entry {
	struct ledger_entry entry; /* its output is an owned copy */
	const struct source *source;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->entry.tick, y->entry.tick);

	return order ? order : (x->source > y->source) - (x->source < y->source);
}

const char *history_state(const struct registry *registry, struct run_record *record)
{
	const char *state = ledger_state(registry, record->state, record->session);

	if (strcmp(state, record->state) != 0)
		run_why_node(record);
	return state;
}

void history_pack_run(struct pack *p, const struct registry *registry, const char *tick,
		      const struct run_record *r, const char *output, size_t more)
{
	struct run_record why = *r;
	const char *state = history_state(registry, &why);

	pack_map(p, 12 + more + (why.why[0] ? 2 : 0));
	pack_kv_str(p, "tick", tick);
	pack_kv_str(p, "state", state);
	if (why.why[0]) {
		pack_kv_str(p, "why", why.why);
		pack_kv_str(p, "detail", why.detail);
	}
	pack_kv_str(p, "id", r->id);
	pack_kv_str(p, "hostname", r->hostname);
	pack_kv_str(p, "node", r->node[0] ? r->node : r->hostname);
	pack_kv_int(p, "token", r->token);
	pack_kv_int(p, "attempt", r->attempt);
	pack_kv_time(p, "started_at", r->started_at);
	pack_kv_time(p, "ended_at", r->ended_at);
	pack_kv_known(p, "exit_status", r->exit_status >= 0, r->exit_status);
	pack_kv_text(p, "by", r->by);
	pack_kv_strn(p, "output", output, r->output_len);
}

static void pack_entry(struct pack *p, const struct history *h, const struct entry *entry)
{
	const struct ledger_entry *e = &entry->entry;
	const struct source *s = entry->source;

	history_pack_run(p, &h->ask.methods->node->registry, e->tick, &e->record, e->output,
			 (!h->named	    ? 0U
			  : s->is_partition ? 2U
					    : 1U) +
				 e->cut + s->scheduled);
	if (e->cut)
		pack_kv_bool(p, "oldest_kept", true);
	if (s->scheduled)
		pack_kv_bool(p, "scheduled", true);
	if (!h->named)
		return;
	pack_kv_str(p, "task", s->name);
	if (s->is_partition)
		pack_kv_uint(p, "partition", s->partition);
}

/* Drops the outputs of the oldest entries if those of all are too long for an answer. */
static void drop_outputs(const struct history *h)
{
	size_t bytes = 0;

	for (size_t i = h->n; i > 0; i--) {
		struct ledger_entry *e = &h->entries[i - 1].entry;

		bytes += e->output ? e->record.output_len : 0;
		if (bytes <= OUTPUTS_MAX)
			continue;
		free(e->output);
		e->output = NULL;
	}
}

static void history_done(struct ask *a)
{
	struct history *h = (struct history *)a;

	for (size_t i = 0; i < h->n; i++)
		free(h->entries[i].entry.output);
	free(h->entries);
	free(h->sources);
}

static const struct ask_kind kind = {
	.size = sizeof(struct history), .asks = true, .done = history_done};

static void end_history(struct history *h)
{
	struct pack *p;

	if (h->failed) {
		ask_fail(&h->ask, RPC_CANNOT_TELL, "the ledger could not be read");
		return;
	}
	if (h->n > 0)
		qsort(h->entries, h->n, sizeof(*h->entries), compare_entries);
	drop_outputs(h);
	p = ask_result(&h->ask);
	pack_array(p, h->n);
	for (size_t i = 0; i < h->n; i++)
		pack_entry(p, h, &h->entries[i]);
	ask_end(&h->ask);
}

static void read_some(struct history *h);

/* The ledger lends the output: copies it if the client may see it. */
static void take_output(const struct source *s, struct ledger_entry *e)
{
	const char *told = e->output;

	e->output = NULL;
	if (!s->outputs || !told)
		return;
	e->output = mem_alloc(e->record.output_len);
	memcpy(e->output, told, e->record.output_len);
}

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct part *part = arg;
	struct history *h = part->history;
	size_t most = ENTRIES_MAX / h->n_ledgers;

	/* The newest entries come last. */
	for (size_t i = n > most && h->named ? n - most : 0; i < n; i++) {
		if (h->n % 64 == 0)
			h->entries = mem_resize(h->entries, h->n + 64, sizeof(*h->entries));
		h->entries[h->n] = (struct entry){entries[i], part->source};
		take_output(part->source, &h->entries[h->n++].entry);
	}
	h->failed |= !ok;
	h->answered++;
	free(part);
	if (h->failed || !h->ask.client)
		h->n_ledgers = h->asked; /* the other ledgers need not be read */
	if (h->answered == h->n_ledgers)
		end_history(h);
	else
		read_some(h);
}

static void read_some(struct history *h)
{
	while (h->asked < h->n_ledgers && h->asked - h->answered < TOGETHER) {
		struct part *part = mem_calloc(1, sizeof(*part));

		part->history = h;
		part->source = &h->sources[h->asked++];
		ledger_history(&h->ask.methods->node->leaders, part->source->name, &h->wanted.range,
			       on_history, part);
	}
}

/* Adds the ledger of that name, or for n > 0 the ledgers of the task's n partitions. */
static void add_sources(struct history *h, const char *name, size_t len, size_t n,
			const struct task_settings *settings)
{
	bool outputs = !h->wanted.no_outputs &&
		       refusal_spares(h->ask.client, settings->uids, settings->n_uids);
	size_t count = n > 0 ? n : 1;

	h->sources = mem_resize(h->sources, h->n_ledgers + count, sizeof(*h->sources));
	for (size_t k = 0; k < count; k++) {
		struct source *s = &h->sources[h->n_ledgers++];

		*s = (struct source){.partition = (unsigned)k,
				     .is_partition = n > 0,
				     .outputs = outputs,
				     .scheduled = settings->schedule != NULL};
		if (n > 0)
			snprintf(s->name, sizeof(s->name), "%.*s:%zu", (int)len, name, k);
		else
			snprintf(s->name, sizeof(s->name), "%.*s", (int)len, name);
	}
}

/* A new request; NULL after an error answer. */
static struct history *begin(struct call *call, const struct wanted *wanted, bool named)
{
	struct history *h;

	if (!call_has_session(call))
		return NULL;
	h = ask_new(call, &kind);
	h->wanted = *wanted;
	h->named = named;
	return h;
}

static void answer_subject(struct call *call, const struct wanted *wanted, const struct subject *s)
{
	const char *name = subject_name(s);
	size_t n = s->task ? 0 : s->listing->n;
	struct history *h = begin(call, wanted, n > 0);

	if (!h)
		return;
	add_sources(h, name, strlen(name), n, s->task ? s->task->settings : &s->listing->settings);
	read_some(h);
}

/*
 * Answers for any partition of a known task: the task may have had more partitions before. False:
 * the name is no such partition.
 */
static bool answer_partition(struct call *call, const struct wanted *wanted,
			     struct reader_text name)
{
	const struct listing *l;
	size_t len;

	if (!name_partition_parse(name.data, name.len, &len, NULL))
		return false;
	l = listings_find(&call->m->node->leaders, name.data, len);
	if (!l)
		return false;
	struct history *h = begin(call, wanted, false);
	if (!h)
		return true;
	add_sources(h, name.data, name.len, 0, &l->settings);
	read_some(h);
	return true;
}

/* Tasks whose number of partitions is not known yet are left out. */
static void answer_all(struct call *call, const struct wanted *wanted)
{
	const struct leaders *l = &call->m->node->leaders;
	struct history *h = begin(call, wanted, true);

	if (!h)
		return;
	for (size_t i = 0; i < l->n_listings; i++) {
		const struct listing *listing = l->listings[i];
		struct subject s = subject_of(l->listings[i]);

		if (s.task || listing->n > 0)
			add_sources(h, listing->name, strlen(listing->name),
				    s.task ? 0 : listing->n, &listing->settings);
	}
	if (h->n_ledgers == 0)
		end_history(h);
	else
		read_some(h);
}

/* Takes the map of options, the last parameter, if there is one. False after an error answer. */
static bool take_options(struct call *call, struct wanted *ret)
{
	static const struct key keys[] = {
		OPTION_READ(wanted, range.since, "since", options_read_tick, OPTIONS_TICK),
		OPTION_INT(wanted, range.most, "last", 1, ENTRIES_MAX, "a number from 1 to 40000"),
		OPTION_BOOL(wanted, no_outputs, "no_outputs"),
	};
	struct reader last = call->params;
	enum reader_type type = READER_NIL;
	const char *wrong;

	for (size_t i = 1; i < call->n_params; i++)
		reader_skip(&last);
	if (call->n_params == 0 || reader_peek(&last, &type) != 0 || type != READER_MAP)
		return call->n_params < 2 || call_misused(call);
	call->n_params--;
	wrong = options_read(&last, OPTIONS(keys), ret);
	return !wrong || call_refuse(call, wrong);
}

void history_method(struct call *call)
{
	struct subject s = {NULL, NULL};
	struct wanted wanted = {.no_outputs = false};
	struct reader first = call->params;
	struct reader_text name;

	if (!take_options(call, &wanted))
		return;
	if (call->n_params == 0)
		answer_all(call, &wanted);
	else if (reader_str(&first, &name) == 0 && answer_partition(call, &wanted, name))
		return;
	else if (subject_take(call, &s) && !s.task && s.listing->n == 0)
		methods_refuse_whole(call, s.listing);
	else if (s.task || s.listing)
		answer_subject(call, &wanted, &s);
}
