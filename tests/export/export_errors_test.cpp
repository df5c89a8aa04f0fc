// What cannot be exported, and files that cannot be written.
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "codegen/export/c_names.h"
#include "schedules/mica.h"
#include "tests/export/loaded_library.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

namespace fs = std::filesystem;
const Var x("x");
const Var y("y");

Func doubled(const std::string& name = "doubled") {
  const ImageParam u(Float(32), 1, "u");
  Func f(name);
  f(x) = 2.0F * u(x);
  return f;
}

void exports(const Func& f, const std::string& name, const Target& target = Target::host()) {
  const TemporaryFolder folder;
  compile_to_library(f, (folder.path() / name).string(), target);
}

TEST(ExportErrors, NamesThatAreNoneOfC) {
  for (const auto& [name, part] :
       {std::pair("3x3", "begins with a digit"), std::pair("blur-3", "\"blur_3\""),
        std::pair("while", "\"while_\""), std::pair("main", "\"main_run\""),
        std::pair("mica_blur", "has that name"), std::pair("blur.fast", "not a letter of ASCII"),
        std::pair("unscharf-größe", "\"unscharf_gr__e\"")}) {
    EXPECT_TRUE(fails_with([&] { exports(doubled(), name); },
                           {std::string("\"") + name + "\"", part, "--name"}));
  }
  EXPECT_TRUE(
      fails_with([&] { compile_to_library(doubled(), "/tmp/", Target::host()); }, {"it is empty"}));
}

TEST(ExportErrors, NamesOfArgumentsBecomeIdentifiers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(
      exported::c_identifiers({"int", "u·2", "u_2", "2d", "", "_x", "a b", "mica_buffer", "stream"}),
      (Names{"int_", "u_2", "u_2_2", "a2d", "a", "a_x", "a_b", "mica_buffer_", "stream_"}));
}

TEST(ExportErrors, AParamNamedAsCNamesThings) {
  const TemporaryFolder folder;
  const ImageParam u(Int(32), 1, "while");
  const Param<int> p("int", 3), q("x*/ /* y", 4);
  Func f("f");
  f(x) = u(x) * p + q;
  compile_to_library(f, (folder.path() / "times").string(), Target::host());
  EXPECT_EQ(
      run_c_program(
          "#include \"times.h\"\n#include <stdio.h>\nint main(void) {\n  int32_t a[3] = {1, 2, 3}, "
          "b[3];\n  int64_t n = 3;\n  mica_buffer u = mica_dense(a, MICA_INT, 32, 1, &n), f = "
          "mica_dense(b, MICA_INT, 32, 1, &n);\n  int code = times(&u, &f, 5, 1);\n  "
          "printf(\"%d %d\", code, b[2]);\n  return 0;\n}\n",
          folder.path() / "times.a"),
      "0 16");
}

TEST(ExportErrors, FilesThatCannotBeWritten) {
  EXPECT_TRUE(fails_with([&] { compile_to_library(doubled(), "/no/such/folder/f", Target::host()); },
                         {"cannot write /no/such/folder/f.a: No such file or directory"}));
}

/// A process with room for no file of any size.
void exports_without_room() {
  rlimit limit{1000, 1000};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  const TemporaryFolder folder;
  const std::string stem = (folder.path() / "f").string();
  const auto refused = fails_with([&] { compile_to_library(doubled(), stem, Target::host()); },
                                  {"cannot write " + stem + ".a: File too large"});
  const bool left = !fs::is_empty(folder.path());
  folder.remove();
  std::fprintf(stderr, "%s%s", refused ? "refused" : refused.message(), left ? ", leaving files" : "");
  std::_Exit(0);
}

TEST(ExportErrors, AFullDiskLeavesNoHalfLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exports_without_room(), testing::ExitedWithCode(0), "^refused$");
}

TEST(ExportErrors, WithoutACCompilerThereIsNoSharedLibrary) {
  const TemporaryFolder folder;
  setenv("CC", "no-such-compiler", 1);
  EXPECT_TRUE(fails_with(
      [&] {
        compile_to_library(doubled(), (folder.path() / "f").string(), Target::host(), {.shared = true});
      },
      {"there is no program no-such-compiler", "install gcc or clang"}));
  setenv("CC", "false", 1);
  EXPECT_TRUE(fails_with(
      [&] {
        compile_to_library(doubled(), (folder.path() / "f").string(), Target::host(), {.shared = true});
      },
      {"could not link", "f.so"}));
  unsetenv("CC");
}

TEST(ExportErrors, PrintsAndTraces) {
  const ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = print(u(x) * 2.0F, "at", x);
  EXPECT_TRUE(fails_with([&] { exports(f, "f"); }, {"kernel f prints", "leave print"}));
  Func traced = doubled();
  traced.trace_stores();
  EXPECT_TRUE(fails_with([&] { exports(traced, "f"); }, {"prints"}));
  Func realized = doubled();
  realized.trace_realizations();
  EXPECT_TRUE(fails_with([&] { exports(realized, "f"); }, {"the realizations of doubled are traced"}));
}

TEST(ExportErrors, BuffersThatAreReadAsSuch) {
  const Buffer<float> table(8);
  Func f("f");
  f(x) = table(x % 8);
  EXPECT_TRUE(fails_with([&] { exports(f, "f"); }, {"reads the Buffer", "ImageParam"}));
}

TEST(ExportErrors, TheUsualVariants) {
  const Variant general{
      .index32 = false, .aligned = false, .grid3 = false, .unit_stride = false, .separate = false};
  EXPECT_EQ(usual_variants({doubled()}, Target::host()), (std::vector<Variant>{Variant{}, general}));
  Func tiled = doubled();
  tiled.gpu_tile(x, 32).vectorize(x, 4);
  const Target gpu{Backend::Cuda, 0};
  EXPECT_EQ(usual_variants({tiled}, gpu),
            (std::vector<Variant>{Variant{}, {.aligned = false}, general}));
  Func chosen = doubled();
  chosen.specialize(Param<int>("n") == 1).vectorize(x, 8);
  EXPECT_EQ(usual_variants({chosen}, Target::host()),
            (std::vector<Variant>{{.chosen = {1}}, Variant{}, general}));
}

TEST(ExportErrors, TheEmulatorIsNoTarget) {
  EXPECT_TRUE(fails_with([&] { exports(doubled(), "f", Target::gpu_emulator()); }, {"emulator"}));
}

TEST(ExportErrors, SpecializationsThatThereAreNot) {
  EXPECT_TRUE(fails_with(
      [&] { compile_to_library(doubled(), "/tmp/f", Target::host(), {.variants = {{.chosen = {1}}}}); },
      {"specializations", "chosen 1"}));
}

}  // namespace
}  // namespace mica::test
