#include "wire/records/record.h"

#include <string.h>

static const char *const kind_names[POLICY_KINDS] = {
	[POLICY_PAUSE] = "pause",   [POLICY_PIN] = "pin",     [POLICY_DRAIN] = "drain",
	[POLICY_RESIGN] = "resign", [POLICY_RERUN] = "rerun", [POLICY_ENDED] = "ended",
	[POLICY_TRIGGER] = "run",
};

bool policy_kind_parse(const char *text, size_t len, enum policy_kind *ret_kind)
{
	for (size_t i = 0; i < POLICY_KINDS; i++) {
		if (len == strlen(kind_names[i]) && memcmp(text, kind_names[i], len) == 0) {
			*ret_kind = (enum policy_kind)i;
			return true;
		}
	}
	return false;
}

const char *policy_kind_name(enum policy_kind kind)
{
	return kind_names[kind];
}
