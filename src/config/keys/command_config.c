#include "config/keys/command_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/name.h"
#include "config/text/words.h"

#define PROGRAM_NEEDED "the first word is the path of the program, from / on: no shell looks for it"

void command_config_check(const struct settings *s, const struct section *section,
			  struct problems *problems)
{
	const struct setting *command = settings_get(s, section, "command");
	const struct setting *directory = settings_get(s, section, "directory");
	const struct setting *user = settings_get(s, section, "user");
	size_t bytes = 0;

	for (size_t i = 0; i < command->n; i++)
		bytes += strlen(command->values[i]) + 1;
	if (command->n && command->values[0][0] != '/')
		problems_add(problems, s->file, command->line, "command: \"%.100s\": %s",
			     command->values[0], PROGRAM_NEEDED);
	if (bytes > COMMAND_BYTES_MAX)
		problems_add(problems, s->file, command->line,
			     "command: has %zu bytes, more than %d", bytes, COMMAND_BYTES_MAX);
	if (directory->n && directory->values[0][0] != '/')
		problems_add(problems, s->file, directory->line,
			     "directory: \"%.100s\" is not a path from / on: write it whole",
			     directory->values[0]);
	else if (directory->n && strlen(directory->values[0]) > COMMAND_DIRECTORY_MAX)
		problems_add(problems, s->file, directory->line, "directory: is over %d bytes long",
			     COMMAND_DIRECTORY_MAX);
	if (user->n && !name_is_user(user->values[0], strlen(user->values[0])))
		problems_add(problems, s->file, user->line,
			     "user: \"%.100s\" is not the name of a local user", user->values[0]);
}

void command_config_take(struct command_config *c, const struct settings *s,
			 const struct section *section)
{
	const struct setting *command = settings_get(s, section, "command");
	const struct setting *environment = settings_get(s, section, "environment");

	*c = (struct command_config){
		.words = words_copy(command->values, command->n),
		.n_words = command->n,
		.environment = words_copy(environment->values, environment->n),
		.n_environment = environment->n,
		.directory = word_copy(settings_text(s, section, "directory")),
	};
}

void command_config_copy(struct command_config *to, const struct command_config *from)
{
	*to = (struct command_config){
		.words = words_copy(from->words, from->n_words),
		.n_words = from->n_words,
		.environment = words_copy(from->environment, from->n_environment),
		.n_environment = from->n_environment,
		.directory = word_copy(from->directory),
	};
}

bool command_config_equal(const struct command_config *a, const struct command_config *b)
{
	return words_same(a->words, a->n_words, b->words, b->n_words) &&
	       words_same(a->environment, a->n_environment, b->environment, b->n_environment) &&
	       word_same(a->directory, b->directory);
}

void command_config_done(struct command_config *c)
{
	words_free(c->words, c->n_words);
	words_free(c->environment, c->n_environment);
	free(c->directory);
}
