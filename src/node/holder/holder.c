#include "node/holder/holder.h"

int64_t holder_left(const struct session *s)
{
	return session_lease_left(s);
}

int64_t holder_renew(const struct session *s, bool held, int64_t *until_ms)
{
	int64_t left = held ? holder_left(s) : 0, until = host_now_ms(s->host) + left;

	if (until > *until_ms)
		*until_ms = until;
	return left;
}
