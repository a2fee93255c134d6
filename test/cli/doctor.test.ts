import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFolder, checkNode } from '../../cli/doctor/machine.ts'
import { checkClock } from '../../cli/doctor/server.ts'
import { runDoctor } from '../../cli/doctor.ts'
import { openCliServer } from '../fixtures/cli-server.ts'
import { openRawBackend } from '../fixtures/raw-backend.ts'

const server = await openCliServer(t)

async function doctor(...words: string[]): Promise<{ status: number; stdout: string }> {
  let status = -1
  const stdout = await server.run(
    async (cli) => {
      status = await runDoctor(cli)
    },
    'doctor',
    ...words,
  )
  return { status, stdout: Buffer.from(stdout, 'latin1').toString() }
}

t.test('mx doctor: a server that runs, its registry, the login and the clock', async (t) => {
  const { status, stdout } = await doctor()
  t.equal(status, 0)
  t.match(stdout, /^ok {4}node: \d+\.\d+\.\d+\n/)
  t.match(stdout, `ok    server local (${server.proxy}): answers\n`)
  t.match(stdout, /\nok {4}registry: \d+ services\n/)
  t.match(stdout, '\nok    login: admin at local\n')
  t.match(stdout, '\nok    clock: agrees with that of the server\n')
  t.notMatch(stdout, /port/, 'they are its own')
  const told = JSON.parse((await doctor('-o', 'json')).stdout)
  t.match(told[0], { what: 'node', state: 'ok' })
})

t.test('no server: what to do, which ports are taken, and status 1', async (t) => {
  const { port } = await openRawBackend(t)
  process.env['MX_ADDRESS'] = `127.0.0.1:${port}`
  process.env['MX_ENV_LOCAL_ADDRESS'] = '127.0.0.1:1'
  t.teardown(() => {
    delete process.env['MX_ADDRESS']
    process.env['MX_ENV_LOCAL_ADDRESS'] = server.proxy
  })
  const { status, stdout } = await doctor()
  t.equal(status, 1)
  t.match(stdout, 'BAD   server local (127.0.0.1:1): nobody answers\n      start one: mx server\n')
  t.match(stdout, `note  port ${port} (gateway): taken by another program\n`)
  const away = await doctor('--env=dev')
  t.equal(away.status, 1)
  t.match(away.stdout, /\nBAD {3}environment: Env "dev" has no address/)
})

t.test(
  'an old node, files that others read, a broken file, a folder that cannot be written',
  (t) => {
    t.match(checkNode('18.20.1'), { state: 'bad', advice: 'install node 20.19 or newer' })
    t.match(checkNode('20.19.0'), { state: 'ok' })
    const folder = join(server.home, '.mx')
    const tokens = join(folder, 'tokens')
    chmodSync(tokens, 0o644)
    t.match(
      checkFolder(folder).find(({ what }) => what === tokens),
      { state: 'bad', advice: `chmod 600 ${tokens}` },
    )
    chmodSync(tokens, 0o600)
    const other = join(server.home, 'other')
    t.match(checkFolder(other), [{ state: 'ok', found: /^not there yet/ }])
    mkdirSync(other)
    writeFileSync(join(other, 'config.json'), '{}')
    t.match(checkFolder(other), [{ state: 'ok', found: 'can be written' }])
    t.end()
  },
)

t.test('a clock that is off, as tokens tell', (t) => {
  const toToken = (claims: object) =>
    `.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`
  t.match(checkClock(toToken({ iat: 1000, exp: 1900 }), 1001), { state: 'ok' })
  t.match(checkClock(toToken({ iat: 1000, exp: 1900 }), 500), {
    state: 'bad',
    found: '500 s behind the server',
  })
  t.match(checkClock(toToken({ iat: 1000, exp: 1900 }), 2000), {
    found: '100 s ahead of the server',
  })
  t.match(checkClock('no token', 1), { state: 'ok' })
  t.end()
})
