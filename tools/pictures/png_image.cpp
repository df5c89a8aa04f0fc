#include "tools/pictures/png_image.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <png.h>

namespace mica::pictures {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

File open(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode), std::fclose);
  if (!file) throw UserError("cannot open " + path + (*mode == 'r' ? " for reading" : " for writing"));
  return file;
}

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  const bool ends = std::strcmp(message, "Read Error") == 0;  // all that libpng says of it
  throw UserError(*static_cast<const std::string*>(png_get_error_ptr(png)) + ": " +
                  (ends ? "the file ends before the picture does" : message));
}

/// What libpng keeps for a file, and what it says of one that it cannot read or write.
struct Png {
  Png(bool reads, std::string words) : what(std::move(words)), reading(reads) {
    png = reading ? png_create_read_struct(PNG_LIBPNG_VER_STRING, &what, fail, nullptr)
                  : png_create_write_struct(PNG_LIBPNG_VER_STRING, &what, fail, nullptr);
    info = png_create_info_struct(png);
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() {
    reading ? png_destroy_read_struct(&png, &info, nullptr) : png_destroy_write_struct(&png, &info);
  }
  std::string what;
  bool reading;
  png_structp png;
  png_infop info;
};

/// Writes 8-bit values, or 16-bit ones with their higher byte first.
template <typename T>
void write(const std::string& path, const Buffer<T>& image, bool wide) {
  File file = open(path, "wb");
  const Png out(false, "cannot write " + path);
  const std::int64_t width = image.extent(0), height = image.extent(1), channels = image.extent(2);
  png_init_io(out.png, file.get());
  png_set_IHDR(out.png, out.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               wide ? 16 : 8, channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(out.png, out.info);
  const T* from = image.data();
  std::vector<png_byte> row;
  for (std::int64_t y = 0; y < height; ++y) {
    row.clear();
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const unsigned value = from[x * image.stride(0) + y * image.stride(1) + c * image.stride(2)];
        if (wide) row.push_back(static_cast<png_byte>(value >> 8));
        row.push_back(static_cast<png_byte>(value));
      }
    }
    png_write_row(out.png, row.data());
  }
  png_write_end(out.png, nullptr);
  // What a full disk refuses shows when the last bytes are written.
  if (std::fclose(file.release()) != 0) throw UserError("cannot write " + path);
}

}  // namespace

std::string Photo::describe() const {
  return std::to_string(width()) + " x " + std::to_string(height()) + " pixels, " +
         (channels() == 1 ? "1 channel of " : "3 channels of ") + (white == 255 ? "8 bits" : "16 bits");
}

Photo read_photo(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) throw UserError(path + " is a folder: give a PNG");
  const File file = open(path, "rb");
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  const Png in(true, path + (unknown ? "" : " (" + std::to_string(bytes) + " bytes)"));
  png_init_io(in.png, file.get());
  png_read_info(in.png, in.info);
  const std::int64_t width = png_get_image_width(in.png, in.info);
  const std::int64_t height = png_get_image_height(in.png, in.info);
  if (width * height > kMostPixels) {
    throw UserError(path + ": " + std::to_string(width) + " x " + std::to_string(height) +
                    " pixels; up to " + std::to_string(kMostPixels) + " can be read");
  }
  // zlib makes up to 1032 bytes of one: what the file cannot hold asks for no memory.
  constexpr std::uintmax_t kMostOfOneByte = 1032;
  const std::uintmax_t packed = png_get_rowbytes(in.png, in.info) * static_cast<std::uintmax_t>(height);
  if (!unknown && packed / kMostOfOneByte > bytes) png_error(in.png, "Read Error");
  png_set_expand(in.png);
  png_set_strip_alpha(in.png);
  png_set_interlace_handling(in.png);
  png_read_update_info(in.png, in.info);
  const bool wide = png_get_bit_depth(in.png, in.info) == 16;
  const std::int64_t channels = png_get_channels(in.png, in.info);
  const std::size_t row_bytes = png_get_rowbytes(in.png, in.info);
  std::vector<png_byte> pixels(row_bytes * static_cast<std::size_t>(height));
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < height; ++y) rows.push_back(pixels.data() + y * row_bytes);
  png_read_image(in.png, rows.data());
  png_read_end(in.png, nullptr);

  Photo photo{Buffer<std::uint16_t>(width, height, channels), wide ? 65535 : 255};
  std::uint16_t* to = photo.values.data();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (const png_bytep row : rows) {
      for (std::int64_t i = c; i < width * channels; i += channels) {
        *to++ = wide ? static_cast<std::uint16_t>(row[2 * i] << 8 | row[2 * i + 1]) : row[i];
      }
    }
  }
  return photo;
}

void write_photo(const std::string& path, const Photo& photo) {
  write(path, photo.values, photo.white > 255);
}

Buffer<std::uint8_t> read_png(const std::string& path) {
  const Photo photo = read_photo(path);
  Buffer<std::uint8_t> image(photo.width(), photo.height(), photo.channels());
  const std::uint16_t* from = photo.values.data();
  const int shift = photo.white > 255 ? 8 : 0;
  std::uint8_t* to = image.data();
  for (std::int64_t i = 0; i < image.elements(); ++i)
    to[i] = static_cast<std::uint8_t>(from[i] >> shift);
  return image;
}

void write_png(const std::string& path, const Buffer<std::uint8_t>& image) { write(path, image, false); }

}  // namespace mica::pictures
