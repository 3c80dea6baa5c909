#include "base/text/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Biggest first: formatting takes the first that divides. */
static const struct unit {
	const char *name;
	int64_t ms;
} units[] = {
	{"d", INT64_C(24) * 3600 * 1000},
	{"h", 3600 * 1000},
	{"m", 60 * 1000},
	{"s", 1000},
	{"ms", 1},
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

static const struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < N_UNITS; i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

int duration_parse(const char *text, int64_t *ret_ms)
{
	size_t n_digits = strspn(text, "0123456789");
	const struct unit *unit = find_unit(text + n_digits);
	int64_t value = 0;

	/*
	 * The form is checked first, so that a wrong one with many digits is not called too long.
	 */
	if (n_digits == 0 || !unit)
		return -EINVAL;
	for (size_t i = 0; i < n_digits; i++) {
		value = value * 10 + (text[i] - '0');
		if (value > DURATION_MAX_MS / unit->ms)
			return -ERANGE;
	}
	*ret_ms = value * unit->ms;
	return 0;
}

void duration_format(int64_t ms, char text[DURATION_TEXT_SIZE])
{
	size_t i = 0;

	if (ms == 0) {
		memcpy(text, "0s", sizeof("0s"));
		return;
	}
	while (ms % units[i].ms != 0)
		i++; /* ends: the last unit is 1 ms */
	snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 "%s", ms / units[i].ms, units[i].name);
}
