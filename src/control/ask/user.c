#include "control/ask/user.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define BUFFER_MAX 16384

void user_name(uid_t uid, char *ret_name, size_t size)
{
	struct passwd user, *found = NULL;
	char *buffer = mem_alloc(BUFFER_MAX);

	if (getpwuid_r(uid, &user, buffer, BUFFER_MAX, &found) == 0 && found)
		snprintf(ret_name, size, "%s", found->pw_name);
	else
		snprintf(ret_name, size, "uid %u", (unsigned)uid);
	free(buffer);
}
