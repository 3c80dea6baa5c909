#include "config/keys/task_form.h"

#include <string.h>

#include "base/text/name.h"
#include "config/keys/command_config.h"
#include "config/keys/health_config.h"
#include "base/text/worker.h"
#include "config/keys/ping_url.h"
#include "config/keys/queue_config.h"
#include "config/keys/schedule_config.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

/* In the order of enum election_yield, version_policy, task_on_crash and task_overlap. */
static const char *const yields[] = {"rank", "version", "never", NULL};
static const char *const version_policies[] = {"newest", "oldest", "any", NULL};
static const char *const on_crashes[] = {"skip", "rerun", NULL};
static const char *const overlaps[] = {"forbid", "allow", NULL};
static const char *const truths[] = {"false", "true", NULL};

static const struct setting_key keys[] = {
	{"description", SETTING_TEXT, NULL, "what the task is for", 0, 0, NULL},
	{"yield", SETTING_CHOICE, "rank",
	 "give it up to a newer version or a higher rank; version: to a newer version only; never",
	 0, 0, yields},
	{"rank-position", SETTING_INTEGER, NULL,
	 "rank by that random int of the workers; by default every task has a ranking of its own",
	 0, WORKER_RANDOM_INTS - 1, NULL},
	{"min-version", SETTING_TEXT, NULL, "workers with an older version are no candidates", 0, 0,
	 NULL},
	{"version-policy", SETTING_CHOICE, "newest",
	 "which version is the better one; oldest: the old one, until the last of it is gone; any: "
	 "all are equal",
	 0, 0, version_policies},
	{"partitions", SETTING_INTEGER, NULL,
	 "how many parts it is split into, each of which is led as a task is", TASK_PARTITIONS_MIN,
	 NAME_PARTITIONS_MAX, NULL},
	{"partition-limit", SETTING_INTEGER, NULL,
	 "the most partitions that one host leads while others may take more", 1,
	 NAME_PARTITIONS_MAX, NULL},
	{"partition-jobs", SETTING_INTEGER, NULL,
	 "runs of its partitions at a time on this host; by default its processors", 1,
	 NAME_PARTITIONS_MAX, NULL},
	{"spread", SETTING_TEXT, NULL,
	 "a name that tasks share which are spread evenly over the hosts", 0, 0, NULL},
	{"tick", SETTING_DURATION, "1m", "what the clock is rounded down to for the tick of a run",
	 TASK_TICK_MIN_MS, TASK_TICK_MAX_MS, NULL},
	{"wait", SETTING_DURATION, "10s", "how long a run that is not led here waits for its tick",
	 0, TASK_WAIT_MAX_MS, NULL},
	{"on-crash", SETTING_CHOICE, "skip",
	 "what becomes of a run whose node dies; rerun: another node takes it over", 0, 0,
	 on_crashes},
	{"overlap", SETTING_CHOICE, "forbid",
	 "a run while the one before it goes on here; allow: side by side; forbid: afterwards, if "
	 "that is within wait",
	 0, 0, overlaps},
	{"index", SETTING_CHOICE, "false",
	 "true: a run is told this node's number in the roster, ZKLEADER_INDEX", 0, 0, truths},
	{"hold-max", SETTING_DURATION, "24h", "how long a run may keep the task here",
	 TASK_HOLD_MIN_MS, TASK_HOLD_MAX_MS, NULL},
	{"users", SETTING_LIST, NULL, "local users who may run it, besides root and the like", 0, 0,
	 NULL},
	{"alert-after", SETTING_DURATION, NULL,
	 "with no run that ended well for so long it is overdue", TASK_ALERT_MIN_MS,
	 TASK_ALERT_MAX_MS, NULL},
	{"ping-url", SETTING_TEXT, NULL,
	 "where zkleader-notify tells of each run: its /start and its /STATUS get a POST", 0, 0,
	 NULL},
	{"keep-output", SETTING_CHOICE, "false",
	 "true: of what a run by zkleader run writes, its record keeps the end", 0, 0, truths},
	{"renamed-from", SETTING_TEXT, NULL,
	 "its former name, whose runs it takes over once no worker lists that", 0, 0, NULL},
	{"history", SETTING_INTEGER, "50", "run records kept", 1, TASK_HISTORY_MAX, NULL},
	{"schedule", SETTING_FIELDS, NULL,
	 "when it is due: five fields as in a crontab, @daily and the like, or every D", 0, 0,
	 NULL},
	{"timezone", SETTING_TEXT, NULL,
	 "of the schedule, as Europe/Berlin; by default that of zkleader.conf", 0, 0, NULL},
	{"command", SETTING_ARRAY, NULL,
	 "what zkleader-runner starts when it is due: a program and its arguments", 0, 0, NULL},
	COMMAND_KEYS,
	{"user", SETTING_TEXT, NULL, "the local user that the command runs as", 0, 0, NULL},
	{"catch-up", SETTING_CHOICE, "last",
	 "which of the ticks are run that came while nobody could run them", 0, 0,
	 schedule_catch_ups},
	{"catch-up-window", SETTING_DURATION, "1h", "older ones are not run any more", 0,
	 SCHEDULE_WINDOW_MAX_MS, NULL},
	{"splay", SETTING_DURATION, "0s", "start up to so much later, by the task's name", 0,
	 SCHEDULE_SPLAY_MAX_MS, NULL},
	{"timeout", SETTING_DURATION, NULL, "how long a run may take", SCHEDULE_TIMEOUT_MIN_MS,
	 SCHEDULE_WINDOW_MAX_MS, NULL},
	{"retries", SETTING_INTEGER, "0", "further attempts of a tick that failed", 0,
	 SCHEDULE_RETRIES_MAX, NULL},
	{"retry-delay", SETTING_DURATION, "30s", "before each of these", 0, SCHEDULE_SPLAY_MAX_MS,
	 NULL},
	HEALTH_KEYS,
};

