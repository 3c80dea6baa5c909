#include "daemon/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/tick.h"
#include "config/restart.h"
#include "daemon/notify.h"
#include "daemon/zk.h"

static bool is_known_problem(const struct problem *known, size_t n, const struct problem *p)
{
	for (size_t i = 0; i < n; i++)
		if (known[i].line == p->line && strcmp(known[i].file, p->file) == 0 &&
		    strcmp(known[i].message, p->message) == 0)
			return true;
	return false;
}

void reload_set_problems(struct sidecar *s, struct problems *problems)
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

/* For who asked for the reload. */
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

/* Both lists are sorted by name. */
static void compare_tasks(const struct task_files *old, const struct task_files *new,
			  struct changes *changes)
{
	size_t n_old, n_new, i = 0, j = 0;
	const struct task_config **a = task_files_tasks(old, &n_old);
	const struct task_config **b = task_files_tasks(new, &n_new);

	while (i < n_old || j < n_new) {
		int order = i == n_old ? 1 : j == n_new ? -1 : strcmp(a[i]->name, b[j]->name);
		if (order < 0) {
			add_change(changes, "task removed:", a[i++]->name);
		} else if (order > 0) {
			add_change(changes, "task added:", b[j++]->name);
		} else {
			if (!task_config_equal(a[i], b[j]))
				add_change(changes, "task changed:", b[j]->name);
			i++, j++;
		}
	}
	free(a);
	free(b);
}

static bool text_differs(const char *a, const char *b)
{
	return (a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0);
}

/* The keys that the running connection, socket and registration were made from. */
static void tell_restart_keys(const struct config *start, const struct config *now,
			      struct changes *changes)
{
	const char *keys[RESTART_KEYS_MAX];
	size_t n = restart_keys(start, now, keys);

	for (size_t i = 0; i < n; i++)
		add_change(changes, "takes effect with a restart:", keys[i]);
}

static void apply_config(struct sidecar *s, struct config *config, struct changes *changes)
{
	struct config *old = s->config;

	if (text_differs(old->version, config->version)) {
		log_info("version changed", LOG_STR("from", old->version),
			 LOG_STR("to", config->version));
		add_line(changes, "version changed:", config->version);
	}
	if (old->yield_delay_ms != config->yield_delay_ms)
		add_change(changes, "changed:", "yield-delay");
	if (old->stop_wait_ms != config->stop_wait_ms)
		add_change(changes, "changed:", "stop-wait");
	if (old->tick_guard_ms != config->tick_guard_ms)
		add_change(changes, "changed:", "tick-guard");
	if (old->clock_tolerance_ms != config->clock_tolerance_ms)
		add_change(changes, "changed:", "clock-tolerance");
	if (text_differs(old->task_dir, config->task_dir))
		add_change(changes, "changed:", "task-dir");
	if (old->log_level != config->log_level || old->log_format != config->log_format)
		add_change(changes, "changed:", "log-level or log-format");
	tell_restart_keys(s->start, config, changes);
	log_setup(config->log_level, config->log_format, getenv("JOURNAL_STREAM") != NULL);
	zk_log_detail(config->log_level == LOG_DEBUG);
	node_set_version(&s->node, config->version);
	files_watch(&s->files, config->task_dir, config->version_file);
	s->config = config;
	s->process.config = config;
	if (old != s->start)
		config_free(old);
}

static struct task_settings settings_of(struct users *users, const struct task_config *c)
{
	struct task_settings t = {.name = c->name,
				  .description = c->description,
				  .min_version = c->min_version,
				  .yield = c->yield,
				  .rank_position = c->rank_position,
				  .oldest = c->oldest,
				  .tick_ms = c->tick_ms,
				  .wait_ms = c->wait_ms,
				  .on_crash = c->on_crash,
				  .overlap = c->overlap,
				  .hold_max_ms = c->hold_max_ms,
				  .history = c->history};

	for (size_t i = 0; i < c->n_users; i++) {
		uid_t uid;
		switch (users_find(users, c->users[i], &uid)) {
		case USER_THERE: t.uids[t.n_uids++] = uid; break;
		case USER_ASKED: t.users_asked = true; break;
		case USER_MISSING: break;
		}
	}
	return t;
}

