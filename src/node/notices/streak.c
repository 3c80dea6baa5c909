#include "node/notices/streak.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/fleet/registry.h"
#include "node/notices/ops_copy.h"
#include "node/session/id.h"
#include "node/session/session.h"
#include "node/tree/paths.h"
#include "wire/records/seen_record.h"

#define TRIES 10 /* others change the znode meanwhile; then it is left alone */

/* An end that is being recorded. */
struct streak {
	const struct registry *registry;
	struct ops_copy ops; /* the caller's; behind them those about the znode */
	struct notice_record event;
	char output[RECORD_OUTPUT_MAX], text[NOTICE_TEXT_MAX + 1]; /* of the event, as given */
	bool (*may)(const void *arg);
	store_reply_fn fn;
	void *arg;
	unsigned tries;
	char path[STORE_PATH_MAX];
	struct trouble_record trouble;
	struct buffer data; /* the trouble, packed */
};

static bool is_failure(enum notice_event event)
{
	return event == NOTICE_FAILED || event == NOTICE_LOST || event == NOTICE_MISSED ||
	       event == NOTICE_DEAD;
}

bool streak_counts(const struct registry *r, const struct notice_record *event)
{
	static const enum notice_event wanted[] = {NOTICE_FAILED, NOTICE_LOST,	  NOTICE_MISSED,
						   NOTICE_DEAD,	  NOTICE_OVERDUE, NOTICE_RECOVERED};
	bool any = false;

	if (event->event != NOTICE_RECOVERED && event->event != NOTICE_OVERDUE &&
	    !(is_failure(event->event) && event->failed > 0))
		return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && !any; i++)
		any = notices_wanted(r, wanted[i], event->task);
	return any;
}

static void streak_free(struct streak *s)
{
	ops_copy_done(&s->ops);
	buffer_done(&s->data);
	free(s);
}

static void answer(struct streak *s, const struct store_reply *reply)
{
	s->fn(s->arg, reply);
	streak_free(s);
}

/* --- what is written ------------------------------------------------------ */

static void on_written(void *arg, const struct store_reply *reply);

static void describe_recovery(struct streak *s, int32_t version)
{
	struct notice_record *e = &s->event;
	char since[CLOCK_TEXT_SIZE];

	e->failed = s->trouble.failed + version;
	e->since = s->trouble.since;
	clock_format(e->since, since);
	if (e->failed > 0)
		snprintf(e->text, sizeof(e->text),
			 "%.320s, after %" PRId64 " that did not since %s", s->text, e->failed,
			 since);
	else
		snprintf(e->text, sizeof(e->text), "%.320s; it was overdue since %s", s->text,
			 since);
}

static bool may_go_on(const void *arg)
{
	const struct streak *s = arg;

	return !s->may || s->may(s->arg);
}

/* Sends the transaction, with these operations behind the caller's. */
static void put(struct streak *s, size_t more, bool tells)
{
	if (may_go_on(s))
		notices_alone(s->registry, s->ops.list, s->ops.n + more, &s->event, tells,
			      may_go_on, on_written, s);
	else
		answer(s, &(struct store_reply){.code = STORE_NO_NODE, .text = "not led here"});
}

static void pack_trouble(struct streak *s)
{
	buffer_done(&s->data);
	buffer_init(&s->data, RECORD_SEEN_MAX);
	int error = record_pack_trouble(&s->data, &s->trouble);
	assert(error == 0);
	(void)error;
}

/* The znode is there with that version, -1: it is not. */
static void write_end(struct streak *s, int32_t version)
{
	struct store_op *more = s->ops.list + s->ops.n;
	bool there = version >= 0, overdue = s->event.event == NOTICE_OVERDUE;

	if (s->event.event == NOTICE_RECOVERED && there) {
		*more = (struct store_op){
			.type = STORE_OP_DELETE, .path = s->path, .version = version};
		describe_recovery(s, version);
		put(s, 1, true);
		return;
	}
	if (s->event.event == NOTICE_RECOVERED || (overdue && there)) {
		put(s, 0, overdue);
		return;
	}
	s->event.first = !overdue && (!there || s->trouble.failed + version == 0);
	if (!there)
		s->trouble = (struct trouble_record){.since = s->event.time};
	if (!there || s->event.failed > 1)
		s->trouble.failed += s->event.failed - there;
	s->event.since = overdue ? 0 : s->trouble.since;
	pack_trouble(s);
	/* Dead letters are counted by the version alone, and so do not hinder one another. */
	*more = (struct store_op){.type = there ? STORE_OP_SET : STORE_OP_CREATE,
				  .path = s->path,
				  .data = s->data.data,
				  .len = s->data.len,
				  .version = s->event.event == NOTICE_DEAD ? -1 : version};
	put(s, 1, true);
}

