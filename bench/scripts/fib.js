// Calls and small integers, nothing else.
function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
({ value: fibonacci(input.n) });
