/* Paths of znodes; names of nodes as names of znodes, and back. */
#include <criterion/criterion.h>
#include <string.h>

#include "node/tree/paths.h"

static const struct node_settings settings = {.root = "/r"};

Test(paths, nodes_there_and_back)
{
	static const struct {
		const char *node, *path;
	} cases[] = {
		{"app-1", "/r/roster/app-1"},
		{"app.example.org", "/r/roster/app.example.org"},
		{"h:/run/z.sock", "/r/roster/h:%2Frun%2Fz.sock"},
		{".", "/r/roster/%2E"},
		{"..", "/r/roster/%2E."},
		{"100%", "/r/roster/100%25"},
		{"\xc3\xbc b", "/r/roster/%C3%BC%20b"},
	};
	char path[STORE_PATH_MAX], node[WORKER_NODE_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert(path_of_node(&settings, cases[i].node, path), "%s", cases[i].node);
		cr_expect_str_eq(path, cases[i].path);
		cr_assert(path_is_node(strrchr(path, '/') + 1, node), "%s", path);
		cr_expect_str_eq(node, cases[i].node);
	}
}

/* Each node has one name there, so that no two entries are of one node. */
Test(paths, what_is_no_node)
{
	static const char *const names[] = {"",	   "%",	  "%2", "%2f", "%zz",
					    "%41", "a/b", ".",	" ",   "%00"};
	char longest[WORKER_NODE_MAX + 2], path[STORE_PATH_MAX], node[WORKER_NODE_MAX + 1];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_not(path_is_node(names[i], node), "%s", names[i]);
	cr_expect_not(path_of_node(&settings, "", path));
	memset(longest, 'x', sizeof(longest));
	longest[WORKER_NODE_MAX + 1] = '\0';
	cr_expect_not(path_is_node(longest, node));
	longest[WORKER_NODE_MAX] = '\0';
	cr_expect(path_is_node(longest, node));
	memset(longest, '/', WORKER_NODE_MAX);
	cr_expect_not(path_of_node(&settings, longest, path), "three bytes for each");
}

/* --- folders --------------------------------------------------------------------------------------------- */

static const struct node_settings of_apps = {.root = "/apps/mine"};

Test(paths, folders_and_what_is_in_them)
{
	static const struct {
		enum path_folder folder;
		const char *name, *path;
	} cases[] = {
		{PATH_WORKERS, NULL, "/apps/mine/workers"},
		{PATH_WORKERS, "a", "/apps/mine/workers/a"},
		{PATH_LEADERS, "report", "/apps/mine/leaders/report"},
		{PATH_LEADERS, "", "/apps/mine/leaders/"}, /* which is no node's */
		{PATH_POLICY, "p", "/apps/mine/policy/p"},
		{PATH_RUNS, NULL, "/apps/mine/runs"},
	};
	char path[STORE_PATH_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		path_of(&of_apps, cases[i].folder, cases[i].name, path);
		cr_expect_str_eq(path, cases[i].path);
	}
}

Test(paths, ticks_are_in_a_folder_for_each_task)
{
	char path[STORE_PATH_MAX];

	path_of_tick(&of_apps, "report", NULL, path);
	cr_expect_str_eq(path, "/apps/mine/runs/report");
	path_of_tick(&of_apps, "report", "2026-11-20T02:00:00Z", path);
	cr_expect_str_eq(path, "/apps/mine/runs/report/2026-11-20T02:00:00Z");
}

/* The longest that a configuration allows. */
Test(paths, the_longest_fits)
{
	char root[255 + 1], task[NAME_TASK_MAX + 1], path[STORE_PATH_MAX];
	struct node_settings s = {.root = root};

	memset(root, 'r', sizeof(root) - 1);
	root[0] = '/';
	root[sizeof(root) - 1] = '\0';
	memset(task, 't', sizeof(task) - 1);
	task[sizeof(task) - 1] = '\0';
	path_of_tick(&s, task, "2026-11-20T02:00:00Z", path);
	cr_expect_eq(strlen(path), strlen(root) + strlen("/runs/") + strlen(task) + 1 + 20);
}

Test(paths, what_is_behind_a_folder)
{
	static const struct {
		const char *path, *behind;
	} cases[] = {
		{"/apps/mine/leaders/report", "report"},
		{"/apps/mine/leaders/a/b", "a/b"},
		{"/apps/mine/leaders/", ""},
		{"/apps/mine/leaders", NULL},
		{"/apps/mine/leaders2/report", NULL},
		{"/apps/mine/led/report", NULL},
		{"/apps/mine2/leaders/report", NULL},
		{"/apps/mine", NULL},
		{"/apps", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *behind = path_behind(&of_apps, PATH_LEADERS, cases[i].path);
		cr_expect_eq(behind == NULL, cases[i].behind == NULL, "%s", cases[i].path);
		if (behind && cases[i].behind)
			cr_expect_str_eq(behind, cases[i].behind);
	}
}

/* A gang's ticket needs room for the number that the server appends. */
Test(paths, what_fits_into_a_path)
{
	char root[STORE_PATH_MAX], path[STORE_PATH_MAX];
	const struct node_settings deep = {.root = root};
	const size_t rest = strlen("/gangs/g/name");

	root[0] = '/';
	memset(root + 1, 'r', sizeof(root) - 1);
	root[STORE_PATH_MAX - 1 - rest] = '\0';
	cr_expect(path_in_party(&deep, PATH_GANGS, "g", "name", NULL, path));
	cr_expect_eq(strlen(path), STORE_PATH_MAX - 1);
	cr_expect_not(path_in_party(&deep, PATH_GANGS, "g", "names", NULL, path),
		      "a byte too long");
	cr_expect_not(path_in_party(&deep, PATH_GANGS, "g", "name", "k", path),
		      "no room for a key");
	root[STORE_PATH_MAX - 1 - rest - strlen("k-0123456789")] = '\0';
	cr_expect(path_in_party(&deep, PATH_GANGS, "g", "name", "k", path));
	cr_expect_str_eq(path + strlen(root), "/gangs/g/namek-");
	cr_expect_not(path_in_party(&deep, PATH_GANGS, "g", "name", "kk", path),
		      "no room for the number");
	path_of(&deep, PATH_LEADERS, "0123456789012345678", path);
	cr_expect_eq(strlen(path), STORE_PATH_MAX - 1, "cut off, not overrun");
}
