#include <stdlib.h>

#include "base/log/log.h"
#include "compare.h"
#include "daemon/machine/host_uv.h"

static struct host host;

struct host *world_open(void)
{
	log_setup(LOG_ERROR, LOG_TEXT, false);
	host_init(&host, uv_default_loop());
	return &host;
}

void world_step(void)
{
	uv_run(uv_default_loop(), UV_RUN_ONCE);
}

void world_hang_up(struct store *a, struct store *b)
{
	(void)b;
	store_hang_up(a);
}
