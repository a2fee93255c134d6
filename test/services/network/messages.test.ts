import t from 'tap'
import { Type } from '../../../core/schema.ts'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import {
  After,
  Depth,
  Limit,
  LinkStatus,
  Peer,
  Query,
  Route,
} from '../../../services/network/messages.ts'

t.test('omitted fields have defaults, and the error names invalid ones', async (t) => {
  const request = Type.Object({ depth: Depth, limit: Limit, after: After, query: Query })
  const { decode } = compileSchema(request, 'request')
  const query = { service: '', address: '', gateway: '', router: '', network: '' }
  t.strictSame(await decode({}), { depth: 0, limit: 1000, after: '', query })
  t.strictSame(await decode({ query: { router: 'b' } }), {
    depth: 0,
    limit: 1000,
    after: '',
    query: { ...query, router: 'b' },
  })
  for (const [invalid, message] of [
    [{ depth: -1 }, /^request\.depth must/],
    [{ depth: 'x' }, /^request\.depth must/],
    [{ limit: 0 }, /^request\.limit must/],
    [{ limit: 1001 }, /^request\.limit must/],
    [{ after: 1 }, /^request\.after must/],
    [{ query: { service: 1 } }, /^request\.query\.service must/],
  ] as const)
    await t.rejects(async () => decode(invalid), { message }, String(message))
})

t.test('peers, links and routes match the schemas of responses', async (t) => {
  const node = { id: 'a', address: '', network: 'mx' }
  const link = {
    address: 'mx://a:1',
    id: '',
    state: 'waiting' as const,
    error: 'unavailable',
    rtt_ms: 0.5,
    metric: 1,
    calls: 0,
    failures: 0,
    sent_bytes: 0,
    received_bytes: 0,
  }
  const route = {
    service: 's',
    address: '',
    gateway: '',
    network: 'mx',
    router: 'a',
    link: 'local' as const,
    metric: 0,
    path: [],
  }
  for (const [schema, value] of [
    [Peer, { node, peers: [{ node, peers: [] }] }],
    [LinkStatus, link],
    [Route, route],
  ] as const) {
    const { encode } = compileSchema(schema, 'response')
    t.strictSame(await encode(value), value)
    await t.rejects(async () => encode({ ...value, node: 1, state: 'up', link: 'up' }))
  }
})
