import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { PROFILES } from '../../platform/profiles.ts'
import { SETTINGS, type Settings } from '../../platform/settings/settings.ts'
import { keysOf } from '../../platform/settings/sources.ts'
import { ROOT } from '../../scripts/root.ts'
import { openServer } from '../fixtures/server.ts'

t.setTimeout(120_000)

const run = promisify(execFile)
const text = readFileSync(join(ROOT, 'docs/server.md'), 'utf8')

t.test('the table of profiles in docs/server.md is up to date', async (t) => {
  const profiles = Object.values(PROFILES)
  const isSet = (key: keyof Settings): boolean =>
    profiles.some(({ settings }) => settings[key] !== undefined)
  const rows = keysOf('server')
    .filter(isSet)
    .map((key) => {
      const cells = profiles.map(({ settings }) => settings[key] || 'none')
      return `| \`${SETTINGS[key].name}\` | ${cells.map((cell) => `\`${cell}\``).join(' | ')} |\n`
    })
  const head = `| setting | ${Object.keys(PROFILES)
    .map((name) => `\`${name}\``)
    .join(' | ')} |\n|---|---|---|---|---|\n`
  const table = /<!-- profiles\b[^>]*-->\n([\s\S]*?)<!-- \/profiles -->/.exec(text)?.[1]
  t.equal(table, head + rows.join('').replaceAll('`none`', 'none'))
})

t.test(
  'no guide sends credentials to localhost, which may resolve to another program at [::1]',
  async (t) => {
    const folder = join(ROOT, 'docs')
    const guides = readdirSync(folder).filter((name) => name.endsWith('.md'))
    // https is allowed: a certificate authenticates the server.
    for (const path of [join(ROOT, 'README.md'), ...guides.map((name) => join(folder, name))])
      t.notMatch(readFileSync(path, 'utf8'), /(?<!https:\/\/)localhost:80[0-9]{2}/, path)
  },
)

t.test('the quick-start commands of docs/server.md return the documented results', async (t) => {
  const { url, token } = await openServer(t)
  const [block = ''] = /(?<=```sh\n)curl 127.0.0.1:8080\/ [\s\S]*?(?=```)/.exec(text) ?? []
  const script = block.replaceAll('127.0.0.1:8080', url).replaceAll('curl ', "curl -s -w '\\n' ")
  const env = { ...process.env, AUTH: `Authorization: Bearer ${token}` }
  const { stdout } = await run('sh', ['-e', '-c', script], { env })
  t.match(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [
      { version: /^\d+\.\d+\.\d+$/ },
      { version: 1 },
      { value: { data: '{"currency":"EUR"}' } },
      { version: Number },
      { records: [{ key: 'user/1', value: 'eyJuYW1lIjoiQW5uIn0=' }] },
    ],
  )
})
