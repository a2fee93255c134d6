import t from 'tap'
import type { Service } from '../../../../core/contracts/registry.ts'
import {
  formatServer,
  formatVersions,
  isCallable,
  parseServer,
  parseVersions,
  readServer,
  readVersions,
} from '../../../../domain/mesh/registry/entry.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

const ENDPOINT = {
  name: 'A.B',
  request: {
    name: 'Request',
    type: 'Request',
    values: [{ name: 'a', type: 'string', values: [] }],
  },
  response: { name: '', type: '', values: [] },
  metadata: { stream: 'true' },
}
const FULL: Service = {
  ...makeService('greeter', ['127.0.0.1:1'], 'v2'),
  metadata: { owner: 'ann' },
  endpoints: [ENDPOINT],
}

t.test('an entry contains all versions but no node addresses', (t) => {
  const entry = formatVersions([FULL, makeService('greeter', ['127.0.0.1:2'], 'v1')])
  t.notMatch(entry, '127.0.0.1')
  const node = makeNode('peer:1')
  t.strictSame(parseVersions('greeter', entry, [node]), [
    makeService('greeter', [node], 'v1'),
    { ...FULL, nodes: [node] },
  ])
  t.end()
})

t.test('decodes an encoded entry', (t) => {
  const entry = formatVersions([FULL, makeService('greeter', [], 'v1')])
  t.equal(readVersions(JSON.parse(entry), 'entry'), entry)
  const malformed = [{ version: 'v', metadata: {}, endpoints: [{ name: 'A.B', x: 1 }], nodes: [1] }]
  t.notMatch(readVersions(malformed, 'entry'), /nodes|"x"/, 'unknown fields are dropped')
  t.end()
})

t.test('rejects an invalid entry with the path of the field', (t) => {
  const version = { version: 'v', metadata: {}, endpoints: [] }
  const invalid: [value: unknown, message: string][] = [
    [undefined, 'e must be a list of versions'],
    [[], 'e must be a list of versions'],
    [[1], 'e[0] must be an object'],
    [
      [{ ...version, version: '' }],
      'e[0].version must be unique, 1 to 253 visible ASCII characters',
    ],
    [[version, version], 'e[1].version must be unique, 1 to 253 visible ASCII characters'],
    [[{ ...version, endpoints: {} }], 'e[0].endpoints must be a list'],
    [[{ ...version, endpoints: [null] }], 'e[0].endpoints[0] must be an object'],
    [[{ ...version, endpoints: [{ name: 1 }] }], 'e[0].endpoints[0].name must be a string'],
    [[{ ...version, metadata: { a: 1 } }], 'e[0].metadata.a must be a string'],
    [[{ ...version, metadata: [] }], 'e[0].metadata must be an object'],
  ]
  for (const [value, message] of invalid)
    t.throws(() => readVersions(value, 'e'), { name: 'TypeError', message }, message)
  t.end()
})

t.test('advertises a service when peers can call it', (t) => {
  const plain = makeService('shop', ['127.0.0.1:1'])
  const createNode = (protocol: string) => makeService('shop', [makeNode('a:1', { protocol })])
  t.notOk(isCallable([]))
  t.notOk(isCallable([plain]), 'plain HTTP')
  t.notOk(isCallable([createNode('http')]))
  t.ok(isCallable([createNode('mx')]))
  t.ok(isCallable([plain, createNode('mxs')]), 'one callable version suffices')
  t.ok(isCallable([{ ...plain, endpoints: [ENDPOINT] }]), 'the HTTP transport of the call protocol')
  t.ok(isCallable([{ ...plain, nodes: [], endpoints: [ENDPOINT] }]), 'a listed entry without nodes')
  t.notOk(isCallable([{ ...FULL, name: 'store' }]), 'every server provides this service itself')
  t.end()
})

t.test('reads the entry of a server', (t) => {
  const server = { address: 'mx://a:1', peers: ['b', 'c'] }
  const entry = formatServer(server)
  t.strictSame(parseServer(entry), server)
  t.equal(readServer(JSON.parse(entry), 'e'), entry)
  t.equal(
    readServer({ address: '', peers: [], more: 1 }, 'e'),
    formatServer({ address: '', peers: [] }),
  )
  const invalid: [value: unknown, message: string][] = [
    [[], 'e must be an object'],
    [{ peers: [] }, 'e.address must be empty, mx://host:port or mxs://host:port'],
    [{ address: 'a:1', peers: [] }, 'e.address must be empty, mx://host:port or mxs://host:port'],
    [{ address: '' }, 'e.peers must be at most 64 ids of servers'],
    [{ address: '', peers: ['@'] }, 'e.peers must be at most 64 ids of servers'],
    [{ address: '', peers: Array(65).fill('a') }, 'e.peers must be at most 64 ids of servers'],
  ]
  for (const [value, message] of invalid)
    t.throws(() => readServer(value, 'e'), { name: 'TypeError', message }, message)
  t.end()
})
