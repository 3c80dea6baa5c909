#include "daemon/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doing.h"
#include "base/log/log.h"
#include "base/log/notify.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "config/restart.h"
#include "config/tasks/notify_files.h"
#include "control/programs/runners.h"
#include "core/time/tick.h"
#include "daemon/zookeeper/zk.h"

static bool is_known_problem(const struct problem *known, size_t n, const struct problem *p)
{
	for (size_t i = 0; i < n; i++)
		if (known[i].line == p->line && strcmp(known[i].file, p->file) == 0 &&
		    strcmp(known[i].message, p->message) == 0)
			return true;
	return false;
}

static void set_problems(struct sidecar *s, struct problems *problems)
{
	for (size_t i = 0; i < problems->n; i++) {
		const struct problem *p = &problems->list[i];
		if (!is_known_problem(s->problems.list, s->problems.n, p))
			log_error("refused", LOG_STR("file", p->file), LOG_INT("line", p->line),
				  LOG_STR("why", p->message));
	}
	for (size_t i = 0; i < problems->n_warnings; i++) {
		const struct problem *p = &problems->warnings[i];
		if (!is_known_problem(s->problems.warnings, s->problems.n_warnings, p))
			log_warning("odd configuration", LOG_STR("file", p->file),
				    LOG_INT("line", p->line), LOG_STR("why", p->message));
	}
	if (problems->n == 0 && s->problems.n > 0)
		log_info("no problem is left in the configuration", LOG_END);
	problems_done(&s->problems);
	s->problems = *problems;
}

/* Adds a line to the answer for the client that asked for the reload. */
static void add_line(struct changes *changes, const char *what, const char *name)
{
	char line[400];
	int len = snprintf(line, sizeof(line), "%s %s\n", what, name);

	if (len > 0 && (size_t)len < sizeof(line))
		buffer_append(&changes->text, line, (size_t)len);
}

static void add_change(struct changes *changes, const char *what, const char *name)
{
	log_info("reloaded", LOG_STR("what", what), LOG_STR("name", name));
	add_line(changes, what, name);
}

/*
 * Adds the same change of several tasks. They share few lines of the log, since at a start it is
 * all tasks.
 */
static void add_changes(struct changes *changes, const char *what, const char *const *names,
			size_t n)
{
	size_t part;

	for (size_t i = 0; i < n; i++)
		add_line(changes, what, names[i]);
	for (size_t i = 0; i < n; i += part) {
		part = names_fit(names + i, n - i, LOG_LIST_MAX);
		log_info("reloaded", LOG_STR("what", what),
			 part == 1 ? LOG_STR("name", names[i]) : LOG_LIST("name", names + i, part));
	}
}

/* Compares the sections notify, file by file, as few files have any. */
static void compare_notifies(const struct task_files *was, const struct task_files *is,
			     struct changes *changes)
{
	static const struct notify_configs none = {NULL, 0};

	for (size_t i = 0; i < is->n; i++) {
		const struct notify_configs *before = &none;

		for (size_t j = 0; j < was->n; j++)
			if (strcmp(was->list[j].name, is->list[i].name) == 0)
				before = &was->list[j].notifies;
		if (!notify_configs_equal(before, &is->list[i].notifies))
			add_change(changes, "notify changed in:", is->list[i].name);
	}
}

static void tell_tasks(const struct reading *r, struct changes *changes)
{
	const struct task_changes *tasks = &r->tasks, *queues = &r->queues;

	add_changes(changes, "task removed:", tasks->removed, tasks->n_removed);
	add_changes(changes, "task added:", tasks->added, tasks->n_added);
	add_changes(changes, "task changed:", tasks->changed, tasks->n_changed);
	add_changes(changes, "queue removed:", queues->removed, queues->n_removed);
	add_changes(changes, "queue added:", queues->added, queues->n_added);
	add_changes(changes, "queue changed:", queues->changed, queues->n_changed);
}

/*
 * Tells which keys were changed that take effect only with a restart: the connection, the socket
 * and the registration were made from them.
 */
