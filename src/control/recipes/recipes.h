/* The recipes' methods. For dispatch.c and control.c. */
#ifndef ZKLEADER_CONTROL_RECIPES_RECIPES_H
#define ZKLEADER_CONTROL_RECIPES_RECIPES_H

#include "control/ask/methods.h"

/*
 * Whether the peer may use the recipes; if not, answers with an error. If that is not known yet,
 * the request is put off.
 */
bool recipes_may_use(const struct call *call);

/* The next parameter as the name of a recipe, formed like a task's; false after an error answer. */
bool recipes_take_name(struct call *call, char ret_name[NAME_TASK_MAX + 1]);

void recipe_counter(struct call *call);
void recipe_index(struct call *call);
void recipe_roster(struct call *call);
void recipe_forget(struct call *call);
void recipe_wait(struct call *call);
void recipe_rolling(struct call *call);
void recipe_barrier(struct call *call);
void recipe_barrier_leave(struct call *call);
void method_lock(struct call *call);
void method_lock_attach(struct call *call);
void method_lock_renew(struct call *call);
void method_lock_finish(struct call *call);
void method_locks(struct call *call);
void method_join(struct call *call);
void method_join_attach(struct call *call);
void method_join_renew(struct call *call);
void method_join_finish(struct call *call);

/* Called at the end of a turn, as the fleet may have changed. */
void recipes_look(struct methods *m);

#endif
