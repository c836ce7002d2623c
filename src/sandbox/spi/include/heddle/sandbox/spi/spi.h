// All of the interface.
#pragma once

#include "heddle/sandbox/spi/backend.h"
#include "heddle/sandbox/spi/blocking.h"
#include "heddle/sandbox/spi/capabilities.h"
#include "heddle/sandbox/spi/outcome.h"
#include "heddle/sandbox/spi/pending.h"
#include "heddle/sandbox/spi/plugin.h"
#include "heddle/sandbox/spi/remarks.h"
#include "heddle/sandbox/spi/request.h"
#include "heddle/sandbox/spi/version.h"
