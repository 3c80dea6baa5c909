#include "web/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "web/assets/assets.h"
#include "web/metrics.h"
#include "web/page/page.h"
#include "wire/rpc.h"

#define ASK_MS	    4000 /* time for an answer of the sidecar */
#define LEADER_MS   2000
#define TYPE_JSON   "application/json"
#define TYPE_TEXT   "text/plain; charset=utf-8"
#define TYPE_HTML   "text/html; charset=utf-8"
#define TYPE_EVENTS "text/event-stream"
#define OPENMETRICS "application/openmetrics-text"
#define POLICY                                                                      \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
#define COOKIE_SIZE 200
#define BIG_SIZE    (64 * 1024) /* bytes from which an answer's memory is returned at once */

struct exchange *exchange_new(struct exchange_world *world)
{
	struct exchange *x = mem_calloc(1, sizeof(*x));

	x->world = world;
	return x;
}

static void drop_answers(struct exchange *x)
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
	drop_answers(x);
	free(x->path);
	free(x);
}

/* --- answering ------------------------------------------------------------ */

static enum MHD_Result queue(struct exchange *x, unsigned status, const char *type,
			     struct MHD_Response *response)
{
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Content-Security-Policy", POLICY);
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	enum MHD_Result r = MHD_queue_response(x->connection, status, response);
	MHD_destroy_response(response);
	return r;
}

/*
 * Returns the memory of a big answer to the system. One about 1,000 tasks takes megabytes, and the
 * next one may be asked for only in a minute.
 */
static void free_big(void *text)
{
	free(text);
	mem_trim();
}

/*
 * Sends a text of the heap, and takes it over. The sidecar's answers that it was made of are not
 * needed any more.
 */
static enum MHD_Result send_heap(struct exchange *x, unsigned status, const char *type, char *text,
				 size_t len)
{
	drop_answers(x);
	return queue(x, status, type,
		     MHD_create_response_from_buffer_with_free_callback(
			     len, text, len < BIG_SIZE ? free : free_big));
}

static enum MHD_Result send_text(struct exchange *x, unsigned status, const char *text)
{
	char *line = NULL;
	int len = asprintf(&line, "%s\n", text);

	return len < 0 ? MHD_NO : send_heap(x, status, TYPE_TEXT, line, (size_t)len);
}

static enum MHD_Result send_json(struct exchange *x, unsigned status, const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY), *line = NULL;
	int len = text ? asprintf(&line, "%s\n", text) : -1;

	free(text);
	return len < 0 ? MHD_NO : send_heap(x, status, TYPE_JSON, line, (size_t)len);
}

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *header,
			      const char *value, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (r && header)
		MHD_add_response_header(r, header, value);
	return queue(x, status, TYPE_TEXT, r);
}

