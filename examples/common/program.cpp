#include "examples/common/program.h"

#include <cstdio>
#include <new>

#include "dsl/expr/diagnostics.h"

namespace mica::examples {

int run_program(CLI::App& app, int argc, const char* const* argv, const std::function<void()>& body) {
  try {
    app.parse(argc, argv);
    body();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw UserError("what was to be printed could not be written");
    }
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: memory runs out: give smaller sizes\n", app.get_name().c_str());
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), e.what());
    return 1;
  }
  return 0;
}

void add_usual_options(CLI::App& app, std::string& target, std::string& picture) {
  app.add_option("--target", target, "host, cuda, cuda:N or emulator (default: the best there is)");
  app.add_option("--picture", picture, "PNG to write")->capture_default_str();
}

Target target_of(const std::string& name) { return name.empty() ? Target::best() : Target::parse(name); }

}  // namespace mica::examples
