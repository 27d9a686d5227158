// Where too large a request for memory, and work that was interrupted, become an error. The standard library throws; whoever does what a
// file or an input asks for, and is not under the guard of an executor already, runs it through this.
#pragma once

#include "engine/base/interruption.h"
#include "engine/base/result.h"

#include <new>
#include <stdexcept>
#include <type_traits>

namespace loopscope {

/// What `work` returns (a Status or a Result), or an error: execution if memory for it cannot be had, cancelled.
template <typename Work> std::invoke_result_t<Work> allocating(Work&& work)
{
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return Error(ErrorCode::execution, "out of memory");
    } catch (const std::length_error&) {
        return Error(ErrorCode::execution, "a size that no machine can hold");
    } catch (const Interrupted&) {
        return Error(ErrorCode::cancelled, "cancelled");
    }
}

} // namespace loopscope