/* The HTTP status if a question to the sidecar has failed. */
static unsigned status_of(int code)
{
	if (code == RPC_MISUSE)
		return MHD_HTTP_NOT_FOUND;
	return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static enum MHD_Result send_failure(struct exchange *x)
{
	if (x->route.kind == ROUTE_PAGE || x->route.kind == ROUTE_TASK_PAGE) {
		size_t len;
		char *html = page_failure(x->why, x->code == RPC_MISUSE, &len);

		return send_heap(x, status_of(x->code), TYPE_HTML, html, len);
	}
	if (x->route.kind == ROUTE_JSON || x->route.kind == ROUTE_JSON_ONE) {
		json_auto_t *error = json_pack("{s:s}", "error", x->why);

		return send_json(x, status_of(x->code), error);
	}
	return send_text(x, status_of(x->code), x->why);
}

static enum MHD_Result send_leader(struct exchange *x)
{
	const json_t *check = x->answers[0];
	/* The lease counts from before the check was sent, however late its answer came. */
	bool leads = json_flag(check, "leader") &&
		     clock_boot_ms() - x->asked_ms < json_number(check, "lease_ms", 0);

	return send_text(x, leads ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
			 json_text(check, "why", leads ? "leads" : "does not lead"));
}

static enum MHD_Result send_ready(struct exchange *x)
{
	const json_t *session = json_object_get(x->answers[0], "session");

	if (strcmp(json_text(session, "state", ""), "connected") == 0)
		return send_text(x, MHD_HTTP_OK, "ready");
	return send_text(x, MHD_HTTP_SERVICE_UNAVAILABLE,
			 json_text(x->answers[0], "why", "no confirmed session with ZooKeeper"));
}

static enum MHD_Result send_metrics(struct exchange *x)
{
	const char *accept = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Accept");
	bool open = accept && strstr(accept, OPENMETRICS);
	size_t len;
	char *text = metrics_text(x->answers[0], x->answers[1], x->answers[2], open, &len);

	return send_heap(x, MHD_HTTP_OK, open ? METRICS_OPEN_TYPE : METRICS_TYPE, text, len);
}

static enum MHD_Result send_asset(struct exchange *x)
{
	const struct asset *a = asset_find(x->route.name);

	return queue(x, MHD_HTTP_OK, a->type,
		     MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->data,
						     MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_stream(struct exchange *x)
{
	struct MHD_Response *r = events_open(x->world->events, x->connection);

	if (!r)
		return refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "5",
			      "too many streams are open\n");
	x->world->listens(x->world->arg);
	return queue(x, MHD_HTTP_OK, TYPE_EVENTS, r);
}

static char *task_page(json_t *const *answers, size_t *ret_len)
{
	const json_t *tasks = answers[ROUTE_TASK_TASKS], *explain = answers[ROUTE_TASK_EXPLAIN];
	const json_t *status = answers[ROUTE_TASK_STATUS], *queue = answers[ROUTE_TASK_QUEUE];

	if (queue)
		return page_queue(tasks, explain, status, queue, answers[ROUTE_TASK_DEAD], ret_len);
	return page_task(tasks, explain, answers[ROUTE_TASK_HISTORY], status, ret_len);
}

static enum MHD_Result send_page(struct exchange *x)
{
	size_t len;
	char *html = x->route.kind == ROUTE_PAGE ? page_fleet(x->answers[0], x->answers[1],
							      x->answers[2], x->answers[3], &len)
						 : task_page(x->answers, &len);

	return send_heap(x, MHD_HTTP_OK, TYPE_HTML, html, len);
}

static enum MHD_Result send_answer(struct exchange *x)
{
	/* Metrics are sent even if the sidecar is away, and say so. */
	if (x->code != 0 && x->route.kind != ROUTE_METRICS)
		return send_failure(x);
	switch (x->route.kind) {
	case ROUTE_HEALTH: return send_text(x, MHD_HTTP_OK, "the sidecar answers");
	case ROUTE_READY: return send_ready(x);
	case ROUTE_LEADER: return send_leader(x);
	case ROUTE_METRICS: return send_metrics(x);
	case ROUTE_JSON: return send_json(x, MHD_HTTP_OK, x->answers[0]);
	case ROUTE_JSON_ONE: return send_json(x, MHD_HTTP_OK, json_array_get(x->answers[0], 0));
	case ROUTE_EVENTS: return send_stream(x);
	case ROUTE_PAGE:
	case ROUTE_TASK_PAGE: return send_page(x);
	case ROUTE_ASSET: return send_asset(x);
	case ROUTE_NONE: break;
	}
	return refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL, "there is nothing here\n");
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

static void take(struct asked *a, int code, const char *why, json_t *answer)
{
	struct exchange *x = a->exchange;

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

/*
 * Asks one question of the route, unless a recent answer will do. If it cannot be asked, its answer
 * stays missing.
 */
static void ask_one(struct exchange *x, size_t at, int64_t tag)
{
	const struct route_ask *ask = &x->route.asks[at];
	const char *name = ask->named ? x->route.name : NULL;
	int64_t limit_ms = x->route.kind == ROUTE_LEADER ? LEADER_MS : ASK_MS;
	const struct shared_question q = {
		.method = ask->method, .name = name, .tag = tag, .age_ms = ask->age_ms};
	struct asked *a;
	int e;

	if (q.age_ms > 0)
		x->answers[at] = shared_find(x->world->shared, &q);
	if (x->answers[at])
		return;
	a = mem_calloc(1, sizeof(*a));
	*a = (struct asked){.exchange = x, .at = at};
	e = q.age_ms > 0 ? shared_ask(x->world->shared, &q, limit_ms, on_shared, a)
			 : sidecar_ask(x->world->sidecar, q.method, name, limit_ms, on_answer, a);
	if (e == 0) {
		x->open++;
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
		return send_answer(x);
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
	return queue(x, MHD_HTTP_SEE_OTHER, TYPE_TEXT, r);
}

static enum MHD_Result check(struct exchange *x, const char *method)
{
	struct access *access = x->world->access;
	struct MHD_Connection *c = x->connection;
	const char *token = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", "GET, HEAD",
			      "nothing can be changed here: GET and HEAD\n");
	if (!access_host(access, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
		return refuse(x, MHD_HTTP_MISDIRECTED_REQUEST, NULL, NULL,
			      "not the name of this server: see its option --host\n");
	if (x->route.kind == ROUTE_PAGE && token && access_is_token(access, token))
		return let_in(x);
	if (!x->route.open &&
	    !access_granted(access,
			    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
			    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Cookie")))
		return refuse(x, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", "Bearer",
			      "a token is needed: Authorization: Bearer, or once /?token=\n");
	return x->route.n_asks > 0 ? ask(x) : send_answer(x);
}

enum MHD_Result exchange_step(struct exchange *x, struct MHD_Connection *connection,
			      const char *url, const char *method)
{
	if (x->checked)
		return send_answer(x);
	x->checked = true;
	x->connection = connection;
	x->path = mem_strdup(url);
	x->route = route_find(x->path);
	return check(x, method);
}
