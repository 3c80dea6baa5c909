#include "node/session/handoff.h"

#include <string.h>

bool handoff_is_ours(const struct handoff_place *left, const struct handoff_place *here,
		     const char **ret_why)
{
	if (strcmp(left->host, here->host) != 0) {
		*ret_why = "it is a copy: of another machine, or of another socket's";
		return false;
	}
	if (!here->boot[0] || strcmp(left->boot, here->boot) != 0) {
		*ret_why = "it is of before the system was started";
		return false;
	}
	return true;
}