/* --- what is there -------------------------------------------------------- */

static void look(struct streak *s);

static void on_read(void *arg, const struct store_reply *reply)
{
	struct streak *s = arg;
	const char *why = reply->text;

	if (store_is_lost(reply->code)) {
		answer(s, reply);
	} else if (reply->code == STORE_NO_NODE) {
		write_end(s, -1);
	} else if (reply->code == STORE_OK &&
		   record_parse_trouble(reply->data, reply->len, &s->trouble, &why) == 0) {
		write_end(s, reply->stat.version);
	} else {
		log_warning("it is not known whether people are to be told",
			    LOG_STR("znode", s->path), LOG_STR("why", why));
		put(s, 0, s->event.event != NOTICE_RECOVERED);
	}
}

static void look(struct streak *s)
{
	store_get(s->registry->session->store, s->path, false, on_read, s);
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct streak *s = arg;

	if (store_is_lost(reply->code))
		answer(s, reply);
	else if (reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS)
		look(s);
	else
		put(s, 0, true);
}

static void on_written(void *arg, const struct store_reply *reply)
{
	struct streak *s = arg;
	bool ours = reply->code != STORE_OK && !store_is_lost(reply->code) &&
		    reply->failed_op >= (int)s->ops.n;
	char path[STORE_PATH_MAX];

	if (!ours) {
		answer(s, reply);
	} else if (++s->tries >= TRIES || store_is_refusal(reply->code)) {
		log_warning("a failure is not counted", LOG_STR("znode", s->path),
			    LOG_STR("why", reply->text));
		put(s, 0, s->event.event != NOTICE_RECOVERED);
	} else if (reply->code == STORE_NO_NODE && s->event.event != NOTICE_RECOVERED) {
		/* Its folder is missing, or it was deleted meanwhile. */
		path_of(s->registry->session->settings, PATH_TROUBLES, NULL, path);
		store_create(s->registry->session->store, path, on_folder, s);
	} else {
		look(s);
	}
}

void streak_multi(const struct registry *r, const struct store_op *ops, size_t n,
		  const struct notice_record *event, bool (*may)(const void *arg),
		  store_reply_fn fn, void *arg)
{
	struct streak *s = mem_calloc(1, sizeof(*s));

	s->registry = r;
	s->may = may;
	s->fn = fn;
	s->arg = arg;
	s->event = *event;
	memcpy(s->text, event->text, sizeof(s->text));
	ops_copy(&s->ops, ops, n, 1);
	s->event.output = s->output;
	if (event->output_len > 0)
		memcpy(s->output, event->output, event->output_len);
	path_of(r->session->settings, PATH_TROUBLES, s->event.task, s->path);
	look(s);
}

/* --- without a transaction ------------------------------------------------ */

struct lone {
	const struct registry *registry;
	struct notice_record event;
	char output[RECORD_OUTPUT_MAX];
};

/* If it is not known whether the event was noted, it is noted again under the same id. */
static void on_noted(void *arg, const struct store_reply *reply)
{
	struct lone *l = arg;

	if (reply->code != STORE_OK && reply->code != STORE_ABANDONED &&
	    l->event.event != NOTICE_RECOVERED) {
		l->event.failed = 0;
		notices_note(l->registry, &l->event);
	}
	free(l);
}

void streak_note(const struct registry *r, const struct notice_record *event)
{
	struct lone *l = mem_calloc(1, sizeof(*l));
	const struct store_op check = {
		.type = STORE_OP_CHECK, .path = r->session->registration, .version = -1};

	l->registry = r;
	l->event = *event;
	l->event.output = l->output;
	if (event->output_len > 0)
		memcpy(l->output, event->output, event->output_len);
	id_new(r->session->host, l->event.id);
	streak_multi(r, &check, 1, &l->event, NULL, on_noted, l);
}
