#include "config/tasks/taskfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "config/keys/ping_url.h"
#include "config/text/user_list.h"
#include "config/text/words.h"
#include "core/fleet/version_form.h"

#define DAY_MS	      (INT64_C(24) * 3600 * 1000)
#define QUEUE_TICK_MS 60000 /* a queue has no ticks, but the field has to have a value */

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
	{"renamed-from", SETTING_TEXT, NULL,
	 "its former name, whose runs it takes over once no worker lists that", 0, 0, NULL},
	{"history", SETTING_INTEGER, "50", "run records kept", 1, TASK_HISTORY_MAX, NULL},
	{"schedule", SETTING_TEXT, NULL,
	 "when it is due: five fields as in a crontab, @daily and the like, or every D", 0, 0,
	 NULL},
	{"timezone", SETTING_TEXT, NULL,
	 "of the schedule, as Europe/Berlin; by default that of zkleader.conf", 0, 0, NULL},
	{"command", SETTING_ARRAY, NULL,
	 "what zkleader-runner starts when it is due: a program and its arguments", 0, 0, NULL},
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

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const struct settings_form form = {
	.keys = keys,
	.n_keys = N_KEYS,
	.section = "task",
	.title_needed = TASK_NAME_FORM,
	.title_ok = name_is_task,
	.next = &queue_config_form,
};

/* --- one file ------------------------------------------------------------- */

/* A section that is read, and where its problems go. */
struct making {
	const struct settings *settings;
	const struct section *section;
	struct problems *problems;
	const char *path;
};

static const struct setting *get(const struct making *m, const char *key)
{
	return settings_get(m->settings, m->section, key);
}

static void check_texts(const struct making *m)
{
	const struct setting *description = get(m, "description");
	const struct setting *min_version = get(m, "min-version");
	const char *file = m->settings->file;

	if (description->n && strlen(description->values[0]) > TASK_DESCRIPTION_MAX)
		problems_add(m->problems, file, description->line,
			     "description: is over %d bytes long: shorten it",
			     TASK_DESCRIPTION_MAX);
	if (min_version->n &&
	    !name_is_version(min_version->values[0], strlen(min_version->values[0])))
		problems_add(
			m->problems, file, min_version->line,
			"min-version: \"%.100s\" is no version: that is up to %d characters of "
			"printable ASCII",
			min_version->values[0], NAME_VERSION_MAX);
	else if (min_version->n && version_form(min_version->values[0]) != VERSION_PLAIN)
		problems_warn(m->problems, file, min_version->line, "min-version: \"%.100s\" %s",
			      min_version->values[0],
			      version_form_text(version_form(min_version->values[0])));
}

static void check_former_name(const struct making *m)
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

static void check_tick(const struct making *m)
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
static void check_pair(const struct making *m, const char *key, const char *other, bool needed,
		       const char *why)
{
	const struct setting *setting = get(m, key);
	bool there = get(m, other)->line > 0;

	if (setting->line > 0 && there != needed)
		problems_add(m->problems, m->settings->file, setting->line, "%s: %s", key, why);
}

static void check_partitions(const struct making *m)
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

static unsigned number_of(const struct making *m, const char *key)
{
	return get(m, key)->n ? (unsigned)get(m, key)->number : 0;
}

/* The URL may be a secret: no problem quotes it. */
static void check_ping(const struct making *m)
{
	const struct setting *ping = get(m, "ping-url");

	if (ping->n && !ping_url_is_good(ping->values[0]))
		problems_add(m->problems, m->settings->file, ping->line,
			     "ping-url: is none: that is http:// or https:// and a host, up to %d "
			     "printable characters without blanks and without #",
			     PING_URL_MAX);
}

/* Sets what tasks and queues have in common; users_key: the key that says who may run it. */
static void take_common(struct task_config *t, const struct making *m, const char *users_key)
{
	const struct setting *users = get(m, users_key);

	t->name = mem_strdup(m->section->title);
	t->description = word_copy(settings_text(m->settings, m->section, "description"));
	t->yield = (enum election_yield)get(m, "yield")->number;
	t->rank_position = get(m, "rank-position")->n ? (int)get(m, "rank-position")->number : -1;
	t->min_version = word_copy(settings_text(m->settings, m->section, "min-version"));
	t->users = words_copy(users->values, users->n);
	t->n_users = users->n;
	t->users_line = users->line;
	t->file = mem_strdup(m->settings->file);
	t->line = m->section->line;
	health_config_take(&t->health, m->settings, m->section, m->path);
}

static struct task_config *make_task(const struct making *m)
{
	struct task_config *t = mem_calloc(1, sizeof(*t));

	take_common(t, m, "users");
	t->version_policy = (enum version_policy)get(m, "version-policy")->number;
	t->partitions = number_of(m, "partitions");
	t->partition_limit = number_of(m, "partition-limit");
	t->partition_jobs = number_of(m, "partition-jobs");
	t->spread = word_copy(settings_text(m->settings, m->section, "spread"));
	t->tick_ms = get(m, "tick")->number;
	t->wait_ms = get(m, "wait")->number;
	t->on_crash = (enum task_on_crash)get(m, "on-crash")->number;
	t->overlap = (enum task_overlap)get(m, "overlap")->number;
	t->index = get(m, "index")->number == 1;
	t->hold_max_ms = get(m, "hold-max")->number;
	t->alert_after_ms = get(m, "alert-after")->n ? get(m, "alert-after")->number : 0;
	t->ping_url = word_copy(settings_text(m->settings, m->section, "ping-url"));
	t->renamed_from = word_copy(settings_text(m->settings, m->section, "renamed-from"));
	t->history = (int)get(m, "history")->number;
	t->schedule = schedule_config_take(m->settings, m->section);
	return t;
}

