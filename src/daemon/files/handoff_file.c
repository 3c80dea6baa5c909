#include "daemon/files/handoff_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "wire/keys.h"

#define FILE_MAX     4096
#define BOOT_FILE    "/proc/sys/kernel/random/boot_id"
#define MACHINE_FILE "/etc/machine-id"
#define NO_BOOT	     "the id of the running system cannot be read: " BOOT_FILE
#define NO_LOCK	     "there is no lock beside it"
#define HEX_SIZE     (2 * STORE_PASSWORD_SIZE + 1)

/* The content of the file as it is written. The fields have the meaning of those in struct kept. */
struct file {
	int64_t session, session_since, asked_ms, started_at, timeout_ms, counted_ms, promise_ms,
		promised_ms, jobs, ints[WORKER_RANDOM_INTS];
	char password[HEX_SIZE];
	char worker[NAME_ID_MAX + 1];
	char boot[HANDOFF_BOOT_SIZE];
	char host[HANDOFF_HOST_SIZE];
	char of[HANDOFF_TEXT_MAX + 1];
};

static bool is_hex(const char *text, size_t len)
{
	return len == HEX_SIZE - 1 && strspn(text, "0123456789abcdef") >= len;
}

static bool is_boot(const char *text, size_t len)
{
	return len > 0 && len < HANDOFF_BOOT_SIZE && !memchr(text, '\0', len);
}

static bool is_host(const char *text, size_t len)
{
	return len < HANDOFF_HOST_SIZE && !memchr(text, '\0', len);
}

static bool is_of(const char *text, size_t len)
{
	return len <= HANDOFF_TEXT_MAX && !memchr(text, '\0', len);
}

#define TEXT(key, check) TEXT_KEY(file, key, KEY_REQUIRED, check, "not good")
#define INT(key, least)	 INT_KEY(file, key, KEY_REQUIRED, least, INT32_MAX, "not good")
#define RANDOM(i)                                                                                \
	{                                                                                        \
		.name = "random_" #i, .kind = KEY_INT, .offset = offsetof(struct file, ints[i]), \
		.min = INT32_MIN, .max = INT32_MAX, KEY_WHY("random_" #i, "not good")            \
	}
/* Release 0.1.0 does not write these. */
#define NEW_INT(key, most) INT_KEY(file, key, KEY_ALWAYS, 0, most, "not good")

static const struct key file_keys[] = {
	INT_KEY(file, session, KEY_REQUIRED, INT64_MIN, INT64_MAX, "not good"),
	NEW_INT(session_since, INT64_MAX),
	INT(asked_ms, 1),
	INT_KEY(file, started_at, KEY_REQUIRED, 0, INT64_MAX, "not good"),
	INT(timeout_ms, 0),
	NEW_INT(counted_ms, INT32_MAX),
	NEW_INT(promise_ms, INT64_MAX),
	NEW_INT(promised_ms, INT64_MAX),
	INT(jobs, 0),
	RANDOM(0),
	RANDOM(1),
	RANDOM(2),
	RANDOM(3),
	RANDOM(4),
	TEXT(password, is_hex),
	TEXT(worker, name_is_id),
	TEXT(boot, is_boot),
	TEXT(host, is_host), /* a file of 0.1.0 lacks it, and is refused: it may be a copy */
	TEXT(of, is_of),
};
static const struct keys file_map = KEYS(file_keys, file, FILE_MAX - 1);

static char *path_of(const char *socket, const char *suffix)
{
	size_t size = strlen(socket) + strlen(suffix) + 1;
	char *path = mem_alloc(size);

	snprintf(path, size, "%s%s", socket, suffix);
	return path;
}

char *handoff_file_session(const char *socket)
{
	return path_of(socket, ".session");
}

/* Reads the first line of a file; "": there is none. */
static void read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, line, size - 1) : 0;

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/*
 * Identifies this machine and the lock file beside the socket. A copy of the session's file lies
 * beside another lock. 0 or a negative errno.
 */
