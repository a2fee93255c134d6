import { networkInterfaces } from 'node:os'
import t from 'tap'
import type { PeerTarget } from '../../../core/egress/egress-policy.ts'
import { openEgress } from '../../fixtures/egress.ts'

const LOCAL_ADDRESSES = Object.values(networkInterfaces())
  .flat()
  .map((result) => result!.address)
  .find((address) => !/^(?:127\.|::1$|fe80:)/.test(address))

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'shop.test': ['192.0.2.9', '192.0.2.7'],
  'mixed.test': ['192.0.2.7', '169.254.169.254'],
}

const egress = openEgress({
  registerAllow: ['192.0.2.9'],
  rpcAddressAllow: ['10.0.0.0/8'],
  listeners: () => [
    { host: '127.0.0.1', port: 8089 },
    { host: '0.0.0.0', port: 8080 },
    { host: '::', port: 8083 },
    { host: 'localhost', port: 8082 },
    { host: '192.0.2.9', port: 8081 },
  ],
  async resolve(host) {
    const result = NAMES[host]
    if (result !== undefined) return result
    if (host === 'slow.test') throw new Error(`getaddrinfo EAI_AGAIN ${host}`)
    if (host === 'empty.test') return []
    throw new Error(`getaddrinfo ENOTFOUND ${host}`)
  },
})

function resolve(host: string, overrides: Partial<PeerTarget> = {}): Promise<readonly string[]> {
  const target = { host, port: 80, label: 'node address', from: '192.0.2.7', mayBeLocal: false }
  return egress.resolvePeer({ ...target, ...overrides }, 'registry')
}

t.test(
  'a node address is allowed if it is the registering address or in register_allow',
  async (t) => {
    t.same(await resolve('192.0.2.7'), [])
    t.same(await resolve('192.0.2.9'), [])
    t.same(await resolve('::ffff:192.0.2.7'), [])
    t.same(await resolve('2001:db8::7', { from: '2001:DB8:0:0::7' }), [])
    await t.rejects(resolve('192.0.2.8'), {
      id: 'registry',
      code: 403,
      message:
        'node address 192.0.2.8:80 is denied by the outgoing address policy (the request comes from 192.0.2.7). Ask an operator to add it to register_allow.',
    })
    await t.rejects(resolve('192.0.2.8', { from: '' }), {
      message: /comes from an unknown address/,
    })
  },
)

t.test('a host name is resolved once and all its addresses are checked', async (t) => {
  t.same(await resolve('shop.test'), ['192.0.2.7', '192.0.2.9'])
  await t.rejects(resolve('mixed.test'), {
    message: /^node address mixed\.test:80 \(169\.254\.169\.254\) is denied .*\(link-local\)/,
  })
  await t.rejects(resolve('none.test'), {
    code: 400,
    message: /cannot resolve the host none\.test/,
  })
  await t.rejects(resolve('empty.test'), { code: 400, message: /no usable IP address/ })
  await t.rejects(resolve('slow.test'), { code: 503, message: /EAI_AGAIN/ })
})

t.test(
  'loopback, link-local, metadata, unspecified and multicast node addresses are denied',
  async (t) => {
    const rows: [string, RegExp][] = [
      ['127.0.0.1', /\(loopback\).* register_allow/],
      ['::1', /^node address \[::1\]:80 .*\(loopback\)/],
      ['169.254.169.254', /\(link-local\)\. Ask an operator to add it to register_allow\./],
      ['fd00:ec2::254', /\(cloud metadata\)/],
      ['0.0.0.0', /\(unspecified\)\. No setting allows it\./],
      ['224.0.0.1', /\(multicast\)/],
    ]
    for (const [host, message] of rows)
      await t.rejects(resolve(host, { from: host }), { code: 403, message }, host)
  },
)

t.test('local programs can register addresses of this server if mayBeLocal is set', async (t) => {
  t.same(await resolve('127.0.0.1', { from: '127.0.0.1', mayBeLocal: true }), [])
  t.same(await resolve('::1', { from: '127.0.0.1', mayBeLocal: true }), [])
  await t.rejects(resolve('127.0.0.1', { mayBeLocal: true }), { message: /\(loopback\)/ })
  if (LOCAL_ADDRESSES === undefined) return
  t.same(await resolve(LOCAL_ADDRESSES, { from: '127.0.0.1', mayBeLocal: true }), [])
  t.same(await resolve(LOCAL_ADDRESSES, { from: LOCAL_ADDRESSES }), [])
  await t.rejects(resolve(LOCAL_ADDRESSES, { from: '127.0.0.1' }), { message: /\(this server\)/ })
})

t.test('a listener of the server is never allowed as a node address', async (t) => {
  const local = { from: '127.0.0.1', mayBeLocal: true }
  const rows: [string, number][] = [
    ['127.0.0.1', 8089],
    ['127.0.0.1', 8080],
    ['::1', 8080],
    ['127.0.0.1', 8083],
    ['::ffff:127.0.0.1', 8083],
    ['127.9.9.9', 8082],
    ['192.0.2.9', 8081],
    ...(LOCAL_ADDRESSES === undefined ? [] : [[LOCAL_ADDRESSES, 8080] as [string, number]]),
  ]
  for (const [host, port] of rows)
    await t.rejects(
      resolve(host, { ...local, port }),
      { message: /\(a listener of this server\)\. Only an operator may name it\./ },
      `${host} ${port}`,
    )
  t.same(await resolve('127.0.0.2', { ...local, port: 8089 }), [], 'another loopback address')
})

t.test('repository addresses follow egress_allow, and a listener is never allowed', async (t) => {
  const fetch = (host: string, port = 443) => egress.resolveRepository({ host, port }, 'runtime')
  t.same(await fetch('192.0.2.7'), ['192.0.2.7'])
  t.same(await fetch('10.0.0.7'), ['10.0.0.7'])
  t.same(await fetch('shop.test'), ['192.0.2.9', '192.0.2.7'])
  await t.rejects(fetch('mixed.test'), {
    id: 'runtime',
    message: /^repository address mixed\.test:443 .* Ask an operator to add it to egress_allow\.$/,
  })
  await t.rejects(fetch('127.0.0.1'), { message: /\(loopback\)/ })
  await t.rejects(fetch('192.0.2.9', 8081), { message: /a listener of this server/ })
  if (LOCAL_ADDRESSES !== undefined)
    await t.rejects(fetch(LOCAL_ADDRESSES), { message: /\(this server\)/ })
})

t.test(
  'isCallAllowed checks an address against rpc_address_allow and does not resolve names',
  async (t) => {
    t.ok(egress.isCallAllowed('10.0.0.7'))
    for (const address of ['127.0.0.1', '192.0.2.7', 'shop.test', ''])
      t.notOk(egress.isCallAllowed(address), address)
  },
)

t.test('use() replaces the settings of the policy', async (t) => {
  const policy = openEgress()
  const target = { host: '10.0.0.7', port: 80, label: 'node address', from: '', mayBeLocal: false }
  await t.rejects(policy.resolvePeer(target, 'registry'), { code: 403 })
  policy.use({ registerAllow: ['private'], egressAllow: [], rpcAddressAllow: [] })
  t.same(await policy.resolvePeer(target, 'registry'), [])
  await t.rejects(policy.resolveRepository(target, 'runtime'), { code: 403 })
})
