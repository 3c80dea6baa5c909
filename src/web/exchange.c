#include "web/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "web/reply.h"
#include "wire/rpc.h"

#define ASK_MS		4000 /* time for an answer of the sidecar */
#define LEADER_MS	2000
#define PATIENCE_MS	30   /* for an answer that may be missing */
#define FRESH_MS	1000 /* runs are read anew after that, and so much more for each */
#define FRESH_RUN_MS	3
#define SINCE_MARGIN_MS (INT64_C(24) * 3600 * 1000)
#define SINCE_ROUND_MS	60000
#define COOKIE_SIZE	200

struct exchange *exchange_new(struct exchange_world *world)
{
	struct exchange *x = mem_calloc(1, sizeof(*x));

	x->world = world;
	return x;
}

void exchange_drop_answers(struct exchange *x)
{
	for (size_t i = 0; i < ROUTE_ASKS_MAX; i++) {
		json_decref(x->answers[i]);
		x->answers[i] = NULL;
	}
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	exchange_drop_answers(x);
	free(x->path);
	free(x);
}

/* --- asking --------------------------------------------------------------- */

struct asked {
	struct exchange *exchange;
	size_t at;
};

static bool ask_more(struct exchange *x);

static void fail(struct exchange *x, int code, const char *why)
{
	if (x->code != 0)
		return;
	x->code = code;
	snprintf(x->why, sizeof(x->why), "%s", why);
}

static void resume(struct exchange *x)
{
	x->suspended = false;
	MHD_resume_connection(x->connection);
	x->world->ready(x->world->arg);
}

static void end_patience(struct exchange *x)
{
	LIST_REMOVE(x, link);
	x->patient = NULL;
}

static void begin_patience(struct exchange *x, struct asked *a)
{
	x->patient = a;
	LIST_INSERT_HEAD(&x->world->waiting, x, link);
	if (!LIST_NEXT(x, link))
		x->world->waits(x->world->arg);
}

bool exchange_look(struct exchange_world *world)
{
	int64_t now = clock_boot_ms();

	for (struct exchange *x = LIST_FIRST(&world->waiting), *next; x; x = next) {
		next = LIST_NEXT(x, link);
		if (x->open > 1 || now - x->asked_ms < PATIENCE_MS || !x->suspended)
			continue;
		x->patient->exchange = NULL;
		x->open = 0;
		x->again = true;
		end_patience(x);
		resume(x);
	}
	return !LIST_EMPTY(&world->waiting);
}

static void take(struct asked *a, int code, const char *why, json_t *answer)
{
	struct exchange *x = a->exchange;

	if (!x) { /* did not wait for it */
		json_decref(answer);
		free(a);
		return;
	}
	if (x->patient == a)
		end_patience(x);
	x->answers[a->at] = answer;
	if (code != 0 && a->at < x->route.n_asks - x->route.n_optional)
		fail(x, code, why);
	free(a);
	x->open--;
	if (x->open == 0 && x->suspended && !ask_more(x))
		resume(x);
}

static void on_answer(void *arg, int code, const char *why, struct reader result)
{
	json_t *answer = NULL;

	if (code == 0 &&
	    json_from_msgpack(result.p, (size_t)(result.end - result.p), &answer) < 0) {
		code = -EBADMSG;
		why = "the sidecar's answer makes no sense";
	}
	take(arg, code, why, answer);
}

static void on_shared(void *arg, int code, const char *why, json_t *answer)
{
	take(arg, code, why, answer ? json_incref(answer) : NULL);
}

static struct sidecar_request request_of(const struct exchange *x, const struct route_ask *ask)
{
	const struct query *q = &x->query;
	struct sidecar_request r = {.method = ask->method,
				    .name = ask->named ? x->route.name : NULL,
				    .last = ask->last,
				    .no_outputs = ask->no_outputs};
	int64_t since_ms = x->route.kind == ROUTE_NIGHT_PAGE ? q->from_ms : q->since_ms;

	if (!ask->queried)
		return r;
	if (query_is_name(q))
		r.name = q->task;
	/*
	 * A run may go on for long after its tick. The time is rounded, so that pages of the same
	 * minute share an answer.
	 */
	if (since_ms > SINCE_MARGIN_MS)
		r.since_ms = (since_ms - SINCE_MARGIN_MS) / SINCE_ROUND_MS * SINCE_ROUND_MS;
	return r;
}

static void on_renewed(void *arg, int code, const char *why, json_t *answer)
{
	(void)arg, (void)code, (void)why, (void)answer;
}

/*
 * Takes an answer that is there already, if there is one. One that may be missing may also be old:
 * then a newer one is asked for, for the next page.
 */
static bool find_shared(struct exchange *x, const struct shared_question *q, size_t at)
{
	struct shared_question fresh = *q;
	int64_t age_ms;

	x->answers[at] = shared_find(x->world->shared, q, &age_ms);
	if (!x->answers[at])
		return false;
	fresh.age_ms = FRESH_MS + FRESH_RUN_MS * (int64_t)json_array_size(x->answers[at]);
	if (!x->route.asks[at].patient || age_ms < fresh.age_ms)
		return true;
	shared_ask(x->world->shared, &fresh, ASK_MS, on_renewed, NULL);
	x->again = true;
	return true;
}

