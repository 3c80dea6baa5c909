#include "config/tasks/task_zones.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/keys/schedule_config.h"
#include "config/keys/zone_file.h"

/* The zones that were loaded so far. */
struct zones {
	struct zone_file **list;
	size_t n;
};

/* The zone of that name; NULL: it cannot be loaded, and *why says so. */
static struct zone_file *find(struct zones *z, const char *name, const char **why)
{
	for (size_t i = 0; i < z->n; i++) {
		assert(z->list[i]);
		if (strcmp(z->list[i]->name, name) == 0)
			return z->list[i];
	}
	struct zone_file *zone = NULL;
	if (zone_file_load(name, &zone, why) < 0)
		return NULL;
	z->list = mem_resize(z->list, z->n + 1, sizeof(struct zone_file *));
	z->list[z->n++] = zone;
	return zone;
}

/*
 * Sets the zones of a file's schedules. False: a zone could not be loaded, although it could when
 * the file was checked.
 */
static bool set_zones(const struct config *config, const struct task_file *file, struct zones *z,
		      struct problems *problems)
{
	for (size_t i = 0; i < file->n_tasks; i++) {
		const struct task_config *t = file->tasks[i];
		struct schedule_config *s = t->schedule;
		const char *why = NULL;

		if (!s)
			continue;
		struct zone_file *zone =
			s->timezone ? find(z, s->timezone, &why) : config->timezone;
		if (zone) {
			schedule_config_set_zone(s, zone);
		} else if (s->timezone) {
			problems_add(problems, t->file, t->line, "timezone: \"%.100s\" %s",
				     s->timezone, why);
			return false;
		}
	}
	return true;
}

void task_zones_set(const struct config *config, struct task_files *files,
		    struct problems *problems)
{
	struct zones z = {.n = 0};

	for (size_t i = 0; i < files->n; i++)
		if (!set_zones(config, &files->list[i], &z, problems))
			task_file_refuse(&files->list[i]);
	for (size_t i = 0; i < z.n; i++)
		zone_file_unref(z.list[i]);
	free(z.list);
}
