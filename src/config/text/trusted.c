#include "config/text/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as in the kernel */
/* A byte more than a name can have, so that openat() refuses such a name. */
#define NAME_SIZE (NAME_MAX + 2)

/* The way along a path to a file. */
struct walk {
	int at;		      /* descriptor of the folder that was reached; it was checked */
	char rest[PATH_MAX];  /* the part of the path ahead */
	char shown[PATH_MAX]; /* the part behind, for people */
	int links;
	char *why;
};

static int refuse(const struct walk *w, int e, const char *what)
{
	snprintf(w->why, TRUSTED_WHY_SIZE, "%.250s %s", w->shown[0] ? w->shown : "/", what);
	return e;
}

static int failed(const struct walk *w, int e)
{
	return refuse(w, e, strerror(-e));
}

/* Cuts the next component off the rest of the path; "" at its end. */
static void next_name(struct walk *w, char name[NAME_SIZE])
{
	size_t from = strspn(w->rest, "/"), len = strcspn(w->rest + from, "/");

	if (len >= NAME_SIZE)
		len = NAME_SIZE - 1;
	memcpy(name, w->rest + from, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + from + len, strlen(w->rest + from + len) + 1);
}

static void show(struct walk *w, const char *name)
{
	size_t len = strlen(w->shown);

	snprintf(w->shown + len, sizeof(w->shown) - len, "/%s", name);
}

/* --- what is trusted ------------------------------------------------------ */

static int check(const struct walk *w, const struct stat *st)
{
	if (st->st_uid != 0)
		return refuse(w, -EPERM, "is not root's: chown root");
	if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return 0;
	if (st->st_mode & S_IWOTH)
		return refuse(w, -EPERM, "can be written by everybody: chmod go-w");
	if (st->st_mode & S_IWGRP)
		return refuse(w, -EPERM, "can be written by its group: chmod g-w");
	return 0;
}

/* Starts at the root: every path does, and the target of a link may as well. */
static int begin(struct walk *w)
{
	struct stat st;

	if (w->at >= 0)
		close(w->at);
	w->shown[0] = '\0';
	w->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->at < 0 || fstat(w->at, &st) < 0)
		return failed(w, -errno);
	return check(w, &st);
}

/*
 * Puts the target of a link before the rest of the path. The descriptor makes sure that the link
 * that is followed is the one that was checked.
 */
static int follow(struct walk *w, int link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	char *slash;

	if (n < 0)
		return failed(w, -errno);
	target[n] = '\0';
	memcpy(rest, w->rest, sizeof(rest));
	if (++w->links > LINKS_MAX ||
	    snprintf(w->rest, sizeof(w->rest), "%s%s", target, rest) >= (int)sizeof(w->rest))
		return failed(w, -ELOOP);
	slash = strrchr(w->shown, '/');
	if (slash)
		*slash = '\0';
	return target[0] == '/' ? begin(w) : 0;
}

/* --- the way -------------------------------------------------------------- */

/* Opens the file for reading: so far its descriptor is one of O_PATH, which cannot be read. */
static int open_again(const struct walk *w, int fd)
{
	char path[40];
	int file;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return file < 0 ? failed(w, -errno) : file;
}

/*
 * Takes one component of the path. 0: there are more; 1: it is the file, and *ret_fd its
 * descriptor.
 */
static int step(struct walk *w, const char *name, struct stat *st, int *ret_fd)
{
	int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), e;

	show(w, name);
	if (fd < 0)
		return failed(w, -errno);
	e = fstat(fd, st) < 0 ? failed(w, -errno) : check(w, st);
	if (e == 0 && S_ISLNK(st->st_mode)) {
		e = follow(w, fd);
	} else if (e == 0 && S_ISDIR(st->st_mode)) {
		close(w->at);
		w->at = fd;
		return 0;
	} else if (e == 0 && !S_ISREG(st->st_mode)) {
		e = refuse(w, -EINVAL, "is not a regular file");
	} else if (e == 0 && w->rest[strspn(w->rest, "/")] != '\0') {
		e = failed(w, -ENOTDIR);
	} else if (e == 0) {
		*ret_fd = open_again(w, fd);
		e = *ret_fd < 0 ? *ret_fd : 1;
	}
	close(fd);
	return e;
}

static int start(struct walk *w, const char *path)
{
	char folder[PATH_MAX] = "";

	if (path[0] != '/' && !getcwd(folder, sizeof(folder)))
		return failed(w, -errno);
	if (snprintf(w->rest, sizeof(w->rest), "%s/%s", folder, path) >= (int)sizeof(w->rest))
		return failed(w, -ENAMETOOLONG);
	return begin(w);
}

int trusted_open(const char *path, struct stat *ret_stat, char why[TRUSTED_WHY_SIZE])
{
	struct walk w = {.at = -1, .why = why};
	char name[NAME_SIZE];
	int fd = -1, e;

	e = start(&w, path);
	while (e == 0) {
		next_name(&w, name);
		e = name[0] ? step(&w, name, ret_stat, &fd)
			    : refuse(&w, -EISDIR, "is a folder, not a file");
	}
	if (w.at >= 0)
		close(w.at);
	return e == 1 ? fd : e;
}
