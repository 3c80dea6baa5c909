#include "supervise/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define PROCESSES_MAX (4 * 1024 * 1024) /* the kernel's own limit of pids */
#define AFTER_GROUP   16 /* fields of /proc/PID/stat between the group and the start */

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	unsigned long long start;
	bool living; /* not a zombie */
};

struct processes {
	struct process *all;
	size_t n, cap;
};

/*
 * Reads /proc/PID/stat: "PID (NAME) STATE PARENT GROUP ... START ...". NAME may contain anything,
 * so the fields are counted from the last bracket.
 */
static bool read_process(int proc, const char *name, struct process *ret)
{
	char path[300], text[512];
	char *rest;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (!rest || strlen(rest) < sizeof(") S 1 1") - 1)
		return false;
	ret->pid = (pid_t)strtol(name, NULL, 10);
	ret->living = rest[2] != 'Z' && rest[2] != 'X';
	ret->parent = (pid_t)strtol(rest + 3, &rest, 10);
	ret->group = (pid_t)strtol(rest, &rest, 10);
	for (int i = 0; i < AFTER_GROUP; i++)
		(void)strtoll(rest, &rest, 10);
	ret->start = strtoull(rest, NULL, 10);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;

	return (x > y) - (x < y);
}

static int read_processes(struct processes *p)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	size_t seen = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) && p->n < PROCESSES_MAX) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		seen++;
		if (p->n == p->cap) {
			p->cap = p->cap ? 2 * p->cap : 256;
			p->all = mem_resize(p->all, p->cap, sizeof(*p->all));
		}
		p->n += read_process(dirfd(dir), entry->d_name, &p->all[p->n]);
	}
	closedir(dir);
	if (seen == 0)
		return -ENOENT; /* /proc is not mounted */
	qsort(p->all, p->n, sizeof(*p->all), by_pid);
	return 0;
}

static int by_key(const void *process, const void *listed)
{
	pid_t x = ((const struct process *)process)->pid;
	pid_t y = ((const struct tree_process *)listed)->pid;

	return (x > y) - (x < y);
}

static bool has(const struct tree_set *set, const struct process *q)
{
	const struct tree_process *p =
		set && set->n > 0 ? bsearch(q, set->list, set->n, sizeof(*set->list), by_key)
				  : NULL;

	return p && p->start == q->start;
}

/*
 * Whether the process q is a descendant of ancestor, and neither it nor a parent between them is in
 * `spare`. Pids that were used again while /proc was read can make a circle of parents, so the
 * steps are counted.
 */
static bool is_below(const struct processes *p, const struct process *q, pid_t ancestor,
		     const struct tree_set *spare)
{
	for (size_t steps = 0; q && steps < p->n && !has(spare, q); steps++) {
		struct process key = {.pid = q->parent};

		if (q->parent == ancestor)
			return true;
		q = bsearch(&key, p->all, p->n, sizeof(*p->all), by_pid);
	}
	return false;
}

int tree_list(struct tree_set *ret_set)
{
	struct processes p = {.all = NULL};
	pid_t self = getpid();
	int e = read_processes(&p);

	memset(ret_set, 0, sizeof(*ret_set));
	for (size_t i = 0; e == 0 && i < p.n; i++) {
		const struct process *q = &p.all[i];

		if (!q->living || !is_below(&p, q, self, NULL))
			continue;
		ret_set->list = mem_resize(ret_set->list, ret_set->n + 1, sizeof(*ret_set->list));
		ret_set->list[ret_set->n++] = (struct tree_process){q->pid, q->start};
	}
	free(p.all);
	return e;
}

void tree_set_done(struct tree_set *set)
{
	free(set->list);
	memset(set, 0, sizeof(*set));
}

int tree_signal(int sig, pid_t skip, pid_t group, const struct tree_set *spare)
{
	struct processes p = {.all = NULL};
	pid_t self = getpid();
	int met = 0;
	int e = read_processes(&p);

	for (size_t i = 0; e == 0 && i < p.n; i++) {
		const struct process *q = &p.all[i];

		if (q->pid == skip || !q->living || (group > 0 && q->group == group))
			continue;
		if (!is_below(&p, q, self, spare))
			continue;
		met++;
		kill(q->pid, sig);
		if (sig != SIGKILL)
			kill(q->pid, SIGCONT);
	}
	free(p.all);
	return e < 0 ? e : met;
}

void tree_signal_group(pid_t group, int sig)
{
	kill(-group, sig);
	if (sig != SIGKILL)
		kill(-group, SIGCONT);
}
