/* zkleader rolling: rolling restarts, for package upgrades and reboots of a few nodes at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/decide/rolling.h"
#include "api/json.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"

#define SLOTS_MAX 1000
#define SOAK_MS	  30000

enum {
	OPTION_MAX,
	OPTION_SOAK,
	OPTION_TIMEOUT,
	OPTION_FINISH,
	OPTION_STATUS,
	OPTION_RELEASE,
	OPTION_RESUME
};

static const struct option_spec options[] = {
	{'k', "max-unavailable", "K", "nodes at a time that may be down; default 1"},
	{310, "soak", "D", "healthy for so long before the next; default 30s"},
	{311, "timeout", "D", "no longer for a slot than D"},
	{312, "finish", NULL, "go on after a reboot, for a boot unit"},
	{313, "status", NULL,
	 "who has a slot, who waits, what has halted it;\nwithout GROUP of all groups"},
	{314, "release", "NODE", "free the slot of NODE, and end its drain"},
	{315, "resume", NULL, "end the halt, and free the slot where CMD failed"},
	{0, NULL, NULL, NULL},
};

static int misuse(const struct context *c, const char *why)
{
	output_error(&c->output, "%s", why);
	return -EINVAL;
}

/*
 * Checks which of the five forms of the command it is. -EINVAL, after a line on the error stream,
 * if it is none of them or several.
 */
static int take_form(const struct context *c, bool *ret_runs)
{
	size_t others = 0;

	for (size_t i = OPTION_FINISH; i <= OPTION_RESUME; i++)
		others += c->values[i] != NULL;
	*ret_runs = others == 0;
	if (others > 1)
		return misuse(c, "--finish, --status, --release and --resume do not go together");
	if (c->n_args == 0 && c->values[OPTION_STATUS])
		return 0;
	if (c->n_before != 1)
		return misuse(c, "usage: zkleader rolling GROUP [OPTIONS] -- CMD [ARG…]");
	if (others == 1 && c->n_args > 1)
		return misuse(c, "with that option there is no CMD");
	if (others == 0 && c->n_args < 2)
		return misuse(c, "a CMD is missing: zkleader rolling GROUP -- CMD");
	if (!*ret_runs && (c->values[OPTION_MAX] || c->values[OPTION_TIMEOUT] ||
			   (c->values[OPTION_SOAK] && !c->values[OPTION_FINISH])))
		return misuse(c, "--max-unavailable, --timeout and --soak are for a CMD; --soak "
				 "for --finish, too");
	return 0;
}

static int take_options(const struct context *c, struct rolling_steps *s)
{
	const char *max = c->values[OPTION_MAX], *soak = c->values[OPTION_SOAK];
	const char *timeout = c->values[OPTION_TIMEOUT];
	char why[OPTIONS_WHY_SIZE];
	int e = 0;

	*s = (struct rolling_steps){.max_unavailable = 1,
				    .soak_ms = SOAK_MS,
				    .timeout_ms = ROLLING_FOREVER,
				    .group = c->n_args > 0 ? c->args[0] : NULL};
	if (s->group && !name_is_task(s->group, strlen(s->group)))
		return misuse(c, "that is no name: up to 100 letters, digits, dots, hyphens and "
				 "underscores, a letter or digit first");
	if (max) {
		s->max_unavailable = options_number(max, SLOTS_MAX);
	}
	if (s->max_unavailable < 1)
		return misuse(c, "--max-unavailable is not a number from 1 to 1000");
	if (soak)
		e = options_duration("--soak", soak, DURATION_MAX_MS, &s->soak_ms, why);
	if (e == 0 && timeout)
		e = options_duration("--timeout", timeout, DURATION_MAX_MS, &s->timeout_ms, why);
	return e < 0 ? misuse(c, why) : 0;
}

/* Asks for the state of the group: 0, or an exit code after a line on the error stream. */
static int look(struct rolling_steps *s, json_t **ret_group)
{
	const struct rolling_step step = {
		.order = "status", .timeout_ms = ROLLING_FOREVER, .exit_status = -1};
	json_auto_t *answer = NULL;
	int code = rolling_step(s, &step, &answer);

	if (code == 0)
		*ret_group = json_incref(json_object_get(answer, "group"));
	return code;
}

