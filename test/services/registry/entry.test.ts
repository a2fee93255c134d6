import t from 'tap'
import { toEntry, toService } from '../../../services/registry/entry.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

const service = {
  ...makeService('greeter', ['127.0.0.1:9001', makeNode('[::1]:9002', { weight: '2' })], 'v2'),
  metadata: { owner: 'ann' },
}

t.test(
  'an entry has its domain in metadata and options, and contains the port of each node',
  async (t) => {
    t.strictSame(toEntry(service, 'staging'), {
      name: 'greeter',
      version: 'v2',
      metadata: { owner: 'ann', domain: 'staging' },
      endpoints: [],
      nodes: [
        { id: '127.0.0.1:9001', address: '127.0.0.1:9001', port: '9001', metadata: {} },
        { id: '[::1]:9002', address: '[::1]:9002', port: '9002', metadata: { weight: '2' } },
      ],
      options: { ttl: 0, domain: 'staging' },
    })
  },
)

t.test('a service survives the conversion to an entry and back', async (t) => {
  t.strictSame(toService(toEntry(service, 'mx')), service)
})

t.test('the domain in the metadata of a service is replaced by its actual domain', async (t) => {
  const claiming = { ...service, metadata: { domain: 'elsewhere' } }
  t.strictSame(toEntry(claiming, 'mx').metadata, { domain: 'mx' })
  t.strictSame(toService(claiming).metadata, {})
})

t.test('unknown fields are dropped at every level', async (t) => {
  const value = { name: 'n', type: 't', values: [{ name: 'm', type: 'u', values: [] }] }
  const endpoint = { name: 'A.B', request: value, response: value, metadata: { stream: 'true' } }
  const unknownFields = { extra: 1 }
  const largeEntry = {
    ...service,
    ...unknownFields,
    endpoints: [
      {
        ...endpoint,
        ...unknownFields,
        request: {
          ...value,
          ...unknownFields,
          values: [{ ...value.values[0]!, ...unknownFields }],
        },
      },
    ],
    nodes: service.nodes.map((node) => ({ ...node, ...unknownFields })),
  }
  t.strictSame(toService(largeEntry), { ...service, endpoints: [endpoint] })
})
