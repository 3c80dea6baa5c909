/*
 * The rule for the years after the last entry of a time zone's file: a POSIX TZ string with the
 * extension of RFC 8536 (hours of -167 to 167), such as "CET-1CEST,M3.5.0,M10.5.0/3".
 */
#ifndef ZKLEADER_CORE_TIME_ZONE_RULE_H
#define ZKLEADER_CORE_TIME_ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A moment of each year, in local time. */
struct zone_moment {
	enum { ZONE_JULIAN, ZONE_DAY, ZONE_WEEKDAY } kind; /* Jn, n, Mm.w.d */
	int day;   /* 1 to 365, never 29 February; 0 to 365; or a weekday, 0 is Sunday */
	int month; /* of a weekday: 1 to 12 */
	int week;  /* 1 to 5, 5 is the last */
	int32_t time_s;
};

struct zone_rule {
	bool known;		       /* there is one */
	bool has_summer;	       /* false: standard time all year */
	int32_t standard, summer;      /* seconds east of UTC */
	struct zone_moment begin, end; /* begin and end of summer time */
};

/* Whether the text is valid; an empty one means that there is no rule. */
bool zone_rule_parse(const char *text, size_t len, struct zone_rule *ret_rule);
/* Seconds east of UTC at that time. */
int32_t zone_rule_offset(const struct zone_rule *r, int64_t at);
/* The first change of the offset after `after`; false: there is none. */
bool zone_rule_next(const struct zone_rule *r, int64_t after, int64_t *ret_at);
/* Continues from digest. */
uint64_t zone_rule_digest(const struct zone_rule *r, uint64_t digest);

#endif
