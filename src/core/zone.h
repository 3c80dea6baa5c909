/*
 * A time zone: what has to be added to UTC for the local time, from the bytes of a compiled file of
 * the tz database (TZif, RFC 8536). Who reads the file is the caller.
 */
#ifndef ZKLEADER_CORE_ZONE_H
#define ZKLEADER_CORE_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_BYTES_MAX	 (64 * 1024) /* of a file; those of Debian have less than 4 KiB */
#define ZONE_CHANGES_MAX 2000
#define ZONE_OFFSET_MAX	 (26 * 3600) /* seconds, either way; RFC 8536 asks for less than 26 hours */

struct zone;

/*
 * 0 and the zone, for zone_free(); or -EINVAL and in *ret_why a constant text. Leap seconds, and
 * files without 64-bit times, are refused.
 */
int zone_parse(const void *data, size_t len, struct zone **ret_zone, const char **ret_why);
void zone_free(struct zone *z);

/* All take NULL for UTC; times are seconds since the epoch. */
/* Seconds east of UTC at that time. */
int32_t zone_offset(const struct zone *z, int64_t at);
/* The first time after `after` at which another offset begins; false if there is none to come. */
bool zone_next_change(const struct zone *z, int64_t after, int64_t *ret_at);
/* The same for two zones that say the same of all times; another, as good as surely, for others. */
uint64_t zone_digest(const struct zone *z);

#endif
