/*
 * A time zone: the offset of the local time from UTC, from the bytes of a compiled file of the tz
 * database (TZif, RFC 8536). The caller reads the file.
 */
#ifndef ZKLEADER_CORE_TIME_ZONE_H
#define ZKLEADER_CORE_TIME_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_BYTES_MAX	 (64 * 1024) /* bytes of a file; Debian's have less than 4 KiB */
#define ZONE_CHANGES_MAX 2000
#define ZONE_OFFSET_MAX	 (26 * 3600) /* seconds, either way; RFC 8536 asks for less than 26 hours */

struct zone;

/*
 * Returns 0 and the zone, for zone_free(); or -EINVAL and a constant text in *ret_why. Leap
 * seconds, and files without 64-bit times, are refused.
 */
int zone_parse(const void *data, size_t len, struct zone **ret_zone, const char **ret_why);
void zone_free(struct zone *z);

/* NULL stands for UTC in all of these; times are seconds since the epoch. */
/* Seconds east of UTC at that time. */
int32_t zone_offset(const struct zone *z, int64_t at);
/* The first change of the offset after `after`; false: there is none. */
bool zone_next_change(const struct zone *z, int64_t after, int64_t *ret_at);
/*
 * A digest: equal for zones with the same offsets at all times, almost surely different for others.
 */
uint64_t zone_digest(const struct zone *z);

#endif
