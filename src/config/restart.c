#include "config/restart.h"

#include <string.h>

bool config_text_differs(const char *a, const char *b)
{
	return (a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0);
}

size_t restart_keys(const struct config *start, const struct config *now,
		    const char *ret_keys[RESTART_KEYS_MAX])
{
	const struct {
		const char *key;
		bool changed;
	} keys[] = {
		{"zookeeper", config_text_differs(start->zookeeper, now->zookeeper)},
		{"root", config_text_differs(start->root, now->root)},
		{"session-timeout", start->session_timeout_ms != now->session_timeout_ms},
		{"server-tick", start->server_tick_ms != now->server_tick_ms},
		{"roll-from", start->roll_from != now->roll_from},
		{"node", config_text_differs(start->node, now->node)},
		{"address", config_text_differs(start->address, now->address)},
		{"socket", config_text_differs(start->socket, now->socket)},
		{"socket-mode", start->socket_mode != now->socket_mode},
		{"socket-group", config_text_differs(start->socket_group, now->socket_group)},
		{"auth-file",
		 config_text_differs(start->auth_scheme, now->auth_scheme) ||
			 config_text_differs(start->auth_credential, now->auth_credential)},
	};
	size_t n = 0;

	for (enum config_secure_key k = 0; k < CONFIG_SECURE_KEYS; k++)
		if (config_text_differs(start->secure.texts[k], now->secure.texts[k]))
			ret_keys[n++] = config_secure_name(k);
	_Static_assert(sizeof(keys) / sizeof(keys[0]) + CONFIG_SECURE_KEYS <= RESTART_KEYS_MAX,
		       "as many as fit");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].changed)
			ret_keys[n++] = keys[i].key;
	return n;
}
