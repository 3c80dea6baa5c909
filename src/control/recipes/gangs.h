/* The methods of gangs: join, join_attach, join_renew, join_finish. For methods.c alone. */
#ifndef ZKLEADER_CONTROL_RECIPES_GANGS_H
#define ZKLEADER_CONTROL_RECIPES_GANGS_H

#include "control/ask/methods.h"

void method_join(struct call *call);
void method_join_attach(struct call *call);
void method_join_renew(struct call *call);
void method_join_finish(struct call *call);

#endif
