import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { runMx } from '../fixtures/mx.ts'
import { toNodeWords } from '../fixtures/programs.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

// CONTRIBUTING.md tells which blocks are run, and as whom.

const MARKED = /^<!-- run -->\n+```sh\n([\s\S]*?)^```/gm
const GUIDES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'))

const server = await startServerProcess(t, ['--profile=test'])
const bin = makeTempFolder(t, 'bin')
const mx = [process.execPath, ...toNodeWords(new URL('../../cli/main.ts', import.meta.url))]
writeFileSync(join(bin, 'mx'), `#!/bin/sh\nexec ${mx.map((word) => `'${word}'`).join(' ')} "$@"\n`)
chmodSync(join(bin, 'mx'), 0o755)
const first = makeTempFolder(t, 'home')
const atFirst = { cwd: first, env: { HOME: first, MX_ENV_LOCAL_ADDRESS: server.proxy } }
const login = await runMx(['login', 'admin', '--password=mx'], atFirst)
if (login.code !== 0) throw new Error(login.stderr)
const TOKEN = (await runMx(['user', 'token'], atFirst)).stdout.trim()
const LOGIN = { TOKEN, AUTH: `Authorization: Bearer ${TOKEN}` }

for (const guide of GUIDES) {
  const blocks = [...readFileSync(join(ROOT, guide), 'utf8').matchAll(MARKED)]
  for (const [i, [, text = '']] of blocks.entries())
    t.test(`what ${guide} says can be typed: block ${i + 1}`, async (t) => {
      if (skipUnless(t, 'curl') === undefined) return
      const cwd = makeTempFolder(t, 'home')
      cpSync(join(ROOT, 'examples'), join(cwd, 'examples'), { recursive: true })
      cpSync(join(ROOT, 'examples/helloworld'), join(cwd, 'helloworld'), { recursive: true })
      const own = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: server.proxy }
      writeFileSync(join(cwd, '.curlrc'), 'fail\nsilent\nshow-error\n')
      // Who is logged in: refreshing uses a login up, but that of a minute ago needs none.
      cpSync(join(first, '.mx'), join(cwd, '.mx'), { recursive: true })
      writeFileSync(join(cwd, 'logo.png'), '')
      const lines = text.replaceAll('localhost:8080', new URL(server.gateway).host)
      const bash = spawn('bash', ['-euo', 'pipefail', '-c', lines], {
        cwd,
        env: { ...process.env, ...own, ...LOGIN, PATH: [bin, process.env['PATH']].join(delimiter) },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [stdout, stderr] = [buffer(bash.stdout), buffer(bash.stderr)]
      const [code] = await once(bash, 'close')
      const told = `${await stdout}${await stderr}`
      t.equal(code, 0, code === 0 ? 'all of it' : told)
    })
}

t.test('there are such blocks', (t) => {
  const count = (name: string) => readFileSync(join(ROOT, name), 'utf8').match(MARKED)?.length ?? 0
  t.ok(GUIDES.reduce((sum, name) => sum + count(name), 0) >= 20)
  t.ok(count('README.md') >= 1)
  t.ok(count('docs/runtime.md') >= 1)
  t.end()
})
