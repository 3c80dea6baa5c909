/* Runs a program that the kernel kills when the process PARENT dies. usage: tie PARENT PROGRAM ARG... */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != atoi(argv[1]))
		return 1;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
