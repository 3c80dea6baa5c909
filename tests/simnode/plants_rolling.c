/* Bugs planted in rolling restarts: see plants.c. */
#include "node/recipes/rolling/rolling_deed.h"
#include "plants.h"

#define WRAPS(name) extern __typeof__(name) __real_##name, __wrap_##name

WRAPS(rolling_decide);
WRAPS(rolling_deed_put_drain);
WRAPS(rolling_is_soaked);
WRAPS(rolling_sweep);
WRAPS(rolling_release);

static bool idle_anyhow(void *arg, const char *drain, size_t *ret_leads, size_t *ret_jobs)
{
	(void)arg, (void)drain;
	*ret_leads = *ret_jobs = 0;
	return true;
}

/* That the group is halted is not seen; nor that the node leads, or that jobs go on there. */
void __wrap_rolling_decide(struct rolling_op *op)
{
	if (plant_is("rolling-busy"))
		op->rolling->handlers.idle = idle_anyhow;
	if (plant_is("rolling-halted") && op->ask.order == ROLLING_TAKE)
		op->view.group.halted_since = 0;
	__real_rolling_decide(op);
}

/* A slot comes without its drain. */
void __wrap_rolling_deed_put_drain(struct rolling_deed *d, const struct rolling_slot *slot)
{
	if (!plant_is("rolling-drain"))
		__real_rolling_deed_put_drain(d, slot);
}

/* A slot is freed as soon as that is asked for. */
bool __wrap_rolling_is_soaked(struct rolling_op *op)
{
	return plant_is("rolling-hasty") || __real_rolling_is_soaked(op);
}

/* Only a slot is released, and with it the drain that it names. */
void __wrap_rolling_release(struct rolling_op *op)
{
	if (plant_is("rolling-stray") && !rolling_find(&op->view, op->ask.node))
		rolling_tell(op, ROLLING_NOTHING, NULL, NULL);
	else
		__real_rolling_release(op);
}

/* Queue entries that the previous process has left stay. */
void __wrap_rolling_sweep(struct rolling *r)
{
	if (!plant_is("rolling-queue"))
		__real_rolling_sweep(r);
}
