#include "daemon/files/health.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "daemon/machine/offload.h"

#define TURN_MS 50 /* pause before a command that found too many others running tries again */

/*
 * A check, of the node or of a task. After it has been removed from the list it is freed only when
 * all of its handles are closed.
 */
struct probe {
	struct health *health; /* NULL: the check was removed */
	char *task;	       /* NULL: it is the node's check */
	struct health_config config;
	bool known, healthy;
	int64_t in_a_row; /* consecutive results that contradict the present state */
	char says[HEALTH_SAYS_MAX + 1];
	uv_timer_t timer;
	/* the command that is running */
	bool running, late;
	uv_process_t process;
	uv_pipe_t output;
	uv_timer_t deadline;
	char text[HEALTH_SAYS_MAX + 1];
	size_t len;
	/* the file that is checked */
	int stat_error; /* the error of the last stat(2) of the file */
	bool stating;
	unsigned handles; /* handles that are not closed yet */
};

static void begin(struct probe *p);

/* --- results -------------------------------------------------------------- */

static void log_change(const struct probe *p, bool healthy)
{
	const struct log_field fields[] = {
		LOG_STR("task", p->task),
		LOG_STR("from", p->known ? p->healthy ? "healthy" : "unhealthy" : "unknown"),
		LOG_STR("to", healthy ? "healthy" : "unhealthy"),
		LOG_STR("reason", healthy ? NULL : p->says),
	};

	if (healthy)
		log_info("health", fields[0], fields[1], fields[2], LOG_END);
	else
		log_warning("health", fields[0], fields[1], fields[2], fields[3]);
}

/*
 * The first result counts at once. Later the state changes only after enough results in a row that
 * contradict it.
 */
static void take_result(struct probe *p, bool good)
{
	struct health *h = p->health;

	if (p->known && good == p->healthy) {
		p->in_a_row = 0;
		if (!good)
			h->changed(h->arg); /* the message may be another one */
		return;
	}
	p->in_a_row++;
	if (p->known && p->in_a_row < (good ? p->config.rise : p->config.fall))
		return;
	log_change(p, good);
	if (!p->known)
		h->n_unknown--;
	p->known = true;
	p->healthy = good;
	p->in_a_row = 0;
	h->changed(h->arg);
}

static void on_timer(uv_timer_t *timer)
{
	begin(timer->data);
}

static void end(struct probe *p, bool good)
{
	if (!p->health)
		return;
	uv_timer_start(&p->timer, on_timer, (uint64_t)p->config.interval_ms, 0);
	take_result(p, good);
}

/* --- the command ---------------------------------------------------------- */

static void probe_free(struct probe *p)
{
	if (p->health || p->handles > 0 || p->stating)
		return;
	health_config_done(&p->config);
	free(p->task);
	free(p);
}

static void on_closed(uv_handle_t *handle)
{
	struct probe *p = handle->data;

	p->handles--;
	probe_free(p);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

/* Kills the command's whole process group, as it may have started other processes. */
static void kill_command(struct probe *p)
{
	if (p->running && p->process.pid > 0)
		kill(-p->process.pid, SIGKILL);
}

static void on_deadline(uv_timer_t *timer)
{
	struct probe *p = timer->data;

	p->late = true;
	kill_command(p);
}

static void say_exit(struct probe *p, int64_t status, int signal)
{
	char *line_end = memchr(p->text, '\n', p->len);
	size_t len = line_end ? (size_t)(line_end - p->text) : p->len;

	p->text[len] = '\0';
	if (p->late)
		snprintf(p->says, sizeof(p->says), "it took longer than %lld ms",
			 (long long)p->config.timeout_ms);
	else if (signal)
		snprintf(p->says, sizeof(p->says), "signal %d", signal);
	else
		snprintf(p->says, sizeof(p->says), "exit %lld%s%.160s", (long long)status,
			 len ? ": " : "", p->text);
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
	struct probe *p = process->data;
	bool good = status == 0 && signal == 0 && !p->late;

	/* Processes that the command left in the background are killed. */
	kill(-process->pid, SIGKILL);
	p->running = false;
	if (!good)
		say_exit(p, status, signal);
	uv_timer_stop(&p->deadline);
	close_handle((uv_handle_t *)&p->output);
	close_handle((uv_handle_t *)&p->process);
	if (p->health)
		p->health->running--;
	end(p, good);
	probe_free(p);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	static char rest[4096]; /* output beyond the limit is read and dropped */
	struct probe *p = handle->data;

	(void)size;
	if (p->len < HEALTH_SAYS_MAX)
		*buf = uv_buf_init(p->text + p->len, (unsigned)(HEALTH_SAYS_MAX - p->len));
	else
		*buf = uv_buf_init(rest, sizeof(rest));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct probe *p = stream->data;

	(void)buf;
	if (n < 0)
		uv_read_stop(stream);
	else if (p->len < HEALTH_SAYS_MAX)
		p->len += (size_t)n;
}

static void begin_command(struct probe *p)
{
	struct health *h = p->health;
	char shell[] = "/bin/sh", flag[] = "-c";
	char *args[] = {shell, flag, p->config.command, NULL};
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_IGNORE},
		{.flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE),
		 .data.stream = (uv_stream_t *)&p->output},
		{.flags = UV_INHERIT_FD, .data.fd = 2},
	};
	uv_process_options_t options = {.exit_cb = on_ended,
					.file = shell,
					.args = args,
					.flags = UV_PROCESS_DETACHED, /* its own process group */
					.stdio_count = 3,
					.stdio = stdio};

	if (h->running >= HEALTH_RUNNING_MAX) {
		uv_timer_start(&p->timer, on_timer, TURN_MS, 0);
		return;
	}
	p->len = 0;
	p->late = false;
	uv_pipe_init(h->loop, &p->output, 0);
	p->output.data = p;
	p->process.data = p;
	p->handles += 2;
	int error = uv_spawn(h->loop, &p->process, &options);
	if (error) {
		snprintf(p->says, sizeof(p->says), "it could not be started: %s",
			 uv_strerror(error));
		close_handle((uv_handle_t *)&p->output);
		close_handle((uv_handle_t *)&p->process);
		end(p, false);
		return;
	}
	p->running = true;
	h->running++;
	uv_read_start((uv_stream_t *)&p->output, on_alloc, on_read);
	uv_timer_start(&p->deadline, on_deadline, (uint64_t)p->config.timeout_ms, 0);
}

