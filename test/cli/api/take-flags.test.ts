import t from 'tap'
import { takeFlags } from '../../../cli/api/take-flags.ts'

const NAMES = { '-H': 'header', '--header': 'header', '-o': 'output' } as const

t.test('flags that are named are taken, the others left as they are', (t) => {
  const words = ['GET', '/x', '-H', 'a: 1', '--handler=proxy', '--header=b: 2', '-o', 'json']
  t.same(takeFlags(words, NAMES), {
    taken: { header: ['a: 1', 'b: 2'], output: ['json'] },
    rest: ['GET', '/x', '--handler=proxy'],
  })
  t.throws(() => takeFlags(['-H'], NAMES), { message: /^-H needs a value/, status: 2 })
  t.end()
})
