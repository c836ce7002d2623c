#include "heddle/jail/denial.h"

#include <gtest/gtest.h>

namespace heddle::jail {}
