# Benches: the costs of it all.

# Small programs of our own take the times.
BENCH_BIN := $(patsubst %,$(B)/bench/%,spawn echo load)
$(BENCH_BIN): $(B)/bench/%: $(B)/tests/bench/%.o $(LINK_wire)
	@mkdir -p $(@D)
	$(link)

# The draft of partitions: its cost, and how much it moves (docs/ELECTION.md).
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
