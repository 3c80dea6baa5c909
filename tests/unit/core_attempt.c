#include <criterion/criterion.h>

#include "core/queue/attempt.h"

Test(attempt, is_judged_by_what_ended_it_and_then_by_its_status)
{
	static const struct {
		struct attempt_end end;
		enum attempt_how how;
	} cases[] = {
		{{.exit_status = 0}, ATTEMPT_OK},
		{{.exit_status = 3}, ATTEMPT_FAILED},
		{{.exit_status = -1}, ATTEMPT_FAILED},
		{{.timeout = true, .exit_status = 0}, ATTEMPT_TIMEOUT},
		{{.timeout = true, .exit_status = 143}, ATTEMPT_TIMEOUT},
		{{.interrupted = true, .exit_status = 0}, ATTEMPT_LOST},
		{{.interrupted = true, .exit_status = 1}, ATTEMPT_LOST},
		{{.interrupted = true, .exit_status = -1}, ATTEMPT_LOST},
		{{.interrupted = true, .timeout = true, .exit_status = 0}, ATTEMPT_LOST},
		/* The cancel came when it had ended well already; or it keeps it from another attempt. */
		{{.cancelled = true, .exit_status = 0}, ATTEMPT_OK},
		{{.cancelled = true, .exit_status = 3}, ATTEMPT_CANCELLED},
		{{.cancelled = true, .interrupted = true, .exit_status = 0}, ATTEMPT_CANCELLED},
		{{.cancelled = true, .timeout = true, .exit_status = 0}, ATTEMPT_CANCELLED},
		/* A request is answered, or is not. */
		{{.answer = ATTEMPT_ACCEPTED, .exit_status = -1}, ATTEMPT_OK},
		{{.answer = ATTEMPT_ACCEPTED, .timeout = true}, ATTEMPT_OK},
		{{.answer = ATTEMPT_ACCEPTED, .interrupted = true}, ATTEMPT_OK},
		{{.answer = ATTEMPT_ACCEPTED, .cancelled = true, .interrupted = true}, ATTEMPT_OK},
		{{.answer = ATTEMPT_REFUSED}, ATTEMPT_DEAD},
		{{.answer = ATTEMPT_REFUSED, .interrupted = true}, ATTEMPT_DEAD},
		{{.answer = ATTEMPT_REFUSED, .cancelled = true}, ATTEMPT_CANCELLED},
		{{.answer = ATTEMPT_UNANSWERED, .exit_status = 0}, ATTEMPT_FAILED},
		{{.answer = ATTEMPT_UNANSWERED, .timeout = true}, ATTEMPT_TIMEOUT},
		{{.answer = ATTEMPT_UNANSWERED, .interrupted = true}, ATTEMPT_LOST},
		{{.answer = ATTEMPT_UNANSWERED, .cancelled = true}, ATTEMPT_CANCELLED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(attempt_how(&cases[i].end), cases[i].how, "case %zu", i);
}
