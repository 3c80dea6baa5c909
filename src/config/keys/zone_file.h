/* Time zones by their names, from the compiled files of the system's tz database. */
#ifndef ZKLEADER_CONFIG_KEYS_ZONE_FILE_H
#define ZKLEADER_CONFIG_KEYS_ZONE_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/time/zone.h"

#define ZONE_FILE_NAME_MAX 100 /* bytes of a zone's name */
#define ZONE_FILE_UTC	   "UTC"

/* A zone that several tasks share; it never changes once made. */
struct zone_file {
	atomic_uint refs;
	char name[ZONE_FILE_NAME_MAX + 1];
	struct zone *zone; /* NULL: UTC */
};

/*
 * Reads the zone of that name, such as "Europe/Berlin", from $TZDIR or /usr/share/zoneinfo. Returns
 * 0; or a negative errno, and in *ret_why a constant text that says what to do.
 */
int zone_file_load(const char *name, struct zone_file **ret_zone, const char **ret_why);
struct zone_file *zone_file_ref(struct zone_file *z);
/* Takes NULL. */
void zone_file_unref(struct zone_file *z);

#endif
