// How many countries begin with each letter.
const counts = {};
for (const country of input["3166-1"]) {
  const letter = country.name[0];
  counts[letter] = (counts[letter] ?? 0) + 1;
}
counts
