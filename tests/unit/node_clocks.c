/*
 * When the ZooKeeper server is asked for its time, and again where it was not told. Session, registration,
 * store and the machine's clock are the test's.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/log/log.h"
#include "node/fleet/registry.h"

#define SERVER_MS INT64_C(1795000000000)
#define MINUTE_MS 60000
#define HOUR_MS	  (60 * MINUTE_MS)

static int64_t now_ms = 1000000, ahead_ms, rings_ms; /* 0: the timer is not set */
static struct host_timer *timer;
static struct registry r;
static struct worker self = {.id = "me", .clock_tolerance_ms = CLOCKS_TOLERANCE_MS};
static struct member member = {.worker = &self};
static struct store_reply reply; /* to the next request; that time comes with it */
static bool gone;		 /* our record is; the folder is there */
static int asked, published, clocked;

int64_t host_now_ms(const struct host *h)
{
	(void)h;
	return now_ms;
}

int64_t host_wall_ms(const struct host *h)
{
	(void)h;
	return SERVER_MS + now_ms;
}

void host_random(struct host *h, void *to, size_t n)
{
	(void)h;
	memset(to, 0, n);
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg};
	timer = t;
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	(void)t;
	rings_ms = now_ms + ms;
}

void host_timer_stop(struct host_timer *t)
{
	(void)t;
	rings_ms = 0;
}

void host_timer_done(struct host_timer *t)
{
	host_timer_stop(t);
}

bool session_is_up(const struct session *s)
{
	(void)s;
	return true;
}

const struct member *registry_self(const struct registry *registry)
{
	return registry->id[0] ? &member : NULL;
}

void registry_make_parents(struct registry *registry)
{
	(void)registry;
}

void registry_retimed(struct registry *registry)
{
	(void)registry;
	published++;
}

static bool settled = true; /* all other workers have been read in this session */

bool registry_settled(const struct registry *registry)
{
	(void)registry;
	return settled;
}

/* A registration waits for it. */
void registry_clocked(struct registry *registry)
{
	clocked++;
	clocks_ready(&registry->clocks);
}

static int touched;

void folder_touch(struct folder *f)
{
	(void)f;
	touched++;
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	struct store_reply to_this = reply;

	(void)s, (void)n;
	asked++;
	if (gone)
		to_this.code = strcmp(ops->path, "/r/workers") == 0 ? STORE_OK : STORE_NO_NODE;
	to_this.sent_ms = now_ms;
	to_this.stat.mtime = to_this.code == STORE_OK ? SERVER_MS + now_ms - ahead_ms : 0;
	fn(arg, &to_this);
}

static void start(void)
{
	static struct session session;
	static const struct node_settings settings = {.root = "/r"};

	log_setup(LOG_ERROR, LOG_TEXT, false);
	r.session = &session;
	r.settings = &settings;
	clocks_init(&r.clocks, &r, NULL);
}

/* Registered, with the server's time known and our clock that of the server. */
static void begin(void)
{
	start();
	cr_assert_not(clocks_ready(&r.clocks)); /* asked, and answered at once */
	cr_assert(clocks_ready(&r.clocks));
	strcpy(r.id, self.id);
	clocks_registered(&r.clocks);
	cr_assert_eq(asked, 1);
}

static void pass(int64_t ms)
{
	int64_t end = now_ms + ms;

	while (rings_ms > 0 && rings_ms <= end) {
		now_ms = rings_ms;
		rings_ms = 0;
		timer->fn(timer->arg);
	}
	now_ms = end;
}

Test(clocks, the_time_is_asked_for_again_every_ten_minutes)
{
	begin();
	pass(HOUR_MS);
	cr_assert_eq(asked, 1 + 6);
	cr_assert_eq(published, 0);
}

/* All are judged anew once their records are comparable, though an answer comes at that very moment. */
Test(clocks, after_a_jump_all_are_judged_anew_in_time)
{
	struct store_reply heard = {.code = STORE_OK};

	begin();
	heard.sent_ms = now_ms;
	heard.stat.mtime = SERVER_MS + now_ms + HOUR_MS;
	clocks_heard(&r.clocks, &heard);
	cr_assert_gt(r.clocks.skew.settled_ms, now_ms);
	heard.sent_ms = now_ms = r.clocks.skew.settled_ms;
	heard.stat.mtime = SERVER_MS + now_ms + HOUR_MS;
	clocks_heard(&r.clocks, &heard);
	cr_expect_eq(touched, 0);
	pass(1000);
	cr_expect_eq(touched, 1);
	pass(MINUTE_MS);
	cr_expect_eq(touched, 1);
}

