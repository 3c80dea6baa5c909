# Unit tests, the model test and the oracles.

# A program a file: tests/unit/LAYER_MODULE.c, linked with its layer only.
UNIT := $(sort $(basename $(notdir $(wildcard tests/unit/*.c))))
UNIT_BIN := $(UNIT:%=$(B)/unit/%)
LIBS_config := -lconfuse
LIBS_control := -lconfuse
LIBS_daemon := $(LIBS_zkleaderd)
LIBS_client := $(LIBS_zkleader)
LIBS_web := $(LIBS_zkleader-web)
LINK_runner := $(LINKS_zkleader-runner)
LIBS_runner := $(LIBS_zkleader-runner)
LINK_notify := $(LINKS_zkleader-notify)
LIBS_notify := $(LIBS_zkleader-notify)

# The tests themselves are not optimised: compiling them would take four times as long. With sanitizers gcc
# warns falsely then.
UNIT_CFLAGS := $(if $(filter release,$(VARIANT)),-O0 -U_FORTIFY_SOURCE)
$(B)/unit/%.o: tests/unit/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -Wmissing-prototypes -Wnull-dereference,$(BASE_CFLAGS)) $(CPPFLAGS) $(CFLAGS) $(UNIT_CFLAGS) \
		-MMD -MP -c -o $@ $<
.SECONDEXPANSION:
$(UNIT_BIN): %: %.o $$(LINK_$$(firstword $$(subst _, ,$$(@F))))
	$(link) $(LIBS_$(firstword $(subst _, ,$(@F)))) -lcriterion

# Its own allocations can be made to fail.
$(B)/unit/client_memory $(B)/plain/client_memory: BASE_LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc

# Its own functions stand for those of ZooKeeper's client, which may be linked statically.
$(B)/unit/daemon_zk $(B)/plain/daemon_zk: BASE_LDFLAGS += -Wl,--allow-multiple-definition

# The same without Criterion's library, which is slow, and which nets cannot bear.
PLAIN_BIN := $(UNIT:%=$(B)/plain/%)
$(PLAIN_BIN): $(B)/plain/%: $(B)/unit/%.o $(B)/tests/nets/plain_runner.o $$(LINK_$$(firstword $$(subst _, ,$$(@F))))
	@mkdir -p $(@D)
	$(link) $(LIBS_$(firstword $(subst _, ,$(@F)))) -lpthread

.PHONY: unit-bin unit plain-bin
plain-bin: $(PLAIN_BIN)
unit-bin: $(UNIT_BIN)
unit: plain-bin
	tests/run --unit $(B)/plain

$(patsubst %,$(B)/oracle/%,version_pairs draft_fleets schedule_times): $(B)/oracle/%: $(B)/tests/oracle/%.o $(LINK_core)
	@mkdir -p $(@D)
	$(link)

# The model test: a plain program over the core.
$(B)/tests/%.o: tests/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/model: $(patsubst tests/%.c,$(B)/tests/%.o,$(wildcard tests/model/*.c)) $(LINK_core)
	$(link)
