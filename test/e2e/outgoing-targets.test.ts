// Tenants and service accounts must not make the server connect to targets of their choice.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenHttp } from '../fixtures/listen.ts'
import { logIn } from '../fixtures/server.ts'
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.ts'

t.setTimeout(120_000)

/** A server with tenant accounts. */
interface Tenants {
  readonly server: ServerProcess
  readonly admin: string
  /** Token of an administrator of namespace `tb`. */
  readonly tenant: string
  /** Token of a service of the default namespace. */
  readonly service: string
  /** `host:port` of the admin address. */
  readonly adminAddress: string
}

const METRICS = { path: '/metrics', handler: 'proxy' }

async function open(t: Test, args: readonly string[]): Promise<Tenants> {
  const server = await startServerProcess(t, ['--admin_address=127.0.0.1:0', ...args])
  const { gateway, home } = server
  const isLocal = args.includes('--profile=local')
  const secret = isLocal ? readFileSync(join(home, '.mx', 'admin_password'), 'utf8').trim() : 'mx'
  const admin = await logIn(gateway, { id: 'admin', secret })
  const options = { namespace: 'tb' }
  for (const account of [
    { id: 'tbadmin', scopes: ['admin'], options },
    { id: 'svc', type: 'service', scopes: ['service'] },
  ])
    await post(gateway, '/auth/generate', { secret: 'tenant-secret', ...account }, admin)
  return {
    server,
    admin,
    tenant: await logIn(gateway, { id: 'tbadmin', secret: 'tenant-secret' }, 'tb'),
    service: await logIn(gateway, { id: 'svc', secret: 'tenant-secret' }),
    adminAddress: new URL(String(server.log().find(({ msg }) => msg === 'server ready')!['admin']))
      .host,
  }
}

async function post(gateway: string, path: string, body: object, token: string) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const reply = await fetch(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const json = (await reply.json()) as { readonly Detail?: string }
  return { status: reply.status, detail: json.Detail ?? '' }
}

function register({ server }: Tenants, address: string, token: string, domain: string) {
  const value = { name: '', type: '', values: [] }
  const endpoint = { name: 'Any.Any', request: value, response: value, metadata: METRICS }
  const node = { id: 'n', address, metadata: { protocol: 'http' } }
  const entry = { name: 'metrics', endpoints: [endpoint], nodes: [node], options: { domain } }
  return post(server.gateway, '/registry/register', entry, token)
}

for (const profile of ['test', 'local'])
  t.test(`${profile} profile: tenants cannot reach the server's internal addresses`, async (t) => {
    const tenants = await open(t, [`--profile=${profile}`])
    const { server, tenant, service, adminAddress } = tenants
    const { gateway, proxy, dashboard } = server
    const internalAddresses = [adminAddress, new URL(dashboard).host, new URL(gateway).host, proxy]
    const others: readonly [string, RegExp][] = [
      ['169.254.169.254:80', /\(link-local\)\. Ask an operator to add it to register_allow\.$/],
      ['[::ffff:169.254.169.254]:80', /\(link-local\)/],
      ['[64:ff9b::a9fe:a9fe]:80', /\(link-local\)/],
      ['0.0.0.0:8500', /\(unspecified\)/],
      ['192.0.2.7:80', /the request comes from 127\.0\.0\.1/],
    ]
    for (const [token, domain] of [
      [tenant, 'tb'],
      [service, 'mx'],
    ] as const) {
      for (const address of internalAddresses) {
        const { status, detail } = await register(tenants, address, token, domain)
        t.equal(status, 403, `${domain} ${address}`)
        t.match(detail, /denied by the outgoing address policy \(a listener of this server\)/)
      }
      for (const [address, reason] of others) {
        const { status, detail } = await register(tenants, address, token, domain)
        t.equal(status, 403, `${domain} ${address}`)
        t.match(detail, reason, address)
      }
      for (const host of ['2130706433', '0x7f000001', '0177.0.0.1', '127.1'])
        t.equal((await register(tenants, `${host}:80`, token, domain)).status, 400, host)
      const { port } = new URL(`http://${adminAddress}`)
      const byName = await register(tenants, `localhost:${port}`, token, domain)
      t.match(byName, { status: 403, detail: /localhost:\d+ \((?:127\.0\.0\.1|::1)\)/ })
    }
    const metrics = await fetch(`${gateway}/metrics`, { headers: { 'mx-namespace': 'tb' } })
    t.equal(metrics.status, 404)
    await metrics.body?.cancel()

    const backendPort = await listenHttp(t, (_request, reply) => void reply.end('mine'))
    const loopback = `127.0.0.1:${backendPort}`
    t.match(await register(tenants, loopback, tenant, 'tb'), {
      status: 403,
      detail: /\(loopback\)/,
    })
    const isLocal = profile === 'local'
    t.equal((await register(tenants, loopback, service, 'mx')).status, isLocal ? 200 : 403)
    t.equal((await register(tenants, loopback, tenants.admin, 'tb')).status, 200, 'an operator')
    t.equal(
      await (await fetch(`${gateway}/metrics`, { headers: { 'mx-namespace': 'tb' } })).text(),
      'mine',
    )
  })
