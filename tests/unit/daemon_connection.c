/* The control socket with real clients on it, one turn of the loop at a time. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/socket/control.h"

static char folder[] = "/tmp/zkl-connection-XXXXXX";
static char path[64];
static uv_loop_t loop;

/* The methods' side: who asked, how often each was gone. */
static struct {
	struct peer *asked[4];
	size_t n_asked, gone;
	bool telling, gone_meanwhile;
	bool answering;	       /* each request, at once */
	int ends[2];	       /* of the two clients that then ask */
	size_t told_meanwhile; /* who can read an answer when the second one asks */
	int64_t asked_us;      /* when the last one asked */
	int64_t apart_us;      /* from the one before */
} methods;

static void tell(struct peer *c);

static size_t can_read(void)
{
	char byte;
	size_t n = 0;

	for (size_t i = 0; i < 2; i++)
		n += recv(methods.ends[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
	return n;
}

static void on_request(void *arg, struct peer *c, const struct rpc_message *m)
{
	(void)arg, (void)m;
	methods.apart_us = clock_boot_us() - methods.asked_us;
	methods.asked_us += methods.apart_us;
	methods.asked[methods.n_asked++ % 4] = c;
	if (!methods.answering)
		return;
	if (methods.n_asked == 2)
		methods.told_meanwhile = can_read();
	tell(c);
}

static void on_gone(void *arg, struct peer *c)
{
	(void)arg, (void)c;
	methods.gone++;
	methods.gone_meanwhile |= methods.telling;
}

static void on_drained(void *arg, struct peer *c)
{
	(void)arg, (void)c;
}

static void on_room(void *arg)
{
	(void)arg;
}

static struct control control = {
	.request = on_request, .gone = on_gone, .drained = on_drained, .room = on_room};

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s", folder);
	uv_loop_init(&loop);
	cr_assert_eq(control_open(&control, &loop, path, 0600, (gid_t)-1), 0);
}

static void teardown(void)
{
	char lock[80];

	control_close(&control);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&loop), 0);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	cr_assert_eq(rmdir(folder), 0, "nothing is left in %s", folder);
}

TestSuite(connection, .init = setup, .fini = teardown);

