import t from 'tap'
import { toConsulId, toRegistration } from '../../../../adapters/registry/consul/registration.ts'
import { parseTags } from '../../../../adapters/registry/consul/tags.ts'
import type { Node } from '../../../../core/contracts/registry.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

const NODE = makeNode('10.0.0.1:80')
const SERVICE = makeService('greeter', [NODE])

t.test('converts a node to an instance with version and domain', async (t) => {
  const registration = toRegistration(SERVICE, NODE, 'mx', 90)
  const revision = registration.tags.at(-1)!
  t.match(revision, /^mx\.revision=[\w-]{12}$/)
  t.same(registration, {
    id: 'greeter:10.0.0.1:80',
    name: 'greeter',
    address: '10.0.0.1',
    port: 80,
    tags: ['mx', 'mx.version=latest', revision],
    meta: { 'mx-version': 'latest', 'mx-domain': 'mx' },
    weight: 1,
    ttlSeconds: 90,
    draining: false,
  })
  const { tags, meta } = toRegistration(SERVICE, NODE, 'shop', 0.5)
  t.same(tags.slice(0, -1), ['mx', 'mx.domain=shop', 'mx.version@shop=latest'])
  t.match(tags.at(-1), /^mx\.revision@shop=/)
  t.equal(meta['mx-domain'], 'shop')
  t.equal(toRegistration(SERVICE, NODE, 'mx', 0.5).ttlSeconds, 1)
})

t.test('stores metadata that does not fit Meta in a tag', async (t) => {
  const metadata: Record<string, string> = {
    'a.b': '1',
    'mx-version': 'mine',
    umlaut: 'ä'.repeat(300),
  }
  for (let i = 0; i < 70; i++) metadata[`key-${i}`] = String(i)
  const { meta, tags } = toRegistration(SERVICE, { ...NODE, metadata }, 'mx', 90)
  t.equal(Object.keys(meta).length, 64)
  t.equal(meta['mx-version'], 'latest')
  const rest = JSON.parse(tags.at(-2)?.slice('mx.node='.length) ?? '') as Record<string, string>
  t.equal(Object.keys(rest).length, 73 - 62)
  t.match(rest, { 'a.b': '1', 'mx-version': 'mine', umlaut: /^ä+$/ })
})

t.test('changes the revision with the node', async (t) => {
  const getRevision = (node: Node, version = 'latest'): string =>
    toRegistration({ ...SERVICE, version }, node, 'mx', 90).tags.at(-1)!
  const nodeRevision = getRevision(NODE)
  t.equal(getRevision({ ...NODE }), nodeRevision)
  t.equal(getRevision({ ...NODE, metadata: { state: 'draining' } }), nodeRevision)
  for (const other of [
    getRevision(makeNode('10.0.0.2:80')),
    getRevision({ ...NODE, address: '10.0.0.2:80' }),
    getRevision({ ...NODE, metadata: { weight: '2' } }),
    getRevision(NODE, '2'),
  ])
    t.not(other, nodeRevision)
})

t.test('treats draining as a state and any other state as metadata', async (t) => {
  const at = (state: string) => toRegistration(SERVICE, { ...NODE, metadata: { state } }, 'mx', 90)
  t.match(at('draining'), { draining: true })
  t.notOk('state' in at('draining').meta)
  t.match(at('warm'), { draining: false, meta: { state: 'warm' } })
})

t.test("limits the weight to Consul's range", async (t) => {
  for (const [weight, expected] of [
    ['5', 5],
    ['0', 1],
    ['1001', 1],
    ['x', 1],
    ['1.5', 1],
  ] as const)
    t.equal(toRegistration(SERVICE, { ...NODE, metadata: { weight } }, 'mx', 90).weight, expected)
})

t.test('builds ids that are unique on an agent and valid in paths', async (t) => {
  const uuid = '0190163d-8694-739b-aea5-966c26f8ad91'
  t.equal(toConsulId('greeter', `greeter-${uuid}`), `greeter-${uuid}`)
  t.equal(toConsulId('greeter', 'greeter-1'), 'greeter:greeter-1')
  t.equal(toConsulId('greeter', `greeter-de-${uuid}`), `greeter:greeter-de-${uuid}`)
  t.equal(toConsulId('greeter', '1'), 'greeter:1')
  t.equal(toConsulId('greeter', 'greeter:1'), 'greeter:greeter:1')
  for (const id of ['a/b', 'a%2f', '..?', 'a#b', 'a b'])
    t.throws(() => toConsulId('greeter', id), /node id must be letters, digits and/)
})

t.test('rejects a description that readers would ignore', async (t) => {
  const emptyValue = { name: '', type: '', values: [] }
  const register = (length: number) => {
    const description = 'x'.repeat(length)
    const endpoints = [
      {
        name: 'Greeter.Hello',
        request: emptyValue,
        response: emptyValue,
        metadata: { description },
      },
    ]
    return toRegistration({ ...SERVICE, endpoints }, NODE, 'mx', 90)
  }
  const { tags } = register(65_000)
  const warnings: string[] = []
  parseTags(tags, 'mx', (warning) => warnings.push(warning))
  t.same(warnings, [])
  t.throws(() => register(66_000), {
    name: 'TypeError',
    message:
      /^service greeter exceeds the limit of 65536 characters per tag .* got 66\d{3}: mx\.endpoint={"name":"Greeter\.Hello"/,
  })
})
