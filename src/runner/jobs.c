#include "runner/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"

struct jobs_key jobs_key(const char *name, const char *id, int64_t attempt)
{
	struct jobs_key key = {.attempt = attempt};

	snprintf(key.name, sizeof(key.name), "%s", name);
	snprintf(key.id, sizeof(key.id), "%s", id);
	return key;
}

bool jobs_same(const struct jobs_key *a, const struct jobs_key *b)
{
	return a->attempt == b->attempt && strcmp(a->id, b->id) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

/* Lets a process go: it gets no more jobs, and ends once it has none. */
static void let_go(struct jobs *j, struct jobs_entry *entry)
{
	if (entry->offers >= 0)
		close(entry->offers);
	entry->offers = -1;
	j->n_idle -= entry->idle_ms != 0;
	entry->idle_ms = 0;
}

bool jobs_has(struct jobs *j, const struct jobs_key *key)
{
	for (size_t i = 0; i < j->n; i++) {
		struct jobs_entry *entry = &j->list[i];

		if (entry->idle_ms != 0 || !jobs_same(&entry->key, key))
			continue;
		if (entry->offers < 0 || entry->begins_ms == 0 ||
		    clock_boot_ms() < entry->begins_ms + JOBS_BEGIN_MS)
			return true;
		let_go(j, entry);
		entry->key.id[0] = '\0';
	}
	return false;
}

void jobs_add(struct jobs *j, const struct jobs_entry *entry)
{
	j->list = mem_resize(j->list, j->n + 1, sizeof(*j->list));
	j->list[j->n] = *entry;
	j->list[j->n++].begins_ms = clock_boot_ms();
}

static bool send_offer(const struct jobs_entry *entry)
{
	struct offer offer = {.queue = ""};

	snprintf(offer.queue, sizeof(offer.queue), "%.*s", NAME_TASK_MAX, entry->key.name);
	memcpy(offer.id, entry->key.id, sizeof(offer.id));
	return send(entry->offers, &offer, sizeof(offer), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

bool jobs_give(struct jobs *j, const struct jobs_key *key, unsigned reads)
{
	for (size_t i = 0; i < j->n; i++) {
		struct jobs_entry *entry = &j->list[i];

		if (entry->idle_ms == 0 || strcmp(entry->key.name, key->name) != 0)
			continue;
		entry->key = *key;
		if (entry->reads != reads || !send_offer(entry)) {
			let_go(j, entry);
			entry->key.id[0] = '\0';
			continue;
		}
		entry->begins_ms = clock_boot_ms();
		entry->idle_ms = 0;
		j->n_idle--;
		return true;
	}
	return false;
}

static struct jobs_entry *find(const struct jobs *j, pid_t pid)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i].pid == pid)
			return &j->list[i];
	return NULL;
}

void jobs_begun(struct jobs *j, pid_t pid)
{
	struct jobs_entry *entry = find(j, pid);

	if (entry)
		entry->begins_ms = 0;
}

void jobs_is_free(struct jobs *j, pid_t pid)
{
	struct jobs_entry *entry = find(j, pid);

	if (!entry)
		return;
	entry->key.id[0] = '\0';
	entry->begins_ms = 0;
	if (entry->offers >= 0 && entry->idle_ms == 0) {
		entry->idle_ms = clock_boot_ms();
		j->n_idle++;
	}
}

int64_t jobs_let_go(struct jobs *j, bool all)
{
	int64_t now_ms = clock_boot_ms(), next_ms = INT64_MAX;

	for (size_t i = 0; i < j->n; i++) {
		struct jobs_entry *entry = &j->list[i];
		int64_t end_ms = entry->idle_ms + JOBS_IDLE_MS;

		if (entry->idle_ms == 0)
			continue;
		if (all || now_ms >= end_ms)
			let_go(j, entry);
		else
			next_ms = end_ms < next_ms ? end_ms : next_ms;
	}
	return next_ms;
}

void jobs_close(const struct jobs *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i].offers >= 0)
			close(j->list[i].offers);
}

size_t jobs_beginning(const struct jobs *j, int64_t *ret_ms)
{
	int64_t now_ms = clock_boot_ms();
	size_t n = 0;

	*ret_ms = INT64_MAX;
	for (size_t i = 0; i < j->n; i++) {
		int64_t end_ms = j->list[i].begins_ms + JOBS_BEGIN_MS;

		if (j->list[i].begins_ms == 0 || now_ms >= end_ms)
			continue;
		n++;
		*ret_ms = end_ms < *ret_ms ? end_ms : *ret_ms;
	}
	return n;
}

static void forget(struct jobs *j, pid_t pid, int status)
{
	for (size_t i = 0; i < j->n; i++) {
		if (j->list[i].pid != pid)
			continue;
		if (WIFSIGNALED(status))
			log_warning("the process around a job was killed, and so is the job",
				    LOG_STR("name", j->list[i].key.name),
				    LOG_STR("id", j->list[i].key.id),
				    LOG_INT("signal", WTERMSIG(status)));
		let_go(j, &j->list[i]);
		j->list[i] = j->list[--j->n];
		return;
	}
}

void jobs_reap(struct jobs *j)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		forget(j, pid, status);
}

void jobs_done(struct jobs *j)
{
	jobs_close(j);
	free(j->list);
}
