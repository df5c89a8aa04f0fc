#include "examples/common/png_image.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include <png.h>

namespace mica::examples {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

File open(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) throw UserError("cannot open " + path + (*mode == 'r' ? " for reading" : " for writing"));
  return file;
}

/// What a full disk refuses shows when the last bytes are written.
void close(File file, const std::string& path) {
  if (std::fclose(file.release()) != 0) throw UserError("cannot write " + path);
}

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  const auto* path = static_cast<const std::string*>(png_get_error_ptr(png));
  throw UserError(*path + ": " + message);
}

[[noreturn]] void fail_to_write(png_structp png, png_const_charp message) {
  const auto* path = static_cast<const std::string*>(png_get_error_ptr(png));
  throw UserError("cannot write " + *path + ": " + message);
}

}  // namespace

Buffer<std::uint8_t> read_png(const std::string& path) {
  File file = open(path, "rb");
  std::string name = path;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &name, fail, nullptr);
  png_infop info = png_create_info_struct(png);
  struct Guard {
    png_structp png;
    png_infop info;
    ~Guard() { png_destroy_read_struct(&png, &info, nullptr); }
  } guard{png, info};
  png_init_io(png, file.get());
  png_read_png(png, info, PNG_TRANSFORM_STRIP_16 | PNG_TRANSFORM_EXPAND | PNG_TRANSFORM_STRIP_ALPHA,
               nullptr);
  const std::int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  const std::int64_t channels = png_get_channels(png, info);
  png_bytepp rows = png_get_rows(png, info);
  Buffer<std::uint8_t> image(width, height, channels);
  std::uint8_t* to = image.data();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) *to++ = rows[y][x * channels + c];
    }
  }
  return image;
}

void write_png(const std::string& path, const Buffer<std::uint8_t>& image) {
  File file = open(path, "wb");
  std::string name = path;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &name, fail_to_write, nullptr);
  png_infop info = png_create_info_struct(png);
  struct Guard {
    png_structp png;
    png_infop info;
    ~Guard() { png_destroy_write_struct(&png, &info); }
  } guard{png, info};
  const std::int64_t width = image.extent(0), height = image.extent(1), channels = image.extent(2);
  png_init_io(png, file.get());
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8,
               channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const std::uint8_t* from = image.data();
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width * channels));
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        row[static_cast<std::size_t>(x * channels + c)] =
            from[x * image.stride(0) + y * image.stride(1) + c * image.stride(2)];
      }
    }
    png_write_row(png, row.data());
  }
  png_write_end(png, nullptr);
  close(std::move(file), path);
}

}  // namespace mica::examples
