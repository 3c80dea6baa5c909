#include "daemon/sidecar.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/tick.h"
#include "daemon/notify.h"
#include "daemon/zk.h"
#include "node/standby.h"
#include "config/restart.h"
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
	if (old->tick_guard_ms != config->tick_guard_ms)
		add_change(changes, "changed:", "tick-guard");
	if (text_differs(old->task_dir, config->task_dir))
		add_change(changes, "changed:", "task-dir");
	if (old->log_level != config->log_level || old->log_format != config->log_format)
		add_change(changes, "changed:", "log-level or log-format");
	tell_restart_keys(s->start, config, changes);
	log_setup(config->log_level, config->log_format, getenv("JOURNAL_STREAM") != NULL);
	zk_log_detail(config->log_level == LOG_DEBUG);
	registry_set_version(&s->registry, config->version);
	files_watch(&s->files, config->task_dir, config->version_file);
	s->config = config;
	if (old != s->start)
		config_free(old);
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
	leaders_apply(&s->leaders, s->config, tasks, n);
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
		registry_set_version(&s->registry, version);
	}
	/* What is wrong with it is a problem of the main file, and what was wrong may be mended now. */
	if (problems.n + problems.n_warnings + s->n_main_problems + s->n_main_warnings > 0) {
		sidecar_reload(s, &changes);
		buffer_done(&changes.text);
	}
	problems_done(&problems);
}

/* --- what the parts tell each other -------------------------------------------------------------- */

static void on_connected(void *arg)
{
	registry_connected(&((struct sidecar *)arg)->registry);
}

static void on_retimed(void *arg)
{
	registry_retimed(&((struct sidecar *)arg)->registry);
}

