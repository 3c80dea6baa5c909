#include "daemon/machine/loop_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/doing.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "core/queue/hang.h"

#define RETRY_MS      10000 /* between tries to start the thread */
#define LAST_WORDS_MS 1000  /* for the last line; then the process is killed */
#define STAT_SIZE     512
#define STATE_UNKNOWN '?'

/* --- in the thread ------------------------------------------------------------ */

/* The state of the loop's thread, a letter of proc(5). */
static char state_of(const struct loop_watch *w)
{
	char path[64], text[STAT_SIZE], *name_end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)w->loop_tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return STATE_UNKNOWN;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : STATE_UNKNOWN;
}

static int64_t cpu_ns(const struct loop_watch *w)
{
	struct timespec t;

	if (clock_gettime(w->loop_cpu, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * The last line may have to wait for a disk, as the loop may do already. So the kernel kills this
 * process soon, whatever its threads do.
 */
static void kill_soon(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec soon = {.it_value = {.tv_sec = LAST_WORDS_MS / 1000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		timer_settime(timer, 0, &soon, NULL);
}

_Noreturn static void end_process(const struct loop_watch *w, const struct hang *h,
				  int64_t timeout_ms)
{
	const char state[] = {state_of(w), '\0'};

	kill_soon();
	log_error("the loop hangs, and this process ends so that others lead",
		  LOG_STR("doing", doing_now() ? doing_now() : "nothing known"),
		  LOG_STR("state", state), LOG_INT("for_ms", h->stuck_ms),
		  LOG_INT("timeout_ms", timeout_ms));
	unlink(w->session_file);
	_exit(EXIT_FAILURE);
}

/* Waits until the next look. False: the loop has ended. */
static bool wait_step(struct loop_watch *w, int64_t ms)
{
	struct timespec at;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += ms % 1000 * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	while (!w->ended && pthread_cond_timedwait(&w->ends, &w->lock, &at) != ETIMEDOUT)
		;
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	return !ended;
}

static void *watch(void *arg)
{
	struct loop_watch *w = arg;
	struct hang hang = {.stuck_ms = 0};
	int64_t timeout_ms = atomic_load(&w->timeout);

	while (wait_step(w, hang_step_ms(timeout_ms))) {
		struct hang_look look = {.now_ms = clock_boot_ms(),
					 .turns = atomic_load(&w->turns),
					 .idle_ns = uv_metrics_idle_time(w->loop),
					 .cpu_ns = cpu_ns(w)};

		/* A file of /proc is read only where the loop has not turned. */
		if (look.turns == hang.last.turns && look.idle_ns == hang.last.idle_ns)
			look.asleep = strchr("SDI", state_of(w)) != NULL;
		if (hang_look(&hang, &look, timeout_ms))
			end_process(w, &hang, timeout_ms);
		log_catch_up();
		timeout_ms = atomic_load(&w->timeout);
	}
	return NULL;
}

/* --- on the loop -------------------------------------------------------------- */

/* All signals are the loop's. */
static void start(struct loop_watch *w)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->running = e == 0;
	if (e != 0 && w->retry_ms == 0)
		log_warning("no thread watches the loop", LOG_STR("why", strerror(e)),
			    LOG_INT("retry_ms", RETRY_MS));
	w->retry_ms = clock_boot_ms() + RETRY_MS;
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct loop_watch *w = prepare->data;

	atomic_fetch_add(&w->turns, 1);
	atomic_store(&w->timeout, w->timeout_ms(w->arg));
	if (!w->running && clock_boot_ms() >= w->retry_ms)
		start(w);
}

void loop_watch_begin(struct loop_watch *w, uv_loop_t *loop, const char *session_file,
		      int64_t (*timeout_ms)(void *arg), void *arg)
{
	pthread_condattr_t monotonic;

	*w = (struct loop_watch){.loop = loop, .timeout_ms = timeout_ms, .arg = arg};
	w->session_file = mem_strdup(session_file);
	w->loop_tid = gettid();
	pthread_getcpuclockid(pthread_self(), &w->loop_cpu);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->ends, &monotonic);
	pthread_condattr_destroy(&monotonic);
	uv_prepare_init(loop, &w->prepare);
	w->prepare.data = w;
	uv_prepare_start(&w->prepare, on_prepare);
}

void loop_watch_end(struct loop_watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	pthread_cond_signal(&w->ends);
	pthread_mutex_unlock(&w->lock);
	if (w->running)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->ends);
	pthread_mutex_destroy(&w->lock);
	free(w->session_file);
}
