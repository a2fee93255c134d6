/**
 * Property of `globalThis` with the subtest that `import t from 'tap'` returns.
 * @default the root test of the process
 */
export const CURRENT_TEST: unique symbol = Symbol.for('mx.current-test')
