/* The forms of names that come from outside, checked in one place. */
#ifndef ZKLEADER_BASE_NAME_H
#define ZKLEADER_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_TASK_MAX	 100 /* [A-Za-z0-9][A-Za-z0-9._-]{0,99} */
#define NAME_ID_MAX	 64  /* [A-Za-z0-9][A-Za-z0-9-]*, a uuid fits */
#define NAME_VERSION_MAX 255 /* printable ASCII, no space at either end */
#define NAME_HOST_MAX	 255 /* printable ASCII */
#define NAME_IP_MAX	 45  /* a literal IPv4 or IPv6 address */

bool name_is_task(const char *text, size_t len);
bool name_is_id(const char *text, size_t len);
bool name_is_version(const char *text, size_t len);
bool name_is_host(const char *text, size_t len);
bool name_is_ip(const char *text, size_t len);

#endif
