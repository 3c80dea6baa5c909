/* The settings of one queue of jobs that a node uses: plain data. */
#ifndef ZKLEADER_CORE_QUEUE_QUEUE_SETTINGS_H
#define ZKLEADER_CORE_QUEUE_QUEUE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum queue_assign { QUEUE_ASSIGN_LEAST, QUEUE_ASSIGN_ROUND_ROBIN, QUEUE_ASSIGN_RANDOM };

#define QUEUE_SLOTS_MAX	      1000  /* jobs at a time on one worker */
#define QUEUE_QUEUED_MAX      50000 /* jobs that have not begun */
#define QUEUE_ATTEMPTS_MAX    1000
#define QUEUE_CONCURRENCY_MAX 100000
#define QUEUE_PAYLOAD_MAX     16384 /* bytes */
#define QUEUE_DELAY_MAX_MS    (INT64_C(90) * 24 * 3600 * 1000)
#define QUEUE_ENDED_MAX	      150000			/* records of ended jobs kept */
#define QUEUE_KEEP_LEAST_MS   (INT64_C(10) * 60 * 1000) /* each is kept so long at least */
#define QUEUE_REPEAT_MS	      (INT64_C(10) * 60 * 1000) /* how old a new job's id may be */

struct queue_settings {
	bool is_url;	/* jobs are posted to a URL, not run as a command */
	unsigned slots; /* jobs at a time on this worker; 0: it only accepts submits */
	enum queue_assign assign;
	unsigned concurrency; /* in the whole fleet; 0: no limit */
	unsigned rate;	      /* jobs that may begin within rate_ms; 0: no limit */
	int64_t rate_ms;
	unsigned attempts;
	int64_t backoff_ms, backoff_max_ms;
	bool rerun;	    /* on-crash: a crashed attempt is followed by another */
	int64_t timeout_ms; /* limit of an attempt */
	int64_t keep_ms, keep_dead_ms;
	unsigned max_queued; /* jobs that have not begun */
};

#endif
