#include "daemon/socket/account.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

struct account *account_get(struct accounts *all, uid_t uid, bool trusted)
{
	struct account *a = TAILQ_FIRST(&all->list);

	while (a && (a->uid != uid || a->trusted != trusted))
		a = TAILQ_NEXT(a, link);
	if (!a) {
		a = mem_calloc(1, sizeof(*a));
		a->uid = uid;
		a->trusted = trusted;
		a->all = &all->untrusted;
		for (enum urgency u = 0; u < URGENCIES; u++)
			TAILQ_INIT(&a->waiting[u]);
		TAILQ_INSERT_HEAD(&all->list, a, link);
	}
	a->refs++;
	return a;
}

void account_put(struct accounts *all, struct account *a)
{
	assert(a->refs > 0);
	if (--a->refs > 0)
		return;
	TAILQ_REMOVE(&all->list, a, link);
	free(a);
}

void account_rotate(struct accounts *all, struct account *a)
{
	TAILQ_REMOVE(&all->list, a, link);
	TAILQ_INSERT_TAIL(&all->list, a, link);
}

static void add(struct account_use *use, const struct account_use *was,
		const struct account_use *is)
{
	use->bytes += is->bytes - was->bytes;
	use->parked += is->parked - was->parked;
	use->asking += is->asking - was->asking;
	use->subscribed += is->subscribed - was->subscribed;
	use->subscribers += is->subscribers - was->subscribers;
}

void account_count(struct account *a, const struct account_use *was, const struct account_use *is)
{
	add(&a->use, was, is);
	if (!a->trusted)
		add(a->all, was, is);
}

static size_t bytes_max(const struct account *a)
{
	return a->trusted ? ACCOUNT_BYTES_TRUSTED_MAX : ACCOUNT_BYTES_MAX;
}

bool account_has_room(const struct account *a)
{
	return a->use.bytes < bytes_max(a) && (a->trusted || a->all->bytes < ACCOUNTS_BYTES_MAX);
}

bool account_may_wait(const struct account *a)
{
	return a->use.parked < (a->trusted ? ACCOUNT_PARKED_TRUSTED_MAX : ACCOUNT_PARKED_MAX);
}

bool account_may(const struct account *a, enum urgency urgency)
{
	size_t asking = a->trusted ? ACCOUNT_ASKING_TRUSTED_MAX : ACCOUNT_ASKING_MAX;

	switch (urgency) {
	case URGENCY_HEARD:
	case URGENCY_JOB: return true;
	case URGENCY_CHECK: return account_may_wait(a);
	case URGENCY_TABLE: return a->use.asking < asking && account_has_room(a);
	case URGENCIES: break;
	}
	return false;
}

bool account_may_subscribe(const struct account *a, size_t tasks, size_t clients)
{
	size_t most = a->trusted ? ACCOUNT_SUBSCRIBED_TRUSTED_MAX : ACCOUNT_SUBSCRIBED_MAX;
	size_t all = a->trusted ? ACCOUNT_SUBSCRIBERS_TRUSTED_MAX : ACCOUNT_SUBSCRIBERS_MAX;

	return a->use.subscribed + tasks <= most && a->use.subscribers + clients <= all;
}

size_t account_share(const struct account *a, size_t clients, size_t least, size_t most)
{
	size_t share = bytes_max(a) / (clients > 0 ? clients : 1);

	return share < least ? least : share > most ? most : share;
}
