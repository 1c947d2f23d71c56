// SPDX-License-Identifier: Apache-2.0
#include "toolchain/resources.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "base/strings.h"

namespace tw::toolchain {

namespace {

// The number that stands before `unit` in "1024 bytes smem".
std::optional<int64_t> number_before(std::string_view line, std::string_view unit) {
  const size_t place = line.find(unit);
  if (place == std::string_view::npos) {
    return std::nullopt;
  }
  size_t begin = place;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  return parse_int(line.substr(begin, place - begin));
}

std::string_view quoted(std::string_view line) {
  const size_t open = line.find('\'');
  const size_t close = line.find('\'', open == std::string_view::npos ? open : open + 1);
  return close == std::string_view::npos ? std::string_view{} : line.substr(open + 1, close - open - 1);
}

// Little-endian numbers at byte offsets of an image; reads outside it give nothing.
class Image {
 public:
  explicit Image(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] std::optional<T> read(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  [[nodiscard]] std::optional<std::string_view> range(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) {
      return std::nullopt;
    }
    return bytes_.substr(offset, size);
  }

 private:
  std::string_view bytes_;
};

// A name in a string table, up to its zero byte.
std::string_view name_at(std::string_view table, uint32_t offset) {
  if (offset >= table.size()) {
    return {};
  }
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

struct Section {
  std::string_view name;
  std::string_view contents;
  uint64_t size_bytes = 0;
};

struct Elf {
  std::vector<Section> sections;
  // Symbol number to name; only kernels have `is_kernel`.
  struct Symbol {
    std::string_view name;
    bool is_kernel = false;
  };
  std::vector<Symbol> symbols;

  [[nodiscard]] const Section* find(std::string_view name) const {
    const auto it = std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == name; });
    return it == sections.end() ? nullptr : &*it;
  }
};

constexpr uint32_t kNoBits = 8;
constexpr uint16_t kMachineCuda = 190;
// st_other of a kernel's symbol.
constexpr uint8_t kEntryFlag = 0x10;

std::optional<Elf> read_elf(std::string_view bytes) {
  const Image image(bytes);
  if (!bytes.starts_with("\x7f"
                         "ELF\x02\x01") ||
      image.read<uint16_t>(18) != kMachineCuda) {
    return std::nullopt;
  }
  const auto table = image.read<uint64_t>(0x28);
  const auto entry_size = image.read<uint16_t>(0x3a);
  const auto count = image.read<uint16_t>(0x3c);
  const auto names_index = image.read<uint16_t>(0x3e);
  const auto segments = image.read<uint64_t>(0x20);
  const auto segment_size = image.read<uint16_t>(0x36);
  const auto segment_count = image.read<uint16_t>(0x38);
  if (!segments || !segment_size || !segment_count ||
      !image.range(*segments, uint64_t{*segment_size} * *segment_count)) {
    return std::nullopt;
  }
  if (!table || !count || !names_index || entry_size.value_or(0) < 64 || *names_index >= *count) {
    return std::nullopt;
  }
  struct Header {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t align, entry;
  };
  static_assert(sizeof(Header) == 64);
  std::vector<Header> headers;
  for (uint16_t i = 0; i < *count; ++i) {
    const auto header = image.read<Header>(*table + uint64_t{i} * *entry_size);
    if (!header) {
      return std::nullopt;
    }
    headers.push_back(*header);
  }
  const auto contents_of = [&](const Header& header) {
    return header.type == kNoBits ? std::optional<std::string_view>{std::string_view{}}
                                  : image.range(header.offset, header.size);
  };
  const auto names = contents_of(headers[*names_index]);
  if (!names) {
    return std::nullopt;
  }
  Elf elf;
  for (const Header& header : headers) {
    const auto contents = contents_of(header);
    if (!contents) {
      return std::nullopt;
    }
    elf.sections.push_back({name_at(*names, header.name), *contents, header.size});
  }
  const Section* symbols = elf.find(".symtab");
  const Section* symbol_names = elf.find(".strtab");
  if (symbols == nullptr || symbol_names == nullptr) {
    return std::nullopt;
  }
  const Image symbol_image(symbols->contents);
  for (uint64_t offset = 0; offset + 24 <= symbols->contents.size(); offset += 24) {
    const uint8_t info = *symbol_image.read<uint8_t>(offset + 4);
    const uint8_t other = *symbol_image.read<uint8_t>(offset + 5);
    constexpr uint8_t kFunction = 2;
    elf.symbols.push_back({name_at(symbol_names->contents, *symbol_image.read<uint32_t>(offset)),
                           (info & 0xf) == kFunction && (other & kEntryFlag) != 0});
  }
  return elf;
}

// Attributes of an `.nv.info` section. Each is a format byte, an attribute byte and two bytes that are the value
// itself or (format 4) the size of the value behind them.
template <class Visit>
void visit_attributes(std::string_view section, Visit visit) {
  const Image image(section);
  uint64_t offset = 0;
  while (offset + 4 <= section.size()) {
    const uint8_t format = *image.read<uint8_t>(offset);
    const uint8_t attribute = *image.read<uint8_t>(offset + 1);
    const uint16_t size = *image.read<uint16_t>(offset + 2);
    offset += 4;
    constexpr uint8_t kSizedValue = 4;
    if (format != kSizedValue) {
      continue;
    }
    const auto value = image.range(offset, size);
    if (!value) {
      return;
    }
    visit(attribute, Image(*value));
    offset += size;
  }
}

constexpr uint8_t kAttributeMinStack = 0x12;
constexpr uint8_t kAttributeParameter = 0x17;
constexpr uint8_t kAttributeRegisters = 0x2f;

}  // namespace

