// SPDX-License-Identifier: Apache-2.0
#include "toolchain/cache.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/strings.h"
#include "os/files.h"

namespace tw::toolchain {

namespace {

// Changes whenever the meaning of an entry's fields does.
constexpr std::string_view kMagic = "tw.compiled/1\n";
constexpr size_t kDigestBytes = 64;

void append_field(std::string& bytes, std::string_view field) {
  bytes += fmt::format("{}\n", field.size());
  bytes += field;
}

std::optional<std::string_view> take_field(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto size = parse_uint(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  if (!size || *size > bytes.size()) {
    return std::nullopt;
  }
  const std::string_view field = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return field;
}

}  // namespace

std::string encode_entry(const std::string& key, const CompiledKernel& kernel) {
  std::string payload;
  append_field(payload, key);
  append_field(payload, kernel.output == Output::Cubin ? "cubin" : "ptx");
  append_field(payload, kernel.arch);
  append_field(payload, kernel.compiler);
  append_field(payload, fmt::format("{}", kernel.time_ms));
  append_field(payload, kernel.log);
  append_field(payload, kernel.image);
  return fmt::format("{}{}{}", kMagic, sha256_hex(payload), payload);
}

std::optional<CompiledKernel> decode_entry(const std::string& key, std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kDigestBytes) {
    return std::nullopt;
  }
  const std::string_view digest = bytes.substr(kMagic.size(), kDigestBytes);
  std::string_view payload = bytes.substr(kMagic.size() + kDigestBytes);
  if (sha256_hex(payload) != digest) {
    return std::nullopt;
  }
  std::string_view fields[7];
  for (std::string_view& field : fields) {
    const auto taken = take_field(payload);
    if (!taken) {
      return std::nullopt;
    }
    field = *taken;
  }
  const auto time_ms = parse_double(fields[4]);
  if (fields[0] != key || !payload.empty() || !time_ms || (fields[1] != "cubin" && fields[1] != "ptx")) {
    return std::nullopt;
  }
  CompiledKernel kernel;
  kernel.output = fields[1] == "cubin" ? Output::Cubin : Output::Ptx;
  kernel.arch = fields[2];
  kernel.compiler = fields[3];
  kernel.time_ms = *time_ms;
  kernel.log = fields[5];
  kernel.image = fields[6];
  kernel.is_from_cache = true;
  // What is derived from log and image is derived again, so that it cannot be older than the code that reads it.
  kernel.messages = parse_compiler_log(kernel.log);
  if (kernel.output == Output::Cubin) {
    auto resources = read_resources(kernel.log, kernel.image);
    if (!resources) {
      return std::nullopt;
    }
    kernel.resources = *std::move(resources);
  }
  return kernel;
}

std::string CompileCache::entry_path(const std::string& key) const {
  // A folder for each first two digits keeps folders small.
  return os::join_path(os::join_path(folder_, key.substr(0, 2)), key.substr(2) + ".kernel");
}

std::optional<CompiledKernel> CompileCache::load(const std::string& key) {
  const std::string path = entry_path(key);
  if (!os::exists(path)) {
    ++statistics_.misses;
    return std::nullopt;
  }
  const auto bytes = os::read_file(path);
  auto kernel = bytes ? decode_entry(key, *bytes) : std::nullopt;
  if (!kernel) {
    ++statistics_.damaged;
    ++statistics_.misses;
    // It will be written anew; when it cannot be removed, writing says so.
    static_cast<void>(os::remove_tree(path));
    return std::nullopt;
  }
  ++statistics_.hits;
  return kernel;
}

Status CompileCache::save(const std::string& key, const CompiledKernel& kernel) {
  const std::string path = entry_path(key);
  Status status = os::make_folders(os::parent_path(path));
  if (status) {
    status = os::write_file_atomic(path, encode_entry(key, kernel));
  }
  if (!status) {
    ++statistics_.write_failures;
  }
  return status;
}

}  // namespace tw::toolchain
