// node_vm.cjs good|leaks|reuses: runs scripts in contexts of node's vm, a request a line on standard input, an outcome a line
// on standard output. `good` keeps host objects out of each context; `leaks` puts one in; `reuses` has one context for all.
'use strict';
const vm = require('vm');
const mode = process.argv[2];

function fresh() {
  // Without a prototype, since that of the host's objects leads to the host.
  return vm.createContext(Object.create(null));
}
const shared = fresh();

function run({ script, input, clock }) {
  const context = mode === 'reuses' ? shared : fresh();
  try {
    if (mode === 'leaks') context.input = JSON.parse(input);
    else vm.runInContext('globalThis.input = JSON.parse(' + JSON.stringify(input) + ')', context);
    const value = vm.runInContext(script, context, { timeout: clock });
    const json = JSON.stringify(value);
    return { kind: 'ok', value: json === undefined ? 'null' : json };
  } catch (error) {
    if (error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { kind: 'wallClock' };
    const is = error !== null && typeof error === 'object';
    return {
      kind: 'threw',
      name: (is ? String(error.name) : '').toWellFormed(),
      message: (is ? String(error.message) : String(error)).toWellFormed(),
    };
  }
}

require('readline')
  .createInterface({ input: process.stdin })
  .on('line', (line) => process.stdout.write(JSON.stringify(run(JSON.parse(line))) + '\n'));