static void configure_node(struct sidecar *s, const struct task_config *const *tasks, size_t n)
{
	const struct node_timing timing = {.yield_delay_ms = s->config->yield_delay_ms,
					   .tick_guard_ms = s->config->tick_guard_ms,
					   .clock_tolerance_ms = s->config->clock_tolerance_ms};
	struct task_settings *settings = mem_calloc(n + 1, sizeof(*settings));

	for (size_t i = 0; i < n; i++)
		settings[i] = settings_of(&s->users, tasks[i]);
	node_configure(&s->node, &timing, settings, n);
	free(settings);
}

void reload_on_users(void *arg)
{
	struct sidecar *s = arg;
	size_t n;
	const struct task_config **tasks = task_files_tasks(&s->tasks, &n);

	configure_node(s, tasks, n);
	free(tasks);
	control_resume(&s->control);
}

void reload_tasks(struct sidecar *s, struct problems *problems, struct changes *changes)
{
	struct task_files loaded, effective;

	task_files_init(&loaded);
	task_files_init(&effective);
	taskdir_load(s->config, &loaded, problems);
	taskdir_merge(&s->tasks, &loaded, &effective);
	task_files_done(&loaded);
	compare_tasks(&s->tasks, &effective, changes);
	size_t n;
	const struct task_config **tasks = task_files_tasks(&effective, &n);
	users_begin(&s->users);
	configure_node(s, tasks, n);
	health_apply(&s->health, s->config, tasks, n);
	free(tasks);
	task_files_done(&s->tasks);
	s->tasks = effective;
	users_look_up(&s->users);
}

void sidecar_reload(struct sidecar *s, struct changes *changes)
{
	struct problems problems;
	struct config *config = NULL;

	buffer_init(&changes->text, RELOAD_TEXT_MAX);
	problems_init(&problems);
	notify_send("RELOADING=1");
	if (config_load(s->config_file, s->start, &config, &problems) == 0)
		apply_config(s, config, changes);
	s->n_main_problems = problems.n;
	s->n_main_warnings = problems.n_warnings;
	reload_tasks(s, &problems, changes);
	changes->refused = problems.n > 0;
	reload_set_problems(s, &problems);
	notify_send("READY=1");
}

void reload_on_tasks(void *arg)
{
	struct sidecar *s = arg;
	struct changes changes;
	struct problems problems;

	/* What was wrong with the main file still is. */
	problems_init(&problems);
	for (size_t i = 0; i < s->n_main_problems; i++) {
		const struct problem *p = &s->problems.list[i];
		problems_add(&problems, p->file, p->line, "%s", p->message);
	}
	for (size_t i = 0; i < s->n_main_warnings; i++) {
		const struct problem *p = &s->problems.warnings[i];
		problems_warn(&problems, p->file, p->line, "%s", p->message);
	}
	buffer_init(&changes.text, RELOAD_TEXT_MAX);
	reload_tasks(s, &problems, &changes);
	buffer_done(&changes.text);
	reload_set_problems(s, &problems);
}

void reload_on_version(void *arg)
{
	struct sidecar *s = arg;
	struct changes changes;
	struct problems problems;
	char *version;

	problems_init(&problems);
	if (config_read_version(s->config, &version, &problems) == 0) {
		if (strcmp(version, s->config->version) != 0)
			log_info("version changed", LOG_STR("from", s->config->version),
				 LOG_STR("to", version));
		free(s->config->version);
		s->config->version = version;
		node_set_version(&s->node, version);
	}
	/*
	 * What is wrong with it is a problem of the main file, and what was wrong may be mended
	 * now.
	 */
	if (problems.n + problems.n_warnings + s->n_main_problems + s->n_main_warnings > 0) {
		sidecar_reload(s, &changes);
		buffer_done(&changes.text);
	}
	problems_done(&problems);
}

void reload_on_hup(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;
	struct changes changes;

	(void)number;
	if (s->stopping)
		return;
	log_info("reloading", LOG_STR("signal", "HUP"));
	sidecar_reload(s, &changes);
	buffer_done(&changes.text);
}
