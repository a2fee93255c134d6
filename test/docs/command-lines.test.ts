import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { listGuides, readBlocks, typeGuides } from '../fixtures/guides.ts'

await typeGuides(t, ['docs/cli.md'])

t.test('every guide with such blocks is typed by one of these files', (t) => {
  const folder = join(ROOT, 'test/docs')
  const names = readdirSync(folder).filter((name) => name.startsWith('command-lines'))
  const tests = names.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  const guides = listGuides().filter((guide) => readBlocks(guide).length > 0)
  t.ok(guides.length >= 12)
  for (const guide of guides) t.ok(tests.includes(`'${guide}'`), guide)
  t.end()
})
