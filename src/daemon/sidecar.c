#include "daemon/sidecar.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/names.h"
#include "core/tick.h"
#include "daemon/aside.h"
#include "daemon/notify.h"
#include "daemon/zk.h"
#include "config/restart.h"
#include "control/run_requests.h"
#include "control/subscriptions.h"

#define CHANGES_TEXT_MAX      (1024 * 1024)
#define SIDECAR_DRAIN_POLL_MS 50

/* --- problems and changes ---------------------------------------------------------------------- */

static bool is_known_problem(const struct problem *known, size_t n, const struct problem *p)
{
	for (size_t i = 0; i < n; i++)
		if (known[i].line == p->line && strcmp(known[i].file, p->file) == 0 &&
		    strcmp(known[i].message, p->message) == 0)
			return true;
	return false;
}

/* Puts the new list in the place of the old one, and logs what was not in that. */
static void set_problems(struct sidecar *s, struct problems *problems)
{
	for (size_t i = 0; i < problems->n; i++) {
		const struct problem *p = &problems->list[i];
		if (!is_known_problem(s->problems.list, s->problems.n, p))
			log_error("refused", LOG_STR("file", p->file), LOG_INT("line", p->line),
				  LOG_STR("why", p->message));
	}
	for (size_t i = 0; i < problems->n_warnings; i++) {
		const struct problem *p = &problems->warnings[i];
		if (!is_known_problem(s->problems.warnings, s->problems.n_warnings, p))
			log_warning("odd configuration", LOG_STR("file", p->file),
				    LOG_INT("line", p->line), LOG_STR("why", p->message));
	}
	if (problems->n == 0 && s->problems.n > 0)
		log_info("no problem is left in the configuration", LOG_END);
	problems_done(&s->problems);
	s->problems = *problems;
}

/* For who asked for the reload. */
static void add_line(struct changes *changes, const char *what, const char *name)
{
	char line[400];
	int len = snprintf(line, sizeof(line), "%s %s\n", what, name);

	if (len > 0 && (size_t)len < sizeof(line))
		buffer_append(&changes->text, line, (size_t)len);
}

static void add_change(struct changes *changes, const char *what, const char *name)
{
	log_info("reloaded", LOG_STR("what", what), LOG_STR("name", name));
	add_line(changes, what, name);
}

/* Both lists are sorted by name. */
static void compare_tasks(const struct task_files *old, const struct task_files *new,
			  struct changes *changes)
{
	size_t n_old, n_new, i = 0, j = 0;
	const struct task_config **a = task_files_tasks(old, &n_old);
	const struct task_config **b = task_files_tasks(new, &n_new);

	while (i < n_old || j < n_new) {
		int order = i == n_old ? 1 : j == n_new ? -1 : strcmp(a[i]->name, b[j]->name);
		if (order < 0) {
			add_change(changes, "task removed:", a[i++]->name);
		} else if (order > 0) {
			add_change(changes, "task added:", b[j++]->name);
		} else {
			if (!task_config_equal(a[i], b[j]))
				add_change(changes, "task changed:", b[j]->name);
			i++, j++;
		}
	}
	free(a);
	free(b);
}

/* --- reading files again ----------------------------------------------------------------------- */

static bool text_differs(const char *a, const char *b)
{
	return (a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0);
}

/* The keys that the running connection, socket and registration were made from. */
static void tell_restart_keys(const struct config *start, const struct config *now,
			      struct changes *changes)
{
	const char *keys[RESTART_KEYS_MAX];
	size_t n = restart_keys(start, now, keys);

	for (size_t i = 0; i < n; i++)
		add_change(changes, "takes effect with a restart:", keys[i]);
}

