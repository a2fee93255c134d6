import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkClock, checkServer } from '../../../cli/doctor/server.ts'
import { openCli } from '../../fixtures/cli.ts'

const { home } = await openCli(t)

function toToken(claims: object): string {
  return `.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`
}

t.test('clock differences are computed from the token', (t) => {
  t.match(checkClock(toToken({ iat: 1000, exp: 1900 }), 1001), { state: 'ok' })
  t.match(checkClock(toToken({ iat: 1000, exp: 1900 }), 500), {
    state: 'bad',
    found: '500 s behind the server',
  })
  t.match(checkClock(toToken({ iat: 1000, exp: 1900 }), 8200), {
    found: '7200 s ahead of the server',
  })
  t.match(checkClock('no token', 1), { state: 'ok' })
  t.end()
})

t.test(
  'a reachable server without a registry is bad, with no advice to start a server',
  async (t) => {
    // The server of openCli has no registry.
    const { canStart, findings } = await checkServer({})
    t.notOk(canStart)
    t.match(findings, [
      { what: /^server local/, state: 'bad', advice: 'see the log of the server' },
    ])
  },
)

t.test(
  'an unreachable server is reported with advice: start it if local, otherwise see mx env',
  async (t) => {
    process.env['MX_ENV_DEV_ADDRESS'] = '127.0.0.1:1'
    const { MX_ENV_LOCAL_ADDRESS: local } = process.env
    t.teardown(() => {
      delete process.env['MX_ENV_DEV_ADDRESS']
      process.env['MX_ENV_LOCAL_ADDRESS'] = local
    })
    t.match(await checkServer({ env: 'dev' }), {
      canStart: false,
      findings: [
        { found: 'unreachable: connection refused', advice: 'see mx env, or use mx --env local' },
      ],
    })
    process.env['MX_ENV_LOCAL_ADDRESS'] = '127.0.0.1:1'
    t.match(await checkServer({ env: 'local' }), { canStart: true })
  },
)

t.test('an unknown environment and an invalid config.json are reported', async (t) => {
  t.match(await checkServer({ env: 'nothing' }), {
    canStart: false,
    findings: [{ what: 'environment', state: 'bad', advice: 'see mx env' }],
  })
  mkdirSync(join(home, '.mx'), { recursive: true })
  writeFileSync(join(home, '.mx/config.json'), '[')
  const { findings } = await checkServer({})
  t.match(findings, [{ state: 'bad', found: /config\.json must be a JSON object: moved to/ }])
  t.notOk('advice' in findings[0]!, 'the text of the finding contains the advice')
})