Test(clocks, one_that_is_off_stays_so_behind_a_jump_though_it_registers_anew)
{
	static struct worker workers[2] = {
		{.id = "a", .machine = "a", .clock_tolerance_ms = CLOCKS_TOLERANCE_MS},
		{.id = "b", .machine = "b", .clock_tolerance_ms = CLOCKS_TOLERANCE_MS}};
	static struct member others[2] = {{.worker = &workers[0]}, {.worker = &workers[1]}};
	static struct member *fleet[3] = {&others[0], &others[1], &member};
	struct store_reply heard = {.code = STORE_OK};
	bool off[3];

	begin();
	r.fleet.by_id = fleet;
	r.fleet.n_members = 3;
	self.clock_offset_ms = HOUR_MS;
	cr_assert(clocks_judge(&r.clocks, off));
	cr_assert(off[2] && !off[0]);
	heard.sent_ms = now_ms;
	heard.stat.mtime = SERVER_MS + now_ms + MINUTE_MS;
	clocks_heard(&r.clocks, &heard);
	cr_assert_not(clocks_judge(&r.clocks, off));
	member.clock_off = false; /* it is another's, which nobody has judged */
	cr_expect(clocks_is_off(&r.clocks));
	clocks_expired(&r.clocks);
	cr_expect_not(r.clocks.off);
	r.fleet.n_members = 0;
}

Test(clocks, what_was_not_told_is_asked_for_again_soon)
{
	begin();
	ahead_ms = HOUR_MS;
	reply.code = STORE_UNKNOWN;
	pass(11 * MINUTE_MS);
	cr_expect_eq(published, 0);
	reply.code = STORE_OK;
	pass(MINUTE_MS);
	cr_expect_eq(published, 1);
}

Test(clocks, a_record_that_was_replaced_meanwhile_is_not_waited_for)
{
	begin();
	ahead_ms = HOUR_MS;
	gone = true;
	pass(11 * MINUTE_MS);
	cr_expect_eq(published, 1);
}

Test(clocks, a_record_that_is_gone_is_asked_about_once)
{
	/* Taken over from the sidecar before us, and deleted before we knew the time. */
	start();
	gone = true;
	strcpy(r.id, self.id);
	clocks_taken_over(&r.clocks, &self);
	cr_expect(clocks_ready(&r.clocks));
	cr_expect_eq(asked, 2);
	cr_expect_gt(clocked, 0);
}

/* Then the registration goes ahead without. */
Test(clocks, a_server_of_before_1970_is_not_asked_for_ever)
{
	start();
	ahead_ms = 2 * SERVER_MS;
	clocks_ready(&r.clocks);
	cr_expect(clocks_ready(&r.clocks));
	cr_expect_eq(asked, 1);
	cr_expect_eq(clocked, 1);
}

/* The server's clock is set twice, and another worker is the first to tell of it. */
Test(clocks, what_others_tell_is_asked_about_each_time)
{
	struct worker other = {
		.id = "a", .clock_tolerance_ms = CLOCKS_TOLERANCE_MS, .clock_offset_ms = HOUR_MS};
	int before;

	begin();
	pass(1000);
	before = asked;
	clocks_joined(&r.clocks, &other);
	clocks_joined(&r.clocks, &other);
	pass(1000);
	cr_expect_eq(asked, before + 1);
	other.clock_offset_ms = 2 * HOUR_MS;
	clocks_joined(&r.clocks, &other);
	pass(1000);
	cr_expect_eq(asked, before + 1, "not again and again");
	pass(15000);
	cr_expect_eq(asked, before + 2, "but it is not forgotten");
	other.clock_offset_ms = 0;
	clocks_joined(&r.clocks, &other);
	pass(MINUTE_MS);
	cr_expect_eq(asked, before + 2, "they agree");
}

static struct worker voters[3] = {
	{.id = "a", .machine = "a", .clock_tolerance_ms = CLOCKS_TOLERANCE_MS},
	{.id = "b", .machine = "b", .clock_tolerance_ms = CLOCKS_TOLERANCE_MS},
	{.id = "c",
	 .machine = "c",
	 .clock_tolerance_ms = CLOCKS_TOLERANCE_MS,
	 .clock_offset_ms = HOUR_MS}};
static struct member voting[3] = {
	{.worker = &voters[0]}, {.worker = &voters[1]}, {.worker = &voters[2]}};
static struct member *voting_fleet[4] = {&member, &voting[2], &voting[0], &voting[1]};

/* Ours is judged with that many of these beside us: first the one that agrees. */
static bool is_judged_off(size_t n)
{
	bool off[4];

	r.fleet.by_id = voting_fleet;
	r.fleet.n_members = n + 1;
	r.clocks.skew.known = false;
	r.clocks.offset_ms = self.clock_offset_ms = HOUR_MS;
	cr_assert(clocks_judge(&r.clocks, off));
	member.clock_off = off[0];
	return off[0];
}

/* A worker that registers anew is away for a moment. */
Test(clocks, one_that_is_off_stays_so_while_a_vote_is_away)
{
	begin();
	cr_assert(is_judged_off(3), "two of four agree");
	cr_assert_not(is_judged_off(2), "two of three agree");
	pass(3000);
	cr_expect(clocks_is_off(&r.clocks));
	touched = 0;
	pass(3000);
	cr_expect_not(clocks_is_off(&r.clocks));
	cr_expect_eq(touched, 1, "what waited for it goes on");
	r.fleet.n_members = 0;
}

Test(clocks, a_vote_for_it_counts_at_once)
{
	begin();
	voting_fleet[1] = &voting[0];
	voting_fleet[2] = &voting[2];
	cr_assert(is_judged_off(1));
	cr_assert_not(is_judged_off(2));
	cr_expect_not(clocks_is_off(&r.clocks));
	r.fleet.n_members = 0;
}

