// Objects, strings, a Map, a sort, JSON both ways: 2000 rows made, grouped and summarised.
const made = Array.from({ length: input.rows }, (_, i) => ({
  row: i,
  group: `g${(i * 7919) % 97}`,
  amount: ((i * 31) % 1000) / 8,
  labels: [`x${i % 3}`, `y${i % 5}`],
}));
const groups = new Map();
for (const { group, amount, labels } of JSON.parse(JSON.stringify(made))) {
  const entry = groups.get(group) ?? { group, count: 0, sum: 0, labels: {} };
  groups.set(group, entry);
  entry.count += 1;
  entry.sum += amount;
  for (const label of labels) entry.labels[label] = (entry.labels[label] ?? 0) + 1;
}
const summary = [...groups.values()]
  .map((entry) => ({ ...entry, mean: entry.sum / entry.count, key: entry.group.replace(/^g(\d+)$/, (_, d) => d.padStart(3, '0')) }))
  .sort((a, b) => (a.key < b.key ? -1 : 1));
({ groups: summary.length, first: summary[0] });
