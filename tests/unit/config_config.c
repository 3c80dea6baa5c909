#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "settings_damage.h"

#define TEXT_MAX 65536

static char folder[64];
static char file[128];

static void setup(void)
{
	strcpy(folder, "/tmp/zkleader-config-XXXXXX");
	cr_assert(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/zkleader.conf", folder);
	cr_assert_eq(setenv("ZKLEADER_TEST_VALUE", "from-the-environment", 1), 0);
	cr_assert_eq(setenv("ZKLEADER_TEST_BAD", "a\x1b[31mb", 1), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void teardown(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(config, .init = setup, .fini = teardown, .timeout = 120);

static void write_file(const char *path, const char *text, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
	cr_assert_eq(chmod(path, mode), 0);
}

static const char *beside(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* "LINE: message\n" for each problem. */
static char *problems_text(const struct problems *p)
{
	static char text[TEXT_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < p->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d: %s\n",
					 p->list[i].line, p->list[i].message);
	return text;
}

/* Loads a text of that length; returns the problems. *ret_config is NULL where it is refused. */
static char *load_bytes(const char *text, size_t len, struct config **ret_config)
{
	struct problems problems;
	char *found;
	int r;

	write_file(file, text, len, 0644);
	problems_init(&problems);
	*ret_config = NULL;
	r = config_load(file, NULL, ret_config, &problems);
	cr_expect_eq(r == 0, problems.n == 0, "%d with %zu problems: %s", r, problems.n, text);
	cr_expect_eq(r == 0, *ret_config != NULL);
	for (size_t i = 0; i < problems.n; i++)
		cr_expect_str_eq(problems.list[i].file, file);
	found = problems_text(&problems);
	problems_done(&problems);
	return found;
}

/* The configuration of a good text. */
static struct config *good(const char *text)
{
	struct config *c;
	const char *found = load_bytes(text, strlen(text), &c);

	cr_assert(c, "refused: %s\n%s", text, found);
	return c;
}

/* Expects this version in force and these warnings of a text that is good. */
static void expect_warnings(const char *text, const char *version, const char *expected)
{
	struct config *c = NULL;
	struct problems problems;
	char found[TEXT_MAX] = "";
	size_t used = 0;

	write_file(file, text, strlen(text), 0644);
	problems_init(&problems);
	cr_expect_eq(config_load(file, NULL, &c, &problems), 0, "%s", text);
	for (size_t i = 0; i < problems.n_warnings; i++) {
		const char *message = problems.warnings[i].message;
		/* As far as something is quoted. */
		const char *quote = strrchr(message, '"');
		int len = quote ? (int)(quote - message) + 1 : (int)strlen(message);

		used += (size_t)snprintf(found + used, sizeof(found) - used, "%d: %.*s\n",
					 problems.warnings[i].line, len, message);
	}
	cr_expect_str_eq(found, expected, "of:\n%s\nfound:\n%s", text, found);
	cr_expect_str_eq(c ? c->version : "", version, "of:\n%s", text);
	config_free(c);
	problems_done(&problems);
}

static void expect_problems(const char *text, size_t len, const char *expected)
{
	struct config *c;
	const char *found = load_bytes(text, len, &c);

	cr_expect_str_eq(found, expected, "of:\n%s\nfound:\n%sexpected:\n%s", text, found,
			 expected);
	config_free(c);
}

Test(config, defaults)
{
	struct config *c = good("version = \"1.2\"\n");

	cr_expect_str_eq(c->file, file);
	cr_expect_str_eq(c->zookeeper, "127.0.0.1:2181");
	cr_expect_eq(c->n_hosts, 1);
	cr_expect_str_eq(c->hosts[0].host, "127.0.0.1");
	cr_expect_eq(c->hosts[0].port, 2181);
	cr_expect_null(c->chroot);
	cr_expect_str_eq(c->root, "/myapps");
	cr_expect_eq(c->session_timeout_ms, 10000);
	cr_expect_str_eq(c->version, "1.2");
	cr_expect_null(c->version_file);
	cr_expect_null(c->address);
	cr_expect_str_eq(c->socket, "/run/zkleader/zkleader.sock");
	cr_expect_eq(c->socket_mode, 0666);
	cr_expect_null(c->socket_group);
	cr_expect_str_eq(c->task_dir, beside("conf.d"));
	cr_expect_null(c->auth_file);
	cr_expect_null(c->auth_scheme);
	cr_expect_null(c->auth_credential);
	cr_expect_eq(c->yield_delay_ms, 2000);
	cr_expect_eq(c->stop_wait_ms, 0);
	cr_expect_eq(c->server_tick_ms, 0);
	cr_expect_eq(c->tick_guard_ms, 5000);
	cr_expect_eq(c->roll_from, 200);
	cr_expect_eq(c->log_level, LOG_INFO);
	cr_expect_eq(c->log_format, LOG_TEXT);
	config_free(c);
}

Test(config, every_key)
{
	struct group *group = getgrgid(0);
	char text[2048];
	struct config *c;

	cr_assert(group);
	write_file(beside("VERSION"), "  2.0-rc1 \r\nmore\n", 16, 0644);
	write_file(beside("auth"), "digest:me:se:cret\nmore\n", 23, 0600);
	snprintf(text, sizeof(text),
		 "zookeeper = \"zk1:2181,10.0.0.2,[2001:db8::1]:2182,[::1]/some/chroot\"\n"
		 "root = \"/apps/mine\"\nsession-timeout = \"2s\"\nversion-file = \"VERSION\"\n"
		 "address = \"2001:db8::7\"\nsocket = \"/tmp/x.sock\"\nsocket-mode = \"0660\"\n"
		 "socket-group = \"%s\"\ntask-dir = \"/etc/tasks\"\nauth-file = \"auth\"\n"
		 "yield-delay = \"0s\"\ntick-guard = \"29s\"\nlog-level = \"debug\"\n"
		 "log-format = \"json\"\nroll-from = 2\n",
		 group->gr_name);
	c = good(text);
	cr_expect_eq(c->n_hosts, 4);
	cr_expect_str_eq(c->hosts[0].host, "zk1");
	cr_expect_str_eq(c->hosts[1].host, "10.0.0.2");
	cr_expect_eq(c->hosts[1].port, 2181);
	cr_expect_str_eq(c->hosts[2].host, "2001:db8::1");
	cr_expect_eq(c->hosts[2].port, 2182);
	cr_expect_str_eq(c->hosts[3].host, "::1");
	cr_expect_eq(c->hosts[3].port, 2181);
	cr_expect_str_eq(c->chroot, "/some/chroot");
	cr_expect_str_eq(c->root, "/apps/mine");
	cr_expect_eq(c->session_timeout_ms, 2000);
	cr_expect_str_eq(c->version, "2.0-rc1");
	cr_expect_str_eq(c->version_file, beside("VERSION"));
	cr_expect_eq(c->version_file_line, 4);
	cr_expect_str_eq(c->address, "2001:db8::7");
	cr_expect_str_eq(c->socket, "/tmp/x.sock");
	cr_expect_eq(c->socket_mode, 0660);
	cr_expect_str_eq(c->socket_group, group->gr_name);
	cr_expect_eq(c->socket_gid, 0);
	cr_expect_str_eq(c->task_dir, "/etc/tasks");
	cr_expect_eq(c->task_dir_line, 9);
	cr_expect_str_eq(c->auth_file, beside("auth"));
	cr_expect_str_eq(c->auth_scheme, "digest");
	cr_expect_str_eq(c->auth_credential, "me:se:cret");
	cr_expect_eq(c->yield_delay_ms, 0);
	cr_expect_eq(c->tick_guard_ms, 29000);
	cr_expect_eq(c->roll_from, 2);
	cr_expect_eq(c->log_level, LOG_DEBUG);
	cr_expect_eq(c->log_format, LOG_JSON);
	config_free(c);
}

/* Other forms that people write and libconfuse takes. */
Test(config, good_forms)
{
	static const char *const texts[] = {
		"version='1'",
		"version = 1",
		"version = \"1\"\r\nroot = \"/x\"\r\n",
		"\xef\xbb\xbfversion = 1\n",
		"#\n#\n# comment\n//\n// x\n/**/ /* x\n y */ version = 1 # x\n",
		"version = # x\n /* \n */ \"1\"\n",
		"version = \"${ZKLEADER_TEST_VALUE}\"\n",
		"version = \"${ZKLEADER_TEST_NONE:-1}\"\n",
		"version = \"\\x31\\060\"\n",
		"version = \"1\\\n2\"\n",
		"version = 1\nsession-timeout = 500ms\nsocket-mode = 600\n",
		"version = 1\nsession-timeout = 60s root = /a/.b/..c\n",
		"version = 1\nsession-timeout = \"10m\"\nyield-delay = \"1h\"\ntick-guard = "
		"\"29999ms\"\n",
		"version = 1\nroll-from = 0\n",
		"version = 1\nroll-from = 100000\n",
		"version = 1\nzookeeper = \"a:1/\"\n",
		"version = 1\naddress = 192.0.2.7\nlog-level=error log-format=text\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		config_free(good(texts[i]));
}

Test(config, values_are_libconfuses)
{
	struct config *c = good("version = \"${ZKLEADER_TEST_VALUE}-\\x31\"\nroot = '/a$b'\n");

	cr_expect_str_eq(c->version, "from-the-environment-1");
	cr_expect_str_eq(c->root, "/a$b");
	config_free(c);
}

struct bad_case {
	const char *text;
	const char *problems;
};

#define NO_VERSION \
	"1: version or version-file is needed: the version of the application that runs here\n"

static const struct bad_case bad_values[] = {
	{"version = 1\nrecipe-users = {\"a\", \"b c\", \"a\"}",
	 "2: recipe-users: \"b c\" is not the name of a local user\n"
	 "2: recipe-users: \"a\" is there twice: keep one\n"},
	{"", NO_VERSION},
	{"\n\n# nothing\n", NO_VERSION},
	{"version = 1\nversion-file = \"x\"\n",
	 "2: version-file: version and version-file are both set: keep one\n"},
	{"version-file = \"x\"\nversion = 1\n",
	 "2: version: version and version-file are both set: keep one\n"},
	{"version = \" 1\"",
	 "1: version: \" 1\" is no version: that is up to 255 characters of printable ASCII\n"},
	{"version = \"\"", "1: version: is empty: give it a value or leave the key out\n"},
	{"version = 1\n\nsession-timeout = \"10\"\n",
	 "3: session-timeout: \"10\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" "
	 "or "
	 "\"1d\"\n"},
	{"version = 1\nsession-timeout = \"499ms\"",
	 "2: session-timeout: \"499ms\" is below 500ms\n"},
	{"version = 1\nsession-timeout = \"11m\"", "2: session-timeout: \"11m\" is above 10m\n"},
	{"version = 1\nsession-timeout = \"99999999999999999999d\"",
	 "2: session-timeout: \"99999999999999999999d\" is above 10m\n"},
	{"version = 1\ntls = maybe", "2: tls: \"maybe\" is not one of \"false\", \"true\"\n"},
	{"version = 1\ntls-server-name = zk1",
	 "2: tls-server-name: is of no use without tls = true: add that\n"},
	{"version = 1\ntls = true\ntls-server-name = \"a b\"",
	 "3: tls-server-name: \"a b\" is no name or address of a host\n"},
	{"version = 1\nsasl = plain",
	 "2: sasl: \"plain\" is not one of \"none\", \"digest-md5\", \"gssapi\"\n"},
	{"version = 1\nsasl = digest-md5",
	 "2: sasl: \"digest-md5\" needs a user and a password: name a file with the line "
	 "digest:USER:PASSWORD in auth-file\n"},
	{"version = 1\nsasl = gssapi",
	 "2: sasl: \"gssapi\" needs the sidecar's keys: name the file in sasl-keytab\n"},
	{"version = 1\nsasl-principal = \"a@B\"",
	 "2: sasl-principal: is of no use without sasl = \"gssapi\": add that\n"},
	{"version = 1\nserver-tick = \"61s\"", "2: server-tick: \"61s\" is above 1m\n"},
	{"version = 1\nstop-wait = \"61s\"", "2: stop-wait: \"61s\" is above 1m\n"},
	{"version = 1\nyield-delay = \"61m\"", "2: yield-delay: \"61m\" is above 1h\n"},
	{"version = 1\nyield-delay = \"-1s\"",
	 "2: yield-delay: \"-1s\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or "
	 "\"1d\"\n"},
	{"version = 1\ntick-guard = \"40s\"",
	 "2: tick-guard: \"40s\" is not below 30s: half a minute or more leaves no time for a "
	 "handover\n"},
	{"version = 1\ntick-guard = \"30s\"",
	 "2: tick-guard: \"30s\" is not below 30s: half a minute or more leaves no time for a "
	 "handover\n"},
	{"version = 1\nroll-from = 1", "2: roll-from: \"1\" is below 2: write 0 for never\n"},
	{"version = 1\nroll-from = 100001", "2: roll-from: \"100001\" is above 100000\n"},
	{"version = 1\nroot = \"/\"",
	 "2: root: \"/\" is the whole tree: name a znode of your own, such as \"/myapps\"\n"},
	{"version = 1\nroot = \"/zookeeper/x\"",
	 "2: root: \"/zookeeper/x\" belongs to ZooKeeper itself: name another znode\n"},
	{"version = 1\nroot = \"x\"",
	 "2: root: \"x\" does not begin with \"/\": write it as \"/myapps\"\n"},
	{"version = 1\nroot = \"/x/\"",
	 "2: root: \"/x/\" ends with \"/\": write it as \"/myapps\"\n"},
	{"version = 1\nroot = \"/x//y\"",
	 "2: root: \"/x//y\" has \"//\" in it: write it as \"/myapps\"\n"},
	{"version = 1\nroot = \"/x/./y\"",
	 "2: root: \"/x/./y\" has a part \".\" or \"..\": write it as \"/myapps\"\n"},
	{"version = 1\nroot = \"/x/..\"",
	 "2: root: \"/x/..\" has a part \".\" or \"..\": write it as \"/myapps\"\n"},
	{"version = 1\nroot = \"/x y\"", "2: root: \"/x y\" has something else than printable "
					 "ASCII in it: write it as \"/myapps\"\n"},
	{"version = 1\naddress = \"localhost\"", "2: address: \"localhost\" is not an IP address "
						 "such as \"192.0.2.7\" or \"2001:db8::7\"\n"},
	{"version = 1\nsocket-mode = \"0888\"",
	 "2: socket-mode: \"0888\" is not an octal mode such as \"0666\" or \"0660\"\n"},
	{"version = 1\nsocket-mode = \"4755\"",
	 "2: socket-mode: \"4755\" is not an octal mode such as \"0666\" or \"0660\"\n"},
	{"version = 1\nsocket-mode = \"66\"",
	 "2: socket-mode: \"66\" is not an octal mode such as \"0666\" or \"0660\"\n"},
	{"version = 1\nsocket-group = \"no such group\"",
	 "2: socket-group: there is no group \"no such group\" on this host\n"},
	{"version = 1\nsocket = \"/"
	 "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
	 "0"
	 "12345678901234567\"",
	 "2: socket: \"/"
	 "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
	 "0"
	 "12345678901234567\" is over 107 bytes long, more than a socket's path may be\n"},
	{"version = 1\nlog-level = \"loud\"",
	 "2: log-level: \"loud\" is not one of \"error\", \"warning\", \"info\", \"debug\"\n"},
	{"version = 1\nlog-format = \"JSON\"",
	 "2: log-format: \"JSON\" is not one of \"text\", \"json\"\n"},
	{"version = 1\ntask-dir = \"\"",
	 "2: task-dir: is empty: give it a value or leave the key out\n"},
	{"version = 1\nroot = \"/a\\tb\"",
	 "2: root: \"/a\\x09b\" has a control character in it, or is not UTF-8\n"},
	{"version = \"${ZKLEADER_TEST_BAD}\"",
	 "1: version: \"a\\x1B[31mb\" has a control character in it, or is not UTF-8\n"},
	{"version = \"${ZKLEADER_TEST_NONE}\"",
	 "1: version: is empty: the environment has no ZKLEADER_TEST_NONE: set it, or write "
	 "${ZKLEADER_TEST_NONE:-DEFAULT}\n"},
	{"version = \"\xff\xc3\x28\"",
	 "1: version: \"\\xFF\\xC3(\" has a control character in it, or is not UTF-8\n"},
	{"version = 1\nauth-file = \"/nonexistent/x\"",
	 "2: auth-file: \"/nonexistent/x\" does not exist\n"},
	{"version = 1\nauth-file = \"/dev/null\"",
	 "2: auth-file: \"/dev/null\" is not a regular file\n"},
	{"version-file = \"/nonexistent/x\"",
	 "1: version-file: \"/nonexistent/x\" does not exist\n"},
	{"version-file = \"/tmp\"", "1: version-file: \"/tmp\" is a folder, not a file\n"},
};

#define CONNECT(host, wrong)                                                                      \
	{                                                                                         \
		"version = 1\nzookeeper = \"" host "\"",                                          \
			"2: zookeeper: \"" host "\" " wrong ": write host:port,host:port, and a " \
			"/chroot at the end if you need one\n"                                    \
	}

static const struct bad_case bad_hosts[] = {
	CONNECT("a:0", "has a port that is not a number from 1 to 65535"),
	CONNECT("a:65536", "has a port that is not a number from 1 to 65535"),
	CONNECT("a:", "has a port that is not a number from 1 to 65535"),
	CONNECT("a:+1", "has a port that is not a number from 1 to 65535"),
	CONNECT("a&b:1", "is no name or address of a host"),
	CONNECT("a b:1", "has a blank or a \";\" in it: a comma goes between two servers"),
	CONNECT("a:1;b:1", "has a blank or a \";\" in it: a comma goes between two servers"),
	CONNECT(":2181", "has no host"),
	CONNECT("::1", "has more than one \":\": an IPv6 address stands in brackets"),
	CONNECT("[::1", "has a \"[\" without a \"]\""),
	CONNECT("[::g]:1", "has no IPv6 address between its brackets"),
	CONNECT("[10.0.0.1]:1", "has no IPv6 address between its brackets"),
	CONNECT("[::1]2181", "has something else than \":port\" after its \"]\""),
	{"version = 1\nzookeeper = \"a,,b:x\"",
	 "2: zookeeper: \"\" has no host: write host:port,host:port, and a /chroot at the end if "
	 "you "
	 "need one\n"
	 "2: zookeeper: \"b:x\" has a port that is not a number from 1 to 65535: write "
	 "host:port,host:port, and a /chroot at the end if you need one\n"},
	{"version = 1\nzookeeper = \"a/x,b/x\"", "2: zookeeper: the chroot \"/x,b/x\" has a \",\" "
						 "in it: it stands once, at the end: write it as "
						 "\"/some/path\"\n"},
	{"version = 1\nzookeeper = \"a/x/\"",
	 "2: zookeeper: the chroot \"/x/\" ends with \"/\": write it as \"/some/path\"\n"},
	{"version = 1\nzookeeper = \"/x\"", "2: zookeeper: \"\" has no host: write "
					    "host:port,host:port, and a /chroot at the end if you "
					    "need one\n"},
	{"version = 1\nzookeeper = \"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a\"",
	 "2: zookeeper: more than 16 servers\n"},
};

/* Lines are those of the keys, although libconfuse's own count runs ahead after a comment. */
static const struct bad_case bad_keys[] = {
	{"version = 1\nversoin = 2\n", "2: unknown key \"versoin\": did you mean \"version\"?\n"},
	{"version = 1\nLog-level = info\n",
	 "2: unknown key \"Log-level\": did you mean \"log-level\"?\n"},
	{"version = 1\nfrobnicate = 2\n",
	 "2: unknown key \"frobnicate\": the keys are zookeeper, root, session-timeout, version, "
	 "version-file, version-strip, node, address, socket, socket-mode, socket-group, "
	 "recipe-users, timezone, task-dir, "
	 "server-tick, auth-file, "
	 "tls, tls-ca, tls-cert, tls-key, tls-server-name, sasl, sasl-keytab, sasl-principal, "
	 "yield-delay, "
	 "stop-wait, tick-guard, clock-tolerance, roll-from, health-command, health-file, "
	 "health-interval, health-timeout, "
	 "health-fall, health-rise, log-level, log-format\n"},
	{"version = 1\nversion = 2\nroot = /x\nroot = /y\nroot = /z\n",
	 "2: version: is set in line 1 already: keep one of them\n"
	 "4: root: is set in line 3 already: keep one of them\n"
	 "5: root: is set in line 3 already: keep one of them\n"},
	{"version = {1}\n", "1: version: has one value, not a list: write it without { }\n"},
	{"version = {1, 2}\n", "1: version: has one value, not a list: write it without { }\n"},
	{"version = {}\n", "1: version: has one value, not a list: write it without { }\n"},
	{"version += 1\n", "1: version: nothing to add to: write = for +=\n"},
	{"version { x = 1 }\n", "1: version: is no section: write version = ...\n"},
	{"version = 1\nrot { a = 1 b { c = 2 } }\nroot = y\n",
	 "2: unknown key \"rot\": did you mean \"root\"?\n"
	 "3: root: \"y\" does not begin with \"/\": write it as \"/myapps\"\n"},
	{"version = 1\nsession|x = 1\n",
	 "2: \"|\" is not expected here: quote the value it is part of\n"},
	/* Many at once, each in its own line, after comments of every kind. */
	{"# one\n/* two\n three */\n// four\nlog-level = \"x\" # five\n\n"
	 "tick-guard =\n\n  \"40s\"\nfoot = 1\n/* ten */ yield-delay = \"2\" address = \"y\"\n"
	 "socket-mode = \\\n",
	 "5: log-level: \"x\" is not one of \"error\", \"warning\", \"info\", \"debug\"\n"
	 "7: tick-guard: \"40s\" is not below 30s: half a minute or more leaves no time for a "
	 "handover\n"
	 "10: unknown key \"foot\": did you mean \"root\"?\n"
	 "11: yield-delay: \"2\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or "
	 "\"1d\"\n"
	 "11: address: \"y\" is not an IP address such as \"192.0.2.7\" or \"2001:db8::7\"\n"
	 "12: \"\\\" is not expected here: quote the value it is part of\n"},
};

/* Mistakes that end the reading; those before them are told all the same. */
static const struct bad_case bad_syntax[] = {
	{"version = 1\nlog-level = x\nroot = \"/x\ntick-guard = \"5s\"\nfoo = 1\n",
	 "2: log-level: \"x\" is not one of \"error\", \"warning\", \"info\", \"debug\"\n"
	 "3: the string is not closed by \" on its line\n"},
	{"version = 'x\n", "1: the string is not closed by ' on its line\n"},
	{"version = 1\n/* root = x\nfoo = 1\n", "2: the comment is not closed by \"*/\"\n"},
	{"version = 1\nroot = \"${HOME\"\n", "2: \"${\" is not closed by \"}\" in its string\n"},
	{"version = 1\nroot = ${HOME}\n",
	 "2: \"$\" is not expected here: quote the value it is part of\n"},
	{"version = 1\nroot = /x//y\n", "2: \"//\" within a word: quote the value\n"},
	{"version = 1\nroot = /x/*y*/\n", "2: \"/*\" within a word: quote the value\n"},
	{"version = 1\n}\n", "2: \"}\" closes nothing\n"},
	{"version = 1\nroot {\n", "2: root: is no section: write root = ...\n"
				  "2: the section root is not closed by \"}\"\n"},
	{"version: 1\n", "1: write version = ..., with \"=\" in place of \":\"\n"},
	{"version = 1\nroot\n", "2: \"=\" is missing after root, or \"{\"\n"},
	{"version = 1\nroot /x\nfoo = 1\n", "2: \"=\" is missing after root, or \"{\"\n"},
	{"version = 1\nroot =\ntick-guard = \"5s\"\n",
	 "2: the value of root is missing: what follows is a key\n"},
	{"version = 1\nroot = ,\n", "2: the value of root is missing\n"},
	{"version = 1\nroot =", "2: the value of root is missing\n"},
	{"version = 1\n= 2\n", "2: \"=\" where a key is expected\n"},
	{"version = 1\n\"root\" = 2\n",
	 "2: a string where a key is expected: a key has no quotes\n"},
	{"version = 1\nroot = { \"a\" \"b\" }\n",
	 "2: \"b\" is not expected in a list: a comma goes between two values\n"},
	{"version = 1\nroot = { a,\n", "2: the list is not closed by \"}\"\n"},
	{"version = 1\nroot = \"/a\\0b\"\n",
	 "2: \"\\0b\" is no escape for a character that a value may have\n"},
	{"version = 1\nroot = \"/a\\x00\"\n",
	 "2: \"\\x0\" is no escape for a character that a value may have\n"},
	{"version = 1\nroot = \"/a\\777\"\n",
	 "2: \"\\77\" is no escape for a character that a value may have\n"},
	{"version = 1\nroot = \"/a\\9\"\n",
	 "2: \"\\9\"\" is no escape for a character that a value may have\n"},
	{"version = 1\ninclude(\"/etc/passwd\")\n", "2: \"(\": there are no functions here\n"},
	{"version = 1\nroot = /x;\n",
	 "2: \";\" is not expected here: quote the value it is part of\n"},
	{"version = 1\n\x01\n", "2: a byte \\x01 that is no text, outside of a string\n"},
	{"version = 1\n\xff\xfe\n", "2: a byte \\xFF that is no text, outside of a string\n"},
	{"version = 1\na{b{c{d{e{f{g{h{i{}}}}}}}}}\n",
	 "2: unknown key \"a\": the keys are "
	 "zookeeper, root, session-timeout, version, "
	 "version-file, version-strip, node, address, socket, socket-mode, "
	 "socket-group, recipe-users, timezone, task-dir, server-tick, auth-file, "
	 "tls, tls-ca, tls-cert, tls-key, tls-server-name, sasl, sasl-keytab, sasl-principal, "
	 "yield-delay, stop-wait, tick-guard, clock-tolerance, roll-from, health-command, "
	 "health-file, health-interval, health-timeout, health-fall, health-rise, log-level, "
	 "log-format\n"
	 "2: more than 8 sections within each other\n"},
};

#define EXPECT_ALL(cases)                                             \
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) \
	expect_problems(cases[i].text, strlen(cases[i].text), cases[i].problems)

Test(config, bad_values)
{
	EXPECT_ALL(bad_values);
}

Test(config, bad_hosts)
{
	EXPECT_ALL(bad_hosts);
}

Test(config, bad_keys)
{
	EXPECT_ALL(bad_keys);
}

Test(config, bad_syntax)
{
	EXPECT_ALL(bad_syntax);
}

Test(config, nul_byte)
{
	expect_problems("version = 1\n# \0\n", 15, "2: a NUL byte: this is no text file\n");
}

/* After each refused text a good one is read as ever: libconfuse's lexer keeps no state of before. */
Test(config, no_state_is_left)
{
	for (size_t i = 0; i < sizeof(bad_syntax) / sizeof(bad_syntax[0]); i++) {
		struct config *c;

		load_bytes(bad_syntax[i].text, strlen(bad_syntax[i].text), &c);
		config_free(c);
		c = good("version = 3\nroot = /z\n");
		cr_expect_str_eq(c->root, "/z");
		config_free(c);
	}
}

static void expect_unreadable(const char *path, int error, const char *expected)
{
	struct config *c = NULL;
	struct problems problems;

	problems_init(&problems);
	cr_expect_eq(config_load(path, NULL, &c, &problems), error, "%s", path);
	cr_expect_str_eq(problems_text(&problems), expected);
	problems_done(&problems);
}

Test(config, unreadable_files)
{
	char *big = malloc(SETTINGS_FILE_MAX + 1);
	struct config *c;

	expect_unreadable(beside("none"), -ENOENT, "0: does not exist\n");
	expect_unreadable(folder, -EISDIR, "0: is a folder, not a file\n");
	cr_assert_eq(mkfifo(beside("fifo"), 0600), 0);
	expect_unreadable(beside("fifo"), -EINVAL, "0: is not a regular file\n");
	cr_assert(big);
	memset(big, ' ', SETTINGS_FILE_MAX + 1);
	memcpy(big, "version = 1\n", 12);
	write_file(file, big, SETTINGS_FILE_MAX + 1, 0644);
	expect_unreadable(file, -EFBIG, "0: is over 1048576 bytes long\n");
	cr_expect_str_eq(load_bytes(big, SETTINGS_FILE_MAX, &c), "");
	config_free(c);
	free(big);
}

static void expect_auth(const char *content, size_t len, mode_t mode, const char *wrong)
{
	static const char text[] = "version = 1\nauth-file = \"auth\"\n";
	char expected[1024];
	struct config *c;
	const char *found;

	write_file(beside("auth"), content, len, mode);
	if (wrong)
		snprintf(expected, sizeof(expected), "2: auth-file: \"%s\" %s\n", beside("auth"),
			 wrong);
	else
		expected[0] = '\0';
	found = load_bytes(text, strlen(text), &c);
	cr_expect_str_eq(found, expected, "of %s: %s", content, found);
	cr_expect(!strstr(found, "secret"));
	config_free(c);
}

#define AUTH_FORM "does not begin with a line scheme:credential, such as digest:user:password"

Test(config, auth_file)
{
	static const char good_line[] = "digest:me:secret";
	static char long_line[CONFIG_LINE_MAX + 2];

	memset(long_line, 'x', sizeof(long_line) - 1);
	memcpy(long_line, "digest:me:", 10);
	expect_auth(good_line, 16, 0600, NULL);
	expect_auth(good_line, 16, 0400, NULL);
	expect_auth("sasl:secret\n", 12, 0600, NULL);
	expect_auth(good_line, 16, 0640, "can be read by others: chmod 600 it");
	expect_auth(good_line, 16, 0604, "can be read by others: chmod 600 it");
	expect_auth(good_line, 16, 0620, "can be written by others: chmod 600 it");
	expect_auth("", 0, 0600, AUTH_FORM);
	expect_auth("\ndigest:me:secret", 17, 0600, AUTH_FORM);
	expect_auth("secret", 6, 0600, AUTH_FORM);
	expect_auth(":secret", 7, 0600, AUTH_FORM);
	expect_auth("digest:", 7, 0600, AUTH_FORM);
	expect_auth("digest:secret", 13, 0600, "needs a user and a password: digest:user:password");
	expect_auth("digest::secret", 14, 0600,
		    "needs a user and a password: digest:user:password");
	expect_auth("digest:secret:", 14, 0600,
		    "needs a user and a password: digest:user:password");
	expect_auth("digest:a:secret\x01", 16, 0600,
		    "has a control character in its first line, or is not UTF-8");
	expect_auth("digest:a:\0secret", 16, 0600, "has a NUL byte in its first line");
	expect_auth(long_line, sizeof(long_line) - 1, 0600, "is too big");
}

Test(config, auth_file_of_another)
{
	char expected[1024];
	struct config *c;
	static const char text[] = "version = 1\nauth-file = \"auth\"\n";

	if (geteuid() != 0)
		return;
	write_file(beside("auth"), "digest:me:secret", 16, 0600);
	cr_assert_eq(chown(beside("auth"), 65534, 65534), 0);
	snprintf(expected, sizeof(expected),
		 "2: auth-file: \"%s\" belongs to another user: chown it to root or to the "
		 "sidecar's user\n",
		 beside("auth"));
	cr_expect_str_eq(load_bytes(text, strlen(text), &c), expected);
}

static void expect_version(const struct config *c, const char *content, size_t len,
			   const char *version, const char *wrong)
{
	struct problems problems;
	char expected[1024] = "";
	char *found = NULL;
	int r;

	write_file(c->version_file, content, len, 0644);
	problems_init(&problems);
	r = config_read_version(c, &found, &problems);
	if (wrong)
		snprintf(expected, sizeof(expected), "3: version-file: \"%s\" %s\n",
			 c->version_file, wrong);
	cr_expect_eq(r == 0, wrong == NULL);
	cr_expect_str_eq(problems_text(&problems), expected);
	cr_expect_eq(found == NULL, version == NULL);
	if (found && version)
		cr_expect_str_eq(found, version);
	free(found);
	problems_done(&problems);
}

Test(config, version_file)
{
	static char line[CONFIG_LINE_MAX + 10];
	struct config *c;

	write_file(beside("VERSION"), "1\n", 2, 0644);
	c = good("\n\nversion-file = \"VERSION\"\n");
	cr_expect_str_eq(c->version, "1");
	expect_version(c, "2", 1, "2", NULL);
	expect_version(c, "\t2.0 final \nx", 13, "2.0 final", NULL);
	expect_version(c, "2\r\n", 3, "2", NULL);
	expect_version(c, "", 0, NULL, "has an empty first line: write the version there");
	expect_version(c, " \n2\n", 4, NULL, "has an empty first line: write the version there");
	expect_version(
		c, "2\x01", 2, NULL,
		"begins with \"2\\x01\", which is no version: that is up to 255 characters of "
		"printable ASCII");
	expect_version(c, "2\0003\n", 4, NULL,
		       "begins with \"2\", which is no version: that is up to 255 characters of "
		       "printable ASCII");
	memset(line, '1', sizeof(line));
	expect_version(c, line, sizeof(line), NULL, "is too big");
	line[1] = '\n'; /* what follows the first line may be of any length */
	expect_version(c, line, sizeof(line), "1", NULL);
	config_free(c);
}

Test(config, the_last_problem_says_that_there_are_more)
{
	static char text[TEXT_MAX];
	struct problems problems;
	struct config *c;
	size_t used = 0;

	for (int i = 0; i < PROBLEMS_MAX + 50; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "root%d = 1\n", i);
	write_file(file, text, used, 0644);
	problems_init(&problems);
	cr_expect_eq(config_load(file, NULL, &c, &problems), -EINVAL);
	cr_expect_eq(problems.n, PROBLEMS_MAX);
	cr_expect_eq(problems.total, PROBLEMS_MAX + 51);
	cr_expect_eq(problems.list[0].line, 1);
	cr_expect_str_eq(problems.list[PROBLEMS_MAX - 1].message,
			 "more problems follow: they are shown once these are mended");
	problems_done(&problems);
}

/* Whatever a message quotes, it is one printable line of bounded length. */
Test(config, messages_are_printable)
{
	static char text[TEXT_MAX];
	struct problems problems;

	problems_init(&problems);
	memset(text, 'x', 2000);
	problems_add(&problems, "a\nb", 0, "%s", text);
	problems_add(&problems, "f", 7, "a\nb\x80\xc3\xa9\xed\xa0\x80\xc2\x9b\xf5");
	for (int i = 0; i < 400; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	text[800] = '\0';
	problems_add(&problems, "f", 7, "x%s", text);
	cr_expect_str_eq(problems.list[0].file, "a\\x0Ab");
	cr_expect_eq(problems.list[0].line, PROBLEM_WHOLE_FILE);
	cr_expect_eq(strlen(problems.list[0].message), PROBLEM_TEXT_MAX);
	cr_expect_str_eq(problems.list[0].message + PROBLEM_TEXT_MAX - 4, "x...");
	cr_expect_str_eq(problems.list[1].message,
			 "a\\x0Ab\\x80\xc3\xa9\\xED\\xA0\\x80\\xC2\\x9B\\xF5");
	for (size_t i = 0; i < problems.n; i++) {
		cr_expect(text_is_printable(problems.list[i].message));
		cr_expect_leq(strlen(problems.list[i].message), PROBLEM_TEXT_MAX);
	}
	problems_done(&problems);
}

/* The commented example says of every key what the default is. */
Test(config, example_file)
{
	static char text[TEXT_MAX];
	FILE *f = fopen("docs/zkleader.conf", "r");
	const struct setting_key *keys;
	size_t n;

	if (!f)
		cr_skip("not run from the top of the source tree");
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	keys = config_keys(&n);
	for (size_t i = 0; i < n; i++) {
		char line[256];

		cr_expect(keys[i].help && keys[i].help[0]);
		if (keys[i].type == SETTING_INTEGER)
			snprintf(line, sizeof(line), "\n# %s = %s\n", keys[i].name, keys[i].preset);
		else if (keys[i].preset)
			snprintf(line, sizeof(line), "\n# %s = \"%s\"\n", keys[i].name,
				 keys[i].preset);
		else
			snprintf(line, sizeof(line), "\n# %s = %s\"", keys[i].name,
				 keys[i].type == SETTING_LIST ? "{" : "");
		cr_expect(strstr(text, line), "docs/zkleader.conf lacks%s", line);
	}
}

/* Random damage is told, with a line of the file, and never does harm. */
Test(config, mutations)
{
	static const char start[] =
		"# x\nzookeeper = \"a:1,[::1]:2/c\" /* y\n */\nroot = '/x'\nversion = "
		"\"${HOME:-1}\\x31\"\n"
		"session-timeout = 10s\nfoo { bar \"x\" { a = {1, 2} } }\nlog-level += \"info\"\n";
	const char *many = getenv("ZKLEADER_MUTATIONS");
	long rounds = many ? atol(many) : 3000;

	for (long i = 0; i < rounds; i++) {
		char text[sizeof(start) + 64];
		size_t len = sizeof(start) - 1;
		struct problems problems;
		struct config *c = NULL;
		int lines = 1, r;

		memcpy(text, start, len);
		len = damage(text, len);
		write_file(file, text, len, 0644);
		for (size_t k = 0; k < len; k++)
			lines += text[k] == '\n';
		problems_init(&problems);
		r = config_load(file, NULL, &c, &problems);
		cr_assert_eq(r == 0, problems.n == 0);
		for (size_t k = 0; k < problems.n; k++) {
			cr_assert(problems.list[k].line >= 1 && problems.list[k].line <= lines);
			cr_assert(!is_of_libconfuse(problems.list[k].message), "%s of: %.*s",
				  problems.list[k].message, (int)len, text);
		}
		problems_done(&problems);
		config_free(c);
	}
}

Test(config, takes_a_prefix_off_the_version)
{
	static const struct {
		const char *text, *version, *warnings;
	} cases[] = {
		{"version = v1.6\nversion-strip = v\n", "1.6", ""},
		{"version-strip = v\nversion = 1.6\n", "1.6", ""},
		{"version = vv1.6\nversion-strip = v\n", "v1.6", "1: version: \"v1.6\"\n"},
		{"version = \"release-1.6\"\nversion-strip = \"release-\"\n", "1.6", ""},
		{"version = v\nversion-strip = v\n", "v", "1: version: \"v\"\n"},
		{"version = v1.6", "v1.6", "1: version: \"v1.6\"\n"},
		{"\nversion = 1.5.O", "1.5.O", "2: version: \"1.5.O\"\n"},
		{"version = 2414721f", "2414721f", "1: version: \"2414721f\"\n"},
		{"version = \"1.5-rc1\"", "1.5-rc1", ""},
		{"version-file = VERSION\nversion-strip = v\n", "1.7", ""},
		{"\nversion-file = VERSION\n", "v1.7", "2: version-file: \"v1.7\"\n"},
	};

	write_file(beside("VERSION"), "v1.7\n", 5, 0644);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_warnings(cases[i].text, cases[i].version, cases[i].warnings);
}

#define UNSET(key)                                                                 \
	"1: " key ": the environment has no ZKLEADER_TEST_NONE: set it, or write " \
	"${ZKLEADER_TEST_NONE:-DEFAULT}\n"

Test(config, warns_of_unset_variables)
{
	expect_warnings("version = \"1${ZKLEADER_TEST_NONE}\"\n", "1", UNSET("version"));
	expect_warnings("version = \"1${ZKLEADER_TEST_NONE:-}\"\n", "1", "");
	expect_warnings("version = \"1${ZKLEADER_TEST_NONE:-.2}\"\n", "1.2", "");
	expect_warnings("socket-group = 'root' # ${ZKLEADER_TEST_NONE}\nversion = 1\n", "1", "");
	expect_warnings("task-dir = 'a\"${ZKLEADER_TEST_NONE}\"'\nversion = 1\n", "1", "");
	expect_warnings("task-dir = \"'${ZKLEADER_TEST_NONE}'\"\nversion = 1\n", "1",
			UNSET("task-dir"));
	expect_warnings("task-dir = \"\\\"${ZKLEADER_TEST_NONE}\"\nversion = 1\n", "1",
			UNSET("task-dir"));
	expect_warnings("task-dir = \"a\\${ZKLEADER_TEST_NONE}\"\nversion = 1\n", "1", "");
}

Test(config, blanks_around_servers)
{
	struct config *c = good("version = 1\nzookeeper = \" a:1,  b , [::1]:3/x \"\n");

	cr_assert_eq(c->n_hosts, 3);
	cr_expect_str_eq(c->hosts[0].host, "a");
	cr_expect_str_eq(c->hosts[1].host, "b");
	cr_expect_str_eq(c->hosts[2].host, "::1");
	cr_expect_eq(c->hosts[2].port, 3);
	cr_expect_str_eq(c->chroot, "/x");
	config_free(c);
}