/* The record that is on its way has the offset of before: another follows. */
Test(clocks, what_changes_during_the_first_registration_is_published)
{
	struct store_reply told = {.sent_ms = now_ms, .stat.mtime = SERVER_MS + now_ms - HOUR_MS};

	start();
	clocks_ready(&r.clocks);
	r.attempt = &self;
	clocks_heard(&r.clocks, &told);
	cr_expect_eq(published, 1);
}

/* --- the clock of jobs ----------------------------------------------------------------------------------- */

#define DAYS_MS (10 * 24 * INT64_C(3600000))

static struct member *alone[1] = {&member};

static void join_alone(void)
{
	r.fleet.by_id = alone;
	r.fleet.n_members = 1;
	strcpy(r.id, self.id);
	clocks_registered(&r.clocks);
}

/* By how much it is ahead of ours. */
static int64_t jobs_ahead(void)
{
	int64_t ms;

	cr_assert(clocks_jobs(&r.clocks, &ms));
	return ms - (SERVER_MS + now_ms);
}

Test(clocks, jobs_go_by_the_servers_clock)
{
	int64_t ms;

	start();
	cr_expect_not(clocks_jobs(&r.clocks, &ms));
	ahead_ms = 15 * MINUTE_MS;
	clocks_ready(&r.clocks);
	cr_expect_eq(jobs_ahead(), -15 * MINUTE_MS);
	cr_expect_eq(clocks_jobs_offset(&r.clocks), 0);
}

/* The others may know that the server is behind: delays wait until they can be heard. */
Test(clocks, the_earlier_one_of_two_is_doubted_until_the_others_are_heard)
{
	start();
	clocks_ready(&r.clocks);
	cr_expect_not(clocks_jobs_doubted(&r.clocks), "both are alike");
	clocks_done(&r.clocks);
	start();
	ahead_ms = 15 * MINUTE_MS;
	clocks_ready(&r.clocks);
	cr_expect(clocks_jobs_doubted(&r.clocks));
	join_alone();
	pass(CLOCKS_JOBS_SETTLE_MS - 1000);
	cr_expect(clocks_jobs_doubted(&r.clocks));
	settled = false;
	pass(61000);
	cr_expect(clocks_jobs_doubted(&r.clocks), "the others have not been read in this session");
	settled = true;
	pass(61000);
	cr_expect_not(clocks_jobs_doubted(&r.clocks));
}

/* Alone, nobody can tell which of the two is wrong: nothing is to begin early. */
Test(clocks, jobs_go_by_the_earlier_one_where_nobody_else_is_there)
{
	start();
	ahead_ms = -DAYS_MS;
	clocks_ready(&r.clocks);
	cr_expect_eq(jobs_ahead(), 0);
	cr_expect_eq(clocks_jobs_offset(&r.clocks), -DAYS_MS);
	join_alone();
	pass(HOUR_MS);
	cr_expect_eq(jobs_ahead(), 0);
}

Test(clocks, a_server_that_is_set_changes_nothing_for_jobs_until_all_have_told)
{
	static struct worker other = {.id = "a",
				      .machine = "a",
				      .hostname = "a",
				      .clock_tolerance_ms = CLOCKS_TOLERANCE_MS};
	static struct member others = {.worker = &other};
	static struct member *fleet[2] = {&others, &member};

	begin();
	member.worker = &self;
	r.fleet.by_id = fleet;
	r.fleet.n_members = 2;
	ahead_ms = -DAYS_MS;
	pass(10 * MINUTE_MS + 5000);
	cr_assert_gt(asked, 1);
	cr_expect_eq(jobs_ahead(), 0);
	/* Both are behind it by as much: it is the server's that is wrong. */
	other.clock_offset_ms = self.clock_offset_ms = -DAYS_MS;
	pass(MINUTE_MS);
	cr_expect_eq(jobs_ahead(), 0);
	cr_expect_eq(clocks_jobs_offset(&r.clocks), -DAYS_MS);
	/* The other one agrees with it, and it was ours that was wrong. */
	other.clock_offset_ms = 0;
	pass(2 * MINUTE_MS);
	cr_expect_eq(jobs_ahead(), DAYS_MS);
	cr_expect_eq(clocks_jobs_offset(&r.clocks), 0);
	r.fleet.n_members = 0;
}

Test(clocks, a_server_that_was_set_before_the_next_session_likewise)
{
	begin();
	ahead_ms = -DAYS_MS;
	clocks_expired(&r.clocks);
	r.id[0] = '\0';
	cr_expect_eq(jobs_ahead(), 0);
	clocks_ready(&r.clocks);
	cr_expect_eq(jobs_ahead(), 0);
	cr_expect_eq(clocks_jobs_offset(&r.clocks), 0, "not judged yet");
	join_alone();
	pass(MINUTE_MS);
	cr_expect_eq(jobs_ahead(), 0);
	cr_expect_eq(clocks_jobs_offset(&r.clocks), -DAYS_MS);
}
