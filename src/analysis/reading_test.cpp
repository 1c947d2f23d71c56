// SPDX-License-Identifier: Apache-2.0
#include "analysis/reading.h"

#include <gtest/gtest.h>
TEST(A, B) {}
