#include "config/keys/queue_config.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "base/text/worker.h"
#include "config/keys/callback_url.h"
#include "config/keys/health_config.h"
#include "config/keys/notify_config.h"
#include "config/keys/ping_url.h"
#include "config/text/words.h"

/* In the order of enum election_yield, of queue_assign, and of the bool rerun. */
static const char *const yields[] = {"rank", "version", "never", NULL};
static const char *const assigns[] = {"least", "round-robin", "random", NULL};
static const char *const on_crashes[] = {"skip", "rerun", NULL};
static const char *const policies[] = {"newest", "any", NULL};

static const struct setting_key keys[] = {
	{"description", SETTING_TEXT, NULL, "what the queue is for", 0, 0, NULL},
	{"user", SETTING_TEXT, NULL, "the local user that does the jobs", 0, 0, NULL},
	{"command", SETTING_ARRAY, NULL,
	 "what does a job: a program and its arguments; the payload is its standard input", 0, 0,
	 NULL},
	COMMAND_KEYS,
	{"url", SETTING_TEXT, NULL, "in place of a command: where the payload is posted to", 0, 0,
	 NULL},
	{"slots", SETTING_INTEGER, NULL,
	 "jobs at a time on this host; 0: it takes submits alone; by default its processors", 0,
	 QUEUE_SLOTS_MAX, NULL},
	{"assign", SETTING_CHOICE, "least",
	 "who of the newest version gets a job: the least loaded; round-robin; random", 0, 0,
	 assigns},
	{"version-policy", SETTING_CHOICE, "newest",
	 "which workers get jobs: those of the newest version alone; any: of all versions", 0, 0,
	 policies},
	{"min-version", SETTING_TEXT, NULL, "workers with an older version get no jobs", 0, 0,
	 NULL},
	{"concurrency", SETTING_INTEGER, NULL, "jobs at a time in the whole fleet", 1,
	 QUEUE_CONCURRENCY_MAX, NULL},
	{"rate", SETTING_TEXT, NULL, "jobs that may begin in the whole fleet within a time: 100/1m",
	 0, 0, NULL},
	{"attempts", SETTING_INTEGER, "5", "how often a job is tried", 1, QUEUE_ATTEMPTS_MAX, NULL},
	{"backoff", SETTING_DURATION, "5s",
	 "before the second attempt; twice as long before each further one", 0, QUEUE_BACKOFF_MAX,
	 NULL},
	{"backoff-max", SETTING_DURATION, "1h", "the most that it grows to", 0, QUEUE_BACKOFF_MAX,
	 NULL},
	{"on-crash", SETTING_CHOICE, "rerun",
	 "what becomes of a job whose worker dies; skip: it is lost", 0, 0, on_crashes},
	{"timeout", SETTING_DURATION, "1h", "how long an attempt may take", QUEUE_TIMEOUT_MIN,
	 QUEUE_TIMEOUT_MAX, NULL},
	{"keep", SETTING_DURATION, "1d", "how long the record of a job is kept after its end", 0,
	 QUEUE_KEEP_MAX, NULL},
	{"keep-dead", SETTING_DURATION, "7d", "how long that of a dead letter is", 0,
	 QUEUE_KEEP_MAX, NULL},
	{"max-queued", SETTING_INTEGER, "10000", "jobs that wait; more are refused", 1,
	 QUEUE_QUEUED_MAX, NULL},
	{"submitters", SETTING_LIST, NULL,
	 "local users of this host who may submit, besides root and the like", 0, 0, NULL},
	{"callback-allow", SETTING_LIST, NULL,
	 "where a submitter may have the end of a job posted to: URLs up to a / of their path", 0,
	 0, NULL},
	{"yield", SETTING_CHOICE, "rank",
	 "when its leader gives it up: to a newer version or a higher rank; version: to a newer "
	 "version only; never",
	 0, 0, yields},
	{"rank-position", SETTING_INTEGER, NULL,
	 "rank by that random int of the workers; by default every queue has a ranking of its own",
	 0, WORKER_RANDOM_INTS - 1, NULL},
	HEALTH_KEYS,
};

/* Keys that mean nothing without a command. */
static const char *const companions[] = {"environment", "directory"};

