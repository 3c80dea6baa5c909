/* The metrics for Prometheus. */
#ifndef ZKLEADER_WEB_METRICS_H
#define ZKLEADER_WEB_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define METRICS_TYPE	  "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_OPEN_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * The sidecar's answers to `metrics`, `status` and `workers`, NULL for those that have not come, as
 * Prometheus' text format 0.0.4 or as OpenMetrics 1.0. For the caller to free.
 */
char *metrics_text(const json_t *metrics, const json_t *status, const json_t *workers, bool open,
		   size_t *ret_len);

#endif
