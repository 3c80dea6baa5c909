#include "api/context.h"

#include <errno.h>

int context_failed(const struct context *c, int r)
{
	if (!c->z)
		output_error(&c->output, "the path of the socket is too long");
	else if (zkleader_message(c->z)[0] == '\0')
		output_error(&c->output, "too much for one request");
	else
		output_error(&c->output, "%s", zkleader_message(c->z));
	if (!c->z || r == -EMSGSIZE || r == -EACCES || r == -EPERM)
		return ZKLEADER_MISUSE;
	return r > ZKLEADER_OK && r <= ZKLEADER_NOBODY ? r : ZKLEADER_CANNOT_TELL;
}
