# PNG files in WORK: palette.png, of 2 bits, interlaced, with opacity; gray16.png, of 16 bits; pixel.png, of one pixel.
# words.png, empty.png and cut.png are none.
# png(<name> <text>): a PNG in base64.
function(png name text)
  file(WRITE "${WORK}/${name}.base64" "${text}")
  execute_process(COMMAND base64 -d "${WORK}/${name}.base64" OUTPUT_FILE "${WORK}/${name}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
png(palette.png "iVBORw0KGgoAAAANSUhEUgAAABQAAAAOAgMAAAElreT1AAAADFBMVEXIHhQUtDweKNzw8OYxKYcOAAAAAnRSTlMAgJsrThgAAABcSURBVAjX\
Y5Bh2MKgwNDAEM3A8LGBQeoAQz4DwwYHhqMNDIxZHxjC9jMwrD4QwMCa/QGMo/YwgPH6gwFg/EFsAQODaNTq/1AyNGv9HwYouWr/B8ZQKPn/AGvYKgAsNCYgHjEa\
8QAAAABJRU5ErkJggg==")
png(gray16.png "iVBORw0KGgoAAAANSUhEUgAAABIAAAANEAQAAABe1yrRAAAAjElEQVQoz2NkYDjByL2DgYEHipHZ6Hx8cozM/ScYCSkixkBGdjniXYTPQEautRAXkeIN\
bGoZ+WxQXUSugYyCp7G7iFQDWVj6GRhYdjAwMO9gYEBmM7uj8vHJMbszMDBKvES4iBRX4HURKa7AcJECO3USJAtzP/muQOYzqquSH/0oCVJrC+XRz72DgQEA5/+w\
R8rLTjMAAAAASUVORK5CYII=")
png(pixel.png "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVQI12NgBwAACQAIiq3bzgAAAABJRU5ErkJggg==")
file(WRITE "${WORK}/words.png" "not a picture")
file(WRITE "${WORK}/empty.png" "")
execute_process(COMMAND head -c 150 "${WORK}/gray16.png" OUTPUT_FILE "${WORK}/cut.png" COMMAND_ERROR_IS_FATAL ANY)
