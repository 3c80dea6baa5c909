# Goals of people and CI; the suites are in tests/suites.
## make demo         install what is missing, build, and show it at work on a real ZooKeeper
## make demo-web     a fleet of four with jobs and faults to look at in a browser, until Ctrl-C
## make check        install what is missing, build, and tell in ten minutes whether it works
## make check-deep   the rest, hours: sanitizers, fuzzing, faults, long simulation, scale, upgrade
## make unit         unit tests alone; VARIANT=asan or cov builds them so
## make prove        what docs/SAFETY.md promises, each by its command: what was done, what was seen
## make check-faults faults with real processes; compare: beside Curator and kazoo
## make check-scale  200 sidecars with 200 tasks each, 10,000 tasks on one, on a real server
## make check-tls    builds ZooKeeper's client with TLS and SASL, tests these, and the faults through TLS
## make check-upgrade  0.1.0 and this version in one fleet, one host upgraded after the other
## make check-packages  the Debian packages on a machine of its own, the image and pods of it, the role for Ansible
## make check-ticks  520 ticks of `zkleader run` on four servers with skewed clocks, 300 of schedules, and trouble
## make check-clients  the libraries of other languages; bench-clients: one question in each; wheel
## make model sim    all sequences of one election; ten minutes of simulated fleets
## make sim-ticks    ten minutes of simulated fleets with runs at each tick
## make sim-scale    what fleets of 10 to 5,000 workers cost their servers, simulated
## make fuzz nets    fuzzing; valgrind, TSan and canaries; coverage: what unit tests run
## make bench        what it costs on this machine; bench-peers: beside Curator and kazoo
## make pictures    those of the documents: drawn, and one taken of the page in a browser
## make lint         house rules; analyse: static analysers; completions: makes those for zsh and fish

# --- installing what is missing ------------------------------------------------------------
.PHONY: deps-demo deps-check deps-deep
# Packages of npm for the tests in these folders.
install_npm = @for tests in $(1); do [ -e $$tests/node_modules/.package-lock.json ] || \
	npm ci --silent --no-audit --no-fund --prefix $$tests || exit 1; done
deps-demo:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_DEMO))
deps-check:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_DEMO) $(PACKAGES_CHECK))
deps-deep:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_DEMO) $(PACKAGES_CHECK) $(PACKAGES_DEEP) $(PACKAGES_CLIENTS) \
		$(PACKAGES_ZOOKEEPER) $(PACKAGES_TLS) $(PACKAGES_DEB) $(PACKAGES_PACKAGES))
	$(call install_npm,tests/browser tests/clients)

.PHONY: demo demo-web
demo: deps-demo
	@$(MAKE) -s all
	@tests/demo/demo $(B)
# A fleet with faults to look at in a browser, until Ctrl-C.
demo-web: deps-demo
	@$(MAKE) -s all
	@tests/demo/demo-web $(B)

JOBS := -j$(shell nproc)
# Whoever runs several of them gets their sum in the closing line.
RUN  := tests/run --build $(B) $(if $(COUNTS),--counts $(COUNTS))

.PHONY: pictures check check-build check-deep check-deep-build check-ci check-ci-build lint completions analyse
check: deps-check
	@echo building
	@$(MAKE) $(JOBS) -s WERROR=1 check-build
	@$(RUN) check
check-build: all plain-bin model-bin $(B)/bench/draft $(B)/oracle/draft_fleets $(B)/oracle/schedule_times \
		$(B)/model $(B)/sim-node

check-deep: deps-deep
	@echo building
	@$(MAKE) $(JOBS) -s WERROR=1 check-deep-build
	@$(RUN) ci tls deep long
SECONDS_LEFT ?= 3600
# The first of it; nothing more is begun after SECONDS_LEFT.
check-ci: deps-deep
	@echo building
	@$(MAKE) $(JOBS) -s WERROR=1 check-ci-build
	@$(RUN) --seconds $(SECONDS_LEFT) ci
check-ci-build: check-build bench-bin $(B)/oracle/version_pairs $(B)/sim-scale \
		$(B)/sim-node-planted
	@$(MAKE) -s VARIANT=asan all plain-bin model-bin
check-deep-build: check-ci-build
	@$(MAKE) -s VARIANT=tls zookeeper-client
	@$(MAKE) -s VARIANT=tls all

lint: all
	tests/lint/run $(B)
# For zsh and fish, from the helps.
completions: all
	for shell in zsh fish; do tests/lint/completions $$shell $(B) > docs/zkleader.$$shell-completion || exit 1; done

# Those of the documents. What the page looks like is taken by its test.
pictures: all
	docs/pictures/draw.py
	PICTURE=$(CURDIR)/docs/pictures/page.png /usr/bin/python3 -m pytest -q tests/browser/test_picture.py

analyse:
	tests/lint/analyse

.PHONY: prove check-faults compare
prove: deps-check all $(B)/sim-node $(B)/model
	@tests/prove
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
	/usr/bin/python3 -m pytest -rP tests/upgrade

include tests/clients/clients.mk
.PHONY: check-packages
# The packages: built twice, lintian, and on a machine by debootstrap; what is made of them: the image, pods by the
# manifests, and two machines by Ansible. Root; RELEASE=bookworm.
check-packages: deps-check all
	$(call install,$(PACKAGES_DEB) $(PACKAGES_PACKAGES))
	/usr/bin/python3 -m pytest -rP tests/deb

.PHONY: check-tls deps-tls
deps-tls: deps-check
	$(call install,$(PACKAGES_ZOOKEEPER) $(PACKAGES_TLS))
# In a folder of its own, build/tls.
check-tls: deps-tls
	@$(MAKE) -s VARIANT=tls zookeeper-client
	@$(MAKE) $(JOBS) -s WERROR=1 VARIANT=tls all
	@$(RUN) tls
