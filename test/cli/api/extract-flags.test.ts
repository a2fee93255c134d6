import t from 'tap'
import { extractFlags, separateFlags } from '../../../cli/api/extract-flags.ts'

const NAMES = { '-H': 'header', '--header': 'header', '-o': 'output' } as const

t.test('extracts the named flags and leaves all others unchanged', (t) => {
  const args = ['GET', '/x', '-H', 'a: 1', '--handler=proxy', '--header=b: 2', '-o', 'json']
  t.same(extractFlags(args, NAMES), {
    values: { header: ['a: 1', 'b: 2'], output: ['json'] },
    rest: ['GET', '/x', '--handler=proxy'],
  })
  t.throws(() => extractFlags(['-H'], NAMES), { message: /^-H needs a value/, status: 2 })
  t.end()
})

t.test('separates words from flags in any order', async (t) => {
  const flags = ['--handler', 'web', '-o', 'json', '--enable_tls', '--server']
  for (const line of [
    [...flags, 'explain', 'GET', '/a'],
    ['explain', ...flags, 'GET', '/a'],
    ['explain', 'GET', '/a', ...flags],
  ])
    t.same(separateFlags(line), { words: ['explain', 'GET', '/a'], flags })
  t.same(separateFlags(['--namespace', 'check']), { words: [], flags: ['--namespace', 'check'] })
  t.same(separateFlags(['--enable_tls', 'true', 'check']).words, ['check'])
  t.same(separateFlags(['-d', '-5', '/a']), { words: ['/a'], flags: ['-d', '-5'] })
})
