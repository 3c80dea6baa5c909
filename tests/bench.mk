# What it costs.

# What is timed is timed by small programs of our own.
BENCH_BIN := $(patsubst %,$(B)/bench/%,spawn echo load)
$(BENCH_BIN): $(B)/bench/%: $(B)/tests/bench/%.o $(LINK_wire)
	@mkdir -p $(@D)
	$(link)

# What the draft of partitions costs and moves: the figures of docs/ELECTION.md.
$(B)/bench/draft: $(B)/tests/bench/draft.o $(LINK_core)
	@mkdir -p $(@D)
	$(link) -lm

.PHONY: bench bench-peers bench-bin
bench-bin: $(BENCH_BIN) $(B)/bench/draft
bench: deps-check all bench-bin
	$(call install,$(PACKAGES_BENCH))
	tests/bench/bench --build $(B)
# The same work by Curator's and kazoo's elections.
bench-peers: deps-check all bench-bin
	$(call install,$(PACKAGES_COMPARE))
	tests/bench/bench --build $(B) --peers --only elections
