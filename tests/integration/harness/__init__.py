"""What the integration tests are made of: real servers, real sidecars, and a way to talk to both."""
