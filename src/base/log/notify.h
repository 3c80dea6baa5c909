/* Notifications to systemd: readiness, status, the watchdog (sd_notify's protocol). */
#ifndef ZKLEADER_BASE_LOG_NOTIFY_H
#define ZKLEADER_BASE_LOG_NOTIFY_H

#include <stdint.h>

/*
 * Sends a state such as "READY=1" to $NOTIFY_SOCKET; does nothing if that is not set. Never blocks.
 */
void notify_send(const char *state);
/*
 * Half of the watchdog's time in ms: the interval at which to notify it. 0: there is no watchdog.
 */
int64_t notify_watchdog_ms(void);

#endif
