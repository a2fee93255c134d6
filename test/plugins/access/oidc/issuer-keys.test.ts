import t from 'tap'
import {
  checkUrl,
  createIssuerKeys,
  locateKeys,
} from '../../../../plugins/access/oidc/issuer-keys.ts'
import { createTestEnv } from '../../../../sdk/testing.ts'
import { openEgress } from '../../../fixtures/egress.ts'
import { createPair, openOidcIssuer } from '../../../fixtures/oidc-issuer.ts'

t.test('accepts https URLs, and http on loopback only', async (t) => {
  for (const url of [
    'https://a.test',
    'http://localhost:1',
    'http://127.0.0.1',
    'http://[::1]:1/a',
  ])
    t.equal(checkUrl(url, 'issuer').protocol, new URL(url).protocol, url)
  for (const url of [
    'http://a.test',
    'http://127.0.0.1.evil.test',
    'http://localhost.evil.test',
    'http://169.254.169.254/',
    'https://user:a@b.test',
    'https://a.test/#a',
    'file:///etc/passwd',
    'a.test',
    '',
  ])
    t.throws(() => checkUrl(url, 'issuer'), { message: /^issuer must be an https:\/\/ URL/ }, url)
  t.throws(() => checkUrl('http://127.0.0.1', 'jwks_uri', false))
})

t.test(
  'shares one fetch between concurrent requests and refreshes stale keys in the background',
  async (t) => {
    const issuer = await openOidcIssuer(t)
    const { log } = createTestEnv()
    let nowMs = 0
    let closedCount = 0
    const keys = createIssuerKeys({
      ...{ issuer: issuer.issuer, jwksUri: '', egress: openEgress(), log, nowMs: () => nowMs },
      onClosed: () => closedCount++,
    })
    const find = async (kid = 'one') => keys.find({ alg: 'ES256', kid }, {} as never)
    await Promise.all(Array.from({ length: 10 }, () => find()))
    t.equal(issuer.requests.length, 2)
    issuer.keys = [issuer.pair.jwk, (await createPair('ES256', 'two')).jwk]
    nowMs = 700_000
    await find()
    await find('two')
    t.equal(issuer.requests.length, 4)
    t.equal(closedCount, 0)
    issuer.keys = issuer.keys.slice(1)
    nowMs = 1_400_000
    await find('two')
    await t.rejects(find('three'), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
    t.equal(closedCount, 1)
  },
)

t.test('rejects a response that exceeds the size limit', async (t) => {
  const issuer = await openOidcIssuer(t)
  issuer.discovery = { ...issuer.discovery, pad: 'x'.repeat(2 * 1024 * 1024) }
  const keys = createIssuerKeys({
    ...{ issuer: issuer.issuer, jwksUri: '', egress: openEgress(), log: createTestEnv().log },
    ...{ nowMs: Date.now, onClosed: () => {} },
  })
  const find = async () => keys.find({ alg: 'ES256', kid: 'one' }, {} as never)
  await t.rejects(find(), {
    message: 'the signing keys of the issuer are unavailable',
    cause: { message: /exceeds 1048576 bytes/ },
  })
})

t.test('reports URL and cause of a failed fetch', async (t) => {
  // No server can listen on port 0.
  const jwksUri = 'https://127.0.0.1:0/keys'
  const keys = createIssuerKeys({
    ...{ issuer: 'https://127.0.0.1:0', jwksUri, egress: openEgress(), log: createTestEnv().log },
    ...{ nowMs: Date.now, onClosed: () => {} },
  })
  await t.rejects(async () => keys.find({ alg: 'ES256', kid: 'one' }, {} as never), {
    cause: { message: /^https:\/\/127\.0\.0\.1:0\/keys is unreachable: (?!fetch failed).+/ },
  })
})

t.test('denies a jwks_uri on loopback and metadata addresses', async (t) => {
  const hosts: Readonly<Record<string, readonly string[]>> = {
    'keys.test': ['192.0.2.7', '10.0.0.7'],
    'mixed.test': ['192.0.2.7', '127.0.0.1'],
  }
  const egress = openEgress({ resolve: async (host) => hosts[host] ?? ['127.0.0.1'] })
  const check = async (uri: string, issuer = 'https://id.test') =>
    (await locateKeys(uri, issuer, egress)).url.href
  t.equal(await check('https://keys.test/a'), 'https://keys.test/a')
  t.equal(await check('https://id.test:8443/a'), 'https://id.test:8443/a', 'the host of the issuer')
  for (const [host, kind] of [
    ['127.0.0.1:6379', 'loopback'],
    ['[::1]', 'loopback'],
    ['localhost', 'loopback'],
    ['mixed.test', 'loopback'],
    ['2130706433', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['[::ffff:169.254.169.254]', 'link-local'],
    ['100.100.100.200', 'cloud metadata'],
    ['0.0.0.0', 'unspecified'],
  ] as const) {
    const message = new RegExp(
      `^jwks_uri .+ is denied by the outgoing address policy \\(${kind}\\)\\. Set the option jwksUri`,
    )
    await t.rejects(check(`https://${host}/a`), { message }, host)
  }
  t.equal(await check('https://localhost/a', 'http://127.0.0.1:1'), 'https://localhost/a')

  const issuer = await openOidcIssuer(t)
  issuer.discovery = { ...issuer.discovery, jwks_uri: 'https://169.254.169.254/keys' }
  const keys = createIssuerKeys({
    ...{ issuer: issuer.issuer, jwksUri: '', egress: openEgress(), log: createTestEnv().log },
    ...{ nowMs: Date.now, onClosed: () => {} },
  })
  const find = async () => keys.find({ alg: 'ES256', kid: 'one' }, {} as never)
  await t.rejects(find(), { cause: { message: /^jwks_uri 169\.254\.169\.254:443 is denied/ } })
})

t.test(
  'connects to the checked address even if the name resolves to another one later',
  async (t) => {
    const issuer = await openOidcIssuer(t)
    const port = Number(new URL(issuer.issuer).port)
    const checked = await openOidcIssuer(t, 'ES256', '127.0.0.3', port)
    checked.keys = [(await createPair('ES256', 'two')).jwk]
    // The system resolves this name to the issuer.
    issuer.discovery = { ...issuer.discovery, jwks_uri: `http://localhost:${port}/keys` }
    const addresses = [['127.0.0.3'], ['127.0.0.1']]
    const resolved: string[] = []
    const egress = openEgress({
      async resolve(host) {
        resolved.push(host)
        return addresses.shift()!
      },
    })
    const keys = createIssuerKeys({
      ...{ issuer: issuer.issuer, jwksUri: '', egress, log: createTestEnv().log },
      ...{ nowMs: Date.now, onClosed: () => {} },
    })
    await keys.find({ alg: 'ES256', kid: 'two' }, {} as never)
    t.same(resolved, ['localhost'])
    t.same(issuer.requests, ['/.well-known/openid-configuration'])
    t.same(checked.requests, ['/keys'])
  },
)
