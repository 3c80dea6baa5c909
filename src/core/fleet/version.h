/* The order of versions: exactly that of Maven 3.8's ComparableVersion. */
#ifndef ZKLEADER_CORE_FLEET_VERSION_H
#define ZKLEADER_CORE_FLEET_VERSION_H

/* Which of two versions is better. */
enum version_policy { VERSION_NEWEST, VERSION_OLDEST, VERSION_ANY /* all are equal */ };

/*
 * Compares two version strings (printable ASCII, at most NAME_VERSION_MAX bytes; a longer one is
 * compared by its first NAME_VERSION_MAX bytes). Returns <0, 0 or >0. Numbers may be of any length.
 * Like the original this is no total order on odd strings (1 < 01.sp-x < 1b2_0 < 1): do not sort a
 * set with it, see core/fleet/fleet_ranking.h.
 * Source: org.apache.maven.artifact.versioning.ComparableVersion, Maven 3.8.
 */
int version_compare(const char *a, const char *b);

#endif