static void apply_config(struct sidecar *s, struct config *config, struct changes *changes)
{
	struct config *old = s->config;

	if (text_differs(old->version, config->version)) {
		log_info("version changed", LOG_STR("from", old->version),
			 LOG_STR("to", config->version));
		add_line(changes, "version changed:", config->version);
	}
	if (old->yield_delay_ms != config->yield_delay_ms)
		add_change(changes, "changed:", "yield-delay");
	if (old->stop_wait_ms != config->stop_wait_ms)
		add_change(changes, "changed:", "stop-wait");
	if (old->tick_guard_ms != config->tick_guard_ms)
		add_change(changes, "changed:", "tick-guard");
	if (text_differs(old->task_dir, config->task_dir))
		add_change(changes, "changed:", "task-dir");
	if (old->log_level != config->log_level || old->log_format != config->log_format)
		add_change(changes, "changed:", "log-level or log-format");
	tell_restart_keys(s->start, config, changes);
	log_setup(config->log_level, config->log_format, getenv("JOURNAL_STREAM") != NULL);
	zk_log_detail(config->log_level == LOG_DEBUG);
	node_set_version(&s->node, config->version);
	files_watch(&s->files, config->task_dir, config->version_file);
	s->config = config;
	s->process.config = config;
	if (old != s->start)
		config_free(old);
}

/* Its users are looked up once, with the configuration: at each question it could block the loop. */
static struct task_settings settings_of(const struct task_config *c)
{
	struct task_settings t = {.name = c->name,
				  .description = c->description,
				  .min_version = c->min_version,
				  .yield = c->yield,
				  .rank_position = c->rank_position,
				  .oldest = c->oldest,
				  .tick_ms = c->tick_ms,
				  .wait_ms = c->wait_ms,
				  .on_crash = c->on_crash,
				  .overlap = c->overlap,
				  .hold_max_ms = c->hold_max_ms,
				  .history = c->history};

	for (size_t i = 0; i < c->n_users; i++) {
		const struct passwd *user = getpwnam(c->users[i]);
		if (user)
			t.uids[t.n_uids++] = user->pw_uid;
		else
			log_warning("no such user on this host", LOG_STR("task", c->name),
				    LOG_STR("user", c->users[i]));
	}
	return t;
}

static void configure_node(struct sidecar *s, const struct task_config *const *tasks, size_t n)
{
	const struct node_timing timing = {.yield_delay_ms = s->config->yield_delay_ms,
					   .tick_guard_ms = s->config->tick_guard_ms};
	struct task_settings *settings = mem_calloc(n + 1, sizeof(*settings));

	for (size_t i = 0; i < n; i++)
		settings[i] = settings_of(tasks[i]);
	node_configure(&s->node, &timing, settings, n);
	free(settings);
}

static void load_tasks(struct sidecar *s, struct problems *problems, struct changes *changes)
{
	struct task_files loaded, effective;

	task_files_init(&loaded);
	task_files_init(&effective);
	taskdir_load(s->config, &loaded, problems);
	taskdir_merge(&s->tasks, &loaded, &effective);
	task_files_done(&loaded);
	compare_tasks(&s->tasks, &effective, changes);
	size_t n;
	const struct task_config **tasks = task_files_tasks(&effective, &n);
	configure_node(s, tasks, n);
	health_apply(&s->health, s->config, tasks, n);
	free(tasks);
	task_files_done(&s->tasks);
	s->tasks = effective;
}

void sidecar_reload(struct sidecar *s, struct changes *changes)
{
	struct problems problems;
	struct config *config = NULL;

	buffer_init(&changes->text, CHANGES_TEXT_MAX);
	problems_init(&problems);
	notify_send("RELOADING=1");
	if (config_load(s->config_file, &config, &problems) == 0)
		apply_config(s, config, changes);
	s->n_main_problems = problems.n;
	s->n_main_warnings = problems.n_warnings;
	load_tasks(s, &problems, changes);
	changes->refused = problems.n > 0;
	set_problems(s, &problems);
	notify_send("READY=1");
}

