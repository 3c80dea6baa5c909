/*
 * Checks whether threads could be started now. ZooKeeper's library starts two for each session, and
 * aborts the process if the kernel refuses one: a limit on processes (TasksMax, ulimit -u) or no
 * memory.
 */
#ifndef ZKLEADER_DAEMON_ZOOKEEPER_SPARE_THREADS_H
#define ZKLEADER_DAEMON_ZOOKEEPER_SPARE_THREADS_H

#include <stddef.h>

#define SPARE_THREADS_MAX 8

/*
 * Starts n threads and ends them again, in a time that people do not notice. 0, or a negative
 * errno: they could not all exist at once. Others may take their place before the caller does, so
 * ask for some more than are needed.
 */
int spare_threads(size_t n);

#endif