static int say_host(const char *socket, char host[HANDOFF_HOST_SIZE])
{
	mem_auto char *lock = path_of(socket, ".lock");
	char machine[64], name[256] = "";
	struct statx st;

	/*
	 * Another file may get the inode number of one that is gone, so the time when it was made
	 * counts as well. Some file systems do not tell that time.
	 */
	if (statx(AT_FDCWD, lock, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) != 0)
		return -errno;
	if (!(st.stx_mask & STATX_BTIME))
		memset(&st.stx_btime, 0, sizeof(st.stx_btime));
	read_line(MACHINE_FILE, machine, sizeof(machine));
	gethostname(name, sizeof(name) - 1);
	snprintf(host, HANDOFF_HOST_SIZE, "%s %s %x:%x:%llu:%lld.%u", machine, name,
		 st.stx_dev_major, st.stx_dev_minor, (unsigned long long)st.stx_ino,
		 (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	return 0;
}

/*
 * Finds the machine and boot that the file belongs to. 0, or a negative errno and why. Without the
 * boot id, which systemd's ProcSubset=pid hides, no session is kept or taken over.
 */
static int find_place(const char *socket, struct handoff_place *ret_place, const char **ret_why)
{
	int error = say_host(socket, ret_place->host);

	*ret_why = NO_LOCK;
	if (error)
		return error;
	read_line(BOOT_FILE, ret_place->boot, sizeof(ret_place->boot));
	*ret_why = NO_BOOT;
	return ret_place->boot[0] ? 0 : -ENODATA;
}

/*
 * Reads at most size bytes of a file that only our own user can access. Returns how many; or a
 * negative errno, and why.
 */
static ssize_t read_own(const char *path, void *data, size_t size, const char **ret_why)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	*ret_why = "it cannot be read";
	if (fd < 0)
		return -errno;
	ssize_t n = -EPERM;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		*ret_why = "it is no file";
	else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		*ret_why = "it is not ours alone: owner or mode";
	else if ((n = read(fd, data, size)) < 0)
		n = -errno;
	close(fd);
	return n;
}

static void to_kept(const struct file *f, struct kept *k)
{
	struct handoff *h = &k->handoff;

	*k = (struct kept){.asked_ms = f->asked_ms, .jobs = f->jobs};
	h->session = f->session;
	h->started_at = f->started_at;
	h->timeout_ms = f->timeout_ms;
	h->counted_ms = f->counted_ms;
	h->promise_ms = f->promise_ms;
	h->promised_ms = f->promised_ms;
	h->session_since = f->session_since;
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		h->random_ints[i] = (int32_t)f->ints[i];
	for (size_t i = 0; i < STORE_PASSWORD_SIZE; i++) {
		char byte[3] = {f->password[2 * i], f->password[2 * i + 1], '\0'};
		h->password[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	memcpy(h->worker, f->worker, sizeof(h->worker));
	memcpy(k->of, f->of, sizeof(k->of));
}

int handoff_file_read(const char *socket, struct kept *ret_kept, const char **ret_why)
{
	mem_auto char *path = handoff_file_session(socket);
	uint8_t data[FILE_MAX];
	struct handoff_place left, here;
	struct file f = {.session = 0};
	ssize_t n = read_own(path, data, sizeof(data), ret_why);

	if (n < 0)
		return (int)n;
	if (keys_parse(data, (size_t)n, &file_map, &f, ret_why) < 0)
		return -EBADMSG;
	int error = find_place(socket, &here, ret_why);
	if (error)
		return error;
	memcpy(left.host, f.host, sizeof(left.host));
	memcpy(left.boot, f.boot, sizeof(left.boot));
	if (!handoff_is_ours(&left, &here, ret_why))
		return -ESTALE;
	to_kept(&f, ret_kept);
	return 0;
}

static int pack_file(struct buffer *out, const struct kept *k, const struct handoff_place *place)
{
	const struct handoff *h = &k->handoff;
	struct file f = {.session = h->session,
			 .session_since = h->session_since,
			 .asked_ms = k->asked_ms,
			 .started_at = h->started_at,
			 .timeout_ms = h->timeout_ms,
			 .counted_ms = h->counted_ms,
			 .promise_ms = h->promise_ms,
			 .promised_ms = h->promised_ms,
			 .jobs = k->jobs};

	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		f.ints[i] = h->random_ints[i];
	for (size_t i = 0; i < STORE_PASSWORD_SIZE; i++)
		snprintf(f.password + 2 * i, 3, "%02x", h->password[i]);
	memcpy(f.worker, h->worker, sizeof(f.worker));
	memcpy(f.boot, place->boot, sizeof(f.boot));
	memcpy(f.host, place->host, sizeof(f.host));
	memcpy(f.of, k->of, sizeof(f.of));
	return keys_write(out, &file_map, &f);
}

/*
 * Replaces the file by renaming a draft, so that a reader finds either the old content or the new
 * one.
 */
static int replace(const char *path, const char *draft, const void *data, size_t len)
{
	unlink(draft); /* the draft is always a new file, never what a link points to */
	int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int error = fd < 0 ? -errno : 0;

	if (!error && write(fd, data, len) != (ssize_t)len)
		error = -EIO;
	if (fd >= 0)
		close(fd);
	if (!error && rename(draft, path) != 0)
		error = -errno;
	if (error)
		unlink(draft);
	return error;
}

int handoff_file_write(const char *socket, const struct kept *kept, const char **ret_why)
{
	struct handoff_place place;
	mem_auto char *path = handoff_file_session(socket),
		      *draft = path_of(socket, ".session.new");
	struct buffer data;

	int error = find_place(socket, &place, ret_why);
	if (error)
		return error;
	buffer_init(&data, FILE_MAX - 1);
	error = pack_file(&data, kept, &place);
	if (!error)
		error = replace(path, draft, data.data, data.len);
	if (error)
		*ret_why = strerror(-error);
	buffer_done(&data);
	return error;
}

/* Writes a line for each run: "TASK TICK ID TOKEN". TICK is "-" if there is none. */
int handoff_file_write_runs(const char *socket, const struct handoff_run *runs, size_t n)
{
	mem_auto char *path = path_of(socket, ".jobs"), *draft = path_of(socket, ".jobs.new");
	char line[NAME_ELECTION_MAX + TICK_NAME_SIZE + NAME_ID_MAX + 26];
	struct buffer lines;

	buffer_init(&lines, HANDOFF_JOBS_MAX);
	for (size_t i = 0; i < n; i++) {
		int len = snprintf(line, sizeof(line), "%s %s %s %" PRId64 "\n", runs[i].task,
				   runs[i].tick[0] ? runs[i].tick : "-", runs[i].id, runs[i].token);
		buffer_append(&lines, line, (size_t)len);
	}
	int error = replace(path, draft, lines.data, lines.len);
	buffer_done(&lines);
	return error;
}

static bool parse_job(char *line, struct handoff_run *ret_run)
{
	char *words = NULL, *task = strtok_r(line, " ", &words);
	char *tick = strtok_r(NULL, " ", &words), *id = strtok_r(NULL, " ", &words);
	char *token = strtok_r(NULL, " ", &words);

	if (!token || !name_is_election(task, strlen(task)) || !name_is_id(id, strlen(id)))
		return false;
	if (strcmp(tick, "-") != 0 && !tick_is_name(tick))
		return false;
	*ret_run = (struct handoff_run){.token = strtoll(token, NULL, 10)};
	snprintf(ret_run->task, sizeof(ret_run->task), "%s", task);
	snprintf(ret_run->tick, sizeof(ret_run->tick), "%s", strcmp(tick, "-") == 0 ? "" : tick);
	snprintf(ret_run->id, sizeof(ret_run->id), "%s", id);
	return true;
}

int handoff_file_read_runs(const char *socket, struct handoff_run **ret_runs, size_t *ret_n,
			   bool *ret_all)
{
	mem_auto char *path = path_of(socket, ".jobs"), *lines = mem_alloc(HANDOFF_JOBS_MAX + 1);
	struct handoff_run *runs = NULL, run;
	char *rest = NULL;
	const char *why;
	size_t n_runs = 0;
	bool all = true;
	ssize_t n = read_own(path, lines, HANDOFF_JOBS_MAX + 1, &why);

	if (n < 0 || n > HANDOFF_JOBS_MAX)
		return n < 0 ? (int)n : -EFBIG;
	lines[n] = '\0';
	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!parse_job(line, &run)) {
			all = false;
			continue;
		}
		runs = mem_resize(runs, n_runs + 1, sizeof(*runs));
		runs[n_runs++] = run;
	}
	*ret_runs = runs;
	*ret_n = n_runs;
	*ret_all = all;
	return 0;
}

void handoff_file_remove(const char *socket)
{
	mem_auto char *path = handoff_file_session(socket), *jobs = path_of(socket, ".jobs");

	unlink(path);
	unlink(jobs);
}
