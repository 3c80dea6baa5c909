/* The main loop of zkleader-notify: it gets runs and events from the sidecar, and reports them. */
#ifndef ZKLEADER_NOTIFY_NOTIFIER_H
#define ZKLEADER_NOTIFY_NOTIFIER_H

struct notifier_options {
	const char *socket;
	const char *config_file;
	const char *spool; /* path of its folder */
};

/*
 * Until TERM or INT: 0. -EINVAL or -ENAMETOOLONG for a path that no socket can have, or another
 * negative errno.
 */
int notifier_run(const struct notifier_options *options);

#endif
