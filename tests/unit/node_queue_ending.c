/* The end of an attempt, and the transaction that it makes: a table of ends. */
#include "queue_site.h"

#include "node/queue/queue_ending.h"

#define ENDED_MS (WALL_MS + 5000)
#define FROM	 "/r/jobs/q/at/here/x"

static struct job_record record;
static struct job_ending ending;
static struct store_op ops[ENDING_OPS];

static void fresh(void)
{
	record = (struct job_record){.attempt = 2,
				     .exit_status = 3,
				     .why = "status",
				     .detail = "exit status 3",
				     .submitted = 1,
				     .due = ENDED_MS + 60000,
				     .ended = ENDED_MS,
				     .payload = "bytes",
				     .payload_len = 5};
	job_id_format(&id, record.id);
	snprintf(record.queue, sizeof(record.queue), "q");
	snprintf(record.node, sizeof(record.node), "there:/s");
	ending = (struct job_ending){.queue = queue_find(&queues, "q"),
				     .pointer = job_pointer_to(&id, WALL_MS, false),
				     .record = &record,
				     .job_version = 4,
				     .from = FROM,
				     .from_version = 6,
				     .attempt = 2};
}

static void begin(void)
{
	begin_node();
	fresh();
}

TestSuite(queue_ending, .init = begin);

/* The operations as a text, without the minutes of folders and what comes behind them. */
static const char *said(size_t n)
{
	static char text[400];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const char *path = strcmp(ops[i].path, FROM) == 0
					   ? "from"
					   : ops[i].path + strlen("/r/jobs/q/");
		const char *of = strstr(path, ".callback") ? " of a callback" : "";
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.*s%s v%d",
					 i ? ", " : "",
					 ops[i].type == STORE_OP_SET	  ? "set"
					 : ops[i].type == STORE_OP_DELETE ? "delete"
									  : "create",
					 (int)strcspn(path, "/"), path, of, (int)ops[i].version);
	}
	return text;
}