static int new_client(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(to.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* A client whose request has been heard, and waits for its answer. */
static int waiting_client(void)
{
	static const uint8_t request[] = {0x94, 0, 7, 0xa1, 'x', 0x90};
	size_t before = methods.n_asked;
	int fd = new_client();

	cr_assert_eq(write(fd, request, sizeof(request)), sizeof(request));
	while (methods.n_asked == before)
		uv_run(&loop, UV_RUN_ONCE);
	return fd;
}

static void tell(struct peer *c)
{
	methods.telling = true;
	peer_error(c, 7, RPC_MISUSE, "why not");
	methods.telling = false;
}

static void until_gone(size_t n)
{
	while (methods.gone < n)
		uv_run(&loop, UV_RUN_ONCE);
}

/* A caller that tells a client something still uses it, so its end is heard of later. */
Test(connection, a_client_that_is_gone_goes_behind_what_it_is_told)
{
	int fd = waiting_client();

	close(fd);
	tell(methods.asked[0]);
	cr_expect_eq(methods.gone, 0);
	tell(methods.asked[0]); /* it is there still, and takes nothing */
	cr_expect(peer_begin_notification(methods.asked[0], "event") == NULL);
	cr_expect_not(peer_takes_more(methods.asked[0]));
	until_gone(1);
	cr_expect_not(methods.gone_meanwhile);
	cr_expect(LIST_EMPTY(&control.clients));
}

Test(connection, one_that_is_dropped_goes_later_and_is_not_heard_meanwhile)
{
	static const uint8_t request[] = {0x94, 0, 8, 0xa1, 'y', 0x90};
	int fd = waiting_client(), other = waiting_client();
	char byte;

	methods.telling = true;
	peer_drop(methods.asked[0]);
	methods.telling = false;
	cr_expect_eq(write(fd, request, sizeof(request)), sizeof(request));
	until_gone(1);
	cr_expect_eq(methods.n_asked, 2);
	cr_expect_not(methods.gone_meanwhile);
	uv_run(&loop, UV_RUN_NOWAIT);
	cr_expect_leq(recv(fd, &byte, 1, 0), 0, "its connection is closed");
	tell(methods.asked[1]);
	cr_expect_eq(recv(other, &byte, 1, 0), 1, "the other one hears on");
	close(fd);
	close(other);
	until_gone(2);
}

Test(connection, one_that_reads_nothing_is_dropped_by_what_cannot_wait)
{
	int fd = waiting_client();
	struct peer *c = methods.asked[0];
	char text[4096];
	struct pack *p;

	memset(text, 'x', sizeof(text));
	methods.telling = true;
	while ((p = peer_begin_notification(c, "event"))) {
		pack_strn(p, text, sizeof(text));
		peer_end(c, PEER_NOTIFICATION);
	}
	methods.telling = false;
	cr_expect_eq(methods.gone, 0);
	until_gone(1);
	cr_expect_not(methods.gone_meanwhile);
	close(fd);
}

/* Two clients ask this at the same time, and are answered. */
static void two_ask(const void *request, size_t len)
{
	methods.answering = true;
	for (size_t i = 0; i < 2; i++)
		methods.ends[i] = new_client();
	while (LIST_EMPTY(&control.clients) || !LIST_NEXT(LIST_FIRST(&control.clients), link))
		uv_run(&loop, UV_RUN_ONCE);
	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(write(methods.ends[i], request, len), (ssize_t)len);
}

static void two_leave(void)
{
	for (size_t i = 0; i < 2; i++)
		close(methods.ends[i]);
	until_gone(2);
	cr_expect_not(methods.gone_meanwhile);
}

static void two_have_asked(const void *request, size_t len)
{
	two_ask(request, len);
	while (methods.n_asked < 2)
		uv_run(&loop, UV_RUN_ONCE);
}

/* When the second of them asks in the same turn, so many of them can read an answer. */
static void expect_told_meanwhile(size_t n, const void *request, size_t len)
{
	two_have_asked(request, len);
	/* A turn has 2 ms: on a busy machine they may be over between the two. */
	for (int again = 0; methods.apart_us >= 1000 && again < 100; again++) {
		two_leave();
		methods.n_asked = methods.gone = 0;
		two_have_asked(request, len);
	}
	cr_expect_eq(methods.told_meanwhile, n);
	cr_expect_eq(can_read(), 2);
}

static const uint8_t check[] = {0x94, 0, 7, 0xa5, 'c', 'h', 'e', 'c', 'k', 0x90};

Test(connection, checks_of_several_clients_are_answered_together)
{
	expect_told_meanwhile(0, check, sizeof(check));
	two_leave();
}

Test(connection, a_table_is_sent_before_the_next_is_made)
{
	static const uint8_t tasks[] = {0x94, 0, 7, 0xa5, 't', 'a', 's', 'k', 's', 0x90};

	expect_told_meanwhile(1, tasks, sizeof(tasks));
	two_leave();
}

/* Its answer cannot be sent: it goes behind those of the others. */
Test(connection, one_that_is_gone_does_not_keep_the_others_from_their_answers)
{
	int gone;

	two_ask(check, sizeof(check));
	gone = methods.ends[0];
	methods.ends[0] = methods.ends[1]; /* can_read() counts the other one twice */
	close(gone);
	while (methods.n_asked < 2)
		uv_run(&loop, UV_RUN_ONCE);
	cr_expect_eq(methods.told_meanwhile, 0);
	cr_expect_eq(can_read(), 2);
	until_gone(1);
	cr_expect_not(methods.gone_meanwhile);
	close(methods.ends[1]);
	until_gone(2);
}
