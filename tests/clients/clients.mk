# The libraries of other languages: clients/LANGUAGE, by the contract of tests/clients/README.md.
.PHONY: check-clients bench-clients wheel
check-clients: deps-check all
	$(call install,$(PACKAGES_CLIENTS))
	$(call install_npm,tests/clients)
	@tests/clients/toolchains
	/usr/bin/python3 -m pytest -n 4 -rs tests/clients
# The cost of a `leads` in each of them, beside the C library's.
bench-clients: deps-check all
	$(call install,$(PACKAGES_CLIENTS))
	tests/clients/bench --build $(B)
# The Python client's, into build/clients/python.
wheel:
	tests/clients/wheel build/clients/python
# The Java client: java-jar, java-doc.
include clients/java/java.mk
