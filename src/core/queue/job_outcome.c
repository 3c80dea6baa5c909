#include "core/queue/job_outcome.h"

int64_t job_backoff_ms(const struct queue_settings *s, int64_t number, uint32_t draw)
{
	int64_t ms = s->backoff_ms;

	for (int64_t i = 1; i < number && ms < s->backoff_max_ms; i++)
		ms = ms > s->backoff_max_ms / 2 ? s->backoff_max_ms : ms * 2;
	if (ms > s->backoff_max_ms)
		ms = s->backoff_max_ms;
	int64_t half = ms / 2;
	return half + (int64_t)((double)(ms - half) * ((double)draw / (double)UINT32_MAX));
}

enum job_next job_outcome(const struct queue_settings *s, const struct job_attempt *a,
			  int64_t *ret_delay_ms)
{
	bool last = a->number >= (int64_t)s->attempts;

	switch (a->how) {
	case ATTEMPT_OK: return JOB_NEXT_OK;
	case ATTEMPT_DEAD: return JOB_NEXT_DEAD;
	case ATTEMPT_CANCELLED: return JOB_NEXT_CANCELLED;
	case ATTEMPT_LOST:
		if (!s->rerun)
			return JOB_NEXT_LOST;
		*ret_delay_ms = 0;
		return last ? JOB_NEXT_DEAD : JOB_NEXT_AGAIN;
	case ATTEMPT_FAILED:
	case ATTEMPT_TIMEOUT: break;
	}
	if (last)
		return JOB_NEXT_DEAD;
	if (a->retry_ms >= 0)
		*ret_delay_ms = a->retry_ms < s->backoff_max_ms ? a->retry_ms : s->backoff_max_ms;
	else
		*ret_delay_ms = job_backoff_ms(s, a->number, a->draw);
	return JOB_NEXT_AGAIN;
}
