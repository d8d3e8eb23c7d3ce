// A run that writes its journal to a file, and is played again from there.
#include <asx/asx.hpp>
#include <asx/journal/file.hpp>
#include <asx/lab/replay_live.hpp>
#include <cstdio>
#include <memory>

using namespace asx;

// cut: program
task<> ticks(cx) {
  for (int i = 0; i < 3; ++i) co_await sleep(duration::microseconds(100));
}

void program(runtime& rt) {
  auto first = spawn_in(rt.kernel(), rt.root(), {.name = "ticks"}, ticks);
  rt.run_until_quiescent();
  rt.shutdown();
}
// end: program

// cut: main
struct closes {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};

int main() {
  const std::unique_ptr<std::FILE, closes> disk(std::tmpfile());
  if (disk == nullptr) return 1;
  bin_writer file;
  if (file.open(heap_memory(), descriptor_writer(fileno(disk.get())), journal_header::of("core", 0)) != status::ok)
    return 1;
  runtime_config config;
  config.sink = file.sink();
  {
    live_runtime rt(config);
    program(*rt);
  }
  if (file.close() != status::ok) return 1;

  if (std::fseek(disk.get(), 0, SEEK_SET) != 0) return 1;
  live_recording run;
  if (read_recording(descriptor_reader(fileno(disk.get())), run).code != status::ok) return 1;
  const live_replay again = replay_live(run, {}, program);
  std::printf("played again: %s\n", again.is_same() ? "the same run" : again.report().c_str());
  return again.is_same() ? 0 : 1;
}
// end: main