static void on_tasks_changed(void *arg)
{
	struct sidecar *s = arg;
	struct changes changes;
	struct problems problems;

	/* What was wrong with the main file still is. */
	problems_init(&problems);
	for (size_t i = 0; i < s->n_main_problems; i++) {
		const struct problem *p = &s->problems.list[i];
		problems_add(&problems, p->file, p->line, "%s", p->message);
	}
	for (size_t i = 0; i < s->n_main_warnings; i++) {
		const struct problem *p = &s->problems.warnings[i];
		problems_warn(&problems, p->file, p->line, "%s", p->message);
	}
	buffer_init(&changes.text, CHANGES_TEXT_MAX);
	load_tasks(s, &problems, &changes);
	buffer_done(&changes.text);
	set_problems(s, &problems);
}

static void on_version_changed(void *arg)
{
	struct sidecar *s = arg;
	struct changes changes;
	struct problems problems;
	char *version;

	problems_init(&problems);
	if (config_read_version(s->config, &version, &problems) == 0) {
		if (strcmp(version, s->config->version) != 0)
			log_info("version changed", LOG_STR("from", s->config->version),
				 LOG_STR("to", version));
		free(s->config->version);
		s->config->version = version;
		node_set_version(&s->node, version);
	}
	/* What is wrong with it is a problem of the main file, and what was wrong may be mended now. */
	if (problems.n + problems.n_warnings + s->n_main_problems + s->n_main_warnings > 0) {
		sidecar_reload(s, &changes);
		buffer_done(&changes.text);
	}
	problems_done(&problems);
}

/* --- what the node tells ----------------------------------------------------------------------------- */

static void on_status_timer(uv_timer_t *timer)
{
	const struct sidecar *s = timer->data;
	char text[256];

	snprintf(text, sizeof(text), "STATUS=%s, leading %zu of %zu tasks",
		 session_state_name(&s->node.session), s->node.leaders.n_leading,
		 s->node.leaders.n_published);
	notify_send(text);
}

/* Once for all that changes at about the same time. */
static void tell_systemd(struct sidecar *s)
{
	if (!uv_is_active((const uv_handle_t *)&s->status_timer))
		uv_timer_start(&s->status_timer, on_status_timer, SIDECAR_STATUS_MS, 0);
}

/* --- the session, for whoever comes after us ------------------------------------------------------ */

/* The session is of use to a sidecar of the same fleet and identity alone. */
static void say_of(const struct config *c, char of[KEEP_TEXT_MAX + 1])
{
	snprintf(of, KEEP_TEXT_MAX + 1, "%s %s %s", c->zookeeper, c->root,
		 c->auth_scheme ? c->auth_scheme : "-");
}

static void on_handoff(void *arg, const struct handoff *handoff)
{
	struct sidecar *s = arg;
	struct kept kept = {
		.handoff = *handoff, .asked_ms = s->start->session_timeout_ms, .jobs = 1};

	if (s->stopping)
		return;
	say_of(s->start, kept.of);
	int error = keep_write(s->start->socket, &kept);
	if (error)
		log_warning("the session is not kept: a restart will hand everything over",
			    LOG_STR("beside", s->start->socket), LOG_STR("why", strerror(-error)));
	s->kept = kept;
}

static void on_handoff_runs(void *arg, const struct handoff_run *runs, size_t n)
{
	struct sidecar *s = arg;
	int error = keep_jobs_write(s->start->socket, runs, n);

	if (error)
		log_warning("jobs not kept for the sidecar after this one",
			    LOG_STR("why", strerror(-error)));
}

static void take_over_from(struct sidecar *s, const struct kept *kept)
{
	struct handoff_run *runs = NULL;
	size_t n = 0;
	bool all = true;
	int error = kept->jobs > 0 ? keep_jobs_read(s->start->socket, &runs, &n, &all) : 0;

	if (error && error != -ENOENT) {
		log_warning("jobs of the sidecar before this one are not known",
			    LOG_STR("why", strerror(-error)));
		all = false;
	}
	node_take_over(&s->node, &kept->handoff, runs, n, all);
	free(runs);
}

