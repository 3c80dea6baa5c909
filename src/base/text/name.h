/* The forms of names that come from outside, checked in one place. */
#ifndef ZKLEADER_BASE_TEXT_NAME_H
#define ZKLEADER_BASE_TEXT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_TASK_MAX	    100 /* [A-Za-z0-9][A-Za-z0-9._-]{0,99} */
#define NAME_ELECTION_MAX   104 /* a task, or one of its partitions: TASK:K */
#define NAME_PARTITIONS_MAX 256 /* of a task: K is 0 to 255, in decimal without leading zeros */
#define NAME_ID_MAX	    64	/* [A-Za-z0-9][A-Za-z0-9-]*, a uuid fits */
#define NAME_VERSION_MAX    255 /* printable ASCII, no space at either end */
#define NAME_HOST_MAX	    255 /* printable ASCII */
#define NAME_IP_MAX	    45	/* a literal IPv4 or IPv6 address */
#define NAME_USER_MAX	    32	/* letters, digits, . _ - $; no - in front, not digits alone */

bool name_is_task(const char *text, size_t len);
/*
 * Whether the text is TASK:K. If it is, gives the length of TASK, and K. Both pointers may be NULL.
 */
bool name_partition_parse(const char *text, size_t len, size_t *ret_task_len,
			  unsigned *ret_partition);
/* The name of a task, or of a partition: of something that is led. */
bool name_is_election(const char *text, size_t len);
/* Whether the word is a glob, as no name is. */
bool name_is_glob(const char *word);
bool name_is_id(const char *text, size_t len);
bool name_is_version(const char *text, size_t len);
bool name_is_host(const char *text, size_t len);
bool name_is_ip(const char *text, size_t len);
/* Whether the text can be the name of a local user; whether there is one is not looked up. */
bool name_is_user(const char *text, size_t len);

#endif
