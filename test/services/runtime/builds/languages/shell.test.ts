import t from 'tap'
import { toCommand, toShell } from '../../../../../services/runtime/builds/languages/shell.ts'

t.test('runs a line without a shell if it does not need one', async (t) => {
  t.strictSame(toCommand(' node  dist/main.js --port=80 '), ['node', 'dist/main.js', '--port=80'])
  for (const line of ['a && b', 'A=1 b', 'a $B', 'a "b c"', 'a *.js', 'a > b', 'a; b', '~/a'])
    t.strictSame(toCommand(line), toShell(line), line)
})
