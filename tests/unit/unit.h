/* What every unit test includes: cmocka and the headers it wants before it. */
#ifndef SONDE_TESTS_UNIT_H
#define SONDE_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#endif