static void take_over(struct sidecar *s)
{
	char of[KEEP_TEXT_MAX + 1];
	const char *why = "";
	struct kept kept;
	int error = keep_read(s->start->socket, &kept, &why);

	if (error == -ENOENT)
		return;
	say_of(s->start, of);
	if (!error && strcmp(kept.of, of) != 0)
		why = "it is of other servers, another root or another identity";
	else if (!error && kept.asked_ms != s->start->session_timeout_ms)
		why = "the session-timeout is another now";
	else if (!error)
		why = NULL;
	if (why) {
		log_warning("the session kept is not taken over",
			    LOG_STR("beside", s->start->socket), LOG_STR("why", why));
		return;
	}
	take_over_from(s, &kept);
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

	subscriptions_membership(&s->methods.subscriptions, event, m);
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	struct sidecar *s = arg;

	subscriptions_decision(&s->methods.subscriptions, item, ended);
}

static void on_task_changed(void *arg, struct task *t)
{
	(void)t;
	methods_task_changed(&((struct sidecar *)arg)->methods);
}

static void on_task_added(void *arg, struct task *t)
{
	struct sidecar *s = arg;

	subscriptions_task_added(&s->methods.subscriptions, t);
}

static void on_task_removed(void *arg, struct task *t)
{
	struct sidecar *s = arg;

	methods_task_removed(&s->methods, t);
	subscriptions_task_removed(&s->methods.subscriptions, t);
}

/* --- the socket and health ------------------------------------------------------------------------- */

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
	size_t n;
	char **tasks = health_unhealthy(&s->health, &n);
	struct node_unhealthy *unhealthy = mem_calloc(n + 1, sizeof(*unhealthy));
	const struct node_health health = {.known = health_is_known(&s->health),
					   .sick = health_sick(&s->health),
					   .says = health_says(&s->health, NULL),
					   .unhealthy = unhealthy,
					   .n_unhealthy = n};

	for (size_t i = 0; i < n; i++)
		unhealthy[i] = (struct node_unhealthy){.task = tasks[i],
						       .says = health_says(&s->health, tasks[i])};
	node_set_health(&s->node, &health);
	free(unhealthy);
	names_free(tasks, n);
}

static void on_client_gone(void *arg, struct peer *c)
{
	methods_client_gone(&((struct sidecar *)arg)->methods, c);
}

/* --- what the methods ask of the process ----------------------------------------------------------- */

static void on_reload(void *arg, struct changes *ret_changes)
{
	sidecar_reload(arg, ret_changes);
}

static int64_t on_longest_turn_us(void *arg)
{
	return turns_longest_us(&((struct sidecar *)arg)->turns);
}

static int on_offload(void *arg, void (*work)(void *work_arg), void (*done)(void *work_arg),
		      void *work_arg)
{
	return aside(((struct sidecar *)arg)->loop, work, done, work_arg);
}

/* --- starting and stopping ----------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
	uv_stop(((struct sidecar *)arg)->loop);
}

static void on_stop_timer(uv_timer_t *timer)
{
	log_warning("the server does not answer the farewell", LOG_END);
	on_stopped(timer->data);
}

static void leave(struct sidecar *s)
{
	keep_remove(s->start->socket);
	uv_timer_start(&s->stop_timer, on_stop_timer, SIDECAR_STOP_MS, 0);
	node_stop(&s->node, on_stopped, s);
}

/*
 * What is waited for before the session is closed, NULL: nothing any more. Jobs that are going on finish
 * first. After the limit they are told that the leadership is lost, and are dead when the lease is over at
 * the latest. Records are not waited for, but for the moment in which one that was sent is answered.
 */
