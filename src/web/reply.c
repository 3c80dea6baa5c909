#include "web/reply.h"

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

#define TYPE_JSON   "application/json"
#define TYPE_HTML   "text/html; charset=utf-8"
#define TYPE_EVENTS "text/event-stream"
#define OPENMETRICS "application/openmetrics-text"
#define POLICY                                                                      \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
#define BIG_SIZE (64 * 1024) /* bytes from which an answer's memory is returned at once */

enum MHD_Result reply_queue(struct exchange *x, unsigned status, const char *type,
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
	exchange_drop_answers(x);
	return reply_queue(x, status, type,
			   MHD_create_response_from_buffer_with_free_callback(
				   len, text, len < BIG_SIZE ? free : free_big));
}

static enum MHD_Result send_text(struct exchange *x, unsigned status, const char *text)
{
	char *line = NULL;
	int len = asprintf(&line, "%s\n", text);

	return len < 0 ? MHD_NO : send_heap(x, status, REPLY_TEXT, line, (size_t)len);
}

static enum MHD_Result send_json(struct exchange *x, unsigned status, const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY), *line = NULL;
	int len = text ? asprintf(&line, "%s\n", text) : -1;

	free(text);
	return len < 0 ? MHD_NO : send_heap(x, status, TYPE_JSON, line, (size_t)len);
}

enum MHD_Result reply_refuse(struct exchange *x, unsigned status, const char *header,
			     const char *value, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (r && header)
		MHD_add_response_header(r, header, value);
	return reply_queue(x, status, REPLY_TEXT, r);
}

/* The HTTP status if a question to the sidecar has failed. */
static unsigned status_of(int code)
{
	if (code == RPC_MISUSE)
		return MHD_HTTP_NOT_FOUND;
	return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static bool is_page(const struct exchange *x)
{
	return x->route.kind == ROUTE_PAGE || x->route.kind == ROUTE_TASK_PAGE ||
	       x->route.kind == ROUTE_RUNS_PAGE || x->route.kind == ROUTE_NIGHT_PAGE;
}

static enum MHD_Result send_failure(struct exchange *x)
{
	if (is_page(x)) {
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

	return reply_queue(x, MHD_HTTP_OK, a->type,
			   MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->data,
							   MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_stream(struct exchange *x)
{
	struct MHD_Response *r = events_open(x->world->events, x->connection);

	if (!r)
		return reply_refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "5",
				    "too many streams are open\n");
	x->world->listens(x->world->arg);
	return reply_queue(x, MHD_HTTP_OK, TYPE_EVENTS, r);
}

static char *task_page(json_t *const *answers, size_t *ret_len)
{
	const json_t *tasks = answers[ROUTE_TASK_TASKS], *explain = answers[ROUTE_TASK_EXPLAIN];
	const json_t *status = answers[ROUTE_TASK_STATUS], *queue = answers[ROUTE_TASK_QUEUE];

	if (queue)
		return page_queue(tasks, explain, status, queue, answers[ROUTE_TASK_DEAD], ret_len);
	return page_task(&(struct page_task){.tasks = tasks,
					     .explain = explain,
					     .status = status,
					     .runs = answers[ROUTE_TASK_HISTORY],
					     .next = answers[ROUTE_TASK_NEXT]},
			 ret_len);
}

static enum MHD_Result send_page(struct exchange *x)
{
	json_t *const *answers = x->answers;
	const struct page_home home = {.tasks = answers[ROUTE_HOME_TASKS],
				       .workers = answers[ROUTE_HOME_WORKERS],
				       .status = answers[ROUTE_HOME_STATUS],
				       .queues = answers[ROUTE_HOME_QUEUES],
				       .runs = answers[ROUTE_HOME_RUNS],
				       .query = &x->query,
				       .again = x->again};
	const struct page_runs runs = {.tasks = answers[ROUTE_RUNS_TASKS],
				       .status = answers[ROUTE_RUNS_STATUS],
				       .runs = answers[ROUTE_RUNS_RUNS],
				       .query = &x->query};
	char *html;
	size_t len;

	if (x->route.kind == ROUTE_PAGE)
		html = page_fleet(&home, &len);
	else if (x->route.kind == ROUTE_RUNS_PAGE)
		html = page_runs(&runs, &len);
	else if (x->route.kind == ROUTE_NIGHT_PAGE)
		html = page_night(&runs, &len);
	else
		html = task_page(x->answers, &len);
	return send_heap(x, MHD_HTTP_OK, TYPE_HTML, html, len);
}

enum MHD_Result reply_bad_query(struct exchange *x)
{
	size_t len;
	char *html = page_refusal(x->why, &len);

	return send_heap(x, MHD_HTTP_BAD_REQUEST, TYPE_HTML, html, len);
}

enum MHD_Result reply_send(struct exchange *x)
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
	case ROUTE_RUNS_PAGE:
	case ROUTE_NIGHT_PAGE:
	case ROUTE_TASK_PAGE: return send_page(x);
	case ROUTE_ASSET: return send_asset(x);
	case ROUTE_NONE: break;
	}
	return reply_refuse(x, MHD_HTTP_NOT_FOUND, NULL, NULL, "there is nothing here\n");
}
