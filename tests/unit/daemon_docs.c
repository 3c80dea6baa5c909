/*
 * The example files and the manual pages say of each key what the program does. Runs from the root of
 * the repository.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/duration.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/text/settings.h"
#include "config/tasks/taskfile.h"
#include "config/text/textfile.h"

#define DOCUMENT_MAX (1024 * 1024) /* bytes */
#define LINE_MAX_LEN 256

TestSuite(docs, .timeout = 60);

/* A kind of file, with the documents about it. */
static const struct document {
	const struct setting_key *(*keys)(size_t *ret_n);
	const char *example;
	const char *manual;
} documents[] = {
	{config_keys, "docs/zkleader.conf", "docs/man/zkleader.conf.5"},
	{taskfile_keys, "conf.d/example.conf", "docs/man/zkleader-task.5"},
	{taskfile_queue_keys, "docs/queue.conf", "docs/man/zkleader-queue.5"},
	{taskfile_notify_keys, "docs/notify.conf", "docs/man/zkleader-notify.8"},
};

#define N_DOCUMENTS (sizeof(documents) / sizeof(documents[0]))

static char *read_document(const char *path)
{
	char *text = NULL;
	size_t len = 0;
	int r = textfile_read(path, DOCUMENT_MAX, &text, &len, NULL);

	cr_assert(r == 0 && len > 0, "%s %s: the tests run from the root of the repository", path,
		  r < 0 ? textfile_error(r) : "is empty");
	return text;
}

/* Cuts the next line off; NULL at the end. */
static char *next_line(char **rest)
{
	char *line = *rest, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	*rest = end ? end + 1 : NULL;
	return line;
}

static size_t find_key(const struct setting_key *keys, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(keys[i].name) == len && memcmp(keys[i].name, name, len) == 0)
			return i;
	}
	return n;
}

/* --- the example files ----------------------------------------------------------------------- */

/* A line "key = value", after a "#" or not. */
struct example_line {
	bool commented;
	const char *key;
	size_t key_len;
	const char *value;
};

static bool parse_example_line(const char *line, struct example_line *ret)
{
	struct example_line l = {.key = line + strspn(line, " \t")};

	if (l.key[0] == '#' && l.key[1] == ' ') {
		l.commented = true;
		l.key += 2;
	}
	l.key_len = strspn(l.key, "abcdefghijklmnopqrstuvwxyz-");
	if (l.key_len == 0 || strncmp(l.key + l.key_len, " = ", 3) != 0)
		return false;
	l.value = l.key + l.key_len + 3;
	*ret = l;
	return true;
}

static void check_example_line(const char *path, const struct setting_key *key,
			       const struct example_line *l)
{
	char expected[LINE_MAX_LEN];
	const char *quote = key->type == SETTING_INTEGER ? "" : "\"";

	cr_expect_neq(l->value[0], '\0', "%s: %s has no value", path, key->name);
	if (!key->preset)
		return;
	snprintf(expected, sizeof(expected), "%s%s%s", quote, key->preset, quote);
	cr_expect(l->commented, "%s: %s has a default, so it is to be commented out", path,
		  key->name);
	cr_expect_str_eq(l->value, expected, "%s: %s = %s, but its default is %s", path, key->name,
			 l->value, expected);
}

Test(docs, example_files_name_each_key_and_its_default)
{
	for (size_t d = 0; d < N_DOCUMENTS; d++) {
		const char *path = documents[d].example;
		mem_auto char *text = read_document(path);
		char *rest = text, *line;
		size_t n;
		const struct setting_key *keys = documents[d].keys(&n);
		mem_auto size_t *seen = mem_calloc(n, sizeof(*seen));

		while ((line = next_line(&rest))) {
			struct example_line l;
			size_t i;

			if (!parse_example_line(line, &l))
				continue;
			i = find_key(keys, n, l.key, l.key_len);
			cr_expect_lt(i, n, "%s: there is no key \"%.*s\"", path, (int)l.key_len,
				     l.key);
			if (i < n) {
				seen[i]++;
				check_example_line(path, &keys[i], &l);
			}
		}
		for (size_t i = 0; i < n; i++)
			cr_expect_eq(seen[i], 1, "%s: has %s %zu times", path, keys[i].name,
				     seen[i]);
	}
}

/* The example with every key of it in force that needs nothing else to be there. */
static void write_uncommented(const struct document *d, FILE *out)
{
	mem_auto char *text = read_document(d->example);
	char *rest = text, *line;
	size_t n;
	const struct setting_key *keys = d->keys(&n);

	while ((line = next_line(&rest))) {
		struct example_line l;
		size_t i;

		if (!parse_example_line(line, &l)) {
			fprintf(out, "%s\n", line);
			continue;
		}
		i = find_key(keys, n, l.key, l.key_len);
		/* Those need a file, a group or a client with TLS, or go not together with another key. */
		if (i < n && !strstr(keys[i].name, "-file") && !strstr(keys[i].name, "-group") &&
		    !strstr(keys[i].name, "partition") && strncmp(keys[i].name, "tls-", 4) != 0 &&
		    strncmp(keys[i].name, "sasl", 4) != 0 && strcmp(keys[i].name, "spread") != 0 &&
		    strcmp(keys[i].name, "url") != 0 && strcmp(keys[i].name, "template") != 0 &&
		    strcmp(keys[i].name, "headers") != 0)
			fprintf(out, "%s\n", l.key);
	}
}

