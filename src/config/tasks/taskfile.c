#include "config/tasks/taskfile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "config/keys/key_marks.h"
#include "config/keys/task_form.h"
#include "config/text/user_list.h"
#include "config/text/words.h"
#include "core/fleet/version_form.h"

#define QUEUE_TICK_MS 60000 /* a queue has no ticks, but the field has to have a value */

/* --- defaults ------------------------------------------------------------- */

/* The keys of tasks and queues that each has to have for itself. */
static const char *const without_default[] = {"description", "schedule", "command", "url",
					      "partitions"};

static struct setting_key default_keys[SETTINGS_KEYS_MAX];
static struct settings_form file_form = {
	.keys = default_keys, .section = "defaults", .is_defaults = true, .next = &task_form};
static once_flag file_form_made = ONCE_FLAG_INIT;

static bool may_have_default(const char *name)
{
	for (size_t i = 0; i < sizeof(without_default) / sizeof(without_default[0]); i++)
		if (strcmp(without_default[i], name) == 0)
			return false;
	return true;
}

/*
 * A key of both tasks and queues has the wider of their bounds. The tasks' choices hold those of
 * queues.
 */
static void add_default_key(const struct setting_key *key)
{
	for (size_t i = 0; i < file_form.n_keys; i++) {
		struct setting_key *known = &default_keys[i];

		if (strcmp(known->name, key->name) != 0)
			continue;
		known->min = key->min < known->min ? key->min : known->min;
		known->max = key->max > known->max ? key->max : known->max;
		return;
	}
	assert(file_form.n_keys < SETTINGS_KEYS_MAX);
	default_keys[file_form.n_keys] = *key;
	default_keys[file_form.n_keys++].preset = NULL;
}

static void make_file_form(void)
{
	for (const struct settings_form *f = &task_form; f; f = f->next)
		for (size_t i = 0; f->takes && i < f->n_keys; i++)
			if (may_have_default(f->keys[i].name))
				add_default_key(&f->keys[i]);
}

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

static unsigned number_of(const struct making *m, const char *key)
{
	return get(m, key)->n ? (unsigned)get(m, key)->number : 0;
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
	t->keys = key_marks(m->settings, m->section);
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
	t->keep_output = get(m, "keep-output")->number == 1;
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

static bool is_defaults(const struct section *section)
{
	return section->form->is_defaults;
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
	if (is_defaults(m->section))
		return; /* each value is checked in the sections that take it */
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
	task_form_check(m->settings, m->section, m->problems);
}

int taskfile_load_all(const char *path, const char *shown, struct task_config ***ret_tasks,
		      size_t *ret_n, struct notify_configs *ret_notifies, struct problems *problems)
{
	size_t first = problems->n, total = problems->total, n = 0;
	struct task_config **tasks;
	struct settings settings;
	int r;

	call_once(&file_form_made, make_file_form);
	r = settings_load(path, shown, &file_form, &settings, problems);
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

		if (is_defaults(m.section))
			continue;
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
	*ret_n = task_form.n_keys;
	return task_form.keys;
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

const char *taskfile_key_of(const char *mark)
{
	return key_marks_name(&task_form, mark);
}
