// asx completion SHELL, asx manual - what shells and man want to know, told by the parser itself, so that neither can
// say something else than the command does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "asx/base/config.hpp"
#include "asx/cli/verbs.hpp"
#include "asx/cli/words.hpp"

namespace asx::cli {
namespace {

constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// One verb, or verb and sub-verb, with everything that may follow it.
struct place {
  std::string path;  // "", "run", "journal show".
  std::string help;
  std::vector<std::string> words;  // Verbs and options.
  const CLI::App* app;
};

void gather(const CLI::App& app, const std::string& path, std::vector<place>& out) {
  place here{path, app.get_description(), {}, &app};
  for (const CLI::App* verb : verbs_of(app)) here.words.push_back(verb->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) here.words.push_back("--" + name);
  }
  if (!path.empty()) here.words.emplace_back("--json");
  std::sort(here.words.begin(), here.words.end());
  here.words.erase(std::unique(here.words.begin(), here.words.end()), here.words.end());
  out.push_back(here);
  for (const CLI::App* verb : verbs_of(app)) {
    gather(*verb, path.empty() ? verb->get_name() : path + " " + verb->get_name(), out);
  }
}

std::string bash_words(const std::vector<place>& places) {
  std::string out = R"(# Completion of the asx command. Put it where bash looks, or: source <(asx completion bash)
_asx() {
  local current=${COMP_WORDS[COMP_CWORD]} path="" word words=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) case "$path $word" in )";
  bool first = true;
  for (const place& p : places) {
    if (p.path.empty()) continue;
    // The path so far and the next word: " run", "journal show".
    out += fmt::format("{}\"{}\"", first ? "" : "|", p.path.find(' ') == std::string::npos ? " " + p.path : p.path);
    first = false;
  }
  out += R"() path="${path:+$path }$word" ;; esac ;; esac
  done
  case $path in
)";
  for (const place& p : places) {
    std::string words;
    for (const std::string& w : p.words) words += (words.empty() ? "" : " ") + w;
    out += fmt::format("    \"{}\") words=\"{}\" ;;\n", p.path, words);
  }
  out += R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ $current != -* && -n $path ]]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _asx asx
)";
  return out;
}

std::string fish_words(const std::vector<place>& places) {
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  std::string out = "# Completion of the asx command. Put it where fish looks, or: asx completion fish | source\n";
  for (const place& p : places) {
    const std::size_t space = p.path.find(' ');
    std::string when = "__fish_use_subcommand";
    if (space != std::string::npos) {
      when = fmt::format("__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}", p.path.substr(0, space),
                         p.path.substr(space + 1));
    } else if (!p.path.empty()) {
      when = "__fish_seen_subcommand_from " + p.path;
    }
    for (const CLI::App* verb : verbs_of(*p.app)) {
      out += fmt::format("complete -c asx -f -n '{}' -a {} -d '{}'\n", when, verb->get_name(),
                         quoted(verb->get_description()));
    }
    if (!p.path.empty()) out += fmt::format("complete -c asx -n '{}' -l json -d 'One JSON value for programs'\n", when);
    for (const CLI::Option* option : p.app->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        out += fmt::format("complete -c asx -n '{}' -l {} -d '{}'\n", when, name, quoted(option->get_description()));
      }
    }
  }
  return out;
}

std::string roff(std::string text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string option_line(const CLI::Option& option) {
  std::string out;
  for (const std::string& name : option.get_lnames()) out += (out.empty() ? "--" : ", --") + name;
  if (out.empty()) out = option.get_name();
  if (!option.get_lnames().empty() && option.get_items_expected_max() > 0) out += " VALUE";
  return out;
}

std::string manual_text(const CLI::App& app, const std::vector<place>& places) {
  std::string out = fmt::format(
      ".TH ASX 1 \"\" \"asx {}.{}.{}\" \"User Commands\"\n.SH NAME\nasx \\- {}\n.SH SYNOPSIS\n.B asx\n[\\-\\-json] "
      "VERB "
      "[ARGUMENT ...]\n.SH VERBS\n",
      ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH,
      roff(app.get_description().substr(5)));  // Without its own name.
  for (const place& p : places) {
    if (p.path.empty()) continue;
    out += fmt::format(".SS {}\n{}.\n", roff("asx " + p.path), roff(p.help));
    for (const CLI::Option* option : p.app->get_options()) {
      if (option->check_name("--help")) continue;
      out += fmt::format(".TP\n.B {}\n{}.\n", roff(option_line(*option)), roff(option->get_description()));
    }
    if (const std::string more = p.app->get_footer(); !more.empty()) out += fmt::format(".PP\n{}\n", roff(more));
  }
  out += R"(.SH OPTIONS
.TP
.B \-\-json
Print one JSON value for programs; may stand before or after the verb.
.SH EXIT STATUS
.TP
.B 0
Done, or the answer is yes.
.TP
.B 1
The answer is no (a scenario failed, two runs differ, a move is refused), or a file is bad: standard error says what,
where and what to do.
.TP
.B 2
The call makes no sense: an unknown verb, option or word.
.SH FILES
Scenarios are JSON (docs/scenarios.md); journals are binary (.asxj) or JSON Lines (.jsonl). Verbs that read a journal
take a scenario, too, and play it.
)";
  return out;
}

}  // namespace

void add_completion(CLI::App& app, session&) {
  auto* const verb = app.add_subcommand("completion", "A script that lets a shell complete the words of asx");
  auto shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  verb->callback([shell, &app] {
    std::vector<place> places;
    gather(app, "", places);
    if (*shell == "bash") return fmt::print("{}", bash_words(places));
    if (*shell == "zsh") return fmt::print("autoload -U +X bashcompinit && bashcompinit\n{}", bash_words(places));
    if (*shell == "fish") return fmt::print("{}", fish_words(places));
    throw bad_word(fmt::format("'{}' is no shell that asx knows.{} There are bash, zsh and fish.", *shell,
                               suggestion(*shell, shells)));
  });
}

void add_manual(CLI::App& app, session&) {
  app.add_subcommand("manual", "The manual page: asx manual | man -l -")->callback([&app] {
    std::vector<place> places;
    gather(app, "", places);
    fmt::print("{}", manual_text(app, places));
  });
}

}  // namespace asx::cli