json::Value to_json(const ResourceReport& report) {
  return json::Object{{"kernel", report.kernel},
                      {"registers", report.registers},
                      {"spill_store_bytes", report.spill_store_bytes},
                      {"spill_load_bytes", report.spill_load_bytes},
                      {"stack_bytes", report.stack_bytes},
                      {"shared_static_bytes", report.shared_static_bytes},
                      {"const_bytes", report.const_bytes}};
}

std::vector<ResourceReport> parse_resource_log(std::string_view log) {
  std::vector<ResourceReport> reports;
  for (const std::string_view line : split_lines(log)) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      reports.emplace_back();
      reports.back().kernel = quoted(line);
      continue;
    }
    if (reports.empty()) {
      continue;
    }
    ResourceReport& report = reports.back();
    if (const auto stores = number_before(line, " bytes spill stores")) {
      report.spill_store_bytes += *stores;
      report.spill_load_bytes += number_before(line, " bytes spill loads").value_or(0);
      report.stack_bytes += number_before(line, " bytes stack frame").value_or(0);
    } else if (const auto registers = number_before(line, " registers")) {
      report.registers = static_cast<int32_t>(*registers);
      report.shared_static_bytes = number_before(line, " bytes smem").value_or(0);
      report.const_bytes = number_before(line, " bytes cmem[0]").value_or(0);
      report.stack_bytes = number_before(line, " bytes cumulative stack size").value_or(report.stack_bytes);
    }
  }
  return reports;
}

Result<std::vector<ResourceReport>> inspect_cubin(std::string_view cubin) {
  const std::optional<Elf> elf = read_elf(cubin);
  if (!elf) {
    return fail("not a whole 64-bit CUDA ELF image");
  }
  std::vector<ResourceReport> reports;
  const Section* global_info = elf->find(".nv.info");
  for (size_t symbol = 0; symbol < elf->symbols.size(); ++symbol) {
    if (!elf->symbols[symbol].is_kernel) {
      continue;
    }
    ResourceReport report;
    report.kernel = elf->symbols[symbol].name;
    if (global_info != nullptr) {
      visit_attributes(global_info->contents, [&](uint8_t attribute, const Image& value) {
        if (value.read<uint32_t>(0) != symbol) {
          return;
        }
        if (attribute == kAttributeRegisters) {
          report.registers = static_cast<int32_t>(value.read<uint32_t>(4).value_or(0));
        } else if (attribute == kAttributeMinStack) {
          report.stack_bytes = value.read<uint32_t>(4).value_or(0);
        }
      });
    }
    if (const Section* info = elf->find(".nv.info." + report.kernel)) {
      visit_attributes(info->contents, [&](uint8_t attribute, const Image& value) {
        if (attribute != kAttributeParameter) {
          return;
        }
        const auto ordinal = value.read<uint16_t>(4);
        const auto packed = value.read<uint32_t>(8);
        constexpr size_t kMaxParameters = 4096;
        if (!ordinal || !packed || *ordinal >= kMaxParameters) {
          return;
        }
        if (report.parameter_sizes_bytes.size() <= *ordinal) {
          report.parameter_sizes_bytes.resize(*ordinal + 1U);
        }
        report.parameter_sizes_bytes[*ordinal] = static_cast<int32_t>((*packed >> 18) & 0x3fff);
      });
    }
    if (const Section* shared = elf->find(".nv.shared." + report.kernel)) {
      report.shared_static_bytes = static_cast<int64_t>(shared->size_bytes);
    }
    if (const Section* constants = elf->find(".nv.constant0." + report.kernel)) {
      report.const_bytes = static_cast<int64_t>(constants->size_bytes);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<std::vector<ResourceReport>> read_resources(std::string_view log, std::string_view cubin) {
  TW_TRY(std::vector<ResourceReport> reports, inspect_cubin(cubin));
  const std::vector<ResourceReport> printed = parse_resource_log(log);
  for (ResourceReport& report : reports) {
    const auto it = std::find_if(printed.begin(), printed.end(),
                                 [&](const ResourceReport& other) { return other.kernel == report.kernel; });
    if (it == printed.end()) {
      return fail(fmt::format("the compiler printed no resource lines for kernel `{}`", report.kernel));
    }
    if (it->registers != report.registers) {
      return fail(fmt::format("kernel `{}`: {} registers in the log, {} in the cubin", report.kernel, it->registers,
                              report.registers));
    }
    report.spill_store_bytes = it->spill_store_bytes;
    report.spill_load_bytes = it->spill_load_bytes;
    report.stack_bytes = std::max(report.stack_bytes, it->stack_bytes);
    report.shared_static_bytes = it->shared_static_bytes;
  }
  return reports;
}

}  // namespace tw::toolchain
