#include "node/paths.h"

#include <stdio.h>

static const char *const folders[PATH_FOLDERS] = {[PATH_WORKERS] = "workers",
						  [PATH_LEADERS] = "leaders",
						  [PATH_POLICY] = "policy",
						  [PATH_RUNS] = "runs"};

void path_of(const struct node_settings *s, enum path_folder folder, const char *name,
	     char path[STORE_PATH_MAX])
{
	snprintf(path, STORE_PATH_MAX, "%s/%s%s%s", s->root, folders[folder], name ? "/" : "",
		 name ? name : "");
}

void path_of_tick(const struct node_settings *s, const char *task, const char *tick,
		  char path[STORE_PATH_MAX])
{
	snprintf(path, STORE_PATH_MAX, "%s/%s/%s%s%s", s->root, folders[PATH_RUNS], task,
		 tick ? "/" : "", tick ? tick : "");
}
