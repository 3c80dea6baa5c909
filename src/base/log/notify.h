/* The words that systemd listens for: readiness, status, the watchdog (sd_notify's protocol). */
#ifndef ZKLEADER_BASE_LOG_NOTIFY_H
#define ZKLEADER_BASE_LOG_NOTIFY_H

#include <stdint.h>

/* Sends to $NOTIFY_SOCKET, as "READY=1"; does nothing where there is none. Never blocks. */
void notify_send(const char *state);
/*
 * How often the watchdog wants to hear from this process, in ms; 0: it does not. Half of its time.
 */
int64_t notify_watchdog_ms(void);

#endif