static int show(struct rolling_steps *s)
{
	json_auto_t *group = NULL;
	int code = look(s, &group);

	if (code != 0)
		return code;
	if (s->c->output.json)
		output_json(&s->c->output, group);
	else
		rolling_show(&s->c->output, group);
	return ZKLEADER_OK;
}

/* All groups, in the order of their names. One whose record is damaged keeps no other one back. */
static int show_all(struct rolling_steps *s)
{
	json_auto_t *names = NULL, *groups = json_array();
	const struct output *o = &s->c->output;
	int code = ask(s->c, "rolling", JSON_ARRAY, &names), worst = 0;

	for (size_t i = 0; code != ZKLEADER_CANNOT_TELL && i < json_array_size(names); i++) {
		json_t *group = NULL;

		s->group = json_string_value(json_array_get(names, i));
		code = s->group ? look(s, &group) : ZKLEADER_CANNOT_TELL;
		if (code == 0) {
			json_array_append_new(groups, group);
			continue;
		}
		output_error(o, "the group %s is not shown", s->group ? s->group : "");
		worst = code;
	}
	if (code == ZKLEADER_CANNOT_TELL || !names)
		return code;
	if (o->json)
		output_json(o, groups);
	else if (json_array_size(names) == 0)
		output_line(o, COLOR_NONE, "there has been no rolling restart of any group");
	for (size_t i = 0; !o->json && i < json_array_size(groups); i++) {
		if (i > 0)
			output_line(o, COLOR_NONE, "%s", "");
		rolling_show(o, json_array_get(groups, i));
	}
	return worst;
}

/* Carries out --release or --resume. */
static int order(struct rolling_steps *s, const char *word, const char *node)
{
	const struct rolling_step step = {
		.order = word, .node = node, .timeout_ms = ROLLING_FOREVER, .exit_status = -1};
	const struct output *o = &s->c->output;
	json_auto_t *answer = NULL;
	int code = rolling_step(s, &step, &answer);

	if (code != 0)
		return code;
	bool done = strcmp(rolling_result(answer), "done") == 0;
	if (o->json) {
		json_auto_t *result = json_pack("{s:s, s:b}", "group", s->group, "done", done);
		output_json(o, result);
	} else if (node && done) {
		output_line(o, COLOR_NONE, "the slot of %s is free, and its drain is ended", node);
	} else if (node) {
		output_line(o, COLOR_NONE, "%s has no slot of %s", node, s->group);
	} else if (done) {
		output_line(o, COLOR_NONE, "%s goes on", s->group);
	} else {
		output_line(o, COLOR_NONE, "%s is not halted", s->group);
	}
	return ZKLEADER_OK;
}

static int run(struct context *c)
{
	struct rolling_steps s;
	bool runs;
	int code;

	if (take_form(c, &runs) < 0 || take_options(c, &s) < 0)
		return ZKLEADER_MISUSE;
	s.c = c;
	if (c->values[OPTION_STATUS])
		return s.group ? show(&s) : show_all(&s);
	if (c->values[OPTION_RELEASE])
		return order(&s, "release", c->values[OPTION_RELEASE]);
	if (c->values[OPTION_RESUME])
		return order(&s, "resume", NULL);
	code = rolling_identify(&s);
	if (code != 0)
		return code;
	return runs ? rolling_run(&s, c->args + 1) : rolling_finish(&s);
}

const struct command command_rolling = {
	.name = "rolling",
	.args = "GROUP -- CMD",
	.help = "run CMD, which may reboot, on a few nodes at a time",
	.more = "Takes one of K slots, drains this node, waits for its jobs, runs CMD, waits\n"
		"until the node is healthy for the soak time, undrains it and frees the slot. If\n"
		"CMD fails, the node keeps both, and the group is halted. TERM keeps the slot:\n"
		"the same command goes on with it; after a reboot CMD counts as done.\n"
		"Only root, the sidecar's own user, its socket-group and recipe-users may.\n",
	.exits = "CMD's; 1 halted, or no slot in time; 2 no sidecar or no answer; 3 others\n"
		 "      use another K, or misuse",
	.min_args = 0,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
