import t, { type Test } from 'tap'
import { warnIfNoAcl } from '../../../../adapters/registry/consul/check-acl.ts'
import { createConsulClient } from '../../../../adapters/registry/consul/http/client.ts'
import { startConsulDouble } from '../../../fixtures/consul-double.ts'

/** Checks a Consul with the given response to tokens, as if it were at `host`. */
async function sendRequest(
  t: Test,
  status: number,
  text: string,
  options: { host: string; secure?: boolean; token?: string },
): Promise<{ warnings: string[]; requests: string[] }> {
  const double = await startConsulDouble(t, (_, response) => {
    response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
  })
  const client = createConsulClient({
    ...double,
    maxWaiting: 1,
    maxCalls: 1,
    maxResponseBytes: 1000,
  })
  t.teardown(client.close)
  const warnings: string[] = []
  await warnIfNoAcl(client, {
    secure: false,
    token: undefined,
    warn: (message) => warnings.push(message),
    ...options,
  })
  return { warnings, requests: double.requests.map(({ path }) => path) }
}

t.test('warns about a remote Consul without ACLs', async (t) => {
  const { warnings, requests } = await sendRequest(t, 401, 'ACL support disabled', {
    host: '10.0.0.1',
  })
  t.match(warnings, [/Consul at 10\.0\.0\.1 has no ACLs: anyone who can reach it can register/])
  t.equal(warnings.length, 1)
  t.same(requests, ['/v1/acl/token/self'])
})

t.test('does not warn about a local Consul or one with ACLs', async (t) => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1'])
    t.same(await sendRequest(t, 401, 'ACL support disabled', { host }), {
      warnings: [],
      requests: [],
    })
  for (const [status, text] of [
    [403, 'ACL not found'],
    [200, ''],
    [500, 'No cluster leader'],
  ] as const)
    t.same((await sendRequest(t, status, text, { host: '10.0.0.1' })).warnings, [])
})

t.test('warns about an unencrypted token', async (t) => {
  const host = 'consul.example'
  const { warnings } = await sendRequest(t, 200, '', { host, token: 'secret' })
  t.match(warnings, [/the token is sent to consul\.example unencrypted/])
  t.notMatch(warnings[0], /secret/)
  t.same((await sendRequest(t, 200, '', { host, token: 'secret', secure: true })).warnings, [])
})

t.test('checks again after Consul was unreachable', async (t) => {
  const checkOnce = async (status: number, text: string): Promise<boolean> => {
    const double = await startConsulDouble(t, (_, response) => {
      response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
    })
    const client = createConsulClient({ ...double, maxWaiting: 1, maxResponseBytes: 1000 })
    t.teardown(client.close)
    const options = { host: '10.0.0.1', secure: true, token: undefined, warn: () => {} }
    return warnIfNoAcl(client, options)
  }
  t.notOk(await checkOnce(500, 'No cluster leader'))
  t.ok(await checkOnce(403, 'ACL not found'))
  t.ok(await checkOnce(401, 'ACL support disabled'))
  t.ok(await checkOnce(200, ''))
})
