/*
 * The end of a sidecar: TERM and INT leave the fleet, USR2 leaves the session to the next sidecar.
 */
#ifndef ZKLEADER_DAEMON_STOP_H
#define ZKLEADER_DAEMON_STOP_H

#include "daemon/sidecar.h"

void stop_on_term(uv_signal_t *handle, int number);
void stop_on_usr2(uv_signal_t *handle, int number);

#endif