/* --- defaults ------------------------------------------------------------- */

static bool is_own(const struct settings *s, const struct section *section, const char *key)
{
	const struct setting *setting = settings_get(s, section, key);

	return setting->line > 0 && !setting->inherited;
}

/* Leaves out the defaults that do not go together with what a task says itself. */
static bool takes(const struct settings *s, const struct section *section, const char *key)
{
	bool partitions = settings_get(s, section, "partitions")->line > 0;

	if (strcmp(key, "partition-limit") == 0 || strcmp(key, "partition-jobs") == 0)
		return partitions;
	if (strcmp(key, "spread") == 0)
		return !partitions && !is_own(s, section, "rank-position");
	if (strcmp(key, "rank-position") == 0)
		return !partitions && !is_own(s, section, "spread");
	return schedule_config_takes(s, section, key);
}

const struct settings_form task_form = {
	.keys = keys,
	.n_keys = sizeof(keys) / sizeof(keys[0]),
	.section = "task",
	.title_needed = TASK_NAME_FORM,
	.title_ok = name_is_task,
	.takes = takes,
	.next = &queue_config_form,
};

/* --- checks --------------------------------------------------------------- */

/* A section that is checked, and where its problems go. */
struct checking {
	const struct settings *settings;
	const struct section *section;
	struct problems *problems;
};

static const struct setting *get(const struct checking *m, const char *key)
{
	return settings_get(m->settings, m->section, key);
}

static void check_former_name(const struct checking *m)
{
	const struct setting *former = get(m, "renamed-from");
	const char *name = former->n ? former->values[0] : NULL;

	if (name && !name_is_task(name, strlen(name)))
		problems_add(
			m->problems, m->settings->file, former->line,
			"renamed-from: \"%.120s\" is no name of a task: that is " TASK_NAME_FORM,
			name);
	else if (name && strcmp(name, m->section->title) == 0)
		problems_add(m->problems, m->settings->file, former->line,
			     "renamed-from: \"%s\" is the name that it has: give its former name, "
			     "or leave it out",
			     name);
}

static void check_tick(const struct checking *m)
{
	const struct setting *tick = get(m, "tick");
	const char *file = m->settings->file;

	if (tick->n && tick->number % 1000 != 0)
		problems_add(
			m->problems, file, tick->line,
			"tick: \"%s\" is not a whole number of seconds, which a tick is named by",
			tick->values[0]);
	else if (tick->n && tick->number > 0 && DAY_MS % tick->number != 0)
		problems_warn(
			m->problems, file, tick->line,
			"tick: \"%s\" does not divide a day: ticks begin at other times of day "
			"every day",
			tick->values[0]);
}

/* Adds a problem: if needed, when the key is set without the other; else when both are set. */
static void check_pair(const struct checking *m, const char *key, const char *other, bool needed,
		       const char *why)
{
	const struct setting *setting = get(m, key);
	bool there = get(m, other)->line > 0;

	if (setting->line > 0 && there != needed)
		problems_add(m->problems, m->settings->file, setting->line, "%s: %s", key, why);
}

static void check_partitions(const struct checking *m)
{
	const struct setting *spread = get(m, "spread");

	check_pair(m, "partition-limit", "partitions", true,
		   "needs partitions, of which it is the limit: set partitions too, or leave it "
		   "out");
	check_pair(m, "partition-jobs", "partitions", true,
		   "needs partitions, whose runs it limits: set partitions too, or leave it out");
	check_pair(m, "rank-position", "partitions", false,
		   "goes not together with partitions, which are spread over the hosts: leave one "
		   "of them out");
	check_pair(m, "spread", "partitions", false,
		   "goes not together with partitions, which are spread evenly by themselves: "
		   "leave one of them out");
	if (spread->n && !name_is_task(spread->values[0], strlen(spread->values[0])))
		problems_add(m->problems, m->settings->file, spread->line,
			     "spread: \"%.120s\" is no name of a group: that is " TASK_NAME_FORM,
			     spread->values[0]);
	if (spread->n && get(m, "rank-position")->n)
		problems_warn(m->problems, m->settings->file, get(m, "rank-position")->line,
			      "rank-position: has no effect on a task with spread: leave one of "
			      "them out");
}

/* The URL may be a secret: no problem quotes it. */
static void check_ping(const struct checking *m)
{
	const struct setting *ping = get(m, "ping-url");

	if (ping->n && !ping_url_is_good(ping->values[0]))
		problems_add(m->problems, m->settings->file, ping->line,
			     "ping-url: is none: that is http:// or https:// and a host, up to %d "
			     "printable characters without blanks and without #",
			     PING_URL_MAX);
}

void task_form_check(const struct settings *s, const struct section *section,
		     struct problems *problems)
{
	const struct checking m = {s, section, problems};

	check_tick(&m);
	check_partitions(&m);
	check_former_name(&m);
	check_ping(&m);
	schedule_config_check(s, section, problems);
}
