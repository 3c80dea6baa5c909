/* Why a listing is not led by the partitions that its file says, in words. */
#include <stdio.h>

#include "node/leaders.h"
#include "node/partitions.h"

bool partitions_problem(const struct listing *listing, char text[PARTITIONS_TEXT_MAX])
{
	const struct partitions_rule *rule = partitions_rule(listing->leaders, listing->name);
	unsigned wanted = listing->settings.partitions;

	switch (listing->state) {
	case PARTITIONS_PLAIN:
	case PARTITIONS_IN_FORCE: return false;
	case PARTITIONS_UNKNOWN:
		if (listing->making.problem)
			snprintf(text, PARTITIONS_TEXT_MAX, "%s", listing->making.problem);
		return listing->making.problem;
	case PARTITIONS_REFUSED: break;
	}
	if (wanted == 0)
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s has %u partitions in force, and none in this host's file: write "
			 "partitions = %u there, or `zkleader partitions %s 1` makes it a plain "
			 "task",
			 listing->name, listing->in_force, listing->in_force, listing->name);
	else if (listing->in_force == 0)
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s is in force as a plain task, and has %u partitions in this host's "
			 "file: `zkleader partitions %s %u` puts them in force",
			 listing->name, wanted, listing->name, wanted);
	else
		snprintf(text, PARTITIONS_TEXT_MAX,
			 "%s has %u partitions in force%s%s, and %u in this host's file: write "
			 "partitions = %u there, or `zkleader partitions %s %u` puts the other "
			 "number in force",
			 listing->name, listing->in_force, rule && rule->record.by[0] ? " by " : "",
			 rule ? rule->record.by : "", wanted, listing->in_force, listing->name,
			 wanted);
	return true;
}
