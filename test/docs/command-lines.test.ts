import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { hasCommands, listGuides, readBlocks, typeGuides } from '../fixtures/guides.ts'

await typeGuides(t, ['docs/cli.md', 'docs/access.md', 'docs/tls.md'])

t.test('every block of command lines says what runs it, or why nothing does', (t) => {
  for (const guide of listGuides())
    for (const { mark, detail, lines } of readBlocks(guide)) {
      const named = `${guide}: ${lines.split('\n')[0]}`
      t.ok(mark, named)
      if (mark === 'run by') {
        const test = readFileSync(join(ROOT, detail), 'utf8')
        t.ok(hasCommands(test, guide, lines), `${named}: ${detail} has these commands`)
      }
      if (mark === 'not run') t.ok(detail, named)
    }
  t.end()
})

t.test('a test that lacks a word of a command does not run it', (t) => {
  const lines =
    'MX_STORE=x mx auth create --id 5   # mx no word\ncurl 127.0.0.1:8080/auth/rules/create\n'
  const words = ['MX_STORE', "'auth'", "'create'", '--id', 'Rules.Create']
  t.equal(hasCommands(words.join(' '), 'docs/x.md', lines), true)
  for (const word of words)
    t.equal(hasCommands(words.filter((other) => other !== word).join(' '), 'x', lines), false, word)
  t.equal(hasCommands("'docs/x.md' 'sh'", 'docs/x.md', lines), true)
  t.equal(hasCommands("'docs/x.md'", 'docs/x.md', lines), false)
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
