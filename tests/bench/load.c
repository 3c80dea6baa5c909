/*
 * usage: load SOCKET TASK CLIENTS IN_FLIGHT SECONDS [PAUSE_US]
 *
 * Asks `check` of a task over so many connections, with so many requests in flight on each, and prints
 * as JSON how many answers came and how long they took, the first and the latest of the others apart.
 * With PAUSE_US each request is sent so long after the answer before it. TERM ends it early. An echo
 * server will do as well.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wire/reader.h"
#include "wire/rpc.h"

#define CLIENTS_MAX   64
#define IN_FLIGHT_MAX 64
#define LATENCIES_MAX (1 << 22)

struct client {
	int fd;
	uint8_t in[65536];
	size_t len;
	int64_t sent[IN_FLIGHT_MAX]; /* when, oldest at `first` */
	size_t first, n;
};

static struct client clients[CLIENTS_MAX];
static uint32_t latencies[LATENCIES_MAX]; /* in ns */
static size_t n_answers, n_latencies;
static struct buffer request;
static volatile sig_atomic_t ended;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void on_term(int number)
{
	(void)number;
	ended = 1;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, path, strnlen(path, sizeof(address.sun_path) - 1));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		fail(path);
	return fd;
}

/* All n in one write, as a client that has several questions would. */
static void ask(struct client *c, size_t n)
{
	uint8_t out[IN_FLIGHT_MAX * 256];

	for (size_t i = 0; i < n; i++) {
		memcpy(out + i * request.len, request.data, request.len);
		c->sent[(c->first + c->n++) % IN_FLIGHT_MAX] = now_ns();
	}
	if (write(c->fd, out, n * request.len) != (ssize_t)(n * request.len))
		fail("write");
}

/* Takes what has come; returns the number of answers. */
static size_t take(struct client *c)
{
	size_t n = 0, at = 0, len;
	ssize_t got = read(c->fd, c->in + c->len, sizeof(c->in) - c->len);

	if (got <= 0)
		fail("read");
	c->len += (size_t)got;
	int64_t now = now_ns();
	while (reader_measure(c->in + at, c->len - at, sizeof(c->in), &len) == 1) {
		at += len;
		n++;
		int64_t took = now - c->sent[c->first];
		c->first = (c->first + 1) % IN_FLIGHT_MAX;
		c->n--;
		if (n_latencies < LATENCIES_MAX)
			latencies[n_latencies++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
	}
	c->len -= at;
	memmove(c->in, c->in + at, c->len);
	n_answers += n;
	return n;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile_us(double q)
{
	return n_latencies ? latencies[(size_t)(q * (double)(n_latencies - 1))] / 1000.0 : 0;
}

static void run(size_t n_clients, size_t in_flight, int64_t until, useconds_t pause_us)
{
	struct epoll_event events[CLIENTS_MAX];
	int poll = epoll_create1(EPOLL_CLOEXEC);

	for (size_t i = 0; i < n_clients; i++) {
		epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd,
			  &(struct epoll_event){.events = EPOLLIN, .data.u64 = i});
		ask(&clients[i], in_flight);
	}
	while (!ended && now_ns() < until) {
		int n = epoll_wait(poll, events, CLIENTS_MAX, 100);
		for (int i = 0; i < n; i++) {
			struct client *c = &clients[events[i].data.u64];
			size_t came = take(c);
			if (pause_us > 0)
				usleep(pause_us);
			if (came > 0)
				ask(c, came);
		}
	}
	close(poll);
}

int main(int argc, char **argv)
{
	struct pack p;

	if (argc < 6) {
		fprintf(stderr, "usage: load SOCKET TASK CLIENTS IN_FLIGHT SECONDS [PAUSE_US]\n");
		return 2;
	}
	size_t n_clients = strtoul(argv[3], NULL, 10), in_flight = strtoul(argv[4], NULL, 10);
	if (n_clients > CLIENTS_MAX || in_flight > IN_FLIGHT_MAX)
		return 2;
	signal(SIGTERM, on_term);
	buffer_init(&request, 256);
	pack_init(&p, &request);
	rpc_pack_request(&p, 1, "check", 2);
	pack_str(&p, argv[2]);
	pack_int(&p, 0); /* it waits for no election */
	for (size_t i = 0; i < n_clients; i++)
		clients[i].fd = connect_to(argv[1]);
	int64_t start = now_ns();
	run(n_clients, in_flight, start + (int64_t)(strtod(argv[5], NULL) * 1e9),
	    argc > 6 ? (useconds_t)strtoul(argv[6], NULL, 10) : 0);
	double seconds = (double)(now_ns() - start) / 1e9;
	double first_us = quantile_us(0), later_us = 0;
	for (size_t i = 1; i < n_latencies; i++)
		if (latencies[i] / 1000.0 > later_us)
			later_us = latencies[i] / 1000.0;
	qsort(latencies, n_latencies, sizeof(latencies[0]), compare);
	printf("{\"answers\": %zu, \"seconds\": %.6f, \"median_us\": %.1f, \"p99_us\": %.1f, "
	       "\"p999_us\": %.1f, \"first_us\": %.1f, \"later_us\": %.1f}\n",
	       n_answers, seconds, quantile_us(0.5), quantile_us(0.99), quantile_us(0.999),
	       first_us, later_us);
	buffer_done(&request);
	return 0;
}