static void tell_restart_keys(const struct config *start, const struct config *now,
			      struct changes *changes)
{
	const char *keys[RESTART_KEYS_MAX];
	size_t n = restart_keys(start, now, keys);

	for (size_t i = 0; i < n; i++)
		add_change(changes, "takes effect with a restart:", keys[i]);
}

static bool users_differ(const struct config *a, const struct config *b)
{
	size_t i = 0;

	while (i < a->n_recipe_users && i < b->n_recipe_users &&
	       strcmp(a->recipe_users[i], b->recipe_users[i]) == 0)
		i++;
	return i < a->n_recipe_users || i < b->n_recipe_users;
}

/* Tells which keys take effect now, but for the version. */
static void tell_changed_keys(const struct config *was, const struct config *is,
			      struct changes *changes)
{
	const struct {
		const char *key;
		bool changed;
	} keys[] = {
		{"yield-delay", was->yield_delay_ms != is->yield_delay_ms},
		{"stop-wait", was->stop_wait_ms != is->stop_wait_ms},
		{"tick-guard", was->tick_guard_ms != is->tick_guard_ms},
		{"clock-tolerance", was->clock_tolerance_ms != is->clock_tolerance_ms},
		{"task-dir", config_text_differs(was->task_dir, is->task_dir)},
		{"version-file", config_text_differs(was->version_file, is->version_file)},
		{"version-strip", config_text_differs(was->version_strip, is->version_strip)},
		{"timezone", config_text_differs(was->timezone->name, is->timezone->name)},
		{"recipe-users", users_differ(was, is)},
		{"health", !health_config_equal(&was->health, &is->health)},
		{"log-level or log-format",
		 was->log_level != is->log_level || was->log_format != is->log_format},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].changed)
			add_change(changes, "changed:", keys[i].key);
}

/*
 * Watches other files if their paths have changed. They are read again once they are watched,
 * because they may have changed since their reading.
 */
static void watch_anew(struct sidecar *s, const struct config *config)
{
	bool dir = config_text_differs(s->config->task_dir, config->task_dir);
	bool version = config_text_differs(s->config->version_file, config->version_file);

	if (dir || version)
		files_watch(&s->files, config->task_dir, config->version_file);
}

static void apply_config(struct sidecar *s, struct config *config,
			 const struct zk_security *security, struct changes *changes)
{
	struct config *old = s->config;

	if (config_text_differs(old->version, config->version)) {
		log_info("version changed", LOG_STR("from", old->version),
			 LOG_STR("to", config->version));
		add_line(changes, "version changed:", config->version);
	}
	tell_changed_keys(old, config, changes);
	tell_restart_keys(s->start, config, changes);
	log_setup(config->log_level, config->log_format, getenv("JOURNAL_STREAM") != NULL);
	zk_log_detail(config->log_level == LOG_DEBUG);
	node_set_version(&s->node, config->version);
	watch_anew(s, config);
	/* The files of the start, which a reload reads again. */
	if (s->start->secure.tls && security->tls) {
		s->security.ca_ends = security->ca_ends;
		s->security.cert_ends = security->cert_ends;
	}
	s->config = config;
	s->process.config = config;
	if (old != s->start)
		config_free(old);
}

/* Sets the user as whom the runner starts the task; name: NULL if there is none. */
static void take_user(struct task_settings *t, struct users *users, const char *name, uid_t *uids)
{
	enum user_state state = name ? users_find(users, name, &t->user) : USER_MISSING;

	t->users_asked |= state == USER_ASKED;
	t->has_user = state == USER_THERE;
	/* Running the jobs of a queue gives a user no right to submit any. */
	if (t->has_user && !t->queue)
		uids[t->n_uids++] = t->user;
}

/*
 * The settings of a task. Fills uids with the users who may run it: at most one for each user that
 * its file names, and one for the user of its schedule.
 */
