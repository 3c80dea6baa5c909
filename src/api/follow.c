#include "api/follow.h"

#include "base/clock.h"
#include "wire/rpc.h"

#define RETRY_MS 1000

/* Values besides the numbers of the caller's questions, which are not negative. */
#define NO_QUESTION  (-1)
#define SUBSCRIPTION (-2)

static int ask(struct follow *f, int question, const char *method, const struct buffer *params,
	       int64_t deadline)
{
	int e = handle_send(f->z, method, params->data, params->len, deadline, &f->id);

	f->question = e == 0 ? question : NO_QUESTION;
	if (e < 0)
		handle_hang_up(f->z);
	return e;
}

int follow_begin_by(struct follow *f, struct zkleader *z, const char *method,
		    const struct buffer *params, int64_t deadline)
{
	*f = (struct follow){.z = z, .method = method, .question = NO_QUESTION};
	buffer_init(&f->params, RPC_REQUEST_MAX);
	buffer_append(&f->params, params->data, params->len);
	return ask(f, SUBSCRIPTION, method, &f->params, deadline);
}

int follow_begin(struct follow *f, struct zkleader *z, const struct buffer *params,
		 int64_t deadline)
{
	return follow_begin_by(f, z, "subscribe", params, deadline);
}

void follow_done(struct follow *f)
{
	buffer_done(&f->params);
}

void follow_ask(struct follow *f, int question, const char *method, const struct buffer *params,
		int64_t deadline)
{
	f->broken = follow_fd(f) < 0 || ask(f, question, method, params, deadline) < 0;
}

bool follow_is_asking(const struct follow *f)
{
	return f->question != NO_QUESTION;
}

int follow_fd(const struct follow *f)
{
	return zkleader_fd(f->z);
}

int64_t follow_due_ms(const struct follow *f)
{
	return f->broken ? 0 : follow_fd(f) < 0 ? f->retry_ms : INT64_MAX;
}

static void lose(struct follow *f, struct follow_event *ret)
{
	ret->kind = FOLLOW_LOST;
	ret->again = f->away;
	f->away = true;
	f->broken = false;
	f->question = NO_QUESTION;
	f->retry_ms = clock_boot_ms() + RETRY_MS;
}

static void take_answer(struct follow *f, struct follow_event *ret)
{
	ret->question = f->question;
	ret->kind = ret->message.code > 0	  ? FOLLOW_REFUSED
		    : f->question == SUBSCRIPTION ? FOLLOW_BEGUN
						  : FOLLOW_ANSWER;
	f->away = f->away && ret->kind != FOLLOW_BEGUN;
	f->question = NO_QUESTION;
}

void follow_next(struct follow *f, struct follow_event *ret)
{
	*ret = (struct follow_event){.kind = FOLLOW_NOTHING, .question = NO_QUESTION};
	if (!f->broken && follow_fd(f) < 0) {
		if (clock_boot_ms() < f->retry_ms)
			return;
		f->broken = ask(f, SUBSCRIPTION, f->method, &f->params, HANDLE_AT_ONCE) < 0;
	}
	while (!f->broken && ret->kind == FOLLOW_NOTHING) {
		int e = handle_receive(f->z, RPC_RESPONSE_MAX, HANDLE_AT_ONCE, &ret->message);

		if (e < 0 && follow_fd(f) >= 0)
			return; /* no message has come */
		f->broken = e < 0;
		if (e == 0 && !ret->message.is_answer)
			ret->kind = FOLLOW_NEWS;
		else if (e == 0 && follow_is_asking(f) && ret->message.id == f->id)
			take_answer(f, ret);
	}
	if (f->broken)
		lose(f, ret);
}
