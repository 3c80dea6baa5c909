#include "daemon/handoff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doing.h"
#include "base/log/log.h"

/* Names the fleet and identity of the session. Only a sidecar with the same ones can use it. */
static void say_of(const struct config *c, char of[HANDOFF_TEXT_MAX + 1])
{
	snprintf(of, HANDOFF_TEXT_MAX + 1, "%s %s %s", c->zookeeper, c->root,
		 c->auth_scheme ? c->auth_scheme : "-");
}

void handoff_on_session(void *arg, const struct handoff *handoff)
{
	struct sidecar *s = arg;
	struct kept kept = {
		.handoff = *handoff, .asked_ms = s->start->session_timeout_ms, .jobs = 1};

	if (s->stopping)
		return;
	say_of(s->start, kept.of);
	const char *why, *before = doing_begin("the file of the session");
	if (handoff_file_write(s->start->socket, &kept, &why) != 0)
		log_warning("the session is not kept: a restart will hand everything over",
			    LOG_STR("beside", s->start->socket), LOG_STR("why", why));
	doing_end(before);
	s->kept = kept;
}

void handoff_on_runs(void *arg, const struct handoff_run *runs, size_t n)
{
	struct sidecar *s = arg;
	const char *before = doing_begin("the file of the jobs");
	int error = handoff_file_write_runs(s->start->socket, runs, n);

	doing_end(before);
	if (error)
		log_warning("jobs not kept for the sidecar after this one",
			    LOG_STR("why", strerror(-error)));
}

static void take_over_from(struct sidecar *s, const struct kept *kept)
{
	struct handoff_run *runs = NULL;
	size_t n = 0;
	bool all = true;
	int error = kept->jobs > 0 ? handoff_file_read_runs(s->start->socket, &runs, &n, &all) : 0;

	if (error && error != -ENOENT) {
		log_warning("jobs of the sidecar before this one are not known",
			    LOG_STR("why", strerror(-error)));
		all = false;
	}
	node_take_over(&s->node, &kept->handoff, runs, n, all);
	free(runs);
}

void handoff_take_over(struct sidecar *s)
{
	char of[HANDOFF_TEXT_MAX + 1];
	const char *why = "";
	struct kept kept;
	int error = handoff_file_read(s->start->socket, &kept, &why);

	if (error == -ENOENT)
		return;
	say_of(s->start, of);
	if (!error && strcmp(kept.of, of) != 0)
		why = "it is of other servers, another root or another identity";
	else if (!error && kept.asked_ms != s->start->session_timeout_ms)
		why = "the session-timeout is another now";
	else if (!error)
		why = NULL;
	if (why) {
		log_warning("the session kept is not taken over",
			    LOG_STR("beside", s->start->socket), LOG_STR("why", why));
		return;
	}
	take_over_from(s, &kept);
}
