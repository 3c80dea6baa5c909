# Simulated fleets: the nodes as they are shipped, on a model of ZooKeeper.

# The model of ZooKeeper that sidecars are simulated on, and the same requests to it and to a real server.
SIMNODE_MODEL := $(patsubst %,$(B)/tests/simnode/%.o,base tree net client machine host store releases lookup server quorum serve)
comma := ,
SIMNODE_FLAGS := -Itests/simnode
# Nodes as they are shipped, on that model.
SIMNODE_REST := $(patsubst %,$(B)/tests/simnode/%.o,recipe_barrier site wall oracle truth rest orders faults faults_net faults_servers \
	faults_sites hands jobs crontabs schedules schedule_judge renames tables ticks alerts notices recipes recipe_counter \
	recipe_roster recipe_lock recipe_rolling recipe_rolling_hand recipe_gang recipe_gang_judge queue_clients queue_judge splits disagree \
	crowd hostages lists roll scenario main log)
$(B)/tests/simnode/%.o: tests/simnode/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SIMNODE_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/sim-node: $(SIMNODE_MODEL) $(SIMNODE_REST) $(call objects,node) $(LIB_core) $(LINK_wire)
	$(link)
# The same with a bug planted in one function of the node: each has to be found.
SIMNODE_WRAP := schedule_is_open lease_heard lease_committed lease_moved election_step election_leads election_promise election_release_time \
	leaders_expired inheritance_promised store_multi clocks_judge clocks_is_off clocks_ask clocks_latest_ms policy_find_node handoff_is_ours identity_host roster_untouched \
	ledger_claim run_next leaders_hold_renew runs_take_over session_confirm store_get \
	record_parse_counter record_parse_seen registry_settled draft_successors \
	gangs_renew gang_is_dead holder_renew leftovers_going \
	locks_renew lock_place_step lock_name_is_before owed_plan policy_end_ops notice_keep notices_takeover \
	queues_renew attempt_how job_outcome job_ending_ops assign_pick rate_wait_ms queue_multi \
	queues_configured worker_answers_for work_recheck rolling_decide rolling_deed_put_drain rolling_is_soaked rolling_sweep rolling_release \
	watches_begin watches_drop session_give_up skew_jobs renames_bar worker_is_unhealthy lists_joined lists_watch roll_is_sure keep_watch notices_alone returns_changed own_record_same_tasks
$(B)/sim-node-planted: $(B)/tests/simnode/plants.o $(B)/tests/simnode/plants_rolling.o $(SIMNODE_MODEL) $(SIMNODE_REST) \
		$(call objects,node) $(LIB_core) $(LINK_wire)
	$(link) $(patsubst %,-Wl$(comma)--wrap=%,$(SIMNODE_WRAP))
.PHONY: model-bin
model-bin: $(B)/compare-model $(B)/compare-real
$(B)/compare-model: $(patsubst %,$(B)/tests/simnode/compare/%.o,main model) $(SIMNODE_MODEL) $(LINK_wire)
	$(link)
$(B)/compare-real: $(patsubst %,$(B)/tests/simnode/compare/%.o,main real) $(LINK_daemon)
	$(link) $(LIBS_zkleaderd)
# The cost of a big fleet for its servers: the same nodes and the same model, of which more fit.
SIMSCALE_FLAGS := $(SIMNODE_FLAGS) -DHOSTS_MAX=10000 '-DSESSIONS_MAX=(3*HOSTS_MAX)'
SIMSCALE := $(patsubst tests/%.c,$(B)/tests/%.o,$(wildcard tests/simscale/*.c)) \
	$(SIMNODE_MODEL:$(B)/tests/simnode/%=$(B)/tests/simscale/model/%)
$(B)/tests/simscale/model/%.o: tests/simnode/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SIMSCALE_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/simscale/%.o: tests/simscale/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SIMSCALE_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/sim-scale: $(SIMSCALE) $(call objects,node) $(LIB_core) $(LINK_wire)
	$(link) -Wl,--wrap=record_parse_worker,--wrap=worker_free

.PHONY: model sim sim-ticks sim-scale
# A minute of a processor, and 450 MiB.
sim-scale: $(B)/sim-scale
	$(B)/sim-scale
	$(B)/sim-scale --spread 50
model: $(B)/model
	$(B)/model
# Ten minutes of seeds, two at a time; a failing one says how to replay it.
sim: $(B)/sim-node
	$(B)/sim-node --seconds 600 --jobs 2
# The same with runs of tasks.
sim-ticks: $(B)/sim-node
	$(B)/sim-node --ticks --seconds 600 --jobs 2
