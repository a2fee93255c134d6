import t from 'tap'
import doctorCommand from '../../../../cli/commands/tools/doctor.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { openRawBackend } from '../../../fixtures/raw-backend.ts'

const server = await openCliServer(t)

async function doctor(...args: string[]): Promise<{ status: number; stdout: string }> {
  const stdout = await server.run(doctorCommand, ...args)
  const status = Number(process.exitCode ?? 0)
  process.exitCode = 0
  return { status, stdout: Buffer.from(stdout, 'latin1').toString() }
}

t.test(
  'mx doctor reports a running server, its registry, the login and the clock as ok',
  async (t) => {
    const { status, stdout } = await doctor()
    t.equal(status, 0)
    t.match(stdout, /^ok {4}Node\.js: \d+\.\d+\.\d+\n/)
    t.match(stdout, `ok    server local (${server.proxy}): reachable\n`)
    t.match(stdout, /\nok {4}registry: \d+ services\n/)
    t.match(stdout, '\nok    login: admin at local\n')
    t.match(stdout, '\nok    clock: in sync with the server\n')
    t.notMatch(stdout, /port/, 'the ports are used by the server itself')
    const result = JSON.parse((await doctor('-o', 'json')).stdout)
    t.match(result[0], { what: 'Node.js', state: 'ok' })
  },
)

t.test('without a server, mx doctor exits 1 with advice and the ports in use', async (t) => {
  const { port } = await openRawBackend(t)
  process.env['MX_ADDRESS'] = `127.0.0.1:${port}`
  process.env['MX_ENV_LOCAL_ADDRESS'] = '127.0.0.1:1'
  t.teardown(() => {
    delete process.env['MX_ADDRESS']
    process.env['MX_ENV_LOCAL_ADDRESS'] = server.proxy
  })
  const { status, stdout } = await doctor()
  t.equal(status, 1)
  t.match(
    stdout,
    'FAIL  server local (127.0.0.1:1): unreachable: connection refused\n      start it with mx server\n',
  )
  t.match(stdout, `WARN  port ${port} (gateway): in use by another program\n`)
  const withoutAddress = await doctor('--env=dev')
  t.equal(withoutAddress.status, 1)
  t.match(withoutAddress.stdout, /\nFAIL {2}environment: Env "dev" has no address/)
  t.notMatch(withoutAddress.stdout, /port \d/, 'no server is started for another environment')
})
