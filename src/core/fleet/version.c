#include "core/fleet/version.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text/name.h"

/*
 * In the original a version is a list of numbers, qualifiers and lists. A list is only ever opened
 * as the last item of the one before, and all that follows goes into it: the lists form a chain.
 * Here the chain is an array of levels over one array of items, so that comparing is a walk and
 * never recurses.
 */

#define UNKNOWN_QUALIFIER 7
#define RELEASE		  5 /* the order of the empty qualifier, which is that of nothing at all */

struct item {
	const char *text; /* a number without leading zeroes, or an unknown qualifier */
	uint8_t len;	  /* 0 for zero and for the known qualifiers */
	uint8_t order;	  /* number: its size class; qualifier: its place among the known */
	bool number;
};

struct level {
	uint16_t first; /* in items */
	uint16_t n;
};

struct version {
	char text[NAME_VERSION_MAX];	     /* in lower case */
	struct item items[NAME_VERSION_MAX]; /* each uses up a character, if only its separator */
	struct level levels[NAME_VERSION_MAX + 1]; /* likewise, but for the first */
	size_t n_items;
	size_t n_levels;
};

static const struct {
	const char *name;
	uint8_t order;
} qualifiers[] = {
	{"alpha", 0},	 {"beta", 1},	     {"milestone", 2},
	{"rc", 3},	 {"cr", 3},	     {"snapshot", 4},
	{"ga", RELEASE}, {"final", RELEASE}, {"release", RELEASE},
	{"sp", 6},
};

static const char shorthands[] = "abm"; /* for the first qualifiers, in their order */

static void open_level(struct version *v)
{
	assert(v->n_levels < sizeof(v->levels) / sizeof(v->levels[0]));
	v->levels[v->n_levels++] = (struct level){.first = (uint16_t)v->n_items};
}

static void add_item(struct version *v, struct item item)
{
	assert(v->n_items < sizeof(v->items) / sizeof(v->items[0]));
	v->items[v->n_items++] = item;
	v->levels[v->n_levels - 1].n++;
}

/*
 * The original keeps numbers as int, long or BigInteger by their count of digits, and takes one
 * kind for greater than another without looking at the value. That shows in zeroes alone: it strips
 * the zeroes that lead to another digit, but none of a number that has no other.
 */
static void add_number(struct version *v, const char *text, size_t len)
{
	size_t zeroes = 0;
	while (zeroes < len && text[zeroes] == '0')
		zeroes++;

	size_t digits = zeroes == len ? len : len - zeroes;
	add_item(v, (struct item){
			    .text = text + zeroes,
			    .len = (uint8_t)(len - zeroes),
			    .order = digits <= 9    ? 0
				     : digits <= 18 ? 1
						    : 2,
			    .number = true,
		    });
}

static void add_qualifier(struct version *v, const char *text, size_t len, bool before_digit)
{
	if (before_digit && len == 1) {
		const char *letter = memchr(shorthands, text[0], sizeof(shorthands) - 1);
		if (letter) {
			add_item(v, (struct item){.order = (uint8_t)(letter - shorthands)});
			return;
		}
	}
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++) {
		if (strlen(qualifiers[i].name) == len && !memcmp(qualifiers[i].name, text, len)) {
			add_item(v, (struct item){.order = qualifiers[i].order});
			return;
		}
	}
	add_item(v, (struct item){.text = text, .len = (uint8_t)len, .order = UNKNOWN_QUALIFIER});
}

/* Adds the part before a separator or the end. An empty part is the number zero. */
static void add_part(struct version *v, size_t start, size_t end, bool digits)
{
	if (digits || start == end)
		add_number(v, v->text + start, end - start);
	else
		add_qualifier(v, v->text + start, end - start, false);
}

/* A qualifier that no dot follows has a level to itself and to what comes after it. */
static void open_qualifier_level(struct version *v)
{
	if (v->levels[v->n_levels - 1].n > 0)
		open_level(v);
}

static int compare_to_nothing(const struct item *item)
{
	if (item->number)
		return item->len > 0;
	return item->order - RELEASE;
}

/* Drops the items at the end of each level, and the levels at the end, that are as good as nothing.
 */
static void normalize(struct version *v)
{
	for (size_t i = 0; i < v->n_levels; i++) {
		struct level *level = &v->levels[i];
		while (level->n > 0 &&
		       compare_to_nothing(&v->items[level->first + level->n - 1]) == 0)
			level->n--;
	}
	while (v->n_levels > 1 && v->levels[v->n_levels - 1].n == 0)
		v->n_levels--;
}

static void parse(struct version *v, const char *text)
{
	size_t len = strnlen(text, NAME_VERSION_MAX);
	size_t start = 0;
	bool digits = false; /* whether the part that is being read is a number */

	v->n_items = 0;
	v->n_levels = 0;
	open_level(v);
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		v->text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
		if (c == '.' || c == '-') {
			add_part(v, start, i, digits);
			start = i + 1;
			if (c == '-')
				open_level(v);
			continue;
		}

		bool digit = c >= '0' && c <= '9';
		if (i > start && digit != digits) {
			if (digits) {
				add_number(v, v->text + start, i - start);
			} else {
				open_qualifier_level(v);
				add_qualifier(v, v->text + start, i - start, true);
			}
			open_level(v);
			start = i;
		}
		digits = digit;
	}
	if (start < len) {
		if (!digits)
			open_qualifier_level(v);
		add_part(v, start, len, digits);
	}
	normalize(v);
}

static int compare_items(const struct item *a, const struct item *b)
{
	if (a->number != b->number)
		return a->number ? 1 : -1;
	if (a->order != b->order)
		return a->order - b->order;
	if (a->number && a->len != b->len)
		return a->len - b->len;

	size_t common = a->len < b->len ? a->len : b->len;
	int result = common ? memcmp(a->text, b->text, common) : 0;
	return result ? result : a->len - b->len;
}

/*
 * The items of a level from the i-th on, and all that follow them, where the other version has
 * `list` (a further level) or ends: whatever is not as good as nothing decides.
 */
static int compare_rest(const struct version *v, size_t level, size_t i, bool list)
{
	const struct item *items = v->items + v->levels[level].first;
	if (list)
		return items[i].number ? 1 : -1;

	for (; items + i < v->items + v->n_items; i++) {
		int result = compare_to_nothing(&items[i]);
		if (result)
			return result;
	}
	return 0;
}

static int compare_parsed(const struct version *a, const struct version *b)
{
	for (size_t level = 0;; level++) {
		const struct level *la = &a->levels[level];
		const struct level *lb = &b->levels[level];
		bool more_a = level + 1 < a->n_levels;
		bool more_b = level + 1 < b->n_levels;
		size_t common = la->n < lb->n ? la->n : lb->n;

		for (size_t i = 0; i < common; i++) {
			int result =
				compare_items(&a->items[la->first + i], &b->items[lb->first + i]);
			if (result)
				return result;
		}
		if (la->n > common)
			return compare_rest(a, level, common, more_b);
		if (lb->n > common)
			return -compare_rest(b, level, common, more_a);
		if (!more_a && !more_b)
			return 0;
		if (!more_b)
			return compare_rest(a, level + 1, 0, false);
		if (!more_a)
			return -compare_rest(b, level + 1, 0, false);
	}
}

int version_compare(const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return 0;

	struct version va, vb;
	parse(&va, a);
	parse(&vb, b);
	return compare_parsed(&va, &vb);
}