static void on_status_timer(uv_timer_t *timer)
{
	const struct sidecar *s = timer->data;
	char text[256];

	snprintf(text, sizeof(text), "STATUS=%s, leading %zu of %zu tasks",
		 session_state_name(&s->session), s->leaders.n_leading, s->leaders.n_published);
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

static void keep_session(struct sidecar *s)
{
	const struct registry *r = &s->registry;
	struct kept kept = {.session = s->session.id,
			    .session_since = s->session.since,
			    .asked_ms = s->start->session_timeout_ms,
			    .timeout_ms = session_told_timeout(&s->session),
			    .jobs = 1};

	if (!session_is_up(&s->session) || !r->id[0] || s->stopping)
		return;
	if (s->kept.session == kept.session && strcmp(s->kept.worker, r->id) == 0 &&
	    s->kept.timeout_ms == kept.timeout_ms)
		return;
	memcpy(kept.password, store_password(s->session.store), sizeof(kept.password));
	memcpy(kept.worker, r->id, sizeof(kept.worker));
	memcpy(kept.random_ints, r->random_ints, sizeof(kept.random_ints));
	kept.started_at = r->started_at;
	say_of(s->start, kept.of);
	int error = keep_write(s->start->socket, &kept);
	if (error)
		log_warning("the session is not kept: a restart will hand everything over",
			    LOG_STR("beside", s->start->socket), LOG_STR("why", strerror(-error)));
	s->kept = kept;
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
	log_info("taking over the session kept", LOG_HEX("session", kept.session));
	session_take_over(&s->session, kept.session, kept.password, kept.session_since,
			  kept.timeout_ms);
	if (kept.jobs > 0)
		runs_take_over(&s->runs, kept.timeout_ms);
	registry_take_over(&s->registry, &kept);
}

/* Once the fleet and what was decided are known, so that nothing is given up for not knowing them. */
static void recover(struct sidecar *s)
{
	const struct worker *found = registry_found(&s->registry);

	if (!registry_recovers(&s->registry) || !session_is_up(&s->session) ||
	    !s->registry.workers.ready || !s->policy.folder.ready)
		return;
	leaders_recover(&s->leaders);
	if (found)
		leaders_disown(&s->leaders, found->tasks, found->n_tasks);
	else
		leaders_disown_all(&s->leaders);
	registry_recovered(&s->registry);
}

static void on_up(void *arg)
{
	struct sidecar *s = arg;

	leaders_up(&s->leaders);
	policy_up(&s->policy);
	registry_up(&s->registry);
	keep_session(s);
	tell_systemd(s);
}

/* Who has the role may say so now. */
static void on_leased(void *arg)
{
	struct sidecar *s = arg;

	methods_task_changed(&s->methods);
	runs_changed(&s->runs);
	for (size_t i = 0; i < s->leaders.n_tasks; i++)
		if (election_leads(&s->leaders.tasks[i]->election))
			subscriptions_task_changed(s, s->leaders.tasks[i]);
}

static void on_cut(void *arg)
{
	struct sidecar *s = arg;

	registry_cut(&s->registry);
	policy_cut(&s->policy);
	leaders_cut(&s->leaders);
	tell_systemd(s);
}

static void on_expired(void *arg)
{
	struct sidecar *s = arg;

	leaders_expired(&s->leaders);
	registry_expired(&s->registry);
	policy_expired(&s->policy);
	runs_expired(&s->runs);
	tell_systemd(s);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	struct sidecar *s = arg;

	registry_watch(&s->registry, type, path);
	policy_watch(&s->policy, type, path);
	leaders_watch(&s->leaders, type, path);
	runs_watch(&s->runs, type, path);
}

static void on_joined(void *arg, struct member *m)
{
	struct sidecar *s = arg;

	log_info("worker joined", LOG_STR("id", m->worker->id),
		 LOG_STR("version", m->worker->version), LOG_STR("ip", m->worker->ip),
		 LOG_STR("hostname", m->worker->hostname));
	leaders_joined(&s->leaders, m);
	/* At the start it was there before us. */
	if (s->registry.workers.known)
		subscriptions_membership(s, "joined", m);
}

static void on_left(void *arg, const struct member *m)
{
	struct sidecar *s = arg;

	log_info("worker left", LOG_STR("id", m->worker->id),
		 LOG_STR("version", m->worker->version), LOG_STR("ip", m->worker->ip),
		 LOG_STR("hostname", m->worker->hostname));
	leaders_left(&s->leaders, m);
	subscriptions_membership(s, "left", m);
}

static void on_fleet_changed(void *arg)
{
	struct sidecar *s = arg;

	leaders_fleet_changed(&s->leaders);
	standby_check(s);
	recover(s);
	keep_session(s);
	runs_changed(&s->runs);
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	subscriptions_decision(arg, item, ended);
}

static void on_task_changed(void *arg, struct task *t)
{
	struct sidecar *s = arg;

	methods_task_changed(&s->methods);
	runs_changed(&s->runs);
	subscriptions_task_changed(s, t);
	tell_systemd(s);
}

static void on_task_added(void *arg, struct task *t)
{
	subscriptions_task_added(arg, t);
	tell_systemd(arg);
}

static void on_task_removed(void *arg, struct task *t)
{
	struct sidecar *s = arg;

	methods_task_removed(&s->methods, t);
	runs_task_removed(&s->runs, t);
	subscriptions_task_removed(s, t);
	tell_systemd(s);
}

static void on_request(void *arg, struct client *c, const struct rpc_message *m)
{
	methods_request(&((struct sidecar *)arg)->methods, c, m);
}

static void on_room(void *arg)
{
	methods_room(&((struct sidecar *)arg)->methods);
}

static void on_drained(void *arg, struct client *c)
{
	(void)arg, (void)c;
}

static void on_health_changed(void *arg)
{
	struct sidecar *s = arg;
	size_t n;
	char **unhealthy = health_unhealthy(&s->health, &n);

	registry_set_health(&s->registry, health_is_known(&s->health), health_sick(&s->health),
			    unhealthy, n);
}

static void on_client_gone(void *arg, struct client *c)
{
	struct sidecar *s = arg;

	methods_client_gone(&s->methods, c);
	runs_client_gone(&s->runs, c);
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
	session_stop(&s->session, on_stopped, s);
}

/*
 * Jobs that are going on finish first, while all other elections are left at once. After the limit they
 * are told that the leadership is lost; the session is closed when the last of them is dead, which is
 * when the lease is over at the latest.
 */
static void on_drain_timer(uv_timer_t *timer)
{
	struct sidecar *s = timer->data;
	int64_t now = clock_boot_ms();

	if (!s->runs.revoked && now >= s->drain_ms) {
		log_warning("jobs are ended", LOG_INT("going", runs_going(&s->runs)));
		runs_revoke(&s->runs);
		s->drain_ms = now + session_told_left(&s->session);
	}
	if (runs_going(&s->runs) == 0 || (s->runs.revoked && now >= s->drain_ms)) {
		uv_timer_stop(timer);
		leave(s);
	}
}

static void on_term(uv_signal_t *handle, int number)
{
	struct sidecar *s = handle->data;

	if (s->stopping)
		return;
	s->stopping = true;
	log_info("stopping", LOG_STR("signal", number == SIGTERM ? "TERM" : "INT"),
		 LOG_INT("jobs", runs_going(&s->runs)));
	notify_send("STOPPING=1");
	if (runs_going(&s->runs) == 0) {
		leave(s);
		return;
	}
	leaders_withdraw(&s->leaders);
	s->drain_ms = clock_boot_ms() + SIDECAR_DRAIN_MS;
	uv_timer_start(&s->stop_timer, on_drain_timer, 0, SIDECAR_DRAIN_POLL_MS);
}

/* Another sidecar comes after us. The session is not closed, so that it can go on. */
static void make_room(struct sidecar *s)
{
	log_info("stopping, the session stays for the next sidecar",
		 LOG_INT("leading", s->leaders.n_leading), LOG_INT("jobs", runs_going(&s->runs)));
	s->kept.jobs = (int64_t)runs_going(&s->runs);
	if (s->kept.session != 0)
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
		 LOG_INT("jobs", runs_going(&s->runs)));
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

static void init_parts(struct sidecar *s)
{
	const struct session_handlers session_handlers = {.connected = on_connected,
							  .up = on_up,
							  .leased = on_leased,
							  .cut = on_cut,
							  .expired = on_expired,
							  .retimed = on_retimed,
							  .watch = on_watch,
							  .arg = s};
	const struct registry_handlers registry_handlers = {
		.joined = on_joined, .left = on_left, .changed = on_fleet_changed, .arg = s};
	const struct policy_handlers policy_handlers = {
		.changed = on_fleet_changed, .told = on_decision, .arg = s};
	const struct leaders_handlers leaders_handlers = {.changed = on_task_changed,
							  .added = on_task_added,
							  .removed = on_task_removed,
							  .arg = s};

	host_init(&s->host, s->loop);
	/* At the end of a turn runs and requests come before what they ask of ZooKeeper. */
	runs_init(&s->runs, s, &s->host);
	methods_init(&s->methods, s, &s->host);
	turns_init(&s->turns, s->loop);
	session_init(&s->session, &s->host, s->start, &session_handlers);
	registry_init(&s->registry, s->start, &s->session, &registry_handlers);
	policy_init(&s->policy, &s->session, &s->registry, &policy_handlers);
	leaders_init(&s->leaders, s->config, &s->session, &s->registry, &s->policy,
		     &leaders_handlers);
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
	policy_done(&s->policy); /* tells who waits for a decision */
	methods_done(&s->methods);
	runs_done(&s->runs);
	leaders_done(&s->leaders);
	registry_done(&s->registry);
	session_done(&s->session);
	uv_walk(s->loop, on_walk, NULL);
	for (int i = 0; i < 100 && uv_run(s->loop, UV_RUN_NOWAIT) != 0; i++)
		;
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
		registry_set_version(&s.registry, config->version);
		s.n_main_warnings = problems->n_warnings;
		load_tasks(&s, problems, &changes);
		buffer_done(&changes.text);
		set_problems(&s, problems);
		files_watch(&s.files, config->task_dir, config->version_file);
		take_over(&s);
		session_start(&s.session);
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
