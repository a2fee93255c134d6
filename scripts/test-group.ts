/**
 * Runs compiled test files sequentially in one process: `MX_TESTS='<source> <source>' node dist/scripts/test-group.js`.
 * Each file is a subtest. `import t from 'tap'` in a file returns that subtest (`scripts/bundle-tap.ts`). The list is
 * not passed in the arguments, because tap names temporary folders after them.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { CURRENT_TEST } from './current-test.ts'
import { ROOT } from './root.ts'

const FILE_TIMEOUT_MS = 60_000

// Bound to the root test, because `t` is the subtest of a file while that file runs.
const { test } = t
const end = t.end
t.setTimeout(0)
const files = (process.env['MX_TESTS'] ?? '').split(' ')
await Promise.all(
  files.map((source) =>
    test(source, { timeout: FILE_TIMEOUT_MS }, async (file: Test) => {
      Reflect.set(globalThis, CURRENT_TEST, file)
      await import(pathToFileURL(join(ROOT, 'dist', source.replace(/tsx?$/, 'js'))).href)
    }),
  ),
)
end()
// A file that hangs or leaves handles open would keep the process alive.
setTimeout(() => process.exit(), 1000).unref()