/* --- the file ------------------------------------------------------------- */

static void stat_work(void *arg)
{
	struct probe *p = arg;
	struct stat st;

	p->stat_error = stat(p->config.file, &st) == 0 ? 0 : errno;
}

static void on_stat(void *arg)
{
	struct probe *p = arg;

	p->stating = false;
	if (!p->health) {
		probe_free(p);
		return;
	}
	if (p->stat_error) {
		snprintf(p->says, sizeof(p->says), "%.120s: %s", p->config.file,
			 uv_strerror(-p->stat_error));
		end(p, false);
	} else if (p->config.command) {
		begin_command(p);
	} else {
		end(p, true);
	}
}

/*
 * Begins a check. If it has a file and a command, both have to be good. The file comes first, as it
 * costs less.
 */
static void begin(struct probe *p)
{
	if (!p->config.file) {
		begin_command(p);
		return;
	}
	p->stating = offload(p->health->loop, stat_work, on_stat, p) == 0;
	if (!p->stating) {
		snprintf(p->says, sizeof(p->says), "%.120s: cannot be looked at", p->config.file);
		end(p, false);
	}
}

/* --- the list of checks --------------------------------------------------- */

static struct probe *probe_new(struct health *h, const char *task, const struct health_config *c)
{
	struct probe *p = mem_calloc(1, sizeof(*p));

	p->health = h;
	p->task = task ? mem_strdup(task) : NULL;
	health_config_copy(&p->config, c);
	uv_timer_init(h->loop, &p->timer);
	uv_timer_init(h->loop, &p->deadline);
	p->timer.data = p;
	p->deadline.data = p;
	p->handles = 2;
	h->n_unknown++;
	uv_timer_start(&p->timer, on_timer, 0, 0);
	return p;
}

static void probe_end(struct probe *p, bool at_once)
{
	struct health *h = p->health;

	if (!p->known)
		h->n_unknown--;
	if (p->running)
		h->running--;
	kill_command(p);
	p->health = NULL;
	/*
	 * Usually the end of the command is awaited, so that it is reaped. At the end of the
	 * sidecar it is not.
	 */
	if (p->running && at_once) {
		close_handle((uv_handle_t *)&p->output);
		close_handle((uv_handle_t *)&p->process);
	}
	close_handle((uv_handle_t *)&p->timer);
	close_handle((uv_handle_t *)&p->deadline);
}

static bool is_about(const struct probe *p, const char *task)
{
	return p->task && task ? strcmp(p->task, task) == 0 : p->task == task;
}

/*
 * Adds a check to the new list: the same one from the old list, which keeps its result, or a new
 * one.
 */
static void keep(struct health *h, struct probe **old, size_t n_old, const char *task,
		 const struct health_config *c)
{
	struct probe *found = NULL;

	if (!c->command && !c->file)
		return;
	for (size_t i = 0; i < n_old && !found; i++) {
		if (!old[i] || !is_about(old[i], task) || !health_config_equal(&old[i]->config, c))
			continue;
		found = old[i];
		old[i] = NULL;
	}
	h->probes[h->n++] = found ? found : probe_new(h, task, c);
}

void health_apply(struct health *h, const struct config *config,
		  const struct task_config *const *tasks, size_t n)
{
	struct probe **old = h->probes;
	size_t n_old = h->n;

	h->probes = mem_calloc(n + 1, sizeof(struct probe *));
	h->n = 0;
	keep(h, old, n_old, NULL, &config->health);
	for (size_t i = 0; i < n; i++)
		keep(h, old, n_old, tasks[i]->name, &tasks[i]->health);
	for (size_t i = 0; i < n_old; i++)
		if (old[i])
			probe_end(old[i], false);
	free(old);
	h->changed(h->arg);
}

void health_init(struct health *h, uv_loop_t *loop, void (*changed)(void *arg), void *arg)
{
	*h = (struct health){.loop = loop, .changed = changed, .arg = arg};
}

void health_done(struct health *h)
{
	for (size_t i = 0; i < h->n; i++)
		probe_end(h->probes[i], true);
	free(h->probes);
	h->probes = NULL;
	h->n = 0;
}

/* --- results for callers -------------------------------------------------- */

bool health_is_known(const struct health *h)
{
	return h->n_unknown == 0;
}

bool health_sick(const struct health *h)
{
	return h->n > 0 && !h->probes[0]->task && h->probes[0]->known && !h->probes[0]->healthy;
}

char **health_unhealthy(const struct health *h, size_t *ret_n)
{
	char **names = mem_calloc(h->n + 1, sizeof(*names));

	*ret_n = 0;
	for (size_t i = 0; i < h->n; i++)
		if (h->probes[i]->task && h->probes[i]->known && !h->probes[i]->healthy)
			names[(*ret_n)++] = mem_strdup(h->probes[i]->task);
	return names;
}

const char *health_says(const struct health *h, const char *task)
{
	for (size_t i = 0; i < h->n; i++)
		if (is_about(h->probes[i], task) && h->probes[i]->known && !h->probes[i]->healthy)
			return h->probes[i]->says;
	return "";
}
