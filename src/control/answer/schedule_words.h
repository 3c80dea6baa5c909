/* A schedule in words, for people who do not read crontabs. */
#ifndef ZKLEADER_CONTROL_ANSWER_SCHEDULE_WORDS_H
#define ZKLEADER_CONTROL_ANSWER_SCHEDULE_WORDS_H

#include "core/election/task_settings.h"
#include "core/time/schedule.h"
#include "wire/pack.h"

#define SCHEDULE_WORDS_SIZE   600
#define SCHEDULE_WORDS_FIELDS 2

/* As "at 02:30 on Monday to Friday"; H has become the number that it stands for. */
void schedule_words(const struct schedule *s, char text[SCHEDULE_WORDS_SIZE]);
/* The keys schedule (nil: none) and alert_after_ms (nil: never). */
void schedule_words_pack(struct pack *p, const struct task_settings *t);

#endif
