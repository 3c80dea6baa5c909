/* Files and what else the sidecar asks of the system, in memory: three configurations, each with its tasks. */
#ifndef TESTS_FUZZ_FAKE_SYSTEM_H
#define TESTS_FUZZ_FAKE_SYSTEM_H

#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "config/text/textfile.h"
#include "daemon/files/handoff_file.h"
#include "daemon/sidecar.h"
#include "daemon/zookeeper/zk.h"

#define CONFIG "/fuzz/zkleader.conf"

/* --- files ----------------------------------------------------------------------------------------- */

#define SERVER "zookeeper=\"127.0.0.1:2181\"\nsocket=\"/fuzz/s\"\n"

static const char *const configs[] = {
	SERVER "version=\"1.0\"\n",
	SERVER "version=\"1.1\"\nyield-delay=\"0s\"\ntick-guard=\"1s\"\n",
	SERVER "version=\n",
};

/* The sidecar's task file, as long as the configuration of that number is in force. */
#define FIRST_TASKS                                             \
	"task \"daily\" {history=2}\n"                          \
	"task \"late\" {on-crash=\"rerun\" users={\"ann\"} }\n" \
	"task \"other\" {yield=\"never\"}\n"
#define OTHER_TASKS                                                            \
	"task \"late\" {on-crash=\"rerun\" users={\"ann\"} hold-max=\"1s\"}\n" \
	"task \"fresh\" {min-version=\"1.1\"}\n"

static const char *const task_texts[] = {FIRST_TASKS, OTHER_TASKS, "task \"late\" {on-crash=}\n"};
#define N_TEXTS (sizeof(task_texts) / sizeof(task_texts[0]))

static size_t text_now; /* of both */

int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat);
size_t __wrap_taskdir_load(const struct config *config, struct task_files *ret_files,
			   struct problems *problems);
int __wrap_config_load(const char *path, const struct config *running, struct config **ret_config,
		       struct problems *problems);
int __real_config_load(const char *path, const struct config *running, struct config **ret_config,
		       struct problems *problems);

int __wrap_textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
			 struct stat *ret_stat)
{
	const char *text = strcmp(path, CONFIG) == 0 ? configs[text_now] : task_texts[text_now];

	(void)limit, (void)ret_stat;
	*ret_text = mem_strdup(text);
	*ret_len = strlen(text);
	return 0;
}

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static struct config *copy_config(const struct config *c)
{
	struct config *copy = mem_alloc(sizeof(*copy));

	*copy = *c;
	copy->file = copy_of(c->file);
	copy->zookeeper = copy_of(c->zookeeper);
	for (size_t i = 0; i < c->n_hosts; i++)
		copy->hosts[i].host = copy_of(c->hosts[i].host);
	copy->root = copy_of(c->root);
	copy->version = copy_of(c->version);
	copy->socket = copy_of(c->socket);
	copy->task_dir = copy_of(c->task_dir);
	copy->recipe_users = mem_calloc(c->n_recipe_users + 1, sizeof(*copy->recipe_users));
	for (size_t i = 0; i < c->n_recipe_users; i++)
		copy->recipe_users[i] = copy_of(c->recipe_users[i]);
	for (size_t i = 0; i < CONFIG_SECURE_KEYS; i++)
		copy->secure.texts[i] = copy_of(c->secure.texts[i]);
	zone_file_ref(copy->timezone);
	FUZZ_CHECK(!c->chroot && !c->version_file && !c->address && !c->socket_group &&
		   !c->auth_file && !c->health.command && !c->health.file);
	return copy;
}

/* Its form is the business of another target, so what is good is read once and copied from then on. */
int __wrap_config_load(const char *path, const struct config *running, struct config **ret_config,
		       struct problems *problems)
{
	static const struct config *all[N_TEXTS];
	struct config *loaded = NULL;

	if (!all[text_now]) {
		int r = __real_config_load(path, running, &loaded, problems);
		if (r < 0)
			return r;
		all[text_now] = loaded;
	}
	*ret_config = copy_config(all[text_now]);
	return 0;
}

/* The task files are a single one, which is read once and copied from then on. */
size_t __wrap_taskdir_load(const struct config *config, struct task_files *ret_files,
			   struct problems *problems)
{
	static struct loaded {
		bool done;
		int result;
		struct task_config **tasks;
		size_t n;
	} all[N_TEXTS];
	struct loaded *l = &all[text_now];
	struct task_file *file = mem_calloc(1, sizeof(*file));

