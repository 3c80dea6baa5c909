/* What is configured about one queue of jobs, as far as a node goes by it: plain data. */
#ifndef ZKLEADER_CORE_QUEUE_SETTINGS_H
#define ZKLEADER_CORE_QUEUE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum queue_assign { QUEUE_ASSIGN_LEAST, QUEUE_ASSIGN_ROUND_ROBIN, QUEUE_ASSIGN_RANDOM };

#define QUEUE_SLOTS_MAX	      1000
#define QUEUE_QUEUED_MAX      50000
#define QUEUE_ATTEMPTS_MAX    1000
#define QUEUE_CONCURRENCY_MAX 100000
#define QUEUE_PAYLOAD_MAX     16384 /* bytes */
#define QUEUE_DELAY_MAX_MS    (INT64_C(90) * 24 * 3600 * 1000)
#define QUEUE_ENDED_MAX	      150000			/* records of ended jobs that are kept */
#define QUEUE_KEEP_LEAST_MS   (INT64_C(10) * 60 * 1000) /* for which each of them is */
#define QUEUE_REPEAT_MS	      (INT64_C(10) * 60 * 1000) /* an id may be used for the first time */

struct queue_settings {
	bool is_url;	/* posted, and not run */
	unsigned slots; /* jobs at a time on this worker; 0: it takes submits alone */
	enum queue_assign assign;
	unsigned concurrency; /* in the whole fleet; 0: no limit */
	unsigned rate;	      /* jobs that may begin within rate_ms; 0: no limit */
	int64_t rate_ms;
	unsigned attempts;
	int64_t backoff_ms, backoff_max_ms;
	bool rerun;	    /* after a crash it is tried again: on-crash */
	int64_t timeout_ms; /* of an attempt */
	int64_t keep_ms, keep_dead_ms;
	unsigned max_queued; /* that have not begun */
};

#endif
