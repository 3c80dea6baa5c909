/* POSTs to a server of one answer, in a process of its own. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/client.h"

#define SIZE 4096

/* The outcome of a request. */
struct outcome {
	bool ended;
	long status;
	int64_t retry_ms;
	char why[HTTP_ERROR_SIZE];
	size_t body_len;
	char asked[SIZE]; /* the request's head */
};

static void on_body(void *arg, const char *data, size_t len)
{
	struct outcome *o = arg;

	(void)data;
	o->body_len += len;
}

static void on_answer(void *arg, const struct http_answer *a)
{
	struct outcome *o = arg;

	o->ended = true;
	o->status = a->status;
	o->retry_ms = a->retry_ms;
	snprintf(o->why, sizeof(o->why), "%s", a->why ? a->why : "");
}

/* Answers one request with that head and so many bytes, and writes what was asked to the pipe. */
static void serve(int listening, int out, const char *head, size_t n)
{
	char asked[SIZE], *body = calloc(1, n + 1);
	int fd = accept(listening, NULL, NULL);
	size_t len = 0;
	ssize_t got;

	while (len < SIZE - 1 && (got = recv(fd, asked + len, SIZE - 1 - len, 0)) > 0) {
		len += (size_t)got;
		asked[len] = '\0';
		if (strstr(asked, "\r\n\r\n") && strstr(asked, "the body"))
			break;
	}
	for (size_t i = 0; i < n; i++)
		body[i] = "A: b\r\n"[i % 6];
	if (write(out, asked, len) != (ssize_t)len)
		_exit(1);
	send(fd, head, strlen(head), MSG_NOSIGNAL);
	for (size_t at = 0; at < n && (got = send(fd, body + at, n - at, MSG_NOSIGNAL)) > 0;)
		at += (size_t)got;
	_exit(0);
}

/* Posts to that URL. */
static struct outcome post(const char *url, const char *proxy, const char *head, size_t n)
{
	static const char *const headers[] = {"Zkleader-Job: 7", NULL};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listening = socket(AF_INET, SOCK_STREAM, 0), ends[2];
	socklen_t len = sizeof(to);
	char at[100], by[100];
	struct outcome o = {0};
	struct http_client *c;
	const char *why = NULL;
	pid_t pid;

	cr_assert_eq(bind(listening, (struct sockaddr *)&to, len), 0);
	cr_assert_eq(getsockname(listening, (struct sockaddr *)&to, &len), 0);
	cr_assert_eq(listen(listening, 5), 0);
	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		serve(listening, ends[1], head, n);
	close(listening);
	close(ends[1]);
	snprintf(at, sizeof(at), "http://127.0.0.1:%d/in", ntohs(to.sin_port));
	snprintf(by, sizeof(by), "http://127.0.0.1:%d", ntohs(to.sin_port));
	setenv("http_proxy", proxy ? by : "", 1);
	setenv("no_proxy", proxy ? proxy : "", 1);
	c = http_client_new("tests/1", &why);
	cr_assert(c, "%s", why);
	struct http_request r = {.url = url ? url : at,
				 .headers = headers,
				 .body = "the body",
				 .len = 8,
				 .timeout_ms = 30000,
				 .read = on_body,
				 .done = on_answer,
				 .arg = &o};
	http_client_post(c, &r);
	while (!o.ended)
		http_client_wait(c, -1);
	http_client_free(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert(read(ends[0], o.asked, SIZE - 1) >= 0);
	close(ends[0]);
	return o;
}

#define OK "HTTP/1.1 200 OK\r\n"

Test(http_client, a_request_and_its_answer)
{
	struct outcome o = post(NULL, NULL, OK "Content-Length: 3\r\n\r\n", 3);

	cr_expect_eq(o.status, 200);
	cr_expect_str_eq(o.why, "");
	cr_expect_eq(o.body_len, 3);
	cr_expect_eq(o.retry_ms, -1);
	cr_expect(strstr(o.asked, "POST /in HTTP/1.1\r\n") == o.asked, "%s", o.asked);
	cr_expect(strstr(o.asked, "\r\nZkleader-Job: 7\r\n"), "%s", o.asked);
	cr_expect(strstr(o.asked, "\r\nUser-Agent: tests/1\r\n"), "%s", o.asked);
	cr_expect_not(strstr(o.asked, "Expect"), "%s", o.asked);
}

Test(http_client, a_longer_body_is_not_read_and_no_failure)
{
	struct outcome o = post(NULL, NULL, OK "Content-Length: 500000\r\n\r\n", 500000);

	cr_expect_eq(o.status, 200);
	cr_expect_str_eq(o.why, "");
	cr_expect_eq(o.body_len, HTTP_ANSWER_MAX);
}

Test(http_client, what_is_no_answer)
{
	struct outcome half = post(NULL, NULL, OK "Content-Length: 9\r\n\r\n", 3);
	struct outcome endless = post(NULL, NULL, OK, HTTP_HEADERS_MAX + 1000);
	struct outcome other = post("ftp://127.0.0.1/", NULL, OK "\r\n", 0);

	cr_expect_eq(half.status, 0);
	cr_expect(strstr(half.why, "6 bytes"), "%s", half.why);
	cr_expect_eq(endless.status, 0);
	cr_expect(strstr(endless.why, "headers"), "%s", endless.why);
	cr_expect_eq(other.status, 0);
	cr_expect(strstr(other.why, "ftp"), "%s", other.why);
}

Test(http_client, when_to_come_again)
{
	static const struct {
		const char *value;
		int64_t ms;
	} cases[] = {
		{"2", 2000},  {"0", 0},	  {"99999999999", INT64_C(90) * 24 * 3600 * 1000},
		{"soon", -1}, {"-1", -1}, {"Thu, 01 Jan 1970 00:00:10 GMT", 0},
	};
	char head[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(head, sizeof(head),
			 "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
			 cases[i].value);
		struct outcome o = post(NULL, NULL, head, 0);
		cr_expect_eq(o.status, 503);
		cr_expect_eq(o.retry_ms, cases[i].ms, "%s", cases[i].value);
	}
}

Test(http_client, a_proxy_of_the_environment_is_used_and_a_host_excepted)
{
	static const char head[] = OK "Content-Length: 0\r\n\r\n";
	struct outcome by = post("http://receiver.invalid/in", "elsewhere", head, 0);
	struct outcome straight = post(NULL, "127.0.0.1", head, 0);

	cr_expect(strstr(by.asked, "POST http://receiver.invalid/in ") == by.asked, "%s", by.asked);
	cr_expect_eq(by.status, 200);
	cr_expect(strstr(straight.asked, "POST /in ") == straight.asked, "%s", straight.asked);
}
