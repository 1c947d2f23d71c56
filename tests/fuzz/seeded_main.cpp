// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz entry without libFuzzer: the corpus, mutations of it, and random bytes, from a printed seed.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes);
// An entry may know better than we how to change an input.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size_bytes, size_t max_size_bytes,
                                                                unsigned seed);

namespace {

using Random = std::mt19937_64;

constexpr size_t kMaxGrowthBytes = 4096;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::string> corpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (!entry.is_regular_file()) {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

std::string mutated(Random& random, const std::vector<std::string>& corpus) {
  std::string text = corpus.empty() ? std::string() : corpus[random() % corpus.size()];
  if (LLVMFuzzerCustomMutator != nullptr) {
    size_t size_bytes = text.size();
    text.resize(size_bytes + kMaxGrowthBytes);
    text.resize(LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(text.data()), size_bytes, text.size(),
                                        static_cast<unsigned>(random())));
    return text;
  }
  for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
    size_t at = text.empty() ? 0 : random() % text.size();
    size_t length = text.empty() ? 0 : random() % std::min<size_t>(text.size() - at, 16);
    switch (random() % 5) {
      case 0:
        text.insert(at, 1 + random() % 3, static_cast<char>(random()));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        if (!text.empty()) {
          text[at] = static_cast<char>(random());
        }
        break;
      default:
        if (!corpus.empty()) {
          const std::string& other = corpus[random() % corpus.size()];
          size_t from = other.empty() ? 0 : random() % other.size();
          text.insert(at, other.substr(from, random() % 40));
        }
    }
  }
  return text;
}

}  // namespace

// Usage: [--seconds=N] [--seed=N] [CORPUS-FOLDER | INPUT-FILE]...
int main(int argc, char** argv) {
  int64_t seconds = 2;
  uint64_t seed = std::random_device()();
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--seconds=")) {
      seconds = std::stoll(argument.substr(std::strlen("--seconds=")));
    } else if (argument.starts_with("--seed=")) {
      seed = std::stoull(argument.substr(std::strlen("--seed=")));
    } else if (std::filesystem::is_regular_file(argument)) {
      std::ifstream file(argument, std::ios::binary);
      run(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
      return 0;
    } else {
      for (std::string& text : read_corpus(argument)) {
        corpus.push_back(std::move(text));
      }
    }
  }
  std::printf("run again: %s --seconds=%lld --seed=%llu\n", argv[0], static_cast<long long>(seconds),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (const std::string& text : corpus) {
    run(text);
  }
  Random random(seed);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  uint64_t count = 0;
  while (std::chrono::steady_clock::now() < end) {
    run(mutated(random, corpus));
    ++count;
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(count));
  return 0;
}
