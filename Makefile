# zkleader: `make` builds, `make check` installs what is missing, builds and tells in ten minutes whether it
# works, `make demo` shows it at work; `make help` lists the rest.

VERSION := 0.2.0
PREFIX  ?= /usr
DESTDIR ?=
SYSCONFDIR ?= /etc

# A variant is a set of flags with a folder of its own: make VARIANT=asan
VARIANT ?= release
B       := build/$(VARIANT)

ifeq ($(origin CC),default)
CC      := gcc
endif
# zkleader-check is run thousands of times a day; a static start costs a quarter of a dynamic one.
CHECK_CC ?= $(shell command -v musl-gcc || echo $(CC))

# --- packages: the one list; how names are written: tests/packages -------------------------------
PACKAGES_BUILD := gcc libc6-dev make pkg-config libzookeeper-mt-dev libconfuse-dev \
	libmsgpack-c-dev|libmsgpack-dev libuv1-dev libxxhash-dev libjansson-dev libsmartcols-dev libmicrohttpd-dev \
	libcurl4-openssl-dev \
	musl-tools
PACKAGES_DEMO  := zookeeper default-jre-headless procps cron
PACKAGES_CHECK := libcriterion-dev clang-format-14? binutils faketime iproute2 iptables psmisc systemd \
	mandoc shellcheck python3 python3-pytest python3-pytest-xdist python3-kazoo python3-msgpack \
	python3-xxhash tzdata
PACKAGES_DEEP  := clang libclang-rt-dev clang-tidy cppcheck gdb valgrind libmaven3-core-java \
	default-jdk-headless curl prometheus postgresql python3-psycopg2 chromium chromium-driver python3-selenium \
	$(if $(shell command -v npm),,npm)

PACKAGES_COMPARE := libcurator-recipes-java
PACKAGES_BENCH   := socat curl util-linux python3-rq redis-server

# The release before, which is built beside this one.
PACKAGES_UPGRADE := uuid-dev
PACKAGES_DEEP += $(PACKAGES_UPGRADE)

# $(1): packages.
install = @tests/packages $(foreach package,$(1),'$(package)')

# --- flags ------------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wformat=2 -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wswitch-enum -Wvla -Wundef -Wpointer-arith \
	-Wcast-qual -Wwrite-strings -Wnull-dereference -Wduplicated-cond -Wlogical-op
ifneq ($(findstring clang,$(CC)),)
WARNINGS := $(filter-out -Wduplicated-cond -Wlogical-op,$(WARNINGS))
endif
ifeq ($(WERROR),1)
WARNINGS += -Werror
endif

BASE_CFLAGS  := -std=c11 -D_GNU_SOURCE -DZKLEADER_VERSION='"$(VERSION)"' -Isrc -Iinclude $(WARNINGS)
BASE_LDFLAGS :=
ifeq ($(VARIANT),release)
CFLAGS  ?= -O2 -g
HARDEN  := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE
BASE_CFLAGS  += $(HARDEN) -D_FORTIFY_SOURCE=2
# What is the sidecar's alone is not unwound at run time, and debuggers have .debug_frame: an eighth
# of the program less to load. The libraries' tables are kept, for exceptions of an application.
$(B)/node/%.o $(B)/control/%.o $(B)/daemon/%.o: BASE_CFLAGS += -fno-asynchronous-unwind-tables
BASE_LDFLAGS += -pie -Wl,-z,relro,-z,now -Wl,--as-needed
else ifeq ($(VARIANT),asan)
CFLAGS  ?= -O1 -g
BASE_CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
BASE_LDFLAGS += -fsanitize=address,undefined
else ifeq ($(VARIANT),tsan)
CFLAGS  ?= -O1 -g
BASE_CFLAGS  += -fsanitize=thread -fno-omit-frame-pointer
BASE_LDFLAGS += -fsanitize=thread
else ifeq ($(VARIANT),cov)
CFLAGS  ?= -O0 -g
BASE_CFLAGS  += --coverage
BASE_LDFLAGS += --coverage
else
$(error unknown VARIANT $(VARIANT): release, asan, tsan or cov)
endif

