/* The sidecar: all its parts, and the connections between them. */
#ifndef ZKLEADER_DAEMON_SIDECAR_H
#define ZKLEADER_DAEMON_SIDECAR_H

#include <stdbool.h>
#include <uv.h>

#include "base/buffer.h"
#include "config/config.h"
#include "config/tasks/taskfile.h"
#include "control/ask/methods.h"
#include "daemon/files/files.h"
#include "daemon/files/handoff_file.h"
#include "daemon/files/health.h"
#include "daemon/files/reading.h"
#include "daemon/machine/host_uv.h"
#include "daemon/machine/loop_watch.h"
#include "daemon/socket/control.h"
#include "daemon/socket/turn.h"
#include "daemon/socket/users.h"
#include "daemon/zookeeper/zk.h"
#include "node/node.h"

#define SIDECAR_STOP_MS	  1200 /* for the farewell to a server that may be stalled */
#define SIDECAR_STATUS_MS 200  /* from a change to its report to systemd */
#define SIDECAR_RECORD_MS 1000 /* for the answer to the record of a job's end */
/* for jobs that are going on; less than the unit's TimeoutStopSec */
#define SIDECAR_DRAIN_MS 60000

struct sidecar {
	uv_loop_t *loop;
	struct host host;
	const char *config_file;
	int64_t started_at; /* of this process: ms since the epoch */
	struct config
		*start; /* of the start: where the connection, the socket and we ourselves are */
	struct config *config;	       /* in force */
	struct problems problems;      /* of all files, as last read */
	size_t n_main_problems;	       /* the first so many are about the main file's text */
	size_t n_main_warnings;	       /* likewise */
	struct task_files tasks;       /* in force */
	struct zk_security security;   /* of the start; its texts are those of `start` */
	struct node_settings settings; /* of the node; its texts are ours or of `start` */
	struct node node;
	struct turns turns;
	struct loop_watch loop_watch;
	struct users users;
	uid_t *task_uids;		  /* lent to the node with the settings of its tasks */
	struct recipe_users recipe_users; /* as the configuration in force names them */
	struct control control;
	struct process process;
	struct methods methods;
	struct health health;
	struct files files;
	struct readings readings; /* what they borrow changes in reload.c alone */
	uv_signal_t term, intr, hup, usr2;
	uv_timer_t stop_timer, watchdog, status_timer;
	bool stopping;
	char *servers; /* texts of the settings */
	char *root;
	char hostname[NAME_HOST_MAX + 1];
	char name[WORKER_NODE_MAX + 1];
	char machine[WORKER_MACHINE_MAX + 1];
	struct kept kept; /* as last written */
	int64_t clear_ms; /* CLOCK_BOOTTIME: when a restart may be; 0: none is requested */
	/* While stopping; CLOCK_BOOTTIME. */
	const char *waits_for; /* as logged last; NULL */
	int64_t drain_ms;      /* until when jobs may go on */
	int64_t promised_ms;   /* the end of stop-wait */
	int64_t record_ms;     /* until when records may be written; 0: jobs go on */
};

/* Runs until told to stop; takes the configuration over. Returns the exit code. */
int sidecar_run(const char *config_file, struct config *config, struct problems *problems);

#endif
