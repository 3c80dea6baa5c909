/* A sidecar that is none: a thread that serves one connection after the other as a test tells it. */
#ifndef TESTS_CLIENT_FAKE_H
#define TESTS_CLIENT_FAKE_H

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wire/pack.h"
#include "wire/reader.h"
#include "wire/rpc.h"

#define FAKE __attribute__((unused)) static

struct fake {
	char dir[32];
	struct sockaddr_un address;
	int listener;
	pthread_t thread;
	void (*serve)(struct fake *f, int fd);
	const void *arg;
	atomic_int connections;
	atomic_int requests;
};

struct fake_request {
	uint8_t data[RPC_REQUEST_MAX];
	size_t len;
	struct rpc_message m;
};

FAKE void *fake_run(void *arg)
{
	struct fake *f = arg;

	for (;;) {
		int fd = accept(f->listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		f->connections++;
		f->serve(f, fd);
		close(fd);
	}
}

/* A socket that is bound, but nobody listens. */
FAKE void fake_bind(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	strcpy(f->dir, "/tmp/zkleader-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(f->dir));
	f->address.sun_family = AF_UNIX;
	snprintf(f->address.sun_path, sizeof(f->address.sun_path), "%s/s", f->dir);
	f->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(f->listener, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
}

FAKE void fake_serve(struct fake *f, int backlog, void (*serve)(struct fake *f, int fd))
{
	f->serve = serve;
	cr_assert_eq(listen(f->listener, backlog), 0);
	cr_assert_eq(pthread_create(&f->thread, NULL, fake_run, f), 0);
}

FAKE void fake_start(struct fake *f, void (*serve)(struct fake *f, int fd), const void *arg)
{
	fake_bind(f);
	f->arg = arg;
	fake_serve(f, 64, serve);
}

FAKE void fake_stop(struct fake *f)
{
	shutdown(f->listener, SHUT_RDWR);
	if (f->serve)
		pthread_join(f->thread, NULL);
	close(f->listener);
	unlink(f->address.sun_path);
	rmdir(f->dir);
}

FAKE const char *fake_path(const struct fake *f)
{
	return f->address.sun_path;
}

FAKE void fake_sleep(int ms)
{
	poll(NULL, 0, ms);
}

/* Byte by byte: the next request may have come as well. */
FAKE bool fake_read(struct fake *f, int fd, struct fake_request *r)
{
	size_t len;

	r->len = 0;
	while (reader_measure(r->data, r->len, sizeof(r->data), &len) == 0) {
		if (recv(fd, r->data + r->len, 1, 0) <= 0)
			return false;
		r->len++;
	}
	f->requests++;
	return rpc_parse(r->data, r->len, &r->m) == 0;
}

FAKE void fake_send(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

FAKE void fake_send_buffer(int fd, struct buffer *b)
{
	fake_send(fd, b->data, b->len);
	buffer_done(b);
}

FAKE void fake_error(int fd, uint32_t msgid, int code, const char *message)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, RPC_REQUEST_MAX);
	pack_init(&p, &b);
	rpc_pack_error(&p, msgid, (enum rpc_code)code, message);
	fake_send_buffer(fd, &b);
}

/* The answer to a check. */
struct fake_answer {
	const char *task;
	bool leader;
	const char *state;
	uint64_t token;
	uint64_t lease_ms;
	const char *led_by; /* a hostname */
	const char *why;
};

FAKE void fake_pack_answer(struct buffer *b, uint32_t msgid, const struct fake_answer *a)
{
	struct pack p;

	pack_init(&p, b);
	rpc_pack_result(&p, msgid);
	pack_map(&p, 8);
	pack_kv_str(&p, "task", a->task);
	pack_kv_bool(&p, "leader", a->leader);
	pack_kv_str(&p, "state", a->state);
	if (a->token > 0)
		pack_kv_uint(&p, "token", a->token);
	else
		pack_kv_nil(&p, "token");
	pack_kv_uint(&p, "lease_ms", a->lease_ms);
	if (a->led_by) {
		pack_str(&p, "led_by");
		pack_map(&p, 4);
		pack_kv_str(&p, "id", "some-id");
		pack_kv_str(&p, "ip", "10.0.0.7");
		pack_kv_str(&p, "hostname", a->led_by);
		pack_kv_str(&p, "version", "2.1");
	} else {
		pack_kv_nil(&p, "led_by");
	}
	pack_kv_str(&p, "why", a->why ? a->why : "");
	pack_kv_int(&p, "of a later version", 1);
	cr_assert(p.failed == 0);
}

FAKE void fake_answer(int fd, uint32_t msgid, const struct fake_answer *a)
{
	struct buffer b;

	buffer_init(&b, RPC_REQUEST_MAX);
	fake_pack_answer(&b, msgid, a);
	fake_send_buffer(fd, &b);
}

/* f->arg is the struct fake_answer to everything. */
FAKE void fake_serve_answer(struct fake *f, int fd)
{
	static struct fake_request r;

	while (fake_read(f, fd, &r))
		fake_answer(fd, r.m.msgid, f->arg);
}

#endif
