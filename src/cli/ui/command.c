#include "cli/ui/command.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/nearest.h"

#define ID_JSON	    256
#define ID_NO_COLOR 257
#define LEFT_WIDTH  22 /* columns for the name of a command or option */

#define ENTRY(name) &command_##name,
static const struct command *const commands[] = {COMMANDS(ENTRY) NULL};

#define LENGTH(list) (sizeof((const struct command *[]){list(ENTRY)}) / sizeof(struct command *))
/* The groups of the help: so many of the commands each, in their order. */
static const struct {
	const char *name;
	size_t n;
} groups[] = {{"look", LENGTH(COMMANDS_LOOK)},
	      {"decide", LENGTH(COMMANDS_DECIDE)},
	      {"run", LENGTH(COMMANDS_RUN)},
	      {"queues", LENGTH(COMMANDS_QUEUES)},
	      {"recipes", LENGTH(COMMANDS_RECIPES)}};

static const struct option_spec global[] = {
	{'s', "socket", "SOCKET", "the sidecar's socket ($ZKLEADER_SOCKET)"},
	{ID_JSON, "json", NULL, "print JSON"},
	{ID_NO_COLOR, "no-color", NULL, "no colours, on a terminal either"},
	{'h', "help", NULL, "show this, or the help of a command"},
	{'V', "version", NULL, "show the version"},
	{0, NULL, NULL, NULL},
};

const struct command *const *command_all(void)
{
	return commands;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

const struct command *command_nearest(const char *name)
{
	struct nearest nearest;

	nearest_init(&nearest, name, strlen(name));
	for (size_t i = 0; commands[i]; i++)
		nearest_offer(&nearest, commands[i]->name);
	return nearest.best ? command_find(nearest.best) : NULL;
}

/* Prints a row of two columns. A text that is too long for the first one gets a line of its own. */
static void print_row(const struct output *o, const char *left, const char *right)
{
	if (strlen(left) > LEFT_WIDTH) {
		output_line(o, COLOR_NONE, "  %s", left);
		left = "";
	}
	output_line(o, COLOR_NONE, "  %-*s %s", LEFT_WIDTH, left, right);
}

static void print_commands(const struct output *o)
{
	const struct command *const *c = commands;

	for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
		fprintf(o->out, "\n%s:\n", groups[group].name);
		for (size_t i = 0; i < groups[group].n; i++, c++) {
			char left[60];

			snprintf(left, sizeof(left), "%s %s", (*c)->name, (*c)->args);
			print_row(o, left, (*c)->help);
		}
	}
}

void command_usage(const struct output *o, const struct command *command)
{
	if (command) {
		output_line(o, COLOR_NONE, "usage: zkleader %s%s%s%s", command->name,
			    command->options ? " [OPTIONS]" : "",
			    command->args[0] != '\0' ? " " : "", command->args);
		output_line(o, COLOR_NONE, "%s", command->help);
		if (command->more)
			fprintf(o->out, "\n%s", command->more);
	} else {
		output_line(o, COLOR_NONE,
			    "usage: zkleader [-s SOCKET] [--json] [--no-color] COMMAND [ARGS]");
		print_commands(o);
	}
	fputs("\noptions:\n", o->out);
	if (command)
		options_print(o->out, command->options, LEFT_WIDTH);
	options_print(o->out, global, LEFT_WIDTH);
	fprintf(o->out, "\nexit: %s\n",
		command && command->exits ? command->exits
					  : "0 done, 2 no sidecar or no answer, 3 misuse");
}

static void take_own(struct context *c, int id, const char *value)
{
	const struct option_spec *own = c->command ? c->command->options : NULL;

	for (size_t i = 0; own && own[i].id != 0; i++) {
		assert(i < CONTEXT_VALUES_MAX);
		if (own[i].id == id)
			c->values[i] = value ? value : "";
	}
}

static int take_command(struct context *c, struct options *options, const char *name)
{
	const struct command *nearest = command_nearest(name);

	c->command = command_find(name);
	if (c->command) {
		options->specs[1] = c->command->options;
		return 0;
	}
	if (nearest)
		output_error(&c->output, "unknown command \"%s\": did you mean \"%s\"?", name,
			     nearest->name);
	else
		output_error(&c->output, "unknown command \"%s\": zkleader help lists them", name);
	return -EINVAL;
}

static int take(struct invocation *i, struct options *options, int id, const char *value)
{
	struct context *c = &i->context;

	switch (id) {
	case OPTION_BAD:
		output_error(&c->output, "%s: zkleader %s%s-h lists them", options->why,
			     c->command ? c->command->name : "", c->command ? " " : "");
		return -EINVAL;
	case OPTION_OPERAND:
		if (!c->command)
			return take_command(c, options, value);
		c->args[c->n_args++] = value;
		if (!options->only_operands)
			c->n_before = c->n_args;
		return 0;
	case 's':
		if (value[0] == '\0') {
			output_error(&c->output, "the socket's path is empty");
			return -EINVAL;
		}
		c->socket = value;
		return 0;
	case ID_JSON: c->output.json = true; return 0;
	case ID_NO_COLOR: c->output.color = false; return 0;
	case 'h': i->help = true; return 0;
	case 'V': i->version = true; return 0;
	default: take_own(c, id, value); return 0;
	}
}

static int check_args(const struct context *c)
{
	const struct command *command = c->command;

	if (c->n_args >= command->min_args && c->n_args <= command->max_args)
		return 0;
	output_error(&c->output, "%s: usage: zkleader %s%s%s",
		     c->n_args < command->min_args ? "an argument is missing"
						   : "too many arguments",
		     command->name, command->args[0] != '\0' ? " " : "", command->args);
	return -EINVAL;
}

int command_parse(const char *const *argv, const struct output *output, struct invocation *ret)
{
	struct invocation i = {.context.output = *output};
	struct options options;
	size_t n = 0;
	const char *value;
	int id, e = 0;

	while (argv[n])
		n++;
	i.args = mem_calloc(n + 1, sizeof(*i.args));
	i.context.args = i.args;
	options_init(&options, argv, global, NULL);
	while (e == 0 && (id = options_next(&options, &value)) != OPTION_END)
		e = take(&i, &options, id, value);
	if (e == 0 && i.context.command && !i.help && !i.version)
		e = check_args(&i.context);
	if (e < 0)
		free(i.args);
	else
		*ret = i;
	return e;
}

void invocation_done(struct invocation *i)
{
	zkleader_close(i->context.z);
	free(i->args);
}

static int run(struct invocation *i)
{
	struct context *c = &i->context;

	if (i->version) {
		c->n_args = 0;
		return command_version.run(c);
	}
	if (i->help || !c->command) {
		command_usage(&c->output, c->command);
		return ZKLEADER_OK;
	}
	return c->command->run(c);
}

int command_main(const char *const *argv, const struct output *output)
{
	struct invocation i;
	int code;

	if (command_parse(argv, output, &i) < 0)
		return ZKLEADER_MISUSE;
	code = run(&i);
	if (output_flush(&i.context.output) < 0 && !output_is_closed(&i.context.output)) {
		output_error(&i.context.output, "the output could not be written");
		code = ZKLEADER_CANNOT_TELL;
	}
	invocation_done(&i);
	return code;
}