# --- sources ----------------------------------------------------------------------------------
# A layer is a folder of src with its rooms; what lies there is built. The files with a main() are no
# part of a layer: tests link it without them.
layer   = $(wildcard $(addprefix src/$(1),/*.c /*/*.c /*/*/*.c))
objects = $(patsubst src/%.c,$(B)/%.o,$(filter-out %/main.c %_main.c,$(call layer,$(1))))
LAYERS := base core wire config node control daemon api check supervise cli runner notify web

BASE_LIBS   :=
CORE_LIBS   :=
WIRE_LIBS   :=
DAEMON_LIBS := -lzookeeper_mt -lconfuse -luv -lpthread
CLIENT_LIBS := -ljansson -lsmartcols
RUNNER_LIBS := -lconfuse -ljansson -lsmartcols
NOTIFY_LIBS := -lconfuse -ljansson -lsmartcols
WEB_LIBS    := -lmicrohttpd -ljansson -lsmartcols -luv

$(foreach l,$(LAYERS),$(eval LIB_$(l) := $(B)/lib$(l).a))
$(foreach l,$(LAYERS),$(eval $(LIB_$(l)): $(call objects,$(l))))

# What each layer links: itself and those below it.
LINK_base   := $(LIB_base)
LINK_core   := $(LIB_core) $(LIB_base)
LINK_wire   := $(LIB_wire) $(LIB_base)
LINK_config := $(LIB_config) $(LIB_core) $(LIB_base)
# Whoever links a node gives it a machine and a store: the daemon, or a test.
LINK_node   := $(LIB_node) $(LIB_core) $(LIB_wire) $(LIB_base)
LINK_control := $(LIB_control) $(LIB_config) $(LINK_node)
LINK_daemon := $(LIB_daemon) $(LINK_control)
# The daemon's archive has what node/ and control/ call in host.h, store.h and peer.h: they need one another.
GROUP = -Wl,--start-group $^ -Wl,--end-group
LINK_api    := $(LIB_api) $(LIB_core) $(LINK_wire)
LINK_supervise := $(LIB_supervise) $(LINK_api)
LINK_client := $(LIB_cli) $(LIB_check) $(LINK_supervise)

# --- programs ---------------------------------------------------------------------------------
.PHONY: all
all: $(B)/zkleaderd $(B)/zkleader $(B)/zkleader-check $(B)/zkleader-web $(B)/zkleader-runner $(B)/zkleader-notify $(B)/libzkleader.a

$(B)/zkleaderd: $(B)/daemon/main.o $(LINK_daemon)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $(GROUP) $(DAEMON_LIBS)
$(B)/zkleader: $(B)/cli/main.o $(LINK_client)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

