import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { listGuides, listUnmarked, readBlocks, runGuides } from '../fixtures/guides.ts'

/** Reasons why a test cannot run a block. */
const REASONS = [
  'it changes the machine',
  'it listens on every address',
  'it needs Consul',
  'it needs Docker',
  'it needs PostgreSQL and NATS',
  'it needs a checkout',
  'it needs a cluster',
  'it needs a gateway with this plugin',
  'it needs a public host name',
  'it needs a running gateway',
  'it needs a separate registry',
  'it needs a stopped server',
  'it needs a terminal',
  'it needs grpcurl',
  'it needs several machines',
  'it replaces its own process',
  'it runs every test, this one too',
  'it takes 40 minutes',
  'mx server runs already',
  'npm install downloads packages',
  'these are repositories of examples',
]

await runGuides(t, [
  'docs/cli.md',
  'docs/access.md',
  'docs/tls.md',
  'docs/benchmarks.md',
  'docs/metrics.md',
  'examples/README.md',
])

t.test('every block of command lines is run by a test or has a listed reason', (t) => {
  const reasons = new Set<string>()
  for (const guide of listGuides()) {
    t.same(listUnmarked(guide), [], `${guide}: command lines are in blocks marked sh`)
    for (const { marker, detail, lines } of readBlocks(guide)) {
      const title = `${guide}: ${lines.split('\n')[0]}`
      t.ok(marker, title)
      if (marker === 'run by') {
        const test = readFileSync(join(ROOT, detail), 'utf8')
        t.ok(test.includes(`'${guide}'`) && test.includes("'sh'"), `${title}: ${detail} runs it`)
      }
      if (marker !== 'not run') continue
      const [reason = '', test] = detail.split('; ')
      reasons.add(reason)
      t.ok(test === undefined || existsSync(join(ROOT, test.split(' ')[0]!)), `${title}: ${detail}`)
    }
  }
  t.strictSame([...reasons].sort(), REASONS)
  t.end()
})

t.test('every guide with runnable blocks is run by one of the command-lines tests', (t) => {
  const folder = join(ROOT, 'test/docs')
  const names = readdirSync(folder).filter((name) => name.startsWith('command-lines'))
  const tests = names.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  const isTyped = (guide: string) => readBlocks(guide).some(({ marker }) => marker === 'run')
  const guides = listGuides().filter(isTyped)
  t.ok(guides.length >= 18)
  for (const guide of guides) t.ok(tests.includes(`'${guide}'`), guide)
  t.end()
})
