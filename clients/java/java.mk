# The Java client: make java-jar, or make -f clients/java/java.mk jar. A JDK of 17 or later and nothing else.
JAVA_B       := build/clients/java
JAVA_JAR     := $(JAVA_B)/zkleader.jar
JAVA_VERSION := $(or $(VERSION),$(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog))
JAVA_SRC     := $(sort $(wildcard clients/java/src/*.java clients/java/src/org/zkleader/*.java))
JAVA_DRIVER  := $(sort $(wildcard tests/clients/drivers/java/*.java))
JAVAC        := javac --release 17 -encoding UTF-8 -Xlint:all -Werror
# The same sources make the same bytes, whenever and wherever.
JAVA_DATE     = $(shell date -u -d @$(or $(SOURCE_DATE_EPOCH),1767225600) +%Y-%m-%dT%H:%M:%SZ)

.PHONY: jar java-jar java-driver java-doc
jar java-jar: $(JAVA_JAR)
$(JAVA_JAR): $(JAVA_SRC) clients/java/java.mk
	@rm -rf $(JAVA_B)/classes $@.draft
	@mkdir -p $(JAVA_B)/classes
	$(JAVAC) -d $(JAVA_B)/classes $(JAVA_SRC)
	cd $(JAVA_B)/classes && jar --create --file ../zkleader.jar.draft --date=$(JAVA_DATE) \
		--module-version=$(JAVA_VERSION) $$(find . -name '*.class' | sed 's,^\./,,' | LC_ALL=C sort)
	@mv $@.draft $@

java-driver: $(JAVA_B)/driver/Driver.class
$(JAVA_B)/driver/Driver.class: $(JAVA_JAR) $(JAVA_DRIVER)
	@mkdir -p $(@D)
	$(JAVAC) -cp $(JAVA_JAR) -d $(@D) $(JAVA_DRIVER)

java-doc: $(JAVA_B)/doc/index.html
$(JAVA_B)/doc/index.html: $(JAVA_SRC)
	javadoc -quiet -notimestamp -encoding UTF-8 -Xdoclint:all -Werror -d $(@D) $(JAVA_SRC)
