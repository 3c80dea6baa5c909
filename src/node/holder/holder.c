#include "node/holder/holder.h"

static int64_t now_of(const struct holders *hs)
{
	return host_now_ms(hs->session->host);
}

void holder_init(struct holders *hs, struct holder *h, void *owner)
{
	*h = (struct holder){.owner = owner, .number = ++hs->last_number};
}

void holder_take(struct holder *h, void *owner)
{
	h->owner = owner;
}

void holder_attach(struct holder *h, void *owner)
{
	h->owner = owner;
	h->attaching = !h->told;
}

void holder_is_told(struct holder *h)
{
	h->told = true;
	h->attaching = false;
}

void holder_lose(struct holder *h)
{
	h->lost = true;
}

bool holder_is(const struct holder *h, const void *owner, uint64_t number)
{
	return h->told && h->owner == owner && h->number == number;
}

int64_t holder_left(const struct session *s)
{
	return session_lease_left(s);
}

int64_t holder_promise(const struct holders *hs, struct holder *h, int64_t left_ms)
{
	int64_t until_ms = now_of(hs) + left_ms;

	if (h->lost || hs->revoked)
		return 0;
	if (until_ms > h->lease_ms)
		h->lease_ms = until_ms;
	return left_ms;
}

int64_t holder_renew(const struct holders *hs, struct holder *h, bool held)
{
	return held ? holder_promise(hs, h, holder_left(hs->session)) : 0;
}

bool holder_tells(const struct holders *hs, struct holder *h)
{
	if (h->lost || !session_may_begin(hs->session, h->told || h->attaching))
		return false;
	if (h->attaching)
		holder_inherit(hs, h);
	holder_is_told(h);
	return true;
}

void holder_inherit(const struct holders *hs, struct holder *h)
{
	h->lease_ms = now_of(hs) + session_told_timeout(hs->session);
}

void holder_owner_gone(const struct holders *hs, struct holder *h)
{
	h->owner = NULL;
	if (h->attaching)
		holder_inherit(hs, h);
}

void holders_release(const struct holders *hs, void *owner)
{
	if (owner && hs->released)
		hs->released(owner);
}

void holder_let_go(const struct holders *hs, struct holder *h)
{
	void *owner = h->owner;

	h->owner = NULL;
	holders_release(hs, owner);
}

bool holder_is_alive(const struct holders *hs, const struct holder *h)
{
	return (h->told || h->attaching) && (h->owner || now_of(hs) < h->lease_ms);
}

bool holder_is_over(const struct holders *hs, const struct holder *h)
{
	return !h->owner && now_of(hs) >= h->lease_ms;
}

void holder_former_take_over(struct holder_former *f, const struct session *s, int64_t timeout_ms)
{
	*f = (struct holder_former){.until_ms = host_now_ms(s->host) + timeout_ms, .early = true};
}

void holder_former_up(struct holder_former *f, const struct session *s)
{
	bool same = s->id == s->taken_over;

	if (same && (f->early || f->until_ms == 0))
		f->until_ms = host_now_ms(s->host) + session_told_timeout(s);
	else if (f->early)
		f->until_ms = 0;
	f->early = false;
}