static const char *to_wait_for(struct sidecar *s)
{
	int64_t now = clock_boot_ms();
	size_t jobs = runs_going(&s->node.runs, false);

	if (jobs > 0 && !s->node.runs.revoked && now >= s->drain_ms) {
		log_warning("jobs are ended", LOG_INT("going", jobs));
		runs_revoke(&s->node.runs);
		s->drain_ms = now + session_told_left(&s->node.session);
	}
	if (jobs > 0 && now < s->drain_ms)
		return "jobs";
	if (now < s->promised_ms && leaders_promised_left(&s->node.leaders) > 0)
		return "what answers have promised";
	if (s->record_ms == 0)
		s->record_ms = now + SIDECAR_RECORD_MS;
	if (now < s->record_ms && runs_open(&s->node.runs) > 0 && session_is_up(&s->node.session))
		return "the answer to a record";
	return NULL;
}

static void on_drain_timer(uv_timer_t *timer)
{
	struct sidecar *s = timer->data;
	const char *what = to_wait_for(s);

	if (!what) {
		uv_timer_stop(timer);
		leave(s);
	} else if (what != s->waits_for) {
		log_info("waiting", LOG_STR("for", what),
			 LOG_INT("jobs", runs_going(&s->node.runs, true)),
			 LOG_INT("promised_ms", leaders_promised_left(&s->node.leaders)));
	}
	s->waits_for = what;
}

static void on_term(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;
	int64_t now = clock_boot_ms();

	if (s->stopping)
		return;
	s->stopping = true;
	log_info("stopping", LOG_STR("signal", number == SIGTERM ? "TERM" : "INT"),
		 LOG_INT("jobs", runs_going(&s->node.runs, false)));
	notify_send("STOPPING=1");
	s->drain_ms = now + SIDECAR_DRAIN_MS;
	s->promised_ms = now + s->config->stop_wait_ms;
	if (!to_wait_for(s)) {
		leave(s);
		return;
	}
	node_withdraw(&s->node);
	uv_timer_start(&s->stop_timer, on_drain_timer, 0, SIDECAR_DRAIN_POLL_MS);
}

/* Another sidecar comes after us. The session is not closed, so that it can go on. */
static void make_room(struct sidecar *s)
{
	log_info("stopping, the session stays for the next sidecar",
		 LOG_INT("leading", s->node.leaders.n_leading),
		 LOG_INT("jobs", runs_going(&s->node.runs, false)));
	s->kept.jobs = (int64_t)runs_open(&s->node.runs);
	if (s->kept.handoff.session != 0)
		keep_write(s->start->socket, &s->kept);
	control_close(&s->control);
	_exit(0); /* nothing that the library would do at its end may happen */
}

static void on_restart_timer(uv_timer_t *timer)
{
	struct sidecar *s = timer->data;

	if (clock_boot_ms() >= s->clear_ms)
		make_room(s);
}

/*
 * Until the next sidecar is there nobody is answered here. So it keeps clear of the full minute, when
 * crontab lines fire, while all goes on as before. Jobs that are going on attach to the next one.
 */
static void on_usr2(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;
	int64_t now = clock_boot_ms();

	(void)number;
	if (s->stopping || s->clear_ms != 0)
		return;
	s->clear_ms = now + tick_clear(clock_wall_ms(), s->config->tick_guard_ms);
	log_info("restarting", LOG_STR("signal", "USR2"), LOG_INT("in_ms", s->clear_ms - now),
		 LOG_INT("jobs", runs_going(&s->node.runs, false)));
	notify_send("STOPPING=1");
	uv_timer_start(&s->stop_timer, on_restart_timer, 0, SIDECAR_DRAIN_POLL_MS);
}

static void on_hup(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;
	struct changes changes;

	(void)number;
	if (s->stopping)
		return;
	log_info("reloading", LOG_STR("signal", "HUP"));
	sidecar_reload(s, &changes);
	buffer_done(&changes.text);
}

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