static struct task_settings settings_of(struct users *users, unsigned processors,
					const struct task_config *c, uid_t *uids)
{
	struct task_settings t = {.name = c->name,
				  .description = c->description,
				  .min_version = c->min_version,
				  .renamed_from = c->renamed_from,
				  .keys = c->keys,
				  .yield = c->yield,
				  .rank_position = c->rank_position,
				  .version_policy = c->version_policy,
				  .partitions = c->partitions,
				  .partition_limit = c->partition_limit,
				  .partition_jobs =
					  c->partition_jobs > 0 ? c->partition_jobs : processors,
				  .spread = c->spread,
				  .tick_ms = c->tick_ms,
				  .wait_ms = c->wait_ms,
				  .on_crash = c->on_crash,
				  .overlap = c->overlap,
				  .index = c->index,
				  .ping = c->ping_url != NULL,
				  .keep_output = c->keep_output,
				  .hold_max_ms = c->hold_max_ms,
				  .alert_after_ms = c->alert_after_ms,
				  .history = c->history,
				  .uids = uids};

	for (size_t i = 0; i < c->n_users; i++) {
		uid_t uid;
		switch (users_find(users, c->users[i], &uid)) {
		case USER_THERE: uids[t.n_uids++] = uid; break;
		case USER_ASKED: t.users_asked = true; break;
		case USER_MISSING: break;
		}
	}
	if (c->schedule)
		t.schedule = &c->schedule->told;
	if (c->queue)
		t.queue = &c->queue->told;
	take_user(&t, users, task_config_user(c), uids);
	return t;
}

static void find_recipe_users(struct sidecar *s)
{
	const struct config *c = s->config;
	struct recipe_users found = {.n = 0};

	for (size_t i = 0; i < c->n_recipe_users; i++) {
		uid_t uid;
		switch (users_find(&s->users, c->recipe_users[i], &uid)) {
		case USER_THERE: found.uids[found.n++] = uid; break;
		case USER_ASKED: found.asked = true; break;
		case USER_MISSING: break;
		}
	}
	s->recipe_users = found;
}

static void configure_node(struct sidecar *s, const struct task_config *const *tasks, size_t n)
{
	const struct node_timing timing = {.yield_delay_ms = s->config->yield_delay_ms,
					   .tick_guard_ms = s->config->tick_guard_ms,
					   .clock_tolerance_ms = s->config->clock_tolerance_ms};
	struct task_settings *settings = mem_calloc(n + 1, sizeof(*settings));
	/* one call for all tasks, as it asks the kernel */
	unsigned processors = uv_available_parallelism();
	size_t n_uids = 0;

	for (size_t i = 0; i < n; i++)
		n_uids += tasks[i]->n_users + 1;
	uid_t *uids = mem_calloc(n_uids + 1, sizeof(*uids)), *next = uids;
	for (size_t i = 0; i < n; i++) {
		settings[i] = settings_of(&s->users, processors, tasks[i], next);
		next += settings[i].n_uids;
	}
	node_configure(&s->node, &timing, settings, n);
	free(s->task_uids);
	s->task_uids = uids;
	free(settings);
}

static void configure_notices(struct sidecar *s, const struct task_files *files)
{
	size_t n;
	const struct notify_config **all = notify_configs_all(files, &n);
	struct notice_rule *rules = mem_calloc(n + 1, sizeof(*rules));

	for (size_t i = 0; i < n; i++)
		rules[i] = notify_config_rule(all[i]);
	node_set_notices(&s->node, rules, n);
	free(rules);
	free(all);
}

void reload_on_users(void *arg)
{
	struct sidecar *s = arg;
	size_t n;

	if (s->readings.ended)
		return;
	const struct task_config **tasks = task_files_tasks(&s->tasks, &n);
	configure_node(s, tasks, n);
	find_recipe_users(s);
	free(tasks);
	runners_look(&s->methods);
	control_resume(&s->control);
}

/* --- applying what was read ----------------------------------------------- */

static void apply_tasks(struct sidecar *s, struct reading *r, struct changes *changes)
{
	tell_tasks(r, changes);
	users_begin(&s->users);
	configure_node(s, r->is, r->n_is);
	find_recipe_users(s);
	health_apply(&s->health, s->config, r->is, r->n_is);
	compare_notifies(&s->tasks, &r->in_force, changes);
	task_files_done(&s->tasks);
	s->tasks = r->in_force;
	task_files_init(&r->in_force);
	configure_notices(s, &s->tasks);
	users_look_up(&s->users);
	runners_look(&s->methods);
}