/*
 * Asks one question of the route, unless a recent answer will do. If it cannot be asked, its answer
 * stays missing.
 */
static void ask_one(struct exchange *x, size_t at, int64_t tag)
{
	const struct route_ask *ask = &x->route.asks[at];
	int64_t limit_ms = x->route.kind == ROUTE_LEADER ? LEADER_MS : ASK_MS;
	const struct shared_question q = {
		.request = request_of(x, ask), .tag = tag, .age_ms = ask->age_ms};
	struct asked *a;
	int e;

	if (q.age_ms > 0 && find_shared(x, &q, at))
		return;
	a = mem_calloc(1, sizeof(*a));
	*a = (struct asked){.exchange = x, .at = at};
	e = q.age_ms > 0 ? shared_ask(x->world->shared, &q, limit_ms, on_shared, a)
			 : sidecar_ask(x->world->sidecar, &q.request, limit_ms, on_answer, a);
	if (e == 0) {
		x->open++;
		if (ask->patient)
			begin_patience(x, a);
		return;
	}
	free(a);
	if (at < x->route.n_asks - x->route.n_optional)
		fail(x, e,
		     e == -EBUSY ? "too many requests at once" : "the sidecar does not answer");
}

/*
 * Asks for a queue's dead letters, which are read from ZooKeeper one by one. So this is asked only
 * if there are some, and an answer is shared only as long as their number is the same. Returns
 * whether an answer is outstanding.
 */
static bool ask_more(struct exchange *x)
{
	int64_t dead;

	if (x->route.kind != ROUTE_TASK_PAGE || x->asked_dead)
		return false;
	x->asked_dead = true;
	dead = json_number(x->answers[ROUTE_TASK_QUEUE], "dead", 0);
	if (dead > 0)
		ask_one(x, ROUTE_TASK_DEAD, dead);
	return x->open > 0;
}

static enum MHD_Result ask(struct exchange *x)
{
	x->asked_ms = clock_boot_ms();
	for (size_t i = 0; i < x->route.n_asks; i++)
		if (!x->route.asks[i].later)
			ask_one(x, i, 0);
	if (x->open == 0 && !ask_more(x))
		return reply_send(x);
	x->suspended = true;
	MHD_suspend_connection(x->connection);
	return MHD_YES;
}

/* --- the request ---------------------------------------------------------- */

/* Accepts the token in a URL, once, and sets a cookie that stands for it from then on. */
static enum MHD_Result let_in(struct exchange *x)
{
	char cookie[ACCESS_COOKIE_SIZE], header[COOKIE_SIZE];
	struct MHD_Response *r =
		MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);

	if (!r || access_new_cookie(x->world->access, cookie) < 0)
		return MHD_NO;
	snprintf(header, sizeof(header), "%s=%s; Path=/; HttpOnly; SameSite=Lax",
		 ACCESS_COOKIE_NAME, cookie);
	MHD_add_response_header(r, "Set-Cookie", header);
	MHD_add_response_header(r, "Location", "/");
	return reply_queue(x, MHD_HTTP_SEE_OTHER, REPLY_TEXT, r);
}

static const char *get_parameter(void *arg, const char *name)
{
	return MHD_lookup_connection_value(arg, MHD_GET_ARGUMENT_KIND, name);
}

/* False: a parameter of the page is not good, as x->why says. */
static bool take_query(struct exchange *x)
{
	enum query_page page = x->route.kind == ROUTE_RUNS_PAGE	   ? QUERY_RUNS
			       : x->route.kind == ROUTE_NIGHT_PAGE ? QUERY_NIGHT
								   : QUERY_HOME;

	if (page == QUERY_HOME && x->route.kind != ROUTE_PAGE)
		return true;
	return query_take(&x->query, page, clock_wall_ms(), get_parameter, x->connection, x->why);
}

static enum MHD_Result check(struct exchange *x, const char *method)
{
	struct access *access = x->world->access;
	struct MHD_Connection *c = x->connection;
	const char *token = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return reply_refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "GET, HEAD",
				    "nothing can be changed here: GET and HEAD\n");
	if (!access_host(access, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
		return reply_refuse(x, MHD_HTTP_MISDIRECTED_REQUEST, NULL, NULL,
				    "not the name of this server: see its option --host\n");
	if (x->route.kind == ROUTE_PAGE && token && access_is_token(access, token))
		return let_in(x);
	if (!x->route.open &&
	    !access_granted(access,
			    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
			    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Cookie")))
		return reply_refuse(x, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", "Bearer",
				    "a token is needed: Authorization: Bearer, or once /?token=\n");
	if (!take_query(x))
		return reply_bad_query(x);
	return x->route.n_asks > 0 ? ask(x) : reply_send(x);
}

enum MHD_Result exchange_step(struct exchange *x, struct MHD_Connection *connection,
			      const char *url, const char *method)
{
	if (x->checked)
		return reply_send(x);
	x->checked = true;
	x->connection = connection;
	x->path = mem_strdup(url);
	x->route = route_find(x->path);
	return check(x, method);
}
