// The one header users include: the language, its schedules and the compiler.
#pragma once

#include "schedules/mica.h"
