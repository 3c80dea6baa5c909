/* The states of a slot of a rolling restart, as its record names them. */
#ifndef ZKLEADER_BASE_TEXT_ROLLING_H
#define ZKLEADER_BASE_TEXT_ROLLING_H

enum rolling_state {
	ROLLING_DRAINING, /* the node hands over what it leads, and its jobs end */
	ROLLING_RUNNING,  /* CMD is running, or the machine is booting */
	ROLLING_SOAKING,  /* CMD is done; the node has to be healthy for some time */
	ROLLING_FAILED,	  /* CMD has failed; stays until --resume or --release */
	ROLLING_STATES
};

#endif
