// The filters of a table of system calls, for tests of modules that bring tables of their own.
#pragma once

#include "seccomp_filter.h"