/* Adds the problems of the main file, which was not read again. */
static void repeat_main(const struct sidecar *s, struct problems *problems)
{
	for (size_t i = 0; i < s->n_main_problems; i++) {
		const struct problem *p = &s->problems.list[i];
		problems_add(problems, p->file, p->line, "%s", p->message);
	}
	for (size_t i = 0; i < s->n_main_warnings; i++) {
		const struct problem *p = &s->problems.warnings[i];
		problems_warn(problems, p->file, p->line, "%s", p->message);
	}
}

static void apply_version(struct sidecar *s, struct reading *r)
{
	if (r->version) {
		if (strcmp(r->version, s->config->version) != 0)
			log_info("version changed", LOG_STR("from", s->config->version),
				 LOG_STR("to", r->version));
		free(s->config->version);
		s->config->version = r->version;
		r->version = NULL;
		node_set_version(&s->node, s->config->version);
	}
	/*
	 * Problems with the version-file are reported as problems of the main file. If there are
	 * any, or were before, all files are read again.
	 */
	if (r->problems.n + r->problems.n_warnings + s->n_main_problems + s->n_main_warnings > 0)
		readings_ask(&s->readings, READING_ALL, NULL, NULL);
}

static void apply_files(struct sidecar *s, struct reading *r, struct changes *changes)
{
	struct problems problems;

	problems_init(&problems);
	if (r->config) {
		apply_config(s, r->config, &r->security, changes);
		r->config = NULL;
	}
	if (r->what == READING_ALL) {
		s->n_main_problems = r->problems.n;
		s->n_main_warnings = r->problems.n_warnings;
		problems_append(&problems, &r->problems);
	} else {
		repeat_main(s, &problems);
	}
	problems_append(&problems, &r->of_tasks);
	apply_tasks(s, r, changes);
	changes->refused = problems.n > 0;
	set_problems(s, &problems);
	if (r->what == READING_ALL)
		notify_send("READY=1");
}

void reload_apply(void *arg, struct reading *r)
{
	struct sidecar *s = arg;
	struct changes changes = {.refused = false};
	const char *before = doing_begin("what was read from the files");

	buffer_init(&changes.text, RELOAD_TEXT_MAX);
	if (r->what == READING_VERSION)
		apply_version(s, r);
	else
		apply_files(s, r, &changes);
	if (r->fn)
		r->fn(r->arg, &changes);
	buffer_done(&changes.text);
	doing_end(before);
}

void reload_base(void *arg, struct reading_base *ret_base)
{
	const struct sidecar *s = arg;

	*ret_base = (struct reading_base){.config_file = s->config_file,
					  .start = s->start,
					  .config = s->config,
					  .tasks = &s->tasks};
}

/* --- reasons to read the files -------------------------------------------- */

void reload_at_start(struct sidecar *s, struct problems *problems)
{
	struct reading r = {.version = NULL};
	struct reading_base base;
	struct changes changes;

	reload_base(s, &base);
	reading_init(&r, READING_TASKS, &base);
	reading_work(&r);
	s->n_main_warnings = problems->n_warnings;
	buffer_init(&changes.text, RELOAD_TEXT_MAX);
	problems_append(problems, &r.of_tasks);
	apply_tasks(s, &r, &changes);
	buffer_done(&changes.text);
	set_problems(s, problems);
	reading_done(&r);
}

void reload_all(struct sidecar *s, process_reload_fn fn, void *arg)
{
	notify_send("RELOADING=1");
	readings_ask(&s->readings, READING_ALL, fn, arg);
}

void reload_on_tasks(void *arg)
{
	readings_ask(&((struct sidecar *)arg)->readings, READING_TASKS, NULL, NULL);
}

void reload_on_version(void *arg)
{
	readings_ask(&((struct sidecar *)arg)->readings, READING_VERSION, NULL, NULL);
}

void reload_on_hup(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;

	(void)number;
	if (s->stopping)
		return;
	log_info("reloading", LOG_STR("signal", "HUP"));
	reload_all(s, NULL, NULL);
}
