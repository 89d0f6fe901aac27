/*
 * Inputs are mapped, not copied: captures have gigabytes. When somebody shortens an input while it is read, the kernel
 * can only send SIGBUS. The program then says which file it was and ends with status 1, as for any other input it
 * cannot read. Only the program does this, never the library.
 */
#ifndef SONDE_CLI_SHRUNK_INPUT_H
#define SONDE_CLI_SHRUNK_INPUT_H

void sonde_shrunk_input_watch(void);

#endif