Test(queue_ending, each_end_has_its_operations)
{
	static const struct {
		enum job_next next;
		const char *url; /* of the callback that the job has */
		bool callback;	 /* it is the callback's own end */
		const char *ops;
	} cases[] = {
		{JOB_NEXT_OK, "", false, "set job v4, delete from v6"},
		{JOB_NEXT_CANCELLED, "", false, "set job v4, delete from v6"},
		{JOB_NEXT_DEAD, "", false, "set job v4, delete from v6, create dead v0"},
		{JOB_NEXT_LOST, "", false, "set job v4, delete from v6, create dead v0"},
		{JOB_NEXT_AGAIN, "", false, "set job v4, delete from v6, create due v0"},
		/* A callback tells of the job's end, but not of another attempt. */
		{JOB_NEXT_OK, "http://a", false,
		 "set job v4, delete from v6, create due of a callback v0"},
		{JOB_NEXT_CANCELLED, "http://a", false,
		 "set job v4, delete from v6, create due of a callback v0"},
		{JOB_NEXT_DEAD, "http://a", false,
		 "set job v4, delete from v6, create dead v0, create due of a callback v0"},
		{JOB_NEXT_AGAIN, "http://a", false, "set job v4, delete from v6, create due v0"},
		/* A callback has no record of its own, and is no dead letter. */
		{JOB_NEXT_OK, "http://a", true, "delete from v6"},
		{JOB_NEXT_DEAD, "http://a", true, "delete from v6"},
		{JOB_NEXT_AGAIN, "http://a", true, "delete from v6, create due of a callback v0"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fresh();
		ending.next = cases[i].next;
		ending.pointer.callback = cases[i].callback;
		snprintf(record.callback, sizeof(record.callback), "%s", cases[i].url);
		size_t n = job_ending_ops(&ending, ops);
		cr_expect_str_eq(said(n), cases[i].ops);
		for (size_t j = 0; j < n; j++) {
			enum ending_op kind = job_ending_op(&ending, j);
			const char *path = strcmp(ops[j].path, FROM) == 0 ? "from" : ops[j].path;
			cr_expect_eq(kind == ENDING_SET, ops[j].type == STORE_OP_SET,
				     "case %zu, %zu", i, j);
			cr_expect_eq(kind == ENDING_DELETE, ops[j].type == STORE_OP_DELETE,
				     "case %zu, %zu", i, j);
			cr_expect_eq(kind == ENDING_CALLBACK,
				     !cases[i].callback && strstr(path, ".callback") != NULL,
				     "case %zu, %zu", i, j);
		}
		job_ending_done(&ending);
	}
}

/* Another attempt is due then; a callback at once, as the job has ended. */
Test(queue_ending, when_what_follows_is_due)
{
	struct job_pointer p = ending.pointer;

	p.due_ms = record.due;
	ending.next = JOB_NEXT_AGAIN;
	cr_expect_eq(job_ending_folders(&ending).due_minute, queue_due_minute(ending.queue, &p));
	cr_expect_eq(job_ending_folders(&ending).job_minute, -1, "the record's folder is there");
	ending.next = JOB_NEXT_OK;
	p.due_ms = record.ended;
	cr_expect_eq(job_ending_folders(&ending).due_minute, queue_due_minute(ending.queue, &p));
	/* A callback is due at its own time; that of the record is the job's. */
	ending.pointer.callback = true;
	ending.next = JOB_NEXT_AGAIN;
	cr_expect_eq(job_ending_folders(&ending).due_minute,
		     queue_due_minute(ending.queue, &ending.pointer));
}

Test(queue_ending, the_record_of_each_end)
{
	static const struct {
		enum job_next next;
		const char *state;
		bool payload;
	} cases[] = {
		{JOB_NEXT_OK, "ok", false},	  {JOB_NEXT_DEAD, "dead", true},
		{JOB_NEXT_LOST, "lost", true},	  {JOB_NEXT_CANCELLED, "cancelled", false},
		{JOB_NEXT_AGAIN, "queued", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fresh();
		record.ended = record.due = 0;
		job_ending_fill(&record, cases[i].next, 7000, 500);
		cr_expect_str_eq(record.state, cases[i].state);
		cr_expect_eq(record.payload != NULL, cases[i].payload, "%s", record.state);
		cr_expect_eq(record.due, cases[i].next == JOB_NEXT_AGAIN ? 7500 : 0, "%s",
			     record.state);
		cr_expect_eq(record.ended, cases[i].next == JOB_NEXT_AGAIN ? 0 : 7000, "%s",
			     record.state);
	}
	/* 0 would say that it has not ended. */
	job_ending_fill(&record, JOB_NEXT_OK, -5, 0);
	cr_expect_eq(record.ended, 1);
}

Test(queue_ending, people_are_told_of_a_callback_that_is_given_up)
{
	struct notice_record event;

	ending.next = JOB_NEXT_DEAD;
	ending.pointer.callback = true;
	ending.attempt = 5;
	cr_assert(job_ending_event(&ending, &registry, &event));
	cr_expect_eq(event.event, NOTICE_DEAD);
	cr_expect_eq(event.attempt, 5);
	cr_expect(strstr(event.text, "the callback of job"), "%s", event.text);
	cr_expect(strstr(event.text, record.id), "%s", event.text);
}

Test(queue_ending, people_are_told_how_jobs_and_attempts_have_ended)
{
	static const struct {
		enum job_next next;
		bool callback, told;
		enum notice_event event;
		const char *node, *text;
	} cases[] = {
		{JOB_NEXT_OK, false, true, NOTICE_RECOVERED, "here", "ended well"},
		{JOB_NEXT_CANCELLED, false, false, NOTICE_EVENTS, NULL, NULL},
		{JOB_NEXT_AGAIN, false, true, NOTICE_RETRYING, "here",
		 "failed: exit status 3; another one follows"},
		{JOB_NEXT_AGAIN, true, false, NOTICE_EVENTS, NULL, NULL},
		{JOB_NEXT_OK, true, false, NOTICE_EVENTS, NULL, NULL},
		{JOB_NEXT_DEAD, false, true, NOTICE_DEAD, "here",
		 "is given up: exit status 3: zkleader dead q"},
		{JOB_NEXT_LOST, false, true, NOTICE_DEAD, "there:/s",
		 "was lost with its worker: exit status 3: zkleader dead q"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct notice_record event;
		ending.next = cases[i].next;
		ending.pointer.callback = cases[i].callback;
		cr_expect_eq(job_ending_event(&ending, &registry, &event), cases[i].told,
			     "case %zu", i);
		if (!cases[i].told)
			continue;
		cr_expect_eq(event.event, cases[i].event, "case %zu", i);
		cr_expect_eq(event.failed, cases[i].event == NOTICE_DEAD, "case %zu", i);
		cr_expect_eq(event.attempt, 2);
		cr_expect_eq(event.exit_status, 3);
		cr_expect_str_eq(event.why, "status");
		cr_expect_str_eq(event.detail, "exit status 3");
		cr_expect_str_eq(event.node, cases[i].node);
		cr_expect(strstr(event.text, cases[i].text), "%s", event.text);
		cr_expect(strstr(event.text, record.id), "%s", event.text);
	}
}
