// V8 ignores unknown flags: gateways would silently become slower and use more memory.
import { execFileSync } from 'node:child_process'
import t from 'tap'

const FLAGS = [
  'heap-growing-percent',
  'max-inlined-bytecode-size',
  'max-inlined-bytecode-size-cumulative',
]

t.test('this Node.js version supports the V8 flags that a gateway sets', async (t) => {
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  for (const flag of FLAGS) t.match(options, new RegExp(`^ +--${flag} `, 'm'))
})