/* Loads it as what it is; an example of tasks has at least one. */
static void expect_loads(const struct document *d, const char *path)
{
	struct problems problems;
	struct task_config **tasks = NULL;
	struct notify_configs notifies = {NULL, 0};
	struct config *config = NULL;
	size_t n = 0;
	int r;

	problems_init(&problems);
	if (d->keys == config_keys) {
		r = config_load(path, NULL, &config, &problems);
	} else {
		r = taskfile_load_all(path, path, &tasks, &n, &notifies, &problems);
		cr_expect_gt(n + notifies.n, 0, "%s has no tasks", path);
	}
	cr_expect_eq(r, 0);
	for (size_t i = 0; i < problems.n; i++)
		cr_expect_fail("of %s: %s:%d: %s", d->example, problems.list[i].file,
			       problems.list[i].line, problems.list[i].message);
	taskfile_free(tasks, n);
	notify_configs_done(&notifies);
	config_free(config);
	problems_done(&problems);
}

Test(docs, example_files_load)
{
	for (size_t d = 0; d < N_DOCUMENTS; d++) {
		char path[] = "/tmp/zkleader-docs-XXXXXX";
		int fd = mkstemp(path);
		FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

		cr_assert(out);
		write_uncommented(&documents[d], out);
		cr_assert_eq(fclose(out), 0);
		/* The main file has no version of its own, and is not to be taken without one. */
		if (documents[d].keys != config_keys)
			expect_loads(&documents[d], documents[d].example);
		expect_loads(&documents[d], path);
		unlink(path);
	}
}

/* --- the manual pages ------------------------------------------------------------------------- */

/* Whether the text has the word, with nothing beside it that could be a part of another one. */
static bool has_word(const char *text, const char *word)
{
	static const char more[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool begins = at == text || !strchr(more, at[-1]);

		if (begins && (at[len] == '\0' || !strchr(more, at[len])))
			return true;
	}
	return false;
}

/* The entry of a key: from its ".It Cm" to the next one or the next section. On the heap. */
static char *manual_entry(const char *page, const char *key)
{
	static const char *const ends[] = {"\n.It Cm ", "\n.Ss ", "\n.Sh "};
	char head[LINE_MAX_LEN];
	const char *start, *end;

	snprintf(head, sizeof(head), "\n.It Cm %s ", key);
	start = strstr(page, head);
	if (!start)
		return NULL;
	cr_expect_null(strstr(start + 1, head), "%s has two entries", key);
	end = start + strlen(start);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *at = strstr(start + 1, ends[i]);

		if (at && at < end)
			end = at;
	}
	return mem_strndup(start + strlen(head), (size_t)(end - start) - strlen(head));
}

static void check_default(const char *path, const struct setting_key *key, const char *entry)
{
	const char *macro = key->type == SETTING_INTEGER ? "Li" : "Qq";
	char expected[LINE_MAX_LEN];

	if (!key->preset) {
		cr_expect(strstr(entry, "No default"), "%s: %s does not say \"No default\"", path,
			  key->name);
		cr_expect_null(strstr(entry, "Default:"), "%s: %s has no default", path, key->name);
		return;
	}
	snprintf(expected, sizeof(expected), "Default:\n.%s %s .", macro, key->preset);
	cr_expect(strstr(entry, expected), "%s: the default of %s is %s", path, key->name,
		  key->preset);
}

static void check_bounds(const char *path, const struct setting_key *key, const char *entry)
{
	char min[DURATION_TEXT_SIZE], max[DURATION_TEXT_SIZE];

	for (size_t i = 0; key->type == SETTING_CHOICE && key->choices[i]; i++)
		cr_expect(has_word(entry, key->choices[i]), "%s: %s may be \"%s\"", path, key->name,
			  key->choices[i]);
	if (key->type == SETTING_INTEGER) {
		snprintf(min, sizeof(min), "%lld", (long long)key->min);
		snprintf(max, sizeof(max), "%lld", (long long)key->max);
	} else if (key->type == SETTING_DURATION) {
		bool guard = strcmp(key->name, "tick-guard") == 0; /* has a limit of its own */

		duration_format(key->min, min);
		duration_format(guard ? CONFIG_GUARD_LIMIT_MS : key->max, max);
	} else {
		return;
	}
	cr_expect(key->min == 0 || has_word(entry, min), "%s: the least %s is %s", path, key->name,
		  min);
	cr_expect(has_word(entry, max), "%s: the limit of %s is %s", path, key->name, max);
}

Test(docs, manual_pages_name_each_key_and_its_default)
{
	for (size_t d = 0; d < N_DOCUMENTS; d++) {
		const char *path = documents[d].manual;
		mem_auto char *page = read_document(path);
		size_t n;
		const struct setting_key *keys = documents[d].keys(&n);

		for (size_t i = 0; i < n; i++) {
			mem_auto char *entry = manual_entry(page, keys[i].name);

			cr_expect(entry, "%s: does not tell of %s", path, keys[i].name);
			if (!entry)
				continue;
			check_default(path, &keys[i], entry);
			check_bounds(path, &keys[i], entry);
		}
	}
}

Test(docs, manual_pages_name_no_other_key)
{
	for (size_t d = 0; d < N_DOCUMENTS; d++) {
		mem_auto char *page = read_document(documents[d].manual);
		char *rest = page, *line;
		size_t n;
		const struct setting_key *keys = documents[d].keys(&n);

		while ((line = next_line(&rest))) {
			const char *key = line + strlen(".It Cm ");
			size_t len;

			if (strncmp(line, ".It Cm ", strlen(".It Cm ")) != 0)
				continue;
			len = strcspn(key, " ");
			cr_expect_lt(find_key(keys, n, key, len), n, "%s: there is no key \"%.*s\"",
				     documents[d].manual, (int)len, key);
		}
	}
}
