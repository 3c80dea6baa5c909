/* The orders of the sidecar, which a runner reads as from a stranger; and the line of what waits to begin. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "runner/due.h"
#include "runner/line.h"
#include "runner/offer.h"
#include "wire/pack.h"

static struct buffer sent;

static struct reader reader_of_sent(void)
{
	struct reader r;

	reader_init(&r, sent.data, sent.len);
	return r;
}

static int parse_due(const char *task, const char *tick, int64_t attempt, struct due *ret)
{
	struct pack p;

	buffer_done(&sent);
	buffer_init(&sent, 65536);
	pack_init(&p, &sent);
	pack_map(&p, 4);
	pack_kv_str(&p, "task", task);
	pack_kv_str(&p, "tick", tick);
	pack_kv_int(&p, "attempt", attempt);
	pack_kv_str(&p, "of a later release", "skipped");
	return due_parse(reader_of_sent(), ret);
}

static int parse_offer(const char *queue, const char *id, struct offer *ret)
{
	struct pack p;

	buffer_done(&sent);
	buffer_init(&sent, 65536);
	pack_init(&p, &sent);
	pack_map(&p, 2);
	pack_kv_str(&p, "queue", queue);
	pack_kv_str(&p, "id", id);
	return offer_parse(reader_of_sent(), ret);
}

Test(due, is_taken_whole)
{
	struct due d;

	cr_assert_eq(parse_due("scan:3", "2026-11-28T02:00:00Z", 2, &d), 0);
	cr_expect_str_eq(d.task, "scan:3");
	cr_expect_str_eq(d.tick, "2026-11-28T02:00:00Z");
	cr_expect_eq(d.attempt, 2);
}

/* A tick becomes the name of a file, and each of them a word of a log. */
Test(due, what_is_not_fit_is_refused_and_nothing_is_changed)
{
	static const struct {
		const char *task, *tick;
		int64_t attempt;
	} bad[] = {
		{"../etc", "2026-11-28T02:00:00Z", 1},
		{"", "2026-11-28T02:00:00Z", 1},
		{"t", "../../2026", 1},
		{"t", "2026-11-28T02:00:00Z\n", 1},
		{"t", "", 1},
		{"t", "2026-11-28T02:00:00Z2026-11-28T02:00:00Z", 1},
		{"t", "2026-11-28T02:00:00Z", 0},
		{"t", "2026-11-28T02:00:00Z", INT64_C(1) << 40},
	};
	struct due d = {.attempt = 77};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(parse_due(bad[i].task, bad[i].tick, bad[i].attempt, &d), -EBADMSG,
			     "%s at %s", bad[i].task, bad[i].tick);
	cr_expect_eq(d.attempt, 77);
}

Test(due, a_message_that_is_cut_is_refused_wherever)
{
	struct due d;
	size_t whole;

	cr_assert_eq(parse_due("t", "2026-11-28T02:00:00Z", 1, &d), 0);
	whole = sent.len;
	for (sent.len = 0; sent.len < whole; sent.len++)
		cr_expect_lt(due_parse(reader_of_sent(), &d), 0, "%zu of %zu bytes", sent.len,
			     whole);
}

Test(offer, is_taken_or_refused)
{
	static const char *const bad[] = {"", "a b", "a/b", "a\nb", "a\x1b[2J", "\xc3\xa4"};
	char long_id[OFFER_ID_SIZE + 1];
	struct offer o;

	cr_assert_eq(parse_offer("pdf", "pdf.htjja.ed9a8e2a-33eb", &o), 0);
	cr_expect_str_eq(o.queue, "pdf");
	cr_expect_str_eq(o.id, "pdf.htjja.ed9a8e2a-33eb");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(parse_offer("pdf", bad[i], &o), -EBADMSG, "%zu", i);
	cr_expect_eq(parse_offer("p:1", "a", &o), -EBADMSG, "a queue has no partitions");
	memset(long_id, 'a', sizeof(long_id) - 1);
	long_id[sizeof(long_id) - 1] = '\0';
	cr_expect_lt(parse_offer("pdf", long_id, &o), 0, "an id that does not fit");
	long_id[sizeof(long_id) - 2] = '\0';
	cr_expect_eq(parse_offer("pdf", long_id, &o), 0, "the longest that does");
}

static struct line_item item_of(int i)
{
	struct line_item item = {.is_job = true};
	char id[20];

	snprintf(id, sizeof(id), "%d", i);
	item.key = jobs_key("pdf", id, 0);
	snprintf(item.offer.queue, sizeof(item.offer.queue), "pdf");
	snprintf(item.offer.id, sizeof(item.offer.id), "%s", id);
	return item;
}

Test(line, first_in_first_out)
{
	struct line_item got, item;
	struct jobs_key key;
	struct line l = {0};
	int in = 0, out = 0;

	cr_expect_not(line_take(&l, &got));
	/* Grows and shrinks, so that what was taken is removed from the array in between. */
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 7 + round % 3; i++) {
			item = item_of(in++);
			line_add(&l, &item);
		}
		for (int i = 0; i < 7; i++) {
			cr_assert(line_take(&l, &got));
			cr_expect_eq(atoi(got.offer.id), out);
			out++;
		}
	}
	cr_expect_eq(line_length(&l), (size_t)(in - out));
	key = item_of(out).key;
	cr_expect(line_has(&l, &key));
	key = item_of(out - 1).key;
	cr_expect_not(line_has(&l, &key), "it was taken");
	cr_expect_lt(l.n, 200, "the array does not grow for ever");
	line_clear(&l);
	cr_expect_eq(line_length(&l), 0);
}

Test(jobs_key, is_of_one_attempt)
{
	struct jobs_key a = jobs_key("t", "2026-11-28T02:00:00Z", 1);
	struct jobs_key b = jobs_key("t", "2026-11-28T02:00:00Z", 2);
	struct jobs_key c = jobs_key("t", "2026-11-28T02:00:00Z", 1);

	cr_expect(jobs_same(&a, &c));
	cr_expect_not(jobs_same(&a, &b));
}
