#include "daemon/sidecar.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/log/notify.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "control/control.h"
#include "control/answer/handover.h"
#include "control/answer/subscriptions.h"
#include "control/programs/runners.h"
#include "control/ticks/ticks.h"
#include "daemon/files/secure_config.h"
#include "daemon/handoff.h"
#include "daemon/machine/machine.h"
#include "daemon/machine/offload.h"
#include "daemon/reload.h"
#include "daemon/stop.h"

/* --- events of the node --------------------------------------------------- */

static void on_status_timer(uv_timer_t *timer)
{
	const struct sidecar *s = timer->data;
	char text[256];

	snprintf(text, sizeof(text), "STATUS=%s, leading %zu of %zu tasks",
		 session_state_name(&s->node.session), s->node.leaders.n_leading,
		 s->node.leaders.n_published);
	notify_send(text);
}

/* Tells systemd the status, once for all changes within SIDECAR_STATUS_MS. */
static void tell_systemd(struct sidecar *s)
{
	if (!uv_is_active((const uv_handle_t *)&s->status_timer))
		uv_timer_start(&s->status_timer, on_status_timer, SIDECAR_STATUS_MS, 0);
}

static void on_status(void *arg)
{
	tell_systemd(arg);
}

static void on_leased(void *arg)
{
	methods_task_changed(&((struct sidecar *)arg)->methods);
}

static void on_membership(void *arg, const char *event, const struct member *m)
{
	struct sidecar *s = arg;

	subscriptions_membership(s->methods.subscriptions, event, m);
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	struct sidecar *s = arg;

	subscriptions_decision(s->methods.subscriptions, item, ended);
}

static void on_run(void *arg, const char *task, const char *tick, const struct run_record *record)
{
	struct sidecar *s = arg;

	subscriptions_run(s->methods.subscriptions, task, tick, record);
}

/* A tick is due: tells the runners. If none is connected, the node repeats this later. */
static void on_due(void *arg, struct task *t, const struct schedule_due *due)
{
	struct sidecar *s = arg;
	char tick[TICK_NAME_SIZE];

	if (tick_name(due->tick_ms, tick))
		runners_due(&s->methods, t->name, tick, due->attempt);
}

/* A job is to be run: offers it to a runner. False: none is connected, so the job is given back. */
static bool on_job(void *arg, const char *queue, const struct job_id *id)
{
	return runners_job(&((struct sidecar *)arg)->methods, queue, id);
}

static void on_task_changed(void *arg, struct task *t)
{
	handover_look(t);
	methods_task_changed(&((struct sidecar *)arg)->methods);
}

static void on_task_added(void *arg, struct task *t)
{
	struct sidecar *s = arg;

	subscriptions_task_added(s->methods.subscriptions, t);
}

static void on_listing_changed(void *arg, struct listing *listing)
{
	struct sidecar *s = arg;

	(void)listing;
	methods_task_changed(&s->methods);
}

static void on_task_removed(void *arg, struct task *t)
{
	struct sidecar *s = arg;

	methods_task_removed(&s->methods, t);
	subscriptions_task_removed(s->methods.subscriptions, t);
	handover_forget(t);
}

/* --- the socket and health ------------------------------------------------ */

static void on_request(void *arg, struct peer *c, const struct rpc_message *m)
{
	methods_request(&((struct sidecar *)arg)->methods, c, m);
}

static void on_room(void *arg)
{
	methods_room(&((struct sidecar *)arg)->methods);
}

static void on_drained(void *arg, struct peer *c)
{
	(void)c;
	methods_drained(&((struct sidecar *)arg)->methods);
}

static void on_health_changed(void *arg)
{
	struct sidecar *s = arg;
	size_t n, n_troubles;
	char **tasks = health_unhealthy(&s->health, &n);
	struct runners_trouble *troubles = runners_troubles(&s->methods, &n_troubles);
	struct node_unhealthy *unhealthy = mem_calloc(n + n_troubles + 1, sizeof(*unhealthy));
	struct node_health health = {.known = health_is_known(&s->health),
				     .sick = health_sick(&s->health),
				     .says = health_says(&s->health, NULL),
				     .unhealthy = unhealthy,
				     .n_unhealthy = n};

	for (size_t i = 0; i < n; i++)
		unhealthy[i] = (struct node_unhealthy){.task = tasks[i],
						       .says = health_says(&s->health, tasks[i])};
	for (size_t i = 0; i < n_troubles; i++)
		if (!health_says(&s->health, troubles[i].task)[0])
			unhealthy[health.n_unhealthy++] = (struct node_unhealthy){
				.task = troubles[i].task, .says = troubles[i].text, .runner = true};
	node_set_health(&s->node, &health);
	free(unhealthy);
	free(troubles);
	names_free(tasks, n);
}

