"""The harness of the integration tests: real servers, real sidecars, and a way to talk to both."""
