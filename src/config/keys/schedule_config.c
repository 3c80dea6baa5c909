#include "config/keys/schedule_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/text/words.h"

const char *const schedule_catch_ups[] = {"none", "last", "all", NULL};

/* Keys that mean nothing without a schedule. */
static const char *const companions[] = {"timezone", "command",	 "environment",	    "directory",
					 "user",     "catch-up", "catch-up-window", "splay",
					 "timeout",  "retries",	 "retry-delay"};

/* --- checking --------------------------------------------------------------- */

static void check_schedule(const struct settings *s, const struct section *section,
			   struct problems *problems)
{
	const struct setting *setting = settings_get(s, section, "schedule");
	const char *task = section->title ? section->title : "";
	struct schedule_error error;
	struct schedule parsed;

	if (!setting->n || schedule_parse(setting->values[0], task, &parsed, &error) == 0)
		return;
	problems_add(problems, s->file, setting->line, "schedule: \"%.200s\": %s, at \"%.40s\"",
		     setting->values[0], error.why, setting->values[0] + error.at);
}

static void check_zone(const struct settings *s, const struct section *section,
		       struct problems *problems)
{
	const struct setting *setting = settings_get(s, section, "timezone");
	struct zone_file *zone = NULL;
	const char *why;

	if (setting->n && zone_file_load(setting->values[0], &zone, &why) < 0)
		problems_add(problems, s->file, setting->line, "timezone: \"%.100s\" %s",
			     setting->values[0], why);
	zone_file_unref(zone);
}

static bool is_companion(const char *key)
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++)
		if (strcmp(companions[i], key) == 0)
			return true;
	return false;
}

bool schedule_config_takes(const struct settings *s, const struct section *section, const char *key)
{
	return settings_get(s, section, "schedule")->line > 0 || !is_companion(key);
}

void schedule_config_check(const struct settings *s, const struct section *section,
			   struct problems *problems)
{
	const struct setting *schedule = settings_get(s, section, "schedule");

	check_schedule(s, section, problems);
	check_zone(s, section, problems);
	command_config_check(s, section, problems);
	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
		const struct setting *one = settings_get(s, section, companions[i]);

		if (one->line > 0 && schedule->line == 0)
			problems_add(problems, s->file, one->line,
				     "%s: means nothing without a schedule: set schedule too, or "
				     "leave it out",
				     companions[i]);
	}
	if (schedule->line > 0 && settings_get(s, section, "command")->line == 0)
		problems_add(problems, s->file, schedule->line,
			     "schedule: needs a command, which is run when it is due: command = "
			     "{\"/path/of/program\", \"argument\"}");
	if (schedule->line > 0 && settings_get(s, section, "user")->line == 0)
		problems_add(problems, s->file, schedule->line,
			     "schedule: needs a user, whom the command runs as: user = \"...\"");
}

/* --- taking ----------------------------------------------------------------- */

struct schedule_config *schedule_config_take(const struct settings *s,
					     const struct section *section)
{
	const char *text = settings_text(s, section, "schedule");
	struct schedule_error error;
	struct schedule schedule;

	if (!text || schedule_parse(text, section->title, &schedule, &error) < 0)
		return NULL;
	struct schedule_config *c = mem_calloc(1, sizeof(*c));
	c->schedule = schedule;
	c->text = mem_strdup(text);
	c->timezone = word_copy(settings_text(s, section, "timezone"));
	command_config_take(&c->command, s, section);
	c->user = word_copy(settings_text(s, section, "user"));
	c->catch_up = (enum owed_catch_up)settings_get(s, section, "catch-up")->number;
	c->window_ms = settings_get(s, section, "catch-up-window")->number;
	c->splay_ms = settings_get(s, section, "splay")->number;
	c->timeout_ms = settings_get(s, section, "timeout")->n
				? settings_get(s, section, "timeout")->number
				: 0;
	c->retries = settings_get(s, section, "retries")->number;
	c->retry_delay_ms = settings_get(s, section, "retry-delay")->number;
	return c;
}

/* Makes `told` point to the fields of this copy. */
static void tell(struct schedule_config *c)
{
	c->told = (struct task_schedule){.text = c->text,
					 .timezone = c->zone->name,
					 .schedule = &c->schedule,
					 .zone = c->zone->zone,
					 .catch_up = c->catch_up,
					 .window_ms = c->window_ms,
					 .splay_ms = c->splay_ms,
					 .timeout_ms = c->timeout_ms,
					 .retries = c->retries,
					 .retry_delay_ms = c->retry_delay_ms};
}

void schedule_config_set_zone(struct schedule_config *c, struct zone_file *zone)
{
	zone_file_ref(zone);
	zone_file_unref(c->zone);
	c->zone = zone;
	tell(c);
}

struct schedule_config *schedule_config_copy(const struct schedule_config *from)
{
	if (!from)
		return NULL;
	struct schedule_config *to = mem_alloc(sizeof(*to));
	*to = *from;
	to->text = word_copy(from->text);
	to->timezone = word_copy(from->timezone);
	to->user = word_copy(from->user);
	command_config_copy(&to->command, &from->command);
	zone_file_ref(to->zone);
	if (to->zone)
		tell(to);
	return to;
}

static bool same_zone(const struct zone_file *a, const struct zone_file *b)
{
	return a && b ? strcmp(a->name, b->name) == 0 &&
				zone_digest(a->zone) == zone_digest(b->zone)
		      : a == b;
}

bool schedule_config_equal(const struct schedule_config *a, const struct schedule_config *b)
{
	if (!a || !b)
		return a == b;
	return command_config_equal(&a->command, &b->command) && word_same(a->text, b->text) &&
	       word_same(a->timezone, b->timezone) && same_zone(a->zone, b->zone) &&
	       word_same(a->user, b->user) && a->catch_up == b->catch_up &&
	       a->window_ms == b->window_ms && a->splay_ms == b->splay_ms &&
	       a->timeout_ms == b->timeout_ms && a->retries == b->retries &&
	       a->retry_delay_ms == b->retry_delay_ms;
}

void schedule_config_free(struct schedule_config *c)
{
	if (!c)
		return;
	command_config_done(&c->command);
	free(c->text);
	free(c->timezone);
	free(c->user);
	zone_file_unref(c->zone);
	free(c);
}
