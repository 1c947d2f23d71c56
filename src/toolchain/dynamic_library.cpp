// SPDX-License-Identifier: Apache-2.0
#include "toolchain/dynamic_library.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <link.h>
#include <optional>
#include <span>
#include <sys/stat.h>

#include "base/strings.h"
#include "os/errors.h"

namespace tw::toolchain {

namespace {

std::optional<std::string> read_build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + uint64_t{i} * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) {
      return std::nullopt;
    }
    constexpr uint64_t kMaxNoteBytes = 1 << 16;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) {
      continue;
    }
    std::string notes(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) {
      return std::nullopt;
    }
    const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
    for (uint64_t offset = 0; offset + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + offset, sizeof note);
      const uint64_t name_offset = offset + sizeof note;
      const uint64_t value_offset = name_offset + padded(note.n_namesz);
      const uint64_t end = value_offset + padded(note.n_descsz);
      if (end > notes.size()) {
        break;
      }
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(notes.data() + name_offset, "GNU", 4) == 0) {
        const auto* value = reinterpret_cast<const uint8_t*>(notes.data() + value_offset);
        return to_hex(std::span(value, note.n_descsz));
      }
      offset = end;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return fail(reason != nullptr ? std::string(reason) : "cannot open `" + name + "`");
  }
  link_map* map = nullptr;
  std::string path = name;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr && *map->l_name != 0) {
    path = map->l_name;
  }
  return DynamicLibrary(handle, std::move(path));
}

void* DynamicLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

Result<std::string> file_identity(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return fail(os::system_error(fmt::format("cannot look at `{}`", path), errno));
  }
  if (auto build_id = read_build_id(path)) {
    return *std::move(build_id);
  }
  return fmt::format("{}-{}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace tw::toolchain
