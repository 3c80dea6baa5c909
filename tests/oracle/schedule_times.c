/*
 * Says when schedules are due, for tests/oracle/schedule.
 *
 * Standard input, a line each: task TAB schedule TAB zone file ("-": UTC) TAB after TAB how many.
 * Prints a line each: the instants, seconds since the epoch; or "refused AT WHY".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time/schedule.h"

static char zone_name[4096];
static struct zone *zone;

/* Zones come many times in a row. */
static bool take_zone(const char *name)
{
	static char bytes[ZONE_BYTES_MAX + 1];
	const char *why;

	if (strcmp(name, zone_name) == 0)
		return true;
	zone_free(zone);
	zone = NULL;
	snprintf(zone_name, sizeof(zone_name), "%s", name);
	if (strcmp(name, "-") == 0)
		return true;
	FILE *file = fopen(name, "rb");
	if (!file)
		return false;
	size_t len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (zone_parse(bytes, len, &zone, &why) == 0)
		return true;
	fprintf(stderr, "%s: %s\n", name, why);
	return false;
}

int main(void)
{
	static char line[8192];

	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line;
		const char *task = strsep(&rest, "\t"), *text = strsep(&rest, "\t");
		const char *file = strsep(&rest, "\t"), *after = strsep(&rest, "\t");
		struct schedule_error error;
		struct schedule s;

		if (!rest || !take_zone(file))
			return 2;
		if (schedule_parse(text, task, &s, &error) != 0) {
			printf("refused %zu %s\n", error.at, error.why);
			continue;
		}
		int64_t at = strtoll(after, NULL, 10);
		for (long n = strtol(rest, NULL, 10); n > 0 && schedule_next(&s, zone, at, &at);
		     n--)
			printf("%" PRId64 " ", at);
		printf("\n");
	}
	zone_free(zone);
	return 0;
}
