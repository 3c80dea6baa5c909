/*
 * Faults of the fleet: one at a time, each healed by itself after a while. There is a file for each
 * place where they happen: the network, the servers, the sidecars, and people who change znodes by
 * hand.
 */
#ifndef TESTS_SIMNODE_FAULTS_H
#define TESTS_SIMNODE_FAULTS_H

#include "site.h"

/* Faults of these kinds; true: it has happened, false: not now, or it is counted when it happens. */
bool faults_net(enum fault what);
bool faults_servers(enum fault what);
bool faults_sites(enum fault what);
bool faults_hands(enum fault what);

/* The number of the present storm; a fault is healed only within the storm that it was made in. */
extern uint64_t fault_era;

/* From a moment to well over a session timeout, in microseconds. */
int64_t fault_time(void);
/* A site at random that is running, or not; NULL: there is none. */
struct site *fault_site(bool running);
/* A site that leads something, as a rule, as there a fault may hurt; NULL: none. */
struct site *fault_victim(void);
bool fault_listens(const struct site *s);
/* Its session's library, NULL. */
struct lib *fault_lib(const struct site *s);
/* A server, more often than not the leader. */
unsigned fault_server(void);

/* faults_net.c */
void cut_site(const struct site *s, bool up, bool down, int64_t for_us);
/* faults_servers.c */
void servers_heal(void);
void servers_spare(void); /* a run begins */
bool servers_lost(void);  /* all are down, and their data is gone */
/* faults_sites.c */
void pause_site(struct site *s, bool suspend, int64_t for_us);
bool start_site(void);
void sites_heal(void);
void sites_spare(void);
/* A clock has been wrong by more than minutes in this storm. */
bool sites_were_far(void);
/* hands.c */
bool hand_delete(path_id path);
/* A transaction of n operations; servers_by_hand() sends it. */
struct transaction *by_hand(size_t n);
void hands_heal(
	bool decisions); /* what hands made is taken back, decisions that have an end as well */

#endif
