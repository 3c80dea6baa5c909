/* The answers of the control socket's methods, from the sidecar's present state. */
#ifndef ZKLEADER_DAEMON_ANSWERS_H
#define ZKLEADER_DAEMON_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/leaders.h"
#include "daemon/survey.h"

struct sidecar;

/* How many pairs these two write into a map that the caller has opened. */
#define ANSWERS_TASK_FIELDS   7
#define ANSWERS_WORKER_FIELDS 10

/* An entry of `tasks`. */
void answers_pack_task(struct pack *p, const struct sidecar *s, const struct task *t);
/* An entry of `list`; led_elsewhere is added to the number of our tasks that the member leads. */
void answers_pack_worker(struct pack *p, const struct sidecar *s, const struct member *m,
			 size_t led_elsewhere);
/* The key `problems` and its value. */
void answers_pack_problems(struct pack *p, const struct problems *problems);

/* Whole answers, each sent to the client. What is said about leading is computed in here, now. */
void answer_check(const struct sidecar *s, struct client *c, uint32_t msgid, struct task *t);
void answer_tasks(const struct sidecar *s, struct client *c, uint32_t msgid,
		  struct task *const *tasks, size_t n);
void answer_workers(const struct sidecar *s, struct client *c, uint32_t msgid,
		    const struct survey *survey); /* NULL: count our own tasks alone */
void answer_explain(const struct sidecar *s, struct client *c, uint32_t msgid,
		    const struct task *t);
void answer_status(const struct sidecar *s, struct client *c, uint32_t msgid);

#endif
