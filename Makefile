# zkleader: `make help` lists what it makes. What tests and shows it lies in tests/*.mk.
## make              build the programs into $(B)
## make deps         install what building needs; deps-check, deps-deep: what the tests need as well
## make install      DESTDIR= PREFIX=/usr LIBDIR=PREFIX/lib SYSCONFDIR=/etc; uninstall
## make deb          Debian packages in build/deb; dist: the source as zkleader-VERSION.tar.xz
## make clean

.DEFAULT_GOAL := all
VERSION := $(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
PREFIX  ?= /usr
DESTDIR ?=
SYSCONFDIR ?= /etc
# The folder where Debian's Python looks for modules.
PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
LIBDIR  ?= $(PREFIX)/lib

# A variant is a set of flags with a folder of its own: make VARIANT=asan
VARIANT ?= release
B       := build/$(VARIANT)
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
# zkleader-check is run thousands of times a day; a static start costs a quarter of a dynamic one.
CHECK_CC ?= $(shell command -v musl-gcc || echo $(CC))
CHECK_CFLAGS := $(if $(filter undefined,$(origin CFLAGS)),-Os,$(CFLAGS))

# The packages: how their names are written, tests/packages says.
PACKAGES_BUILD := gcc libc6-dev make pkg-config libzookeeper-mt-dev libconfuse-dev \
	libmsgpack-c-dev|libmsgpack-dev libuv1-dev libxxhash-dev libjansson-dev libsmartcols-dev libmicrohttpd-dev \
	libcurl4-openssl-dev uuid-dev zlib1g-dev musl-tools
PACKAGES_DEMO := libzookeeper-java default-jre-headless procps cron
PACKAGES_CHECK := libcriterion-dev clang-format-14? binutils faketime iproute2 iptables psmisc systemd mandoc \
	curl jq shellcheck python3 python3-pytest python3-pytest-xdist python3-kazoo python3-msgpack python3-xxhash tzdata
PACKAGES_DEEP := clang libclang-rt-dev clang-tidy cppcheck gdb valgrind libmaven3-core-java default-jdk-headless \
	prometheus postgresql python3-psycopg2 chromium chromium-driver python3-selenium
PACKAGES_TLS := openssl libsasl2-modules libsasl2-modules-gssapi-mit krb5-kdc krb5-admin-server
PACKAGES_CLIENTS := default-jdk-headless golang-go golang-honnef-go-tools-dev nodejs node-typescript python3 \
	python3-setuptools python3-wheel mypy pyflakes3 pycodestyle $(if $(shell command -v npm),,npm)
PACKAGES_ZOOKEEPER := libssl-dev libsasl2-dev libzookeeper-java default-jre-headless patch dpkg-dev
PACKAGES_DEB := build-essential debhelper dh-python fakeroot git python3 xz-utils
PACKAGES_PACKAGES := lintian debootstrap systemd-container ansible-core python3-yaml python3-kubernetes
PACKAGES_BENCH := zookeeper socat curl util-linux python3-rq redis-server
PACKAGES_COMPARE := libcurator-recipes-java
install = @tests/packages $(foreach package,$(1),'$(package)')
deps: ; $(call install,$(PACKAGES_BUILD))

# --- flags ------------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wformat=2 -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wswitch-enum -Wvla -Wundef -Wpointer-arith \
	-Wcast-qual -Wwrite-strings -Wnull-dereference $(if $(filter 1,$(WERROR)),-Werror) \
	$(if $(findstring clang,$(CC)),,-Wduplicated-cond -Wlogical-op)
BASE_CFLAGS := -std=c11 -D_GNU_SOURCE -DZKLEADER_VERSION='"$(VERSION)"' -Isrc -Iinclude $(WARNINGS)
# Flags of each variant: optimisation, if the user does not say, and what is added for compiling and linking.
# The others are those of the nets.
OPTIMISE_release := -O2 -g
COMPILE_release  := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE -D_FORTIFY_SOURCE=2
LINK_release     := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
include tests/nets.mk
$(if $(COMPILE_$(VARIANT)),,$(error unknown VARIANT $(VARIANT): release, asan, tsan, cov or tls))
CFLAGS       ?= $(OPTIMISE_$(VARIANT))
BASE_CFLAGS  += $(COMPILE_$(VARIANT))
BASE_LDFLAGS := $(LINK_$(VARIANT))
# Code that is the sidecar's alone is not unwound at run time, and debuggers have .debug_frame: an eighth
# of the program less to load. The libraries' tables are kept, for exceptions of an application.
UNWIND_release := -fno-asynchronous-unwind-tables
$(B)/node/%.o $(B)/control/%.o $(B)/daemon/%.o: BASE_CFLAGS += $(UNWIND_$(VARIANT))

# --- sources ----------------------------------------------------------------------------------
# A layer is a folder of src with its rooms; what lies there is built. The files with a main() are no
# part of a layer: tests link it without them.
layer   = $(wildcard $(addprefix src/$(1),/*.c /*/*.c /*/*/*.c))
objects = $(patsubst src/%.c,$(B)/%.o,$(filter-out %/main.c %_main.c,$(call layer,$(1))))
LAYERS := base core wire http config node control daemon api check supervise cli runner notify web
$(foreach l,$(LAYERS),$(eval LIB_$(l) := $(B)/lib$(l).a))
$(foreach l,$(LAYERS),$(eval $(LIB_$(l)): $(call objects,$(l))))

# Each layer links itself and those below it.
LINK_base   := $(LIB_base)
LINK_http   := $(LIB_http) $(LIB_base)
LINK_core   := $(LIB_core) $(LIB_base)
LINK_wire   := $(LIB_wire) $(LIB_core) $(LIB_base)
LINK_config := $(LIB_config) $(LIB_core) $(LIB_base)
# Whoever links a node gives it a machine and a store: the daemon, or a test.
LINK_node   := $(LIB_node) $(LINK_wire)
LINK_control := $(LIB_control) $(LIB_config) $(LINK_node)
LINK_daemon := $(LIB_daemon) $(LINK_control)
LINK_api    := $(LIB_api) $(LINK_wire)
LINK_supervise := $(LIB_supervise) $(LINK_api)
LINK_client := $(LIB_cli) $(LIB_check) $(LINK_supervise)
LINK_web    := $(LIB_web) $(LINK_api)

include src/zookeeper-client.mk
# --- programs ---------------------------------------------------------------------------------
PROGRAMS := zkleaderd zkleader zkleader-check zkleader-web zkleader-runner zkleader-notify
folder = $(patsubst zkleaderd,daemon,$(patsubst zkleader,cli,$(1:zkleader-%=%)))
# The archives and libraries of each program but zkleader-check.
LINKS_zkleaderd  := $(LINK_daemon)
LIBS_zkleaderd   := $(ZOOKEEPER_LIBS) -lconfuse -luv -lpthread
LINKS_zkleader   := $(LINK_client)
LIBS_zkleader    := -ljansson -lsmartcols
LINKS_zkleader-web  := $(LINK_web)
LIBS_zkleader-web   := -lmicrohttpd -ljansson -lsmartcols -luv
LINKS_zkleader-runner  := $(LIB_runner) $(LIB_http) $(LIB_supervise) $(LIB_api) $(LIB_wire) $(LINK_config)
LIBS_zkleader-runner   := -lconfuse -ljansson -lsmartcols
LINKS_zkleader-notify  := $(LIB_notify) $(LIB_http) $(LIB_api) $(LIB_wire) $(LINK_config)
LIBS_zkleader-notify   := -lconfuse -ljansson -lsmartcols

include include/library.mk
all: $(PROGRAMS:%=$(B)/%) $(LIBRARIES)
# The daemon's archive has what node/ and control/ call in host.h, store.h and peer.h: they need one another.
# Ids of src/base need libuuid, the roll of src/wire zlib.
link = $(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ -Wl,--start-group $^ -Wl,--end-group -luuid -lz
# $(1): a program, $(2): the object of its main().
define program
$(1): $(2) $(LINKS_$(notdir $(1)))
	$$(link) $(LIBS_$(notdir $(1)))
endef
$(foreach p,$(filter-out %-check,$(PROGRAMS)),$(eval $(call program,$(B)/$(p),$(B)/$(call folder,$(p))/main.o)))
$(B)/web/assets/assets.o: $(wildcard src/web/assets/*)

$(B)/lib%.a: ; @rm -f $@
	$(AR) rcs $@ $^

# With another version, compiler or flags of the user's all is built anew.
FLAGS := $(VERSION) $(CC) $(CHECK_CC) $(CPPFLAGS) $(CFLAGS) $(CHECK_CFLAGS) $(LDFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@
FORCE:
$(B)/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# --- installing -----------------------------------------------------------------------------------
BINDIR  := $(DESTDIR)$(PREFIX)/bin
MANDIR  = $(SHARE)/man
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
PCDIR   := $(DESTDIR)$(LIBDIR)/pkgconfig
CONFDIR := $(DESTDIR)$(SYSCONFDIR)/zkleader
DOCDIR  = $(SHARE)/doc/zkleader
SHARE   := $(DESTDIR)$(PREFIX)/share
# bash and fish look for a file for each program, and Debian's zsh in a folder of its own.
COMPLETIONS := $(PROGRAMS:%=$(SHARE)/bash-completion/completions/%) $(PROGRAMS:%=$(SHARE)/fish/vendor_completions.d/%.fish) \
	$(SHARE)/zsh/site-functions/_zkleader $(SHARE)/zsh/vendor-completions/_zkleader
UNITS    := $(filter-out systemd/nightly-report.service,$(wildcard systemd/*.service))
DEVELOPERS := docs/ARCHITECTURE.md docs/HACKING.md docs/SIMULATION.md docs/TESTING.md
MAN      := $(wildcard docs/man/*.[1358])
# $(1): a file, $(2): the folder that it goes to. With the paths that it is installed to.
install_text = sed -e 's|/usr/bin/zkleader|$(PREFIX)/bin/zkleader|g' \
	-e 's|/usr/share/doc/zkleader|$(PREFIX)/share/doc/zkleader|g' \
	-e 's|/etc/zkleader/|$(SYSCONFDIR)/zkleader/|g' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	-e 's|@VERSION@|$(VERSION)|' $(1) | \
	install -D -m 644 /dev/stdin $(2)/$(notdir $(basename $(1)))$(filter-out .in,$(suffix $(1)))

# The sidecar, the runner and the notifier know where the configuration is installed.
CONFIGURED := zkleaderd zkleader-runner zkleader-notify
CONFIGURED_IN := $(B)
ifneq ($(SYSCONFDIR),/etc)
CONFIGURED_IN := $(B)/sysconf$(SYSCONFDIR)
$(CONFIGURED_IN)/%.o: src/%/main.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) -DSYSCONFDIR='"$(SYSCONFDIR)"' $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(foreach p,$(CONFIGURED),$(eval $(call program,$(CONFIGURED_IN)/$(p),$(CONFIGURED_IN)/$(call folder,$(p)).o)))
endif
INSTALLED := $(CONFIGURED:%=$(CONFIGURED_IN)/%) $(patsubst %,$(B)/%,$(filter-out $(CONFIGURED),$(PROGRAMS)))

install: all $(INSTALLED)
	install -d $(CONFDIR)/conf.d
	install -D -m 755 -t $(BINDIR) $(INSTALLED)
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(LIBRARIES)
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/$(SONAME) && ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/libzkleader.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include include/zkleader.h
	$(call install_text,include/zkleader.pc.in,$(PCDIR))
	$(foreach m,$(MAN),$(call install_text,$(m),$(MANDIR)/man$(subst .,,$(suffix $(m)))) &&) true
	$(foreach u,$(UNITS),$(call install_text,$(u),$(UNITDIR)) &&) true
	install -D -m 644 systemd/zkleader.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/zkleader.conf
	$(foreach s,bash fish zsh,$(foreach f,$(filter $(SHARE)/$(s)%,$(COMPLETIONS)), \
		install -D -m 644 docs/zkleader.$(s)-completion $(f) &&)) true
	install -D -m 644 -t $(DOCDIR) $(filter-out $(DEVELOPERS) docs/README.md,$(wildcard docs/*.md)) README.md LICENSE CHANGELOG.md
	install -m 644 docs/README.md $(DOCDIR)/INDEX.md
	install -D -m 644 -t $(DOCDIR)/pictures docs/pictures/*.svg docs/pictures/*.png
	cd docs && find monitoring kubernetes ansible -type f -exec install -D -m 644 {} $(abspath $(DOCDIR))/{} \;
	install -D -m 755 -t $(DOCDIR)/examples docs/examples/*
	install -m 644 -t $(DOCDIR)/examples docs/*.conf conf.d/example.conf systemd/nightly-report.timer
	$(call install_text,systemd/nightly-report.service,$(DOCDIR)/examples)
	install -D -m 644 -t $(DESTDIR)$(PYTHONDIR)/zkleader clients/python/zkleader/*.py clients/python/zkleader/py.typed
	[ -e $(CONFDIR)/zkleader.conf ] || install -m 644 docs/zkleader.conf $(CONFDIR)

# The configuration stays: it is the user's.
uninstall:
	rm -rf $(DOCDIR) $(DESTDIR)$(PYTHONDIR)/zkleader $(PROGRAMS:%=$(BINDIR)/%) $(COMPLETIONS) $(patsubst systemd/%,$(UNITDIR)/%,$(UNITS)) \
		$(foreach m,$(MAN),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) $(PCDIR)/zkleader.pc \
		$(addprefix $(DESTDIR)$(LIBDIR)/,libzkleader.a libzkleader.so $(SONAME) $(SHARED)) \
		$(addprefix $(DESTDIR)$(PREFIX)/,include/zkleader.h lib/sysusers.d/zkleader.conf)

include debian/package.mk tests/unit.mk tests/sim.mk tests/check.mk tests/bench.mk
.PHONY: all deps install uninstall clean help FORCE
clean: ; rm -rf build
help: ; @sed -n 's/^## //p' $(filter-out %.d,$(MAKEFILE_LIST))

-include $(shell find $(B) -name '*.d' 2>/dev/null)
