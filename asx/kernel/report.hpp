// asx/kernel/report.hpp - who is alive, and why: the tree of regions and tasks as text and as JSON.
//
//     region 1 root  open  2 tasks, 1 region
//       task 4 'reader'  running, waits for timer 7 at io.cpp:9 < main.cpp:40  polls 17, age 2 s  spawned main.cpp:31
//       region 3 'connection'  draining (user "stop")  1 task
//     task 2 'writer'  completed, held: ok 42  polls 3, age 2 s  orders.cpp:58     held results come last
//
// 1  Looking changes nothing and polls nobody: it can be done at any time, from inside a poll too.
// 2  Regions come with their tasks first, then their sub-regions, all in order of creation.
// 3  The forms that write to a port ask nobody for memory.
// 4  A coroutine is told with the places where it stands: that of its innermost co_await, then that of the coroutine
//    that awaits this one, and so on; eight at most. What asx itself awaits in between is left out. A task that is
//    being polled stands nowhere, and a poll function has no such places. Of a co_await of several lines it is
//    the first or the last, as the compiler has it.
//
// Cancel points: none. Threads: the runtime's. Lifetime: the text is the caller's.
#pragma once

#include <cstddef>
#include <source_location>
#include <span>
#include <string>

#include "asx/base/config.hpp"
#include "asx/base/text.hpp"
#include "asx/model/handle.hpp"

namespace asx {

class cx;
class kernel;

/// One line a region, task or reserved obligation, indented by depth.
[[nodiscard]] ASX_API std::string describe_tree(const kernel& k);
ASX_API void describe_tree(const kernel& k, const text_port& out);
/// The same as one JSON value: {"now_ns":..,"regions":[..]} with regions nested in "regions".
[[nodiscard]] ASX_API std::string describe_tree_json(const kernel& k);
ASX_API void describe_tree_json(const kernel& k, const text_port& out);
/// Where a task stands, for a line in a log: the names of the regions around it and its own, as in
/// `root/connection 7/reader`. Whoever names a region names everything that is spawned in it, however deep; what has no
/// name is told by its kind and number.
[[nodiscard]] ASX_API std::string path_of(const cx& c);
/// One line a live task, in order of regions and then of creation: number, name, state, what it waits for and at which
/// co_await, polls, age, where it was spawned, and its region. The first line says how many there are.
[[nodiscard]] ASX_API std::string describe_tasks(const kernel& k);
/// What keeps the runtime from being at rest, one line each: who, in which state, what it waits for, who holds it.
[[nodiscard]] ASX_API std::string describe_survivors(const kernel& k);
/// The places of law 4, as many as `out` has room for, and how many there are. 0 for a task that stands nowhere, and
/// for a handle that is stale.
[[nodiscard]] ASX_API std::size_t await_sites(const kernel& k, task_handle task,
                                              std::span<std::source_location> out) noexcept;

}  // namespace asx
