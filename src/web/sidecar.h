/*
 * The one connection to the sidecar: it carries the questions of all requests, many at a time, and
 * notifications. A lost connection is made again; meanwhile questions fail at once.
 */
#ifndef ZKLEADER_WEB_SIDECAR_H
#define ZKLEADER_WEB_SIDECAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "api/link.h"
#include "base/buffer.h"
#include "wire/reader.h"

#define SIDECAR_ASKED_MAX 1000 /* questions whose answers are to come */

/* A method with its parameters: the name, and then a map of the options, if any is set. */
struct sidecar_request {
	const char *method;
	const char *name;	/* NULL: none */
	int64_t since_ms, last; /* of `history`; 0: not set */
	bool no_outputs;
};

/*
 * The answer to a question: code 0 and the result, good until this returns; a positive code and why
 * it was refused; or a negative errno: there was no answer.
 */
typedef void (*sidecar_answer_fn)(void *arg, int code, const char *why, struct reader result);

struct sidecar_handlers {
	/* A notification; its one parameter. */
	void (*told)(void *arg, const char *method, struct reader param);
	/* The connection was made or lost. */
	void (*connected)(void *arg, bool connected);
	void *arg;
};

struct sidecar_question {
	uint32_t id; /* 0: this place is free */
	int64_t until_ms;
	sidecar_answer_fn fn;
	void *arg;
};

struct sidecar {
	struct link link;
	struct sidecar_handlers handlers;
	uv_loop_t *loop;
	uv_poll_t *poll; /* of the connection, NULL */
	uv_timer_t timer;
	uint32_t last_id;
	struct sidecar_question asked[SIDECAR_ASKED_MAX];
	size_t n_asked;
	struct buffer out;
	bool up;
};

/* Connects by itself. 0, or -EINVAL or -ENAMETOOLONG for a path that no socket can have. */
int sidecar_init(struct sidecar *s, uv_loop_t *loop, const char *path,
		 const struct sidecar_handlers *handlers);
/* Each question that is open is answered with -ECANCELED. */
void sidecar_done(struct sidecar *s);
/*
 * Asks. fn is called once, later, within timeout_ms or little more; or it is not called at all and
 * the result is a negative errno.
 */
int sidecar_ask(struct sidecar *s, const struct sidecar_request *request, int64_t timeout_ms,
		sidecar_answer_fn fn, void *arg);

#endif
