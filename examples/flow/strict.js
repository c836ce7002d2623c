// Wants an official name of every country, and some have none.
const without = input["3166-1"].filter((country) => !country.official_name);
if (without.length > 0) throw new RangeError(`${without.length} countries have no official name, such as ${without[0].name}`);
"all have one"
