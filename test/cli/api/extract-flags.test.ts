import t from 'tap'
import { extractFlags } from '../../../cli/api/extract-flags.ts'

const NAMES = { '-H': 'header', '--header': 'header', '-o': 'output' } as const

t.test('flags that are named are taken, the others left as they are', (t) => {
  const words = ['GET', '/x', '-H', 'a: 1', '--handler=proxy', '--header=b: 2', '-o', 'json']
  t.same(extractFlags(words, NAMES), {
    taken: { header: ['a: 1', 'b: 2'], output: ['json'] },
    rest: ['GET', '/x', '--handler=proxy'],
  })
  t.throws(() => extractFlags(['-H'], NAMES), { message: /^-H needs a value/, status: 2 })
  t.end()
})
