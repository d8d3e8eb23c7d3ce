#include "asx/journal/export_dot.hpp"

#include <string>

#include "asx/journal/describe.hpp"
#include "asx/journal/detail/replay.hpp"

namespace asx {
namespace {

std::string_view colour(region_state state) noexcept {
  constexpr std::string_view colours[] = {"palegreen", "khaki", "orange", "lightsalmon", "lightgrey"};
  return colours[static_cast<std::size_t>(state)];
}

std::string doing(const detail::replay& world, std::uint64_t id, const name_book& names) {
  switch (world.tasks.at(id).doing) {
    case detail::activity::queued: return "queued";
    case detail::activity::running: return "runs";
    case detail::activity::waiting: {
      const std::string text = detail::describe_waits(world.waits_of(id), names);
      const std::size_t at = text.find(" waits for ");
      return at == std::string::npos ? "waits" : text.substr(at + 1);
    }
    default: return "not started";
  }
}

}  // namespace

void export_dot(text_port out, std::span<const event> events, std::uint64_t seq) {
  detail::replay world;
  name_book names;
  std::uint64_t last = 0;
  for (const event& e : events) {
    if (e.seq > seq) break;
    world.apply(e);
    names.learn(e);
    last = e.seq;
  }
  // Names hold no quote and no backslash (describe.hpp), so labels need no escaping.
  std::string text = "digraph regions {\n  label=\"after event " + std::to_string(last) +
                     "\";\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  for (const auto& [id, region] : world.regions) {
    if (region.state == region_state::closed) continue;
    const std::string node = "r" + std::to_string(id);
    std::string label;
    append_value(label, field_type::region, id, &names);
    text += "  " + node + " [shape=box, style=filled, fillcolor=" + std::string(colour(region.state)) + ", label=\"" +
            label + "\\n" + std::string(region_lifecycle.name(region.state)) + "\"];\n";
    if (region.parent != 0) text += "  r" + std::to_string(region.parent) + " -> " + node + ";\n";
  }
  for (const auto& [id, task] : world.tasks) {
    if (task.doing == detail::activity::completed) continue;
    const std::string node = "t" + std::to_string(id);
    std::string label;
    append_value(label, field_type::task, id, &names);
    text += "  " + node + " [shape=ellipse" + (task.cancel_requested ? ", color=red" : "") + ", label=\"" + label +
            "\\n" + doing(world, id, names) + "\"];\n";
    if (task.region != 0) text += "  r" + std::to_string(task.region) + " -> " + node + ";\n";
  }
  text += "}\n";
  out(text);
}

}  // namespace asx