$(B)/zkleader-web: $(B)/web/main.o $(LIB_web) $(LINK_api)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(WEB_LIBS)
RUNNER_REST := $(LIB_runner) $(LIB_supervise) $(LIB_api) $(LIB_wire) $(LINK_config)
$(B)/zkleader-runner: $(B)/runner/main.o $(RUNNER_REST)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(RUNNER_LIBS)
NOTIFY_REST := $(LIB_notify) $(LIB_api) $(LIB_wire) $(LINK_config)
$(B)/zkleader-notify: $(B)/notify/main.o $(NOTIFY_REST)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NOTIFY_LIBS)
$(B)/web/assets/assets.o: $(wildcard src/web/assets/*)

# The C API of the socket, and zkleader-check, which is nothing but a user of it.
API := $(patsubst src/%.c,%,$(filter-out %/json.c %/output.c %/follow.c %/context.c,$(call layer,api))) check/check \
	$(addprefix base/text/,duration name utf8 printable options) base/mem base/buffer base/clock base/fd \
	wire/reader wire/pack wire/rpc core/queue/job_id
$(B)/libzkleader.a: $(B)/zkleader_api.o
# For applications: one object that shows nothing but zkleader_*.
$(B)/zkleader_api.o: $(patsubst %,$(B)/%.o,$(filter-out check/%,$(API)))
	$(LD) -r -o $@ $^
	objcopy --wildcard --keep-global-symbol='zkleader_*' $@
ifeq ($(VARIANT),release)
# msgpack-c's packer is all in its headers; musl-gcc searches no glibc folder, so it gets them alone.
$(B)/static/include:
	@mkdir -p $@
	ln -sfn /usr/include/msgpack $@/msgpack && ln -sfn /usr/include/msgpack.h $@/msgpack.h
$(B)/static/%.o: src/%.c $(B)/version | $(B)/static/include
	@mkdir -p $(@D)
	$(CHECK_CC) -std=c11 -D_GNU_SOURCE -DZKLEADER_VERSION='"$(VERSION)"' -Os -Isrc -Iinclude \
		-isystem $(B)/static/include -fstack-protector-strong -MMD -MP -c -o $@ $<
$(B)/zkleader-check: $(patsubst %,$(B)/static/%.o,check/check_main $(API))
	$(CHECK_CC) -static -s -Wl,--gc-sections,-z,relro,-z,now -o $@ $^
else
$(B)/zkleader-check: $(patsubst %,$(B)/%.o,check/check_main $(API))
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^
endif

$(B)/lib%.a:
	@rm -f $@
	$(AR) rcs $@ $^

# Another version is compiled in anew.
$(B)/version: FORCE
	@mkdir -p $(@D)
	@echo $(VERSION) | cmp -s - $@ || echo $(VERSION) > $@
.PHONY: FORCE
FORCE:

$(B)/%.o: src/%.c $(B)/version
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# --- unit tests: tests/unit/LAYER_MODULE.c, linked with its layer only --------------------------
UNIT := $(sort $(basename $(notdir $(wildcard tests/unit/*.c))))
UNIT_BIN := $(UNIT:%=$(B)/unit/%)
LIBS_config := -lconfuse
LIBS_control := -lconfuse
LIBS_daemon := $(DAEMON_LIBS)
LIBS_client := $(CLIENT_LIBS)

$(B)/unit/%.o: tests/unit/%.c $(B)/version
	@mkdir -p $(@D)
	$(CC) $(filter-out -Wmissing-prototypes -Wnull-dereference,$(BASE_CFLAGS)) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
.SECONDEXPANSION:
$(UNIT_BIN): %: %.o $$(LINK_$$(firstword $$(subst _, ,$$(@F))))
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $(GROUP) $(LIBS_$(firstword $(subst _, ,$(@F)))) -lcriterion

# Its own allocations can be made to fail.
$(B)/unit/client_memory $(B)/plain/client_memory: BASE_LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc

# The same without Criterion's library, which is slow, and which nets cannot bear.
PLAIN_BIN := $(UNIT:%=$(B)/plain/%)
$(PLAIN_BIN): $(B)/plain/%: $(B)/unit/%.o $(B)/tests/nets/plain_runner.o $$(LINK_$$(firstword $$(subst _, ,$$(@F))))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $(GROUP) $(LIBS_$(firstword $(subst _, ,$(@F)))) -lpthread

.PHONY: unit-bin unit plain-bin
plain-bin: $(PLAIN_BIN)
unit-bin: $(UNIT_BIN)
unit: plain-bin
	tests/run --unit $(B)/plain

# --- installing what is missing ---------------------------------------------------------------
.PHONY: deps deps-demo deps-check deps-deep
deps:
	$(call install,$(PACKAGES_BUILD))
deps-demo:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_DEMO))
deps-check:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_DEMO) $(PACKAGES_CHECK))
deps-deep:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_DEMO) $(PACKAGES_CHECK) $(PACKAGES_DEEP))
	@[ -d tests/browser/node_modules/axe-core ] || npm ci --silent --no-audit --no-fund --prefix tests/browser

# --- seeing it at work ------------------------------------------------------------------------
.PHONY: demo demo-web
demo: deps-demo
	@$(MAKE) -s all
	@tests/demo/demo $(B)
# A fleet with faults to look at in a browser, until Ctrl-C.
demo-web: deps-demo
	@$(MAKE) -s all
	@tests/demo/demo-web $(B)

# --- tests --------------------------------------------------------------------------------------
$(patsubst %,$(B)/oracle/%,version_pairs draft_fleets schedule_times): $(B)/oracle/%: tests/oracle/%.c $(LINK_core)
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^

# The model test: a plain program over the core.
$(B)/tests/%.o: tests/%.c $(B)/version
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/model: $(patsubst tests/%.c,$(B)/tests/%.o,$(wildcard tests/model/*.c)) $(LINK_core)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^
# The model of ZooKeeper that sidecars are simulated on, and the same requests to it and to a real server.
SIMNODE_MODEL := $(patsubst %,$(B)/tests/simnode/%.o,base tree net client machine host store releases lookup server quorum serve)
comma := ,
SIMNODE_FLAGS := -Itests/simnode
# Nodes as they are shipped, on that model.
SIMNODE_REST := $(patsubst %,$(B)/tests/simnode/%.o,recipe_barrier site wall oracle truth rest orders faults faults_net faults_servers \
	faults_sites hands jobs crontabs schedules schedule_judge renames tables ticks alerts notices recipes recipe_counter \
	recipe_roster recipe_lock recipe_rolling recipe_rolling_hand recipe_gang recipe_gang_judge queue_clients queue_judge splits disagree \
	crowd hostages scenario main log)
$(B)/tests/simnode/%.o: tests/simnode/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SIMNODE_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/sim-node: $(SIMNODE_MODEL) $(SIMNODE_REST) $(call objects,node) $(LIB_core) $(LINK_wire)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^
# The same with a bug planted in one function of the node: each has to be found.
SIMNODE_WRAP := schedule_is_open lease_heard lease_committed lease_moved election_step election_leads election_promise election_release_time \
	leaders_expired inheritance_promised store_multi clocks_judge clocks_is_off clocks_ask clocks_latest_ms policy_find_node handoff_is_ours identity_host roster_untouched \
	ledger_claim run_next leaders_hold_renew runs_take_over session_confirm store_get \
	record_parse_counter record_parse_seen registry_settled draft_successors \
	gangs_renew gang_is_dead holder_renew leftovers_going \
	locks_renew lock_decide lock_name_is_before owed_plan policy_end_ops notice_keep notices_takeover \
	queues_renew attempt_how job_outcome job_ending_ops assign_pick bucket_wait_ms queue_multi \
	queues_configured worker_answers_for work_recheck rolling_decide rolling_deed_put_drain rolling_is_soaked rolling_sweep rolling_release \
	watches_begin watches_drop session_give_up skew_jobs renames_bar worker_is_unhealthy
$(B)/sim-node-planted: $(B)/tests/simnode/plants.o $(B)/tests/simnode/plants_rolling.o $(SIMNODE_MODEL) $(SIMNODE_REST) \
		$(call objects,node) $(LIB_core) $(LINK_wire)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) $(patsubst %,-Wl$(comma)--wrap=%,$(SIMNODE_WRAP)) -o $@ $^
.PHONY: model-bin
model-bin: $(B)/compare-model $(B)/compare-real
$(B)/compare-model: $(patsubst %,$(B)/tests/simnode/compare/%.o,main model) $(SIMNODE_MODEL) $(LINK_wire)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^
$(B)/compare-real: $(patsubst %,$(B)/tests/simnode/compare/%.o,main real) $(LINK_daemon)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $(GROUP) $(DAEMON_LIBS)
# What a big fleet costs its servers: the same nodes and the same model, of which more fit.
SIMSCALE_FLAGS := $(SIMNODE_FLAGS) -DHOSTS_MAX=5000 '-DSESSIONS_MAX=(3*HOSTS_MAX)'
SIMSCALE := $(patsubst tests/%.c,$(B)/tests/%.o,$(wildcard tests/simscale/*.c)) \
	$(SIMNODE_MODEL:$(B)/tests/simnode/%=$(B)/tests/simscale/model/%)
$(B)/tests/simscale/model/%.o: tests/simnode/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SIMSCALE_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/simscale/%.o: tests/simscale/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(SIMSCALE_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/sim-scale: $(SIMSCALE) $(call objects,node) $(LIB_core) $(LINK_wire)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -Wl,--wrap=record_parse_worker,--wrap=worker_free -o $@ $^

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

JOBS := -j$(shell nproc)
# Whoever runs several of them gets their sum in the closing line.
RUN  := tests/run $(if $(COUNTS),--counts $(COUNTS))

# What tells a newcomer that it works: the same each time, on two cores within ten minutes.
CHECK_SUITES := \
	--plain "house rules=tests/lint/run $(B)" \
	--unit $(B)/plain \
	--plain "model=$(B)/model" \
	--plain "the draft's balance and moves=$(B)/bench/draft" \
	--plain "the draft against its example=tests/oracle/draft $(B)/oracle/draft_fleets 1 2000" \
	--plain "schedules against Python's=tests/oracle/schedule $(B)/oracle/schedule_times 1 1500" \
	--plain "simulator, fixed seeds=$(B)/sim-node --seeds 80 --jobs 2" \
	--plain "simulator, fixed seeds of ticks=$(B)/sim-node --ticks --seeds 40 --jobs 2" \
	--plain "simulator, sessions that are hostages=$(B)/sim-node --hostages --seeds 20 --jobs 2" \
	--pytest "integration=-n 12 tests/integration -m 'not slow'"

# The same each time as well, but it takes longer, or tools of its own. The best first: CI ends it when its
# time is over.
CI_SUITES := \
	--plain "the demo=tests/demo/demo $(B)" \
	--unit build/asan/plain \
	--pytest "integration under ASan and UBSan=-n 6 tests/integration -m 'not slow' --build build/asan" \
	--plain "simulator, fixed seeds of recipes=$(B)/sim-node --recipes --seeds 30 --jobs 2" \
	--plain "simulator, recipes with servers far apart=$(B)/sim-node --recipes --seed 357" \
	--plain "simulator, fixed seeds of queues=$(B)/sim-node --queues --seeds 6 --jobs 2" \
	--plain "simulator, fixed seeds of alerts=$(B)/sim-node --alerts --seeds 30 --jobs 2" \
	--plain "simulator, fixed seeds of notices=$(B)/sim-node --notices --seeds 30 --jobs 2" \
	--plain "simulator, fixed seeds of partitions=$(B)/sim-node --partitions --seeds 30 --jobs 2" \
	--plain "simulator, fixed seeds of files that disagree=$(B)/sim-node --disagree --seeds 20 --jobs 2" \
	--plain "simulator, fixed seeds of schedules=$(B)/sim-node --schedules --seeds 30 --jobs 2" \
	--plain "simulator, schedules of partitions=$(B)/sim-node --schedules --partitions --seeds 20 --jobs 2" \
	--plain "simulator, ticks of partitions=$(B)/sim-node --ticks --partitions --seeds 30 --jobs 2" \
	--plain "simulator, hundreds of tasks and thousands of ticks=$(B)/sim-node --crowd --hosts 3 --hours 0.1 --seeds 2 --jobs 2" \
	--plain "simulator, likewise with schedules, queues and recipes=$(B)/sim-node --crowd --schedules --queues --recipes --hosts 3 --hours 0.1 --seeds 2 --jobs 2" \
	--plain "simulator, time goes on within turns=$(B)/sim-node --creep --ticks --seeds 20 --jobs 2" \
	--plain "simulator, likewise with recipes=$(B)/sim-node --creep --recipes --seeds 20 --jobs 2" \
	--plain "fuzzing, the corpora=tests/fuzz/run --smoke" \
	--plain "coverage of core, wire and node by unit tests=tests/nets/coverage" \
	--plain "fuzzing, new inputs, the same each time=tests/fuzz/run --seconds 4 --seed 1" \
	--plain "static analysers=tests/lint/analyse" \
	--plain "simulator, planted bugs=tests/simnode/canaries $(B)/sim-node $(B)/sim-node-planted" \
	--plain "canaries=tests/nets/canaries" \
	--plain "versions against Maven's=VERSION_PAIRS=$(B)/oracle/version_pairs tests/oracle/maven.sh 1 200000" \
	--pytest "the page in a browser=-n 2 tests/browser" \
	--pytest "integration, the slow ones=-n 6 tests/integration -m slow" \
	--plain "TSan=tests/nets/tsan --quick" \
	--plain "simulator, big fleets=$(B)/sim-scale 10 50" \
	--plain "bench, whether it runs=tests/bench/quick --build $(B)"

DEEP_SUITES := $(CI_SUITES) \
	--plain "simulator, coverage=tests/simnode/coverage" \
	--plain "valgrind=tests/nets/valgrind --quick"

# New seeds and inputs, hours of the simulator, faults with real processes, big fleets, an upgrade.
LONG_SUITES := \
	--plain "simulator, ten minutes of new seeds=$(B)/sim-node --from clock --seconds 600 --jobs 2" \
	--plain "simulator, new seeds of ticks=$(B)/sim-node --ticks --from clock --seconds 300 --jobs 2" \
	--plain "simulator, new seeds of schedules=$(B)/sim-node --schedules --from clock --seconds 300 --jobs 2" \
	--plain "simulator, new seeds of queues=$(B)/sim-node --queues --from clock --seconds 300 --jobs 2" \
	--plain "simulator, fleets up to 200=$(B)/sim-scale" \
	--plain "fuzzing, new inputs=tests/fuzz/run --seconds 60" \
	--plain "valgrind, all of it=tests/nets/valgrind" \
	--plain "TSan, all of it=tests/nets/tsan" \
	--plain "integration under valgrind=tests/nets/integration valgrind" \
	--plain "integration under TSan=tests/nets/integration tsan" \
	--pytest "faults=-n 2 tests/faults" \
	--pytest "ticks=tests/ticks" \
	--pytest "scale=tests/scale" \
	--pytest "upgrade=tests/upgrade"

.PHONY: check check-build check-deep check-deep-build check-ci lint analyse
check: deps-check
	@echo building
	@$(MAKE) $(JOBS) -s WERROR=1 check-build
	@$(RUN) $(CHECK_SUITES)
check-build: all plain-bin model-bin $(B)/bench/draft $(B)/oracle/draft_fleets $(B)/oracle/schedule_times \
		$(B)/model $(B)/sim-node

check-deep: deps-deep
	@echo building
	@$(MAKE) $(JOBS) -s WERROR=1 check-deep-build
	@$(RUN) $(DEEP_SUITES) $(LONG_SUITES)
SECONDS_LEFT ?= 3600
# The first of it; nothing more is begun after SECONDS_LEFT.
check-ci: deps-deep
	@echo building
	@$(MAKE) $(JOBS) -s WERROR=1 check-deep-build
	@$(RUN) --seconds $(SECONDS_LEFT) $(CI_SUITES)
check-deep-build: check-build bench-bin $(B)/oracle/version_pairs $(B)/sim-scale \
		$(B)/sim-node-planted
	@$(MAKE) -s VARIANT=asan all plain-bin model-bin

lint: all
	tests/lint/run $(B)

analyse:
	tests/lint/analyse

.PHONY: check-faults compare
# Faults with real processes, the quick and the long ones; network namespaces need root.
check-faults: deps-check all
	/usr/bin/python3 -m pytest -n 2 -rP tests/integration/test_oracle.py tests/integration/test_fault*.py
	/usr/bin/python3 -m pytest -n 2 -rP tests/faults
# Leaders that trust their connection beside ours, behind a follower that is cut off. Curator may be missing.
compare: deps-check all
	-$(call install,$(PACKAGES_COMPARE))
	tests/faults/compare --build $(B)

.PHONY: check-scale
# 200 sidecars on this machine, which should have nothing else to do: 2 GiB, two minutes.
check-scale: deps-check all
	/usr/bin/python3 -m pytest -rP tests/scale

.PHONY: check-ticks
# Hundreds of ticks on four servers whose clocks differ; TICKS= and SEED= make another story.
check-ticks: deps-check all
	/usr/bin/python3 -m pytest -rP tests/integration/test_ticks.py tests/integration/test_cron.py tests/integration/test_run_kills.py
	/usr/bin/python3 -m pytest -rP tests/ticks

.PHONY: check-upgrade
# 0.1.0 and this version in one fleet, one host upgraded after the other, there and back. SEED= and TICKS=
# make another story.
check-upgrade: deps-check all
	$(call install,$(PACKAGES_UPGRADE))
	/usr/bin/python3 -m pytest -rP tests/upgrade

.PHONY: fuzz nets coverage
fuzz: deps-deep
	tests/fuzz/run
nets: deps-deep
	tests/nets/canaries
	tests/nets/valgrind
	tests/nets/tsan
	tests/nets/integration valgrind
	tests/nets/integration tsan
coverage: deps-deep
	tests/nets/coverage

# What is timed is timed by small programs of our own.
BENCH_BIN := $(patsubst %,$(B)/bench/%,spawn echo load)
$(BENCH_BIN): $(B)/bench/%: $(B)/tests/bench/%.o $(LINK_wire)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^

# What the draft of partitions costs and moves: the figures of docs/ELECTION.md.
$(B)/bench/draft: $(B)/tests/bench/draft.o $(LINK_core)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ -lm

.PHONY: bench bench-peers bench-bin
bench-bin: $(BENCH_BIN) $(B)/bench/draft
bench: deps-check all bench-bin
	$(call install,$(PACKAGES_BENCH))
	tests/bench/bench --build $(B)
# The same work by Curator's and kazoo's elections.
bench-peers: deps-check all bench-bin
	$(call install,$(PACKAGES_COMPARE))
	tests/bench/bench --build $(B) --peers --only elections

# --- installing -----------------------------------------------------------------------------------
BINDIR  := $(DESTDIR)$(PREFIX)/bin
MANDIR  := $(DESTDIR)$(PREFIX)/share/man
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
PCDIR   := $(DESTDIR)$(PREFIX)/lib/pkgconfig
CONFDIR := $(DESTDIR)$(SYSCONFDIR)/zkleader
DOCDIR  := $(DESTDIR)$(PREFIX)/share/doc/zkleader
COMPDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
PROGRAMS := zkleaderd zkleader zkleader-check zkleader-web zkleader-runner zkleader-notify
UNITS    := zkleaderd.service zkleaderd@.service zkleader-web.service zkleader-runner@.service \
	zkleader-rolling@.service zkleader-notify.service
MAN1     := zkleader zkleader-check
MAN3     := libzkleader
MAN5     := zkleader.conf zkleader-task zkleader-queue
MAN8     := zkleaderd zkleader-web zkleader-runner zkleader-notify
# $(1): a file, $(2): the folder that it goes to. With the paths that it is installed to.
install_text = sed -e 's|/usr/bin/zkleader|$(PREFIX)/bin/zkleader|g' \
	-e 's|/usr/share/doc/zkleader|$(PREFIX)/share/doc/zkleader|g' \
	-e 's|/etc/zkleader/|$(SYSCONFDIR)/zkleader/|g' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' $(1) | \
	install -m 644 /dev/stdin $(2)/$(notdir $(basename $(1)))$(filter-out .in,$(suffix $(1)))

# The sidecar, the runner and the notifier know where the configuration is installed.
INSTALLED := $(B)/zkleaderd $(B)/zkleader-runner $(B)/zkleader-notify
ifneq ($(SYSCONFDIR),/etc)
INSTALLED := $(addprefix $(B)/sysconf$(SYSCONFDIR)/,zkleaderd zkleader-runner zkleader-notify)
$(B)/sysconf$(SYSCONFDIR)/%.o: src/%/main.c $(B)/version
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -DSYSCONFDIR='"$(SYSCONFDIR)"' $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(B)/sysconf$(SYSCONFDIR)/zkleaderd: $(B)/sysconf$(SYSCONFDIR)/daemon.o $(LINK_daemon)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $(GROUP) $(DAEMON_LIBS)
$(B)/sysconf$(SYSCONFDIR)/zkleader-runner: $(B)/sysconf$(SYSCONFDIR)/runner.o $(RUNNER_REST)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(RUNNER_LIBS)
$(B)/sysconf$(SYSCONFDIR)/zkleader-notify: $(B)/sysconf$(SYSCONFDIR)/notify.o $(NOTIFY_REST)
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NOTIFY_LIBS)
endif

.PHONY: install uninstall
install: all $(INSTALLED)
	install -d $(BINDIR) $(MANDIR)/man1 $(MANDIR)/man3 $(MANDIR)/man5 $(MANDIR)/man8 $(UNITDIR) $(CONFDIR)/conf.d $(COMPDIR)
	install -d $(DOCDIR)/examples $(DOCDIR)/monitoring $(DESTDIR)$(PREFIX)/include $(PCDIR) $(DESTDIR)$(PREFIX)/lib/sysusers.d
	install -m 755 $(PROGRAMS:%=$(B)/%) $(BINDIR)
	install -m 755 $(INSTALLED) $(BINDIR)
	install -m 644 $(B)/libzkleader.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 include/zkleader.h $(DESTDIR)$(PREFIX)/include
	$(call install_text,include/zkleader.pc.in,$(PCDIR))
	$(foreach m,$(MAN1),$(call install_text,docs/man/$(m).1,$(MANDIR)/man1) &&) true
	$(foreach m,$(MAN3),$(call install_text,docs/man/$(m).3,$(MANDIR)/man3) &&) true
	$(foreach m,$(MAN5),$(call install_text,docs/man/$(m).5,$(MANDIR)/man5) &&) true
	$(foreach m,$(MAN8),$(call install_text,docs/man/$(m).8,$(MANDIR)/man8) &&) true
	$(foreach u,$(UNITS),$(call install_text,systemd/$(u),$(UNITDIR)) &&) true
	install -m 644 systemd/zkleader.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/zkleader.conf
	install -m 644 docs/zkleader.bash-completion $(COMPDIR)/zkleader
	ln -sf zkleader $(COMPDIR)/zkleaderd
	ln -sf zkleader $(COMPDIR)/zkleader-check
	ln -sf zkleader $(COMPDIR)/zkleader-web
	ln -sf zkleader $(COMPDIR)/zkleader-runner
	ln -sf zkleader $(COMPDIR)/zkleader-notify
	install -m 644 docs/*.md README.md LICENSE CHANGELOG.md $(DOCDIR)
	install -m 644 docs/monitoring/* $(DOCDIR)/monitoring
	install -m 755 docs/examples/* $(DOCDIR)/examples
	install -m 644 docs/zkleader.conf docs/queue.conf docs/notify.conf conf.d/example.conf systemd/nightly-report.timer $(DOCDIR)/examples
	$(call install_text,systemd/nightly-report.service,$(DOCDIR)/examples)
	[ -e $(CONFDIR)/zkleader.conf ] || install -m 644 docs/zkleader.conf $(CONFDIR)

# The configuration stays: it is the user's.
uninstall:
	rm -f $(PROGRAMS:%=$(BINDIR)/%) $(DESTDIR)$(PREFIX)/lib/libzkleader.a $(DESTDIR)$(PREFIX)/include/zkleader.h
	rm -f $(PCDIR)/zkleader.pc $(MAN1:%=$(MANDIR)/man1/%.1) $(MAN3:%=$(MANDIR)/man3/%.3) $(MAN5:%=$(MANDIR)/man5/%.5) $(MAN8:%=$(MANDIR)/man8/%.8)
	rm -f $(UNITS:%=$(UNITDIR)/%) $(DESTDIR)$(PREFIX)/lib/sysusers.d/zkleader.conf
	rm -f $(COMPDIR)/zkleader $(COMPDIR)/zkleaderd $(COMPDIR)/zkleader-check $(COMPDIR)/zkleader-web
	rm -f $(COMPDIR)/zkleader-runner $(COMPDIR)/zkleader-notify
	rm -rf $(DOCDIR)

.PHONY: clean help
clean:
	rm -rf build

help:
	@echo 'make              build the programs into $(B)'
	@echo 'make demo         install what is missing, build, and show it at work on a real ZooKeeper'
	@echo 'make demo-web     a fleet of four with jobs and faults to look at in a browser, until Ctrl-C'
	@echo 'make check        install what is missing, build, and tell in ten minutes whether it works'
	@echo 'make check-deep   the rest, hours: sanitizers, fuzzing, faults, long simulation, scale, upgrade'
	@echo 'make deps         install what building needs; deps-check, deps-deep: what the tests need as well'
	@echo 'make unit         unit tests alone; VARIANT=asan or cov builds them so'
	@echo 'make check-faults faults with real processes; compare: beside Curator and kazoo'
	@echo 'make check-scale  200 sidecars with 200 tasks each, 10,000 tasks on one, on a real server'
	@echo 'make check-upgrade  0.1.0 and this version in one fleet, one host upgraded after the other'
	@echo 'make check-ticks  520 ticks of `zkleader run` on four servers with skewed clocks, 300 of schedules, and trouble'
	@echo 'make model sim    all sequences of one election; ten minutes of simulated fleets'
	@echo 'make sim-ticks    ten minutes of simulated fleets with runs at each tick'
	@echo 'make sim-scale    what fleets of 10 to 5,000 workers cost their servers, simulated'
	@echo 'make fuzz nets    fuzzing; valgrind, TSan and canaries; coverage: what unit tests run'
	@echo 'make bench        what it costs on this machine; bench-peers: beside Curator and kazoo'
	@echo 'make lint         house rules; analyse: static analysers'
	@echo 'make install      DESTDIR= PREFIX=/usr; uninstall'
	@echo 'make clean'

-include $(shell find $(B) -name '*.d' 2>/dev/null)
