// asx - the laws of asx, and runs that keep to them, on the command line.
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

// CLI11 says only that a word was not expected; the nearest verb or option is what helps. Words that are neither are
// values, such as names of files, and nothing is guessed about them.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const std::string message = error.what();
  std::string path = app.get_name(), unknown_option;
  std::vector<std::string> options;
  const auto gather = [&options](const CLI::App& scope) {
    for (const CLI::Option* option : scope.get_options()) {
      for (const std::string& long_name : option->get_lnames()) options.push_back("--" + long_name);
    }
  };
  const auto hint = [](const std::string& word, const std::vector<std::string>& known) {
    return asx::cli::suggestion(word, std::vector<std::string_view>(known.begin(), known.end()));
  };
  const CLI::App* scope = &app;
  gather(*scope);
  for (const std::string& word : words) {
    const auto verbs = scope->get_subcommands([](const CLI::App*) { return true; });
    if (word.starts_with("-")) {
      const std::string name = word.substr(0, word.find('='));
      if (unknown_option.empty() && std::find(options.begin(), options.end(), name) == options.end()) {
        unknown_option = name;
      }
    } else if (!verbs.empty()) {
      std::vector<std::string> names;
      for (const CLI::App* verb : verbs) names.push_back(verb->get_name());
      const auto found = std::find(names.begin(), names.end(), word);
      if (found == names.end()) {
        const std::string near = hint(word, names);
        return fmt::format("'{}' is no verb of {}.{} `{} --help` lists them.", word, path, near, path);
      }
      scope = verbs[static_cast<std::size_t>(found - names.begin())];
      path += " " + word;
      gather(*scope);
    }
  }
  // An option may stand before the verb that knows it.
  if (!unknown_option.empty() && std::find(options.begin(), options.end(), unknown_option) == options.end()) {
    const std::string near = hint(unknown_option, options);
    if (!near.empty()) return message + "." + near;
  }
  const bool lacks_verb = !scope->get_subcommands([](const CLI::App*) { return true; }).empty();
  return fmt::format("{}. `{} --help` {}", message, path, lacks_verb ? "lists the verbs." : "tells what it takes.");
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): only memory that runs out before a verb is known gets past the handlers.
int main(int argc, char** argv) {
  CLI::App app{
      "asx: a structured-concurrency runtime for C++20. These verbs show its laws at work, play scenarios and read "
      "journals."};
  app.name("asx");
  app.set_version_flag("--version",
                       fmt::format("asx {}.{}.{}", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH));
  app.require_subcommand(1);
  app.fallthrough();  // --json may stand before or after the verb.

  asx::cli::session session;
  app.add_flag("--json", session.json, "Print one JSON value for programs");
  asx::cli::add_demo(app, session);
  asx::cli::add_run(app, session);
  asx::cli::add_lint(app, session);
  asx::cli::add_conform(app, session);
  asx::cli::add_replay(app, session);
  asx::cli::add_diff(app, session);
  asx::cli::add_why(app, session);
  asx::cli::add_trace(app, session);
  asx::cli::add_digest(app, session);
  asx::cli::add_status(app, session);
  asx::cli::add_kinds(app, session);
  asx::cli::add_lifecycle(app, session);
  asx::cli::add_join(app, session);
  asx::cli::add_meet(app, session);
  asx::cli::add_strengthen(app, session);
  asx::cli::add_journal(app, session);
  asx::cli::add_doctor(app, session);
  asx::cli::add_version(app, session);
  asx::cli::add_completion(app, session);
  asx::cli::add_manual(app, session);

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