	(void)config;
	if (!l->done) {
		struct problems ignored;
		problems_init(&ignored);
		l->result = taskfile_load("a.conf", "a.conf", &l->tasks, &l->n, &ignored);
		l->done = true;
		problems_done(&ignored);
	}
	task_files_init(ret_files);
	ret_files->list = file;
	ret_files->n = 1;
	file->name = mem_strdup("a.conf");
	file->path = mem_strdup("a.conf");
	file->refused = l->result < 0;
	file->tasks = mem_calloc(l->n + 1, sizeof(struct task_config *));
	for (; file->n_tasks < l->n; file->n_tasks++)
		file->tasks[file->n_tasks] = task_config_copy(l->tasks[file->n_tasks]);
	if (l->result < 0)
		problems_add(problems, "a.conf", 1, "the value of on-crash is missing");
	return l->result < 0;
}

void files_init(struct files *f, uv_loop_t *l, void (*tasks_changed)(void *arg),
		void (*version_changed)(void *arg), void *arg)
{
	(void)f, (void)l, (void)tasks_changed, (void)version_changed, (void)arg;
}

void files_begin(struct files *f, const char *task_dir, const char *version_file)
{
	(void)f, (void)task_dir, (void)version_file;
}

char *handoff_file_session(const char *socket)
{
	return mem_strdup(socket);
}

void files_watch(struct files *f, const char *task_dir, const char *version_file)
{
	(void)f, (void)task_dir, (void)version_file;
}

void files_done(struct files *f)
{
	(void)f;
}

int handoff_file_read(const char *socket, struct kept *ret_kept, const char **ret_why)
{
	(void)socket, (void)ret_kept, (void)ret_why;
	return -ENOENT;
}

int handoff_file_write(const char *socket, const struct kept *kept, const char **ret_why)
{
	(void)socket, (void)kept, (void)ret_why;
	return 0;
}

int handoff_file_write_runs(const char *socket, const struct handoff_run *runs, size_t n)
{
	(void)socket;
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(name_is_task(runs[i].task, strlen(runs[i].task)) &&
			   name_is_id(runs[i].id, strlen(runs[i].id)));
	return 0;
}

int handoff_file_read_runs(const char *socket, struct handoff_run **ret_runs, size_t *ret_n,
			   bool *ret_all)
{
	(void)socket, (void)ret_runs, (void)ret_n, (void)ret_all;
	return -ENOENT;
}

void handoff_file_remove(const char *socket)
{
	(void)socket;
}

/* --- the system ------------------------------------------------------------------------------------ */

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_flock(int fd, int operation);
int __wrap_lstat(const char *path, struct stat *st);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_unlink(const char *path);
mode_t __wrap_umask(mode_t mask);
uid_t __wrap_geteuid(void);
int __wrap_getpwnam_r(const char *name, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret);
int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret);
int __wrap_gethostname(char *name, size_t size);
void __wrap_log_write(enum log_level level, const char *message, const struct log_field *fields);

int __wrap_open(const char *path, int flags, ...)
{
	FUZZ_CHECK(strcmp(path, "/fuzz/s.lock") == 0 && (flags & O_CREAT));
	return 3000;
}

int __wrap_close(int fd)
{
	FUZZ_CHECK(fd == 3000);
	return 0;
}

int __wrap_flock(int fd, int operation)
{
	(void)fd, (void)operation;
	return 0;
}

int __wrap_lstat(const char *path, struct stat *st)
{
	(void)path, (void)st;
	errno = ENOENT;
	return -1;
}

int __wrap_chmod(const char *path, mode_t mode)
{
	(void)path, (void)mode;
	return 0;
}

int __wrap_unlink(const char *path)
{
	(void)path;
	return 0;
}

mode_t __wrap_umask(mode_t mask)
{
	(void)mask;
	return 0;
}

/* The sidecar's own user; 1001 is ann. */
uid_t __wrap_geteuid(void)
{
	return 1000;
}

int __wrap_getpwnam_r(const char *name, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret)
{
	(void)buffer, (void)size;
	*user = (struct passwd){.pw_uid = 1001};
	*ret = strcmp(name, "ann") == 0 ? user : NULL;
	return 0;
}

int __wrap_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size,
		      struct passwd **ret)
{
	(void)buffer, (void)size;
	*user = (struct passwd){.pw_name = uid == 0 ? (char[]){"root"} : (char[]){"somebody"}};
	*ret = uid == 1002 ? NULL : user;
	return 0;
}

int __wrap_gethostname(char *name, size_t size)
{
	snprintf(name, size, "app1");
	return 0;
}

void __wrap_log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	(void)level, (void)message, (void)fields;
}

/* Never called: no task has a health check. */
int uv_spawn(uv_loop_t *l, uv_process_t *handle, const uv_process_options_t *options)
{
	(void)l, (void)handle, (void)options;
	abort();
}

unsigned uv_available_parallelism(void)
{
	return 2;
}

const char *uv_strerror(int error)
{
	(void)error;
	return "error";
}

void zk_log_detail(bool detail)
{
	(void)detail;
}

#endif
