// Compiled by ctest, once for each case: case 0 must compile, the others must not, for the reason that they name.
#include <string>

#include "heddle/journal/core/sql.h"

using heddle::journal::Sql;

constexpr Sql kLiteral = "SELECT 1";
std::size_t run(Sql sql) { return sql.size(); }
const char* pointer = "DROP TABLE fact";
char buffer[] = "DROP TABLE fact";

std::size_t used(const std::string& guest) {
  (void)guest;
#if HEDDLE_CASE == 0
  return run("SELECT 2") + run(kLiteral);
#elif HEDDLE_CASE == 1
  return run(guest.c_str());  // a pointer
#elif HEDDLE_CASE == 2
  return run(guest);  // a string
#elif HEDDLE_CASE == 3
  return run(buffer);  // an array that is filled at run time
#elif HEDDLE_CASE == 4
  return run(pointer);
#elif HEDDLE_CASE == 5
  return run(Sql(("SELECT " + guest).c_str()));
#endif
}
