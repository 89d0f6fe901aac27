/*
 * MD5, for folder names that other tools compute the same way. Not for anything
 * that must withstand an attacker.
 */
#ifndef SONDE_BASE_MD5_H
#define SONDE_BASE_MD5_H

#include "base/str.h"

/* Writes 32 hexadecimal digits and a NUL. */
void sonde_md5(char out[33], struct sonde_str text);

#endif
