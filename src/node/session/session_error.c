#include "node/session/session_error.h"

#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "node/session/session.h"

#define PATIENCE_MS 2000  /* trouble that is over sooner is not logged */
#define REPEAT_MS   60000 /* the log tells of it again */

static bool is_due(const struct session_error *e, int64_t now_ms)
{
	return e->told_ms == 0 || now_ms - e->told_ms >= REPEAT_MS;
}

void session_error_set(struct session_error *e, struct host *host, const char *server,
		       const char *message)
{
	int64_t now_ms = host_now_ms(host);

	snprintf(e->server, sizeof(e->server), "%s", server);
	snprintf(e->message, sizeof(e->message), "%s", message);
	e->time = host_wall_ms(host);
	if (e->first_ms == 0)
		e->first_ms = now_ms;
	if (now_ms - e->first_ms < PATIENCE_MS || !is_due(e, now_ms))
		return;
	e->told_ms = now_ms;
	log_warning("no session", LOG_STR("server", e->server), LOG_STR("why", e->message));
}

void session_error_refused(struct session_error *e, struct host *host, int64_t retry_ms)
{
	int64_t now_ms = host_now_ms(host);

	if (!e->message[0])
		session_error_set(e, host, "", "authentication refused: see auth-file");
	if (!is_due(e, now_ms))
		return;
	e->told_ms = now_ms;
	log_warning("no session", LOG_STR("server", e->server), LOG_STR("why", e->message),
		    LOG_INT("retry_ms", retry_ms));
}

void session_error_clear(struct session_error *e)
{
	e->message[0] = e->server[0] = '\0';
	e->time = e->first_ms = 0;
}

bool session_set_problem(struct session *s, const char *problem)
{
	if (strcmp(problem, s->problem) == 0)
		return false;
	snprintf(s->problem, sizeof(s->problem), "%s", problem);
	return true;
}

const char *session_why(const struct session *s)
{
	return s->state == SESSION_CONNECTING && s->error.message[0] ? s->error.message
								     : s->problem;
}