static void on_client_gone(void *arg, struct peer *c)
{
	methods_client_gone(&((struct sidecar *)arg)->methods, c);
}

/* --- functions for the methods of the socket ------------------------------ */

static void on_reload(void *arg, process_reload_fn fn, void *fn_arg)
{
	reload_all(arg, fn, fn_arg);
}

static void on_find_problems(void *arg, struct problems *problems)
{
	struct sidecar *s = arg;

	secure_config_expiring(s->start, &s->security, clock_wall_ms() / 1000, problems);
}

static void on_longest_turn(void *arg, int64_t *ret_us, int64_t *ret_cpu_us)
{
	turns_longest(&((struct sidecar *)arg)->turns, ret_us, ret_cpu_us);
}

static int on_offload(void *arg, void (*work)(void *work_arg), void (*done)(void *work_arg),
		      void *work_arg)
{
	return offload(((struct sidecar *)arg)->loop, work, done, work_arg);
}

/* The session timeout: a loop that stands still for that long loses what is led here. */
static int64_t on_timeout(void *arg)
{
	const struct sidecar *s = arg;
	int64_t granted_ms = s->node.session.lease.timeout_ms;

	return granted_ms > 0 ? granted_ms : s->start->session_timeout_ms;
}

/* --- starting and stopping ------------------------------------------------ */

static void on_watchdog(uv_timer_t *timer)
{
	(void)timer;
	notify_send("WATCHDOG=1");
}

static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Sets what the node has to know and what never changes while this process lives. */
static void init_settings(struct sidecar *s)
{
	const struct config *c = s->start;
	const char *chroot = c->chroot ? c->chroot : "";
	size_t size = strlen(chroot) + strlen(c->root) + 1;

	s->servers = config_servers(c);
	s->root = mem_alloc(size);
	snprintf(s->root, size, "%s%s", chroot, c->root);
	if (gethostname(s->hostname, sizeof(s->hostname) - 1) != 0 ||
	    !name_is_host(s->hostname, strlen(s->hostname)))
		snprintf(s->hostname, sizeof(s->hostname), "unknown");
	snprintf(s->name, sizeof(s->name), "%s%s%s", c->node ? c->node : s->hostname,
		 c->node ? "" : ":", c->node ? "" : c->socket);
	machine_id(s->machine);
	secure_config_take(c, &s->security);
	s->settings = (struct node_settings){.world = &s->security,
					     .servers = s->servers,
					     .root = s->root,
					     .session_timeout_ms = c->session_timeout_ms,
					     .server_tick_ms = c->server_tick_ms,
					     .roll_from = c->roll_from,
					     .auth_scheme = c->auth_scheme,
					     .auth_credential = c->auth_credential,
					     .address = c->address,
					     .hostname = s->hostname,
					     .name = s->name,
					     .machine = s->machine};
}

static void init_parts(struct sidecar *s)
{
	const struct node_handlers handlers = {
		.task_changed = on_task_changed,
		.task_added = on_task_added,
		.task_removed = on_task_removed,
		.listing_changed = on_listing_changed,
		.leased = on_leased,
		.membership = on_membership,
		.decision = on_decision,
		.run = on_run,
		.due = on_due,
		.status = on_status,
		.handoff = handoff_on_session,
		.handoff_runs = handoff_on_runs,
		.queues = {.job = on_job, .arg = s},
		.runs = {.answer = run_requests_answer, .released = asks_released},
		.arg = s};

	host_init(&s->host, s->loop);
	turns_init(&s->turns, s->loop);
	users_init(&s->users, s->loop, reload_on_users, s);
	init_settings(s);
	node_init(&s->node, &s->host, &s->settings, &handlers);
	s->process = (struct process){.node = &s->node,
				      .problems = &s->problems,
				      .tasks = &s->tasks,
				      .recipe_users = &s->recipe_users,
				      .start = s->start,
				      .config = s->config,
				      .started_at = s->started_at,
				      .find_problems = on_find_problems,
				      .longest_turn = on_longest_turn,
				      .reload = on_reload,
				      .offload = on_offload,
				      .health_changed = on_health_changed,
				      .arg = s};
	methods_init(&s->methods, &s->process);
	health_init(&s->health, s->loop, on_health_changed, s);
	readings_init(&s->readings, s->loop, reload_base, reload_apply, s);
	files_init(&s->files, s->loop, reload_on_tasks, reload_on_version, s);
	s->control.request = on_request;
	s->control.gone = on_client_gone;
	s->control.drained = on_drained;
	s->control.room = on_room;
	s->control.arg = s;
	uv_timer_init(s->loop, &s->stop_timer);
	uv_timer_init(s->loop, &s->watchdog);
	uv_timer_init(s->loop, &s->status_timer);
	s->stop_timer.data = s->status_timer.data = s;
	uv_signal_t *signals[] = {&s->term, &s->intr, &s->hup, &s->usr2};
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		uv_signal_init(s->loop, signals[i]);
		signals[i]->data = s;
	}
	uv_signal_start(&s->term, stop_on_term, SIGTERM);
	uv_signal_start(&s->intr, stop_on_term, SIGINT);
	uv_signal_start(&s->hup, reload_on_hup, SIGHUP);
	uv_signal_start(&s->usr2, stop_on_usr2, SIGUSR2);
}

