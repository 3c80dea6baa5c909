/* The methods of locks: lock, lock_attach, lock_renew, lock_finish, locks. For methods.c alone. */
#ifndef ZKLEADER_CONTROL_RECIPES_LOCKS_H
#define ZKLEADER_CONTROL_RECIPES_LOCKS_H

#include "control/ask/methods.h"

void method_lock(struct call *call);
void method_lock_attach(struct call *call);
void method_lock_renew(struct call *call);
void method_lock_finish(struct call *call);
void method_locks(struct call *call);

#endif
