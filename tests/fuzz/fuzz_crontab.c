/* Crontabs: each line of the input, with and without a column of users. */
#include "fuzz.h"

#include "base/text/name.h"
#include "cli/run/crontab.h"

static void check_name(const char *name)
{
	FUZZ_CHECK(name_is_task(name, strlen(name)) && strlen(name) <= CRONTAB_NAME_MAX);
}

static bool is_within(const char *part, const char *whole)
{
	return part >= whole && part <= whole + strlen(whole);
}

static void check_job(const struct crontab_line *l, bool system)
{
	char name[CRONTAB_NAME_MAX + 1] = "";
	const char *own;

	FUZZ_CHECK(l->schedule && l->schedule[0] && l->command && l->command[0]);
	FUZZ_CHECK(!strchr(l->schedule, '\t') && strlen(l->schedule) > 0);
	FUZZ_CHECK(system == (l->user != NULL) && (!system || !strpbrk(l->user, " \t")));
	crontab_name(l->command, name);
	check_name(name);
	name[0] = '\0';
	own = crontab_own(l->command, name);
	if (own)
		check_name(name);
	FUZZ_CHECK(!own || is_within(own, l->command));
}

static void check_line(const char *text, size_t len, bool system)
{
	struct crontab_line l;

	crontab_parse(text, len, system, &l);
	switch (l.kind) {
	case CRONTAB_NOTHING: FUZZ_CHECK(!l.name && !l.command); break;
	case CRONTAB_VARIABLE: FUZZ_CHECK(l.name && l.name[0] && l.value && !l.command); break;
	case CRONTAB_JOB: check_job(&l, system); break;
	case CRONTAB_BAD: FUZZ_CHECK(l.why && l.why[0]); break;
	}
	crontab_line_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t n = end ? (size_t)(end - text) - at : size - at;

		check_line(text + at, n, false);
		check_line(text + at, n, true);
		at += n + 1;
	}
	return 0;
}
