// Everything a user of Mica includes: #include <mica/mica.h>
#pragma once

#include "codegen/compile.h"
#include "codegen/export/compile_to_library.h"
#include "codegen/iterate/iteration.h"
#include "dsl/expr/print.h"
#include "dsl/func/finite_difference.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/buffer/copy_async.h"
#include "runtime/buffer/dlpack.h"
#include "runtime/run/copy_pipeline.h"
#include "runtime/run/executable.h"
#include "runtime/run/gpu_stream.h"
#include "runtime/run/gpu_timer.h"
#include "runtime/run/target.h"
#include "schedules/registry.h"
#include "schedules/tune/tune.h"
