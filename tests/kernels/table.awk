# The table of claims by kernel. Input: the list of claims, "ID REQUIREMENTS TEXT"; for each of `names` the files NAME.skip
# or NAME.result, NAME.rc in the folder `out`. Exits 0 when all is as claimed, 1 when not, 77 when all was skipped.
BEGIN { FS = "\t"; count = split(names, kernel, " "); split(required, words, " "); for (i in words) must[words[i]] = 1 }

{ id[++rows] = $1; needs[rows] = $2; text[rows] = $3 }

function problem(message) { problems[++wrong] = message }

function read_kernel(name,    file, line, f, n) {
  file = out "/" name ".skip"
  if ((getline line < file) > 0) { skipped[name] = line; return }
  file = out "/" name ".result"
  while ((getline line < file) > 0) {
    n = split(line, f, "\t")
    if (f[1] == "kernel") release[name] = f[2]
    else if (f[1] == "claim") { verdict[name, f[2], f[3]] = f[4]; note[name, f[2], f[3]] = f[5] }
    else if (f[1] == "program") ended[name, f[2]] = f[4]
    else if (f[1] == "left") { if (f[4] != 0) problem(name ", " f[2] ": " f[4] " processes left behind by " f[3])  }
    else if (f[1] == "done") finished[name] = 1
    else other[name] = other[name] "\n      " line
  }
  if (!(name in release)) problem(name ": the kernel did not come up; see " out "/" name ".console")
  else if (!(name in finished)) problem(name ": cut off before the end; see " out "/" name ".console and .result")
  for (u = 1; u <= 2; u++)
    if (finished[name] && ended[name, user[u]] != "exit 0" && ended[name, user[u]] != "exit 1")
      problem(name ", " user[u] ": the claims' program ended with " ended[name, user[u]])
}

# "yes", "FAIL", … of one user; a short note stands for a plain yes.
function one(name, who, claim,    v, n) {
  if (!((name, who, claim) in verdict)) { problem(name ", " who ", " claim ": no answer"); return "FAIL" }
  v = verdict[name, who, claim]; n = note[name, who, claim]
  if (v == "FAIL") problem(name ", " who ", " claim ": " n)
  else if (v != "yes" && n != "") remark(v ": " n, name, claim)
  else if (v == "yes" && n != "" && length(n) < 8) v = n
  return v
}

function remark(what, name, claim) {
  if (!(what in seen)) remarks[++told] = what
  if (index(seen[what] ",", " " claim ",") == 0) seen[what] = seen[what] (seen[what] == "" ? " " : ", ") claim
}

function cell(name, claim,    a, b) {
  if (name in skipped) return "skipped"
  a = one(name, "root", claim); b = one(name, "user", claim)
  return a == b ? a : a "/" b
}

END {
  user[1] = "root"; user[2] = "user"
  for (k = 1; k <= count; k++) read_kernel(kernel[k])
  printf "%-59s %-12s", "claim", ""
  for (k = 1; k <= count; k++) printf " %-13s", kernel[k]
  printf "\n"
  for (r = 1; r <= rows; r++) {
    printf "%-59s %-12s", text[r], needs[r]
    for (k = 1; k <= count; k++) printf " %-13s", cell(kernel[k], id[r])
    printf "\n"
  }
  printf "\nAs root and as an ordinary user; where they differ, root/user.\n"
  for (k = 1; k <= count; k++) {
    name = kernel[k]
    if (name in skipped) {
      printf "\nSKIPPED: kernel %s: %s\n", name, skipped[name]
      skips++
      told_skips = told_skips (skips > 1 ? "; " : "") "kernel " name ": " skipped[name]
      if (("kernels" in must) || (("kernel-" name) in must)) problem(name ": required by HEDDLE_REQUIRE and not there")
    } else printf "%-5s Linux %s\n", name, release[name]
    if (other[name] != "") printf "    said besides:%s\n", other[name]
  }
  for (i = 1; i <= told; i++) {
    printf "\n%s\n", remarks[i]
    n = split(seen[remarks[i]], ids, " ")
    line = "   "
    for (j = 1; j <= n; j++) {
      if (length(line) + length(ids[j]) > 110) { print line; line = "   " }
      line = line " " ids[j]
    }
    print line
  }
  if (wrong > 0) print ""
  for (i = 1; i <= wrong; i++) printf "FAIL %s\n", problems[i]
  if (skips > 0) printf "skipped: %s\n", told_skips
  if (wrong > 0) exit 1
  if (skips == count) exit 77
}
