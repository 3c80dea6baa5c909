# Packages and the source as one file. debian/rules calls the Makefile for what lies in them; the version is that
# of debian/changelog.
## make image        an OCI image of the sidecar, of these packages: build/image/zkleader-VERSION.oci.tar

.PHONY: deb dist image
deb:
	$(call install,$(PACKAGES_BUILD) $(PACKAGES_ZOOKEEPER) $(PACKAGES_DEB))
	@debian/build
# An OCI image of the sidecar, of these packages and of Debian's that they need.
image: deb
	@debian/image
# The same for each commit, bit for bit.
dist: zkleader-$(VERSION).tar.xz
zkleader-$(VERSION).tar.xz: FORCE
	git archive --prefix=zkleader-$(VERSION)/ HEAD | xz -T1 -9 > $@.new && mv $@.new $@
