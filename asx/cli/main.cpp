// asx - the laws and, as they come, the runs of asx on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "asx/base/config.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"

namespace {

// CLI11 says only that a word was not expected; the nearest verb or option is what helps.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands({})) known.push_back(verb->get_name());
  for (const CLI::App* scope : {&app, app.get_subcommands().empty() ? &app : app.get_subcommands().front()}) {
    for (const CLI::Option* option : scope->get_options()) {
      for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
    }
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  std::string message = error.what();
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string hint = asx::cli::suggestion(word, candidates);
    if (!hint.empty()) return message + "." + hint;
  }
  return message + ". `asx --help` lists the verbs.";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"asx: a structured-concurrency runtime for C++20. These verbs show its laws at work."};
  app.name("asx");
  app.set_version_flag("--version",
                       fmt::format("asx {}.{}.{}", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH));
  app.require_subcommand(1);
  app.fallthrough();  // --json may stand before or after the verb.

  asx::cli::session session;
  app.add_flag("--json", session.json, "Print one JSON value for programs");
  asx::cli::add_demo(app, session);
  asx::cli::add_status(app, session);
  asx::cli::add_kinds(app, session);
  asx::cli::add_lifecycle(app, session);
  asx::cli::add_join(app, session);
  asx::cli::add_meet(app, session);
  asx::cli::add_strengthen(app, session);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "asx: {}\n", explain(app, error, std::vector<std::string>(argv + 1, argv + argc)));
    return 2;
  } catch (const asx::cli::bad_word& error) {
    fmt::print(stderr, "asx: {}\n", error.what());
    return 2;
  } catch (const std::system_error& error) {  // What fmt::print reports.
    fmt::print(stderr, "asx: standard output cannot be written: {}\n", error.code().message());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "asx: {}\n", error.what());
    return 1;
  }
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "asx: standard output cannot be written: {}\n", std::generic_category().message(errno));
    return 1;
  }
  return session.exit_code;
}