static int open_socket(struct sidecar *s)
{
	const struct config *c = s->start;
	int error = control_open(&s->control, s->loop, c->socket, c->socket_mode,
				 c->socket_group ? c->socket_gid : (gid_t)-1);

	if (error == -EADDRINUSE)
		log_error("another sidecar is running on this socket", LOG_STR("socket", c->socket),
			  LOG_STR("remedy", "stop it, or give this one a socket of its own"));
	else if (error == -EEXIST)
		log_error("there is something else than a socket in its place",
			  LOG_STR("socket", c->socket));
	else if (error)
		log_error("cannot open the socket", LOG_STR("socket", c->socket),
			  LOG_STR("why", strerror(-error)));
	return error;
}

static void on_walk(uv_handle_t *handle, void *arg)
{
	(void)arg;
	/*
	 * Async handles belong to zk.c and offload.c, which close them when their thread has ended.
	 */
	if (!uv_is_closing(handle) && handle->type != UV_ASYNC)
		uv_close(handle, NULL);
}

/* Frees everything, so that tests can find leaks. A thread of the loop may still be at work. */
static void done_parts(struct sidecar *s)
{
	readings_done(&s->readings);
	control_close(&s->control);
	health_done(&s->health);
	for (size_t i = 0; i < s->node.leaders.n_tasks; i++)
		handover_forget(s->node.leaders.tasks[i]);
	node_done(&s->node);
	methods_done(&s->methods);
	uv_walk(s->loop, on_walk, NULL);
	for (int i = 0; i < 100 && uv_run(s->loop, UV_RUN_NOWAIT) != 0; i++)
		;
	free(s->task_uids);
	free(s->servers);
	free(s->root);
	files_done(&s->files);
	users_done(&s->users);
	problems_done(&s->problems);
	if (!STAILQ_EMPTY(&s->readings.queue))
		return; /* the thread that reads the files still uses them */
	task_files_done(&s->tasks);
	if (s->config != s->start)
		config_free(s->config);
	config_free(s->start);
}

static void watch_loop(struct sidecar *s)
{
	mem_auto char *file = handoff_file_session(s->start->socket);

	loop_watch_begin(&s->loop_watch, s->loop, file, on_timeout, s);
}

int sidecar_run(const char *config_file, struct config *config, struct problems *problems)
{
	struct sidecar s = {.config_file = config_file,
			    .started_at = clock_wall_ms(),
			    .start = config,
			    .config = config};

	signal(SIGPIPE, SIG_IGN);
	raise_limits();
	s.loop = uv_default_loop();
	problems_init(&s.problems);
	task_files_init(&s.tasks);
	init_parts(&s);
	int code = open_socket(&s) == 0 ? 0 : 1;
	if (code == 0) {
		log_info("starting", LOG_STR("version", ZKLEADER_VERSION),
			 LOG_STR("config", config_file), LOG_STR("application", config->version),
			 LOG_STR("zookeeper", config->zookeeper), LOG_STR("root", config->root));
		node_set_version(&s.node, config->version);
		reload_at_start(&s, problems);
		files_begin(&s.files, config->task_dir, config->version_file);
		handoff_take_over(&s);
		node_start(&s.node);
		if (notify_watchdog_ms() > 0)
			uv_timer_start(&s.watchdog, on_watchdog, 0, (uint64_t)notify_watchdog_ms());
		notify_send("READY=1");
		watch_loop(&s);
		uv_run(s.loop, UV_RUN_DEFAULT);
		loop_watch_end(&s.loop_watch);
		log_info("stopped", LOG_END);
	}
	done_parts(&s);
	/*
	 * exit() would wait for a thread that looks up a name, for as long as the resolver takes.
	 */
	if (uv_loop_alive(s.loop)) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
