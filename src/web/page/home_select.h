/* The tasks of the first page: what needs attention, which are shown, and in what order. */
#ifndef ZKLEADER_WEB_PAGE_HOME_SELECT_H
#define ZKLEADER_WEB_PAGE_HOME_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "web/page/page.h"

/* The kinds of trouble, the worst first. */
enum home_trouble {
	HOME_NOBODY,
	HOME_OVERDUE,
	HOME_FAILED,
	HOME_LOST,
	HOME_MISSED,
	HOME_HALTED, /* a rolling restart, no task */
	HOME_PAUSED,
	HOME_PROBLEMS,
	HOME_TROUBLES
};

extern const char *const home_trouble_words[HOME_TROUBLES]; /* as the parameter state takes them */

/* Whether the task has that trouble, by the sidecar's `status`. */
bool home_has(const json_t *task, const json_t *status, enum home_trouble trouble);
/* The tasks that the query asks for, in its order: an array for the caller to free. */
const json_t **home_select(const struct page_home *p, size_t *ret_n);

#endif
