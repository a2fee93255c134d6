import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { listGuides, readBlocks, typeGuides } from '../fixtures/guides.ts'

await typeGuides(t, ['docs/cli.md', 'docs/access.md', 'docs/tls.md'])

t.test('every block of command lines says what runs it, or why nothing does', (t) => {
  for (const guide of listGuides())
    for (const { mark, detail, lines } of readBlocks(guide)) {
      const named = `${guide}: ${lines.split('\n')[0]}`
      t.ok(mark, named)
      if (mark === 'run by') t.ok(existsSync(join(ROOT, detail)), `${named}: ${detail}`)
      if (mark === 'not run') t.ok(detail, named)
    }
  t.end()
})

t.test('every guide with blocks to type is typed by one of these files', (t) => {
  const folder = join(ROOT, 'test/docs')
  const names = readdirSync(folder).filter((name) => name.startsWith('command-lines'))
  const tests = names.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  const isTyped = (guide: string) => readBlocks(guide).some(({ mark }) => mark === 'run')
  const guides = listGuides().filter(isTyped)
  t.ok(guides.length >= 15)
  for (const guide of guides) t.ok(tests.includes(`'${guide}'`), guide)
  t.end()
})
