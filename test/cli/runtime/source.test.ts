import { join } from 'node:path'
import t from 'tap'
import { checkName, parseSource, splitReference } from '../../../cli/runtime/source.ts'

process.chdir(
  t.testdir({ hello: { 'main.ts': '', 'mail.ts': '' }, 'hello@home': { 'index.js': '' } }),
)
const hello = join(process.cwd(), 'hello')

t.test('an existing path is a folder source; @ separates the reference', async (t) => {
  const folder = { kind: 'folder', path: hello, name: 'hello' }
  t.match(parseSource('hello', 'example.com'), { ...folder, ref: 'latest' })
  t.match(parseSource('./hello/', ''), folder)
  t.match(parseSource(`${hello}@v2`, ''), { ...folder, ref: 'v2' })
  t.match(parseSource('hello/main.ts', ''), { path: join(hello, 'main.ts'), name: 'hello' })
  t.match(parseSource('hello/mail.ts@v2', ''), { path: join(hello, 'mail.ts'), name: 'mail' })
  t.match(parseSource('hello@home', ''), { name: 'hello@home', ref: 'latest' })
})

const addresses: [text: string, address: string, ref: string, name: string][] = [
  ['github.com/someone/mail', 'github.com/someone/mail', 'latest', 'mail'],
  ['github.com/someone/all/mail@feature/x', 'github.com/someone/all/mail', 'feature/x', 'mail'],
  ['https://me@example.com/mail.git@0a1b2c3', 'https://me@example.com/mail.git', '0a1b2c3', 'mail'],
  ['git@example.com:team/mail.git', 'git@example.com:team/mail.git', 'latest', 'mail'],
  ['git@example.com:mail@main', 'git@example.com:mail', 'main', 'mail'],
  ['ssh://git@example.com:22/mail@main', 'ssh://git@example.com:22/mail', 'main', 'mail'],
  ['file:///srv/mail.git@main', 'file:///srv/mail.git', 'main', 'mail'],
  ['example.com/a/@scope/mail', 'example.com/a/@scope/mail', 'latest', 'mail'],
  ['mail', 'git.example.com/team/mail', 'latest', 'mail'],
  ['tools/mail@v1', 'git.example.com/team/tools/mail', 'v1', 'mail'],
]
for (const [text, address, ref, name] of addresses)
  t.test(`${text} is parsed as an address`, async (t) => {
    t.same(parseSource(text, 'git.example.com/team/'), { kind: 'address', address, ref, name })
  })

const rejected: [text: string, message: string | RegExp][] = [
  ['./nowhere', 'no such folder: ./nowhere'],
  ['/nowhere@main', 'no such folder: /nowhere'],
  ['nowhere', /^no such folder: nowhere\. .*github\.com\/<owner>\/nowhere.*git\.baseurl/],
  ['hello@', 'text is missing after the @ in hello@'],
]
for (const [text, message] of rejected)
  t.test(`${text} is rejected with a hint`, async (t) => {
    t.throws(() => parseSource(text, ''), { message, status: 2 })
  })

t.test('splitReference returns no reference without an @', async (t) => {
  t.same(splitReference('mail'), { stem: 'mail' })
  t.same(splitReference('mail@v1'), { stem: 'mail', ref: 'v1' })
})

t.test('an invalid service name is rejected with a hint to --name', async (t) => {
  t.equal(checkName('mail.v1-a_b'), 'mail.v1-a_b')
  for (const name of ['', 'a b', '..', 'a/b', '-a'])
    t.throws(() => checkName(name), { message: /--name$/, status: 2 })
})
