// Everything a user of Mica includes: #include <mica/mica.h>
#pragma once

#include "codegen/compile.h"
#include "dsl/finite_difference.h"
#include "dsl/func.h"
#include "dsl/print.h"
#include "runtime/buffer.h"
#include "runtime/dlpack.h"
#include "runtime/executable.h"
#include "runtime/target.h"
#include "schedules/registry.h"
