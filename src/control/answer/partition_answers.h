/* Answers about a task with partitions as a whole; answers.c has those about one partition. */
#ifndef ZKLEADER_CONTROL_ANSWER_PARTITION_ANSWERS_H
#define ZKLEADER_CONTROL_ANSWER_PARTITION_ANSWERS_H

#include "control/answer/answers.h"
#include "node/election/listing.h"

#define PARTITION_ANSWERS_FIELDS 15 /* pairs that partition_answers_pack() writes */

/* An entry of `tasks`. */
void partition_answers_pack(struct pack *p, const struct node *s, struct listing *l);
/* The partition whose last run represents all: a failed one of that tick, if there is any; NULL. */
const struct task *partition_answers_last(const struct listing *l);
/* Whether any of its partitions is overdue. */
bool partition_answers_overdue(const struct listing *l);
/* As parked_settled(), for a check of any partition. */
bool partition_any_settled(const struct listing *l);
/* Whole answers, as in answers.h; of check, the number of partitions has to be known. */
void answer_check_any(struct pack *p, const struct node *s, struct listing *l);
void answer_partitions(struct pack *p, struct listing *l);
void answer_explain_listing(struct pack *p, const struct node *s, struct listing *l);

#endif
