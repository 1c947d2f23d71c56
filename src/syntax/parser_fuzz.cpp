// SPDX-License-Identifier: Apache-2.0
// Fuzzes lexer, parser and printer. Built with Clang and -DTW_LIBFUZZER it is a libFuzzer target; otherwise a program of its
// own that mutates tile programs with a seeded generator:
//   tw_parser_fuzz [--seed=N] [--seconds=N] [CORPUS_FILE...]
// An input that breaks a rule is written to parser_fuzz_failure.txt and the process aborts.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "syntax/fuzz_one.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(size, '\0');
  if (size > 0) {
    std::memcpy(text.data(), data, size);
  }
  if (auto broken = tw::syntax::fuzz_one(text)) {
    std::abort();
  }
  return 0;
}

#ifndef TW_LIBFUZZER
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

int main(int argc, char** argv) {
  uint64_t seed = 1;
  double seconds = 10;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--seed=")) {
      seed = std::strtoull(argument.c_str() + 7, nullptr, 10);
    } else if (argument.starts_with("--seconds=")) {
      seconds = std::strtod(argument.c_str() + 10, nullptr);
    } else {
      std::ifstream in(argument, std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  if (corpus.empty()) {
    corpus.push_back(tw::syntax::kFuzzSeedProgram);
  }
  std::mt19937_64 random(seed);
  const auto begin = std::chrono::steady_clock::now();
  uint64_t runs = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
    const std::string text = tw::syntax::mutate(corpus, random());
    // Written first: a crash leaves the input behind.
    if (auto broken = tw::syntax::fuzz_one(text)) {
      std::ofstream("parser_fuzz_failure.txt", std::ios::binary) << text;
      std::cerr << *broken << "\nrerun: tw_parser_fuzz --seed=" << seed << "\n";
      return 1;
    }
    ++runs;
  }
  std::cout << runs << " inputs, seed " << seed << "\n";
  return 0;
}
#endif
