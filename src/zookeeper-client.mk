# ZooKeeper's C client with TLS and SASL, which Debian's library has not: the one of Debian's own source package.
## make zookeeper-client  fetch Debian's source of ZooKeeper's client and build it with TLS and SASL; make then links it

# The folder of the built client; ZOOKEEPER_SOURCE= names an unpacked source, so that nothing is fetched.
ZOOKEEPER_CLIENT ?= build/$(if $(filter tls,$(VARIANT)),tls/)zookeeper-client
ZOOKEEPER_SOURCE ?= $(ZOOKEEPER_CLIENT)/source
ZOOKEEPER_A := $(ZOOKEEPER_CLIENT)/lib/libzookeeper_mt.a

.PHONY: zookeeper-client deps-client
deps-client:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_ZOOKEEPER))
zookeeper-client: $(if $(filter file,$(origin ZOOKEEPER_SOURCE)),deps-client)
	@$(MAKE) -s --no-print-directory ZOOKEEPER_SOURCE='$(ZOOKEEPER_SOURCE)' $(ZOOKEEPER_A)

# apt reads lists of its own, of the sources of those Debian archives that the machine has: its own are not touched.
APT_DIR := $(abspath $(ZOOKEEPER_CLIENT))/apt
APT := apt-get -q -c $(APT_DIR)/apt.conf
$(ZOOKEEPER_CLIENT)/source/zookeeper-client:
	@rm -rf $(@D) && mkdir -p $(APT_DIR)/lists/partial $(APT_DIR)/archives/partial $(APT_DIR)/parts
	@key=/usr/share/keyrings/debian-archive-keyring; for key in $$key.gpg $$key.pgp; do [ ! -e $$key ] || break; done; \
	apt-get indextargets --format "deb-src [signed-by=$$key] \$$(REPO_URI) \$$(RELEASE) \$$(COMPONENT)" \
		'Created-By: Packages' 'Origin: Debian' | sort -u > $(APT_DIR)/sources.list
	@[ -s $(APT_DIR)/sources.list ] || { echo "apt knows no archive of Debian: run apt-get update, or name an unpacked" \
		"source of the package zookeeper as ZOOKEEPER_SOURCE=" >&2; exit 1; }
	@printf '#clear APT::Update::%s;\n' Pre-Invoke Post-Invoke Post-Invoke-Success > $(APT_DIR)/apt.conf
	@printf '%s "%s";\n' Dir::Etc::SourceList $(APT_DIR)/sources.list Dir::Etc::SourceParts $(APT_DIR)/parts \
		Dir::State::Lists $(APT_DIR)/lists Dir::Cache::archives $(APT_DIR)/archives \
		Dir::Cache::srcpkgcache '' Dir::Cache::pkgcache '' APT::Sandbox::User "$$(id -un)" >> $(APT_DIR)/apt.conf
	$(APT) update
	cd $(APT_DIR)/archives && $(APT) source --only-source --download-only zookeeper
	dpkg-source --no-check -x $(APT_DIR)/archives/zookeeper_*.dsc $(@D)
	@rm -rf $(APT_DIR) $(ZOOKEEPER_CLIENT)/zookeeper_*

# The sources are few: they are compiled as they are, with what src/zookeeper-client.patch changes and why.
CLIENT_C := zookeeper recordio zk_log zk_hashtable addrvec mt_adaptor zk_sasl hashtable/hashtable hashtable/hashtable_itr
CLIENT_HAVE := ARPA_INET_H GETCWD GETHOSTNAME GETUID NETDB_H NETINET_IN_H POLL STRING_H SYS_SOCKET_H SYS_TIME_H \
	SYS_UTSNAME_H UNISTD_H
CLIENT_FLAGS := -DHAVE_OPENSSL_H -DHAVE_CYRUS_SASL_H
$(ZOOKEEPER_A): src/zookeeper-client.patch src/zookeeper-client.mk | $(ZOOKEEPER_SOURCE)/zookeeper-client
	@rm -rf $(ZOOKEEPER_CLIENT)/work $(ZOOKEEPER_CLIENT)/include $(@D)
	@mkdir -p $(ZOOKEEPER_CLIENT)/work/zookeeper-client $(ZOOKEEPER_CLIENT)/include/zookeeper $(@D)
	cp -r $(ZOOKEEPER_SOURCE)/zookeeper-client/zookeeper-client-c $(ZOOKEEPER_CLIENT)/work/zookeeper-client
	patch -s -p1 -d $(ZOOKEEPER_CLIENT)/work < src/zookeeper-client.patch
	cp $(ZOOKEEPER_SOURCE)/zookeeper-jute/src/main/resources/zookeeper.jute $(ZOOKEEPER_CLIENT)/work
	cd $(ZOOKEEPER_CLIENT)/work && java -cp /usr/share/java/zookeeper-jute.jar \
		org.apache.jute.compiler.generated.Rcc -l c zookeeper.jute >/dev/null
	cp $(ZOOKEEPER_CLIENT)/work/*.h $(ZOOKEEPER_CLIENT)/work/zookeeper-client/*/include/*.h $(ZOOKEEPER_CLIENT)/include/zookeeper
	@(printf '#define HAVE_%s 1\n' $(CLIENT_HAVE); echo '#define PACKAGE_STRING "zookeeper C client"'; \
		echo '#define SOCK_CLOEXEC_ENABLED 1'; echo '#define POLL_NFDS_TYPE nfds_t') > $(ZOOKEEPER_CLIENT)/work/config.h
	cd $(ZOOKEEPER_CLIENT)/work && for c in $(CLIENT_C:%=zookeeper-client/zookeeper-client-c/src/%.c) zookeeper.jute.c; do \
		$(CC) $(CPPFLAGS) -O2 -g -fPIC -fstack-protector-strong -fstack-clash-protection $(CFLAGS) -w -D_GNU_SOURCE \
		-DTHREADED -DUSE_STATIC_LIB -DHAVE_CONFIG_H -DZOO_IPV6_ENABLED $(CLIENT_FLAGS) -I. -I../include/zookeeper \
		-Izookeeper-client/zookeeper-client-c/src -c $$c || exit 1; done
	$(AR) rcs $@ $(ZOOKEEPER_CLIENT)/work/*.o
	@rm -rf $(ZOOKEEPER_CLIENT)/work

# The sidecar links this client where it is there, else Debian's. The code asks ZKLEADER_TLS.
ifneq ($(wildcard $(ZOOKEEPER_A)),)
ZOOKEEPER_CPPFLAGS := -isystem $(ZOOKEEPER_CLIENT)/include -DZKLEADER_TLS $(CLIENT_FLAGS)
ZOOKEEPER_LIBS := $(ZOOKEEPER_A) -lssl -lcrypto -lsasl2 -lm
else
ZOOKEEPER_LIBS := -lzookeeper_mt
endif
$(B)/daemon/zookeeper/%.o: BASE_CFLAGS += $(ZOOKEEPER_CPPFLAGS)
$(call objects,daemon/zookeeper): $(B)/zookeeper-flags
$(B)/zookeeper-flags: FORCE
	@mkdir -p $(@D)
	@echo '$(ZOOKEEPER_LIBS) $(ZOOKEEPER_CPPFLAGS)' | cmp -s - $@ || echo '$(ZOOKEEPER_LIBS) $(ZOOKEEPER_CPPFLAGS)' > $@
