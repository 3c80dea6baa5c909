/* The methods about queues of jobs. For dispatch.c alone. */
#ifndef ZKLEADER_CONTROL_QUEUES_QUEUES_H
#define ZKLEADER_CONTROL_QUEUES_QUEUES_H

#include "control/ask/methods.h"

#define REQUEUE_MAX 1000 /* jobs of one request */

/* Methods for users. */
void method_submit(struct call *call); /* queue_submits.c */
void method_job_id(struct call *call); /* likewise */
void method_job(struct call *call);    /* queue_jobs.c, as are the next four */
void method_cancel(struct call *call);
void method_requeue(struct call *call);
void method_purge(struct call *call);
void method_dead(struct call *call);
void method_jobs(struct call *call);  /* queue_lists.c */
void method_queue(struct call *call); /* queue_views.c */
/* Methods for the supervisors of jobs: queue_work.c. */
void method_job_begin(struct call *call);
void method_job_renew(struct call *call);
void method_job_finish(struct call *call);
void method_job_attach(struct call *call);

struct queue_ask;
/*
 * Packs the entries of `queue` for the queues led here, then calls finish, unless the client left.
 */
void queue_views_of_led(const struct call *call,
			void (*finish)(struct queue_ask *a, struct pack *p));
/* A job as a map, as shown by `job`. outputs: with its output. */
void queue_ask_pack_job(struct pack *p, const struct node *n, const struct job_record *r,
			bool outputs);
/* The same without the output, and without the key for it. */
void queue_ask_pack_summary(struct pack *p, const struct node *n, const struct job_record *r);

#endif