/* What the node is told of itself, for as long as this process lives. */
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
	snprintf(s->name, sizeof(s->name), "%s:%s", s->hostname, c->socket);
	s->settings = (struct node_settings){.servers = s->servers,
					     .root = s->root,
					     .session_timeout_ms = c->session_timeout_ms,
					     .auth_scheme = c->auth_scheme,
					     .auth_credential = c->auth_credential,
					     .address = c->address,
					     .hostname = s->hostname,
					     .name = s->name};
}

static void init_parts(struct sidecar *s)
{
	const struct node_handlers handlers = {
		.task_changed = on_task_changed,
		.task_added = on_task_added,
		.task_removed = on_task_removed,
		.leased = on_leased,
		.membership = on_membership,
		.decision = on_decision,
		.status = on_status,
		.handoff = on_handoff,
		.handoff_runs = on_handoff_runs,
		.runs = {.answer = run_requests_answer, .released = run_requests_released},
		.arg = s};

	host_init(&s->host, s->loop);
	turns_init(&s->turns, s->loop);
	init_settings(s);
	node_init(&s->node, &s->host, &s->settings, &handlers);
	s->process = (struct process){.node = &s->node,
				      .problems = &s->problems,
				      .start = s->start,
				      .config = s->config,
				      .started_at = s->started_at,
				      .longest_turn_us = on_longest_turn_us,
				      .reload = on_reload,
				      .offload = on_offload,
				      .arg = s};
	methods_init(&s->methods, &s->process);
	health_init(&s->health, s->loop, on_health_changed, s);
	files_init(&s->files, s->loop, on_tasks_changed, on_version_changed, s);
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
	uv_signal_start(&s->term, on_term, SIGTERM);
	uv_signal_start(&s->intr, on_term, SIGINT);
	uv_signal_start(&s->hup, on_hup, SIGHUP);
	uv_signal_start(&s->usr2, on_usr2, SIGUSR2);
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
	/* An async is one of zk.c, which closes it when its thread is done. */
	if (!uv_is_closing(handle) && handle->type != UV_ASYNC)
		uv_close(handle, NULL);
}

/* Frees what there is, so that a leak shows in the tests; the loop may still have a thread at work. */
static void done_parts(struct sidecar *s)
{
	control_close(&s->control);
	health_done(&s->health);
	node_done(&s->node);
	methods_done(&s->methods);
	uv_walk(s->loop, on_walk, NULL);
	for (int i = 0; i < 100 && uv_run(s->loop, UV_RUN_NOWAIT) != 0; i++)
		;
	free(s->servers);
	free(s->root);
	files_done(&s->files);
	task_files_done(&s->tasks);
	problems_done(&s->problems);
	if (s->config != s->start)
		config_free(s->config);
	config_free(s->start);
}

int sidecar_run(const char *config_file, struct config *config, struct problems *problems)
{
	struct sidecar s = {.config_file = config_file,
			    .started_at = clock_wall_ms(),
			    .start = config,
			    .config = config};
	struct changes changes = {.refused = false};

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
		buffer_init(&changes.text, CHANGES_TEXT_MAX);
		node_set_version(&s.node, config->version);
		s.n_main_warnings = problems->n_warnings;
		load_tasks(&s, problems, &changes);
		buffer_done(&changes.text);
		set_problems(&s, problems);
		files_watch(&s.files, config->task_dir, config->version_file);
		take_over(&s);
		node_start(&s.node);
		if (notify_watchdog_ms() > 0)
			uv_timer_start(&s.watchdog, on_watchdog, 0, (uint64_t)notify_watchdog_ms());
		notify_send("READY=1");
		uv_run(s.loop, UV_RUN_DEFAULT);
		log_info("stopped", LOG_END);
	}
	done_parts(&s);
	/* A thread that looks up a name would be waited for in exit(), for as long as the resolver likes. */
	if (uv_loop_alive(s.loop)) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
