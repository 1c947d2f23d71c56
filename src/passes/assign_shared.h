// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace tw::passes {

// Takes  shared objects with shapes, rings, paddings, swizzles and aliases.
// Gives  each its SharedLayout: the element layout (the program's own, or row-major with `pad` elements after each
// row), the
//          swizzle on byte addresses inside a slot (32, 64, 128 bytes: Swizzle<1,4,3>, <2,4,3>, <3,4,3>), the slot size
//          and an offset (multiples of 128 bytes, 1024 where swizzled); Function::shared_bytes. An alias starts where
//          the first of its objects starts; those lie behind one another.
// Never  overlaps objects that the program did not alias, nor reuses storage by lifetime.
// Why here  after passes that add scratch objects, before accesses and barriers, which need addresses.
// Example  shared(bf16, (128, 32), swizzle=64) with ring 4: slots of 8192 bytes, 32768 in all.
Status assign_shared(ir::Function& function, PassContext& context);

// Bytes that the object occupies. REQUIRES: its layout is assigned.
int64_t storage_bytes(const ir::SharedObject& object);

}  // namespace tw::passes