static bool takes(const struct settings *s, const struct section *section, const char *key)
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++)
		if (strcmp(companions[i], key) == 0)
			return settings_get(s, section, "command")->line > 0;
	return true;
}

const struct settings_form queue_config_form = {
	.keys = keys,
	.n_keys = sizeof(keys) / sizeof(keys[0]),
	.section = "queue",
	.title_needed = TASK_NAME_FORM,
	.title_ok = name_is_task,
	.takes = takes,
	.next = &notify_config_form,
};

/* --- checking --------------------------------------------------------------- */

/* Parses N/DURATION. */
static bool parse_rate(const char *text, unsigned *ret_rate, int64_t *ret_ms)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long n = digits > 0 && digits < 9 ? strtoul(text, NULL, 10) : 0;
	int64_t ms = 0;

	if (n < 1 || n > QUEUE_RATE_MAX || text[digits] != '/' ||
	    duration_parse(text + digits + 1, &ms) < 0 || ms < QUEUE_RATE_MIN_MS ||
	    ms > QUEUE_RATE_MAX_MS)
		return false;
	*ret_rate = (unsigned)n;
	*ret_ms = ms;
	return true;
}

static void check_work(const struct settings *s, const struct section *section,
		       struct problems *problems)
{
	const struct setting *command = settings_get(s, section, "command");
	const struct setting *url = settings_get(s, section, "url");
	const struct setting *slots = settings_get(s, section, "slots");
	bool submits_alone = slots->n && slots->number == 0;

	if (command->line > 0 && url->line > 0)
		problems_add(problems, s->file, url->line,
			     "url: goes not together with command: leave one of them out");
	if (url->n && !ping_url_is_good(url->values[0]))
		problems_add(problems, s->file, url->line,
			     "url: is none: that is http:// or https:// and a host, up to %d "
			     "printable characters without blanks and without #",
			     PING_URL_MAX);
	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
		const struct setting *one = settings_get(s, section, companions[i]);

		if (one->line > 0 && command->line == 0)
			problems_add(
				problems, s->file, one->line,
				"%s: means nothing without a command: set command too, or leave "
				"it out",
				companions[i]);
	}
	if (submits_alone)
		return;
	if (command->line == 0 && url->line == 0)
		problems_add(problems, s->file, section->line,
			     "queue: needs a command, which does its jobs, or a url, where they "
			     "are posted to; or slots = 0, where this host only takes submits");
	if (settings_get(s, section, "user")->line == 0)
		problems_add(problems, s->file, section->line,
			     "queue: needs a user, who does its jobs: user = \"...\"");
}

static void check_callbacks(const struct settings *s, const struct section *section,
			    struct problems *problems)
{
	const struct setting *allow = settings_get(s, section, "callback-allow");

	if (allow->n > QUEUE_CALLBACKS_MAX)
		problems_add(problems, s->file, allow->line,
			     "callback-allow: %zu entries, more than %d", allow->n,
			     QUEUE_CALLBACKS_MAX);
	for (size_t i = 0; i < allow->n; i++) {
		const char *why = callback_allow_problem(allow->values[i]);
		if (why)
			problems_add(problems, s->file, allow->line,
				     "callback-allow: \"%.200s\" is no beginning of a URL: %s",
				     allow->values[i], why);
	}
}

static void check_times(const struct settings *s, const struct section *section,
			struct problems *problems)
{
	static const char *const kept[] = {"keep", "keep-dead"};
	const struct setting *rate = settings_get(s, section, "rate");
	const struct setting *backoff = settings_get(s, section, "backoff");
	const struct setting *most = settings_get(s, section, "backoff-max");
	unsigned n;
	int64_t ms;

	if (rate->n && !parse_rate(rate->values[0], &n, &ms))
		problems_add(problems, s->file, rate->line,
			     "rate: \"%.100s\" is not how many jobs, up to %d, may begin within "
			     "which time, from 100ms to 30d: as \"100/1m\"",
			     rate->values[0], QUEUE_RATE_MAX);
	if (backoff->n && most->n && backoff->number > most->number)
		problems_warn(problems, s->file, backoff->line ? backoff->line : most->line,
			      "backoff: is longer than backoff-max, which counts");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const struct setting *keep = settings_get(s, section, kept[i]);
		if (keep->n && keep->number < QUEUE_KEEP_LEAST_MS)
			problems_warn(problems, s->file, keep->line,
				      "%s: records are kept for 10m at the least, as submitting "
				      "with the same id again is safe for so long",
				      kept[i]);
	}
}

