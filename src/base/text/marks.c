#include "base/text/marks.h"

bool marks_is(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '_')
			return false;
	}
	return len % MARK_LEN == 0 && len <= MARKS_MAX;
}
