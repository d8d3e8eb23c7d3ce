// asx/kernel/report.hpp - who is alive, and why: the tree of regions and tasks as text and as JSON.
//
//     region 1 root  open  2 tasks, 1 region
//       task 4 'reader'  running, waits for a message of channel 2  polls 17  orders.cpp:31
//       region 3 'connection'  draining (user "stop")  1 task
//     task 2 'writer'  completed, held: ok 42  polls 3, age 2 s  orders.cpp:58     held results come last
//
// 1  Looking changes nothing and polls nobody: it can be done at any time, from inside a poll too.
// 2  Regions come with their tasks first, then their sub-regions, all in order of creation.
//
// 3  The forms that write to a port ask nobody for memory.
//
// Cancel points: none. Threads: the runtime's. Lifetime: the text is the caller's.
#pragma once

#include <string>

#include "asx/base/config.hpp"
#include "asx/base/text.hpp"

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
/// One line a live task, in order of regions and then of creation: number, name, state, what it waits for, polls, age,
/// where it was spawned, and its region. The first line says how many there are.
[[nodiscard]] ASX_API std::string describe_tasks(const kernel& k);
/// What keeps the runtime from being at rest, one line each: who, in which state, what it waits for, who holds it.
[[nodiscard]] ASX_API std::string describe_survivors(const kernel& k);

}  // namespace asx
