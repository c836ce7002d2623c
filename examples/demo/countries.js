// Debian's iso-codes, https://salsa.debian.org/iso-codes-team/iso-codes: the countries of ISO 3166-1.
const countries = input['3166-1'];
const byLetter = Object.groupBy
  ? Object.groupBy(countries, (country) => country.alpha_2[0])
  : countries.reduce((groups, country) => {
      (groups[country.alpha_2[0]] ??= []).push(country);
      return groups;
    }, {});
const letters = Object.entries(byLetter)
  .map(([letter, members]) => ({ letter, countries: members.length }))
  .sort((a, b) => b.countries - a.countries || a.letter.localeCompare(b.letter));
const longest = countries.reduce((a, b) => ((a.official_name ?? a.name).length >= (b.official_name ?? b.name).length ? a : b));
({
  countries: countries.length,
  withAnOfficialName: countries.filter((country) => country.official_name).length,
  busiestLetters: letters.slice(0, 3),
  longestName: `${longest.flag} ${longest.official_name ?? longest.name}`,
});
