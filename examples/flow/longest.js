// The five countries with the longest names.
input["3166-1"]
  .map((country) => ({ code: country.alpha_2, name: country.name, length: country.name.length }))
  .sort((a, b) => b.length - a.length || (a.code < b.code ? -1 : 1))
  .slice(0, 5)
