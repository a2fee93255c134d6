import t from 'tap'
import type { Account } from '../../../../core/contracts/auth.ts'
import type { Exchange } from '../../../../core/exchange.ts'
import { compileKey, needsAccount } from '../../../../plugins/traffic/rate-limit/request-key.ts'
import { runPlugin, type TestRequest } from '../../../../sdk/testing.ts'
import { createAccount } from '../../../fixtures/auth-source.ts'

async function toKey(
  parts: readonly string[],
  request: TestRequest = {},
  account?: Account,
): Promise<string> {
  const toKey = compileKey(parts)
  let key = ''
  const read = (x: Exchange): void => {
    if (account !== undefined) x.session = { account, id: '', issuedMs: 0, endsMs: 0 }
    key = toKey(x)
  }
  await runPlugin({ name: 'key', onRequest: read }, request)
  return key
}

t.test('a client is an IPv4 address or an IPv6 /64 network', async (t) => {
  const ip = (remoteAddress: string) => toKey(['ip'], { remoteAddress })
  t.equal(await ip('192.0.2.1'), '192.0.2.1')
  t.equal(await ip('2001:db8:1:2::1'), await ip('2001:db8:1:2:ffff::9'))
  t.not(await ip('2001:db8:1:2::1'), await ip('2001:db8:1:3::1'))
})

t.test('a relayed request counts by the address of the proxy', async (t) => {
  const toKeyOf = compileKey(['ip'])
  const keys: string[] = []
  const read = (x: Exchange): void => {
    x.relayed = true
    keys.push(toKeyOf(x))
  }
  for (const remoteAddress of ['192.0.2.1', '192.0.2.2'])
    await runPlugin({ name: 'key', onRequest: read }, { remoteAddress })
  t.strictSame(keys, ['192.0.2.1', '192.0.2.2'])
})

t.test('an anonymous caller counts by address', async (t) => {
  t.equal(await toKey(['account'], { remoteAddress: '192.0.2.1' }), '192.0.2.1')
  t.ok(needsAccount(['ip', 'account']))
  t.notOk(needsAccount(['ip']))
})

t.test('a caller counts by API key, otherwise by account, otherwise by address', async (t) => {
  const parts = ['api_key']
  t.equal(await toKey(parts, {}, createAccount({ apiKey: '0f' })), 'key 0f')
  t.equal(await toKey(parts, {}, createAccount({ id: 'jane', issuer: 'acme' })), 'acme/jane')
  t.equal(await toKey(parts, { remoteAddress: '192.0.2.1' }), '192.0.2.1')
  t.equal(await toKey(['account'], {}, createAccount({ apiKey: '0f' })), 'mx/jane')
  t.ok(needsAccount(parts))
})

t.test('combines parts so that different requests have different keys', async (t) => {
  const parts = ['method', 'header:X-Tenant']
  const key = (value: string) => toKey(parts, { headers: { 'x-tenant': value } })
  t.equal(await key('a'), 'GET\na')
  t.equal(await toKey(parts), 'GET\n')
  t.equal(await toKey(['path'], { path: '/a/b?c=d' }), '/a/b')
  t.equal(await toKey(['host'], { host: 'shop.test' }), 'shop.test')
})

t.test('counts other spellings of a path and host together', async (t) => {
  for (const path of ['/a/b/', '/a//b', '/a/%62', '/a;v=1/b', '/a/b;v=2'])
    t.equal(await toKey(['path'], { path }), '/a/b', path)
  for (const host of ['Shop.test', 'shop.test:8080', 'shop.test.'])
    t.equal(await toKey(['host'], { host }), 'shop.test', host)
})

t.test('bounds the length of a key', async (t) => {
  const long = (last: string) => toKey(['header:a'], { headers: { a: 'x'.repeat(5000) + last } })
  t.equal((await long('1')).length, 44)
  t.not(await long('1'), await long('2'))
})

t.test('rejects unknown and repeated parts, and malformed header names', (t) => {
  t.throws(() => compileKey(['client']), /key must be ip, account, .*, got "client"/)
  t.throws(() => compileKey(['toString']), /got "toString"/)
  t.throws(() => compileKey(['ip', 'ip']), /listed twice/)
  t.throws(() => compileKey(['header:a b']), /a b/)
  t.end()
})
