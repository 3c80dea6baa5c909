/* The answer to a request, once the answers of the sidecar are there. */
#ifndef ZKLEADER_WEB_REPLY_H
#define ZKLEADER_WEB_REPLY_H

#include "web/exchange.h"

#define REPLY_TEXT "text/plain; charset=utf-8"

/* Answers as the route and the sidecar's answers say. */
enum MHD_Result reply_send(struct exchange *x);
/* Refuses with a constant text, and a header if one is given. */
enum MHD_Result reply_refuse(struct exchange *x, unsigned status, const char *header,
			     const char *value, const char *text);
/* Refuses a parameter of a page, as x->why says. */
enum MHD_Result reply_bad_query(struct exchange *x);
/* Sends a response with the headers that all have. */
enum MHD_Result reply_queue(struct exchange *x, unsigned status, const char *type,
			    struct MHD_Response *response);

#endif
