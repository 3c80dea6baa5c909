# Nets for faults that tests alone do not find: sanitizers, whose variants have flags of their own, and fuzzing.

OPTIMISE_asan := -O1 -g
COMPILE_asan  := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LINK_asan     := -fsanitize=address,undefined
OPTIMISE_tsan := -O1 -g
COMPILE_tsan  := -fsanitize=thread -fno-omit-frame-pointer
LINK_tsan     := -fsanitize=thread
OPTIMISE_cov  := -O0 -g
COMPILE_cov   := --coverage
LINK_cov      := --coverage

# The release with the client of make zookeeper-client, beside one without.
OPTIMISE_tls = $(OPTIMISE_release)
COMPILE_tls  = $(COMPILE_release)
LINK_tls     = $(LINK_release)

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
