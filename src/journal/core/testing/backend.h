// What the suite of stores (store_suite.cc) needs from each store's tests.
#pragma once

#include <memory>
#include <string>

#include "heddle/journal/core/store.h"

namespace heddle::journal::testing {

/// One empty journal, and ways round the interface to change it.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Of the stores to be opened.
  std::uint32_t index_every = kIndexEvery;
  /// A store on the journal; each call gives another one, as another process has it.
  virtual std::unique_ptr<Store> open() = 0;
  virtual core::Result<std::unique_ptr<Store>> try_open() = 0;
  /// Runs SQL on the tables of docs/formats/journal.md.
  virtual void run_sql(const std::string& sql) = 0;
  /// A blob in the store's SQL, of bytes in hex.
  virtual std::string blob_of_hex(const std::string& hex) = 0;
  std::string blob(std::string_view bytes) { return blob_of_hex(hex_of(bytes)); }
  /// Likewise a text, of bytes in hex.
  virtual std::string text_of_hex(const std::string& hex) = 0;
  std::string text(std::string_view bytes) { return text_of_hex(hex_of(bytes)); }
  /// Can the store's texts be any bytes? Or well-formed ones without NUL alone.
  [[nodiscard]] virtual bool keeps_any_bytes() const = 0;
  /// Does table `journal` always say which fact is the last one? Or does it name one that must be there.
  [[nodiscard]] virtual bool knows_its_end() const = 0;

 private:
  static std::string hex_of(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) {
      for (const int shift : {4, 0}) hex += "0123456789abcdef"[(static_cast<unsigned char>(byte) >> shift) & 15];
    }
    return hex;
  }
};

/// Defined once in each test program.
std::unique_ptr<Backend> make_backend();

}  // namespace heddle::journal::testing
