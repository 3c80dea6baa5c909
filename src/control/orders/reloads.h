/* The method `reload`: answered once all files have been read and are in force. */
#ifndef ZKLEADER_CONTROL_ORDERS_RELOADS_H
#define ZKLEADER_CONTROL_ORDERS_RELOADS_H

#include "control/ask/methods.h"

void reload_answer(struct call *call);

#endif
