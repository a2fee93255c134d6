// A flag that no longer exists V8 passes over: gateways would be slower, and take more memory, and nobody would know.
import { execFileSync } from 'node:child_process'
import t from 'tap'

const FLAGS = [
  'heap-growing-percent',
  'max-inlined-bytecode-size',
  'max-inlined-bytecode-size-cumulative',
]

t.test('this Node.js knows the flags a gateway sets once it is ready', async (t) => {
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  for (const flag of FLAGS) t.match(known, new RegExp(`^ +--${flag} `, 'm'))
})
