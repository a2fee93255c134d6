import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFolder, checkMachine, checkNode } from '../../../cli/doctor/machine.ts'
import { openRawBackend } from '../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const home = makeTempFolder(t, 'home')
process.env['HOME'] = home
for (const name of Object.keys(process.env)) if (name.startsWith('MX_')) delete process.env[name]
const folder = join(home, '.mx')

t.test('an unsupported Node.js version is reported with the minimum version', (t) => {
  for (const version of ['18.20.1', '20.18.9', '4.0.0'])
    t.match(checkNode(version), { state: 'bad', advice: 'install Node.js 20.19 or newer' }, version)
  for (const version of ['20.19.0', '22.0.0', '100.1.1'])
    t.match(checkNode(version), { state: 'ok', found: version })
  t.end()
})

t.test('a missing folder is ok if it can be created, otherwise bad', async (t) => {
  t.match(checkFolder(folder), [{ state: 'ok', found: /^does not exist/ }])
  t.match(checkFolder('/proc/missing/.mx'), [
    { state: 'bad', found: /^cannot be created/, advice: /HOME/ },
  ])
})

t.test('an unwritable folder, and a file readable by others, are bad with advice', async (t) => {
  mkdirSync(folder)
  t.same(checkFolder(folder), [{ what: folder, state: 'ok', found: 'writable' }])
  const tokens = join(folder, 'tokens')
  writeFileSync(tokens, '')
  chmodSync(tokens, 0o644)
  t.match(checkFolder(folder)[1], { what: tokens, state: 'bad', advice: `chmod 600 ${tokens}` })
  chmodSync(tokens, 0o600)
  // root may write everywhere.
  if (process.getuid?.() === 0) return
  chmodSync(folder, 0o500)
  t.match(checkFolder(folder)[0], { state: 'bad', found: /^not writable/, advice: /^chown/ })
  chmodSync(folder, 0o700)
})

t.test('an invalid config.json is reported and moved aside', (t) => {
  writeFileSync(join(folder, 'config.json'), '{')
  t.match(checkFolder(folder).at(-1), {
    state: 'bad',
    found: /config\.json must be a JSON object: moved to/,
  })
  t.notOk(existsSync(join(folder, 'config.json')))
  t.match(
    readdirSync(folder).filter((name) => name.startsWith('config.json')),
    [/broken/],
  )
  t.end()
})

t.test('a port in use is reported with the flag that changes it', async (t) => {
  const { port } = await openRawBackend(t)
  process.env['MX_WEB_ADDRESS'] = `127.0.0.1:${port}`
  const findings = await checkMachine(true)
  const usedPort = findings.find(({ what }) => what === `port ${port} (dashboard)`)
  t.match(usedPort, { state: 'note', advice: /mx server --web_address=127\.0\.0\.1:<port>/ })
  t.ok(findings.some(({ what }) => what === 'port 8089 (health and metrics)'))
  process.env['MX_ADMIN_ADDRESS'] = 'none'
  t.notMatch(JSON.stringify(await checkMachine(true)), 'health and metrics')
  t.notMatch(JSON.stringify(await checkMachine(false)), 'dashboard')
})
