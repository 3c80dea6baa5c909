# The C API of the socket as libzkleader.a and libzkleader.so, and zkleader-check, which is nothing but a user of it.
SONAME := libzkleader.so.0
SHARED := libzkleader.so.$(VERSION)
API := $(patsubst src/%.c,%,$(filter-out %/json.c %/output.c %/follow.c %/context.c,$(call layer,api))) check/check \
	$(addprefix base/text/,duration name printable options uuid_text) base/mem base/utf8 base/buffer base/clock base/fd \
	wire/keys wire/reader wire/pack wire/rpc core/queue/job_id
# zkleader-check knows nothing of jobs, whose ids need libuuid.
CHECK := check/check_main $(filter-out api/job_api core/queue/job_id base/text/uuid_text,$(API))
LIBRARIES := $(B)/libzkleader.a $(B)/$(SHARED)
$(B)/libzkleader.a: $(B)/zkleader_api.o
# For applications: one object that shows nothing but zkleader_*, and has what it needs of libuuid.
$(B)/zkleader_api.o: $(patsubst %,$(B)/%.o,$(filter-out check/%,$(API)))
	$(CC) -r -nostdlib -o $@ $^ -l:libuuid.a
	objcopy --wildcard --keep-global-symbol='zkleader_*' $@
# The shared one shows what the header declares, by the names of the map.
$(B)/shared/%.o: src/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out -fPIE,$(BASE_CFLAGS)) -fPIC -fvisibility=hidden $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/$(SHARED): $(patsubst %,$(B)/shared/%.o,$(filter-out check/%,$(API))) include/libzkleader.map
	$(CC) $(CFLAGS) $(filter-out -pie,$(BASE_LDFLAGS)) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) \
		-Wl,--version-script=include/libzkleader.map -o $@ $(filter %.o,$^) -luuid
ifeq ($(VARIANT),release)
# msgpack-c's packer is all in its headers; musl-gcc searches no glibc folder, so it gets them alone.
$(B)/static/include:
	@mkdir -p $@
	ln -sfn /usr/include/msgpack $@/msgpack && ln -sfn /usr/include/msgpack.h $@/msgpack.h
$(B)/static/%.o: src/%.c $(B)/flags | $(B)/static/include
	@mkdir -p $(@D)
	$(CHECK_CC) -std=c11 -D_GNU_SOURCE -DZKLEADER_VERSION='"$(VERSION)"' -Isrc -Iinclude \
		-isystem $(B)/static/include -fstack-protector-strong $(CPPFLAGS) $(CHECK_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/zkleader-check: $(CHECK:%=$(B)/static/%.o)
	$(CHECK_CC) $(CHECK_CFLAGS) -static -s -Wl,--gc-sections,-z,relro,-z,now $(LDFLAGS) -o $@ $^
else
$(B)/zkleader-check: $(CHECK:%=$(B)/%.o) ; $(link)
endif