void queue_config_check(const struct settings *s, const struct section *section,
			struct problems *problems)
{
	command_config_check(s, section, problems);
	check_work(s, section, problems);
	check_callbacks(s, section, problems);
	check_times(s, section, problems);
}

/* --- taking ----------------------------------------------------------------- */

static unsigned processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > QUEUE_SLOTS_MAX ? QUEUE_SLOTS_MAX : (unsigned)n;
}

static int64_t number(const struct settings *s, const struct section *section, const char *key)
{
	return settings_get(s, section, key)->number;
}

enum version_policy queue_config_policy(const struct settings *s, const struct section *section)
{
	return number(s, section, "version-policy") == 1 ? VERSION_ANY : VERSION_NEWEST;
}

struct queue_config *queue_config_take(const struct settings *s, const struct section *section)
{
	struct queue_config *c = mem_calloc(1, sizeof(*c));
	const struct setting *allow = settings_get(s, section, "callback-allow");
	const struct setting *slots = settings_get(s, section, "slots");
	const char *rate = settings_text(s, section, "rate");

	command_config_take(&c->command, s, section);
	c->url = word_copy(settings_text(s, section, "url"));
	c->rate = word_copy(rate);
	c->user = word_copy(settings_text(s, section, "user"));
	c->callback_allow = words_copy(allow->values, allow->n);
	c->n_callback_allow = allow->n;
	c->told = (struct queue_settings){
		.is_url = c->url != NULL,
		.slots = slots->n ? (unsigned)slots->number : processors(),
		.assign = (enum queue_assign)number(s, section, "assign"),
		.concurrency = settings_get(s, section, "concurrency")->n
				       ? (unsigned)number(s, section, "concurrency")
				       : 0,
		.attempts = (unsigned)number(s, section, "attempts"),
		.backoff_ms = number(s, section, "backoff"),
		.backoff_max_ms = number(s, section, "backoff-max"),
		.rerun = number(s, section, "on-crash") == 1,
		.timeout_ms = number(s, section, "timeout"),
		.keep_ms = number(s, section, "keep"),
		.keep_dead_ms = number(s, section, "keep-dead"),
		.max_queued = (unsigned)number(s, section, "max-queued"),
	};
	if (rate)
		parse_rate(rate, &c->told.rate, &c->told.rate_ms);
	return c;
}

struct queue_config *queue_config_copy(const struct queue_config *from)
{
	if (!from)
		return NULL;
	struct queue_config *to = mem_alloc(sizeof(*to));
	*to = *from;
	command_config_copy(&to->command, &from->command);
	to->url = word_copy(from->url);
	to->rate = word_copy(from->rate);
	to->user = word_copy(from->user);
	to->callback_allow = words_copy(from->callback_allow, from->n_callback_allow);
	return to;
}

static bool same_told(const struct queue_settings *a, const struct queue_settings *b)
{
	return a->is_url == b->is_url && a->slots == b->slots && a->assign == b->assign &&
	       a->concurrency == b->concurrency && a->rate == b->rate && a->rate_ms == b->rate_ms &&
	       a->attempts == b->attempts && a->backoff_ms == b->backoff_ms &&
	       a->backoff_max_ms == b->backoff_max_ms && a->rerun == b->rerun &&
	       a->timeout_ms == b->timeout_ms && a->keep_ms == b->keep_ms &&
	       a->keep_dead_ms == b->keep_dead_ms && a->max_queued == b->max_queued;
}

bool queue_config_equal(const struct queue_config *a, const struct queue_config *b)
{
	if (!a || !b)
		return a == b;
	return same_told(&a->told, &b->told) && command_config_equal(&a->command, &b->command) &&
	       word_same(a->url, b->url) && word_same(a->user, b->user) &&
	       words_same(a->callback_allow, a->n_callback_allow, b->callback_allow,
			  b->n_callback_allow);
}

void queue_config_free(struct queue_config *c)
{
	if (!c)
		return;
	command_config_done(&c->command);
	words_free(c->callback_allow, c->n_callback_allow);
	free(c->url);
	free(c->rate);
	free(c->user);
	free(c);
}