/* A queue has an election like a task's, but no run by the clock. */
static struct task_config *make_queue(const struct making *m)
{
	struct task_config *t = mem_calloc(1, sizeof(*t));

	take_common(t, m, "submitters");
	t->version_policy = queue_config_policy(m->settings, m->section);
	t->tick_ms = QUEUE_TICK_MS;
	t->history = 1;
	t->hold_max_ms = TASK_HOLD_MIN_MS;
	t->queue = queue_config_take(m->settings, m->section);
	return t;
}

static bool is_notify(const struct section *section)
{
	return section->form == &notify_config_form;
}

/* A task's name and where it stands, for finding names that are there twice. */
struct place {
	const char *name, *kind;
	int line;
	size_t index; /* in the order of appearance */
};

static int by_name(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Tasks and queues share their names; notify has names of its own. */
static void check_duplicates(const struct settings *s, bool notify, struct problems *problems)
{
	struct place *places = mem_calloc(s->n + 1, sizeof(*places));
	size_t n = 0, first = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->sections[i].title && is_notify(&s->sections[i]) == notify)
			places[n++] = (struct place){.name = s->sections[i].title,
						     .kind = s->sections[i].form->section,
						     .line = s->sections[i].line,
						     .index = i};
	}
	qsort(places, n, sizeof(*places), by_name);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(places[first].name, places[i].name) != 0)
			first = i;
		else if (strcmp(places[first].kind, places[i].kind) != 0)
			problems_add(problems, s->file, places[i].line,
				     "%s \"%s\" has the name of the %s in line %d: give one of "
				     "them another",
				     places[i].kind, places[i].name, places[first].kind,
				     places[first].line);
		else
			problems_add(problems, s->file, places[i].line,
				     "%s \"%s\" is in line %d already: keep one of them",
				     places[i].kind, places[i].name, places[first].line);
	}
	free(places);
}

static bool is_queue(const struct making *m)
{
	return m->section->form == &queue_config_form;
}

static void check(const struct making *m)
{
	if (is_notify(m->section)) {
		notify_config_check(m->settings, m->section, m->problems);
		return;
	}
	const char *users = is_queue(m) ? "submitters" : "users";

	user_list_check(get(m, users), users, m->settings->file, m->problems);
	check_texts(m);
	health_config_check(m->settings, m->section, m->problems);
	if (is_queue(m)) {
		queue_config_check(m->settings, m->section, m->problems);
		return;
	}
	check_tick(m);
	check_partitions(m);
	check_former_name(m);
	check_ping(m);
	schedule_config_check(m->settings, m->section, m->problems);
}

int taskfile_load_all(const char *path, const char *shown, struct task_config ***ret_tasks,
		      size_t *ret_n, struct notify_configs *ret_notifies, struct problems *problems)
{
	size_t first = problems->n, total = problems->total, n = 0;
	struct task_config **tasks;
	struct settings settings;
	int r = settings_load(path, shown, &form, &settings, problems);

	if (r < 0)
		return r;
	for (size_t i = 0; i < settings.n; i++)
		check(&(struct making){&settings, &settings.sections[i], problems, path});
	check_duplicates(&settings, false, problems);
	check_duplicates(&settings, true, problems);
	if (problems->total > total) {
		problems_sort(problems, first);
		settings_done(&settings);
		return -EINVAL;
	}
	tasks = mem_calloc(settings.n + 1, sizeof(struct task_config *));
	for (size_t i = 0; i < settings.n; i++) {
		const struct making m = {&settings, &settings.sections[i], problems, path};

		if (is_notify(m.section))
			notify_configs_take(ret_notifies, &settings, m.section);
		else
			tasks[n++] = is_queue(&m) ? make_queue(&m) : make_task(&m);
	}
	*ret_n = n;
	*ret_tasks = tasks;
	settings_done(&settings);
	return 0;
}

int taskfile_load(const char *path, const char *shown, struct task_config ***ret_tasks,
		  size_t *ret_n, struct problems *problems)
{
	struct notify_configs notifies = {NULL, 0};
	int r = taskfile_load_all(path, shown, ret_tasks, ret_n, &notifies, problems);

	notify_configs_done(&notifies);
	return r;
}

void taskfile_free(struct task_config **tasks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		task_config_free(tasks[i]);
	free(tasks);
}

const struct setting_key *taskfile_keys(size_t *ret_n)
{
	*ret_n = N_KEYS;
	return keys;
}

const struct setting_key *taskfile_queue_keys(size_t *ret_n)
{
	*ret_n = queue_config_form.n_keys;
	return queue_config_form.keys;
}

const struct setting_key *taskfile_notify_keys(size_t *ret_n)
{
	*ret_n = notify_config_form.n_keys;
	return notify_config_form.keys;
}
