import t from 'tap'
import type { Endpoint } from '../../../../core/contracts/registry.ts'
import { shapeOf } from '../../../../core/request/coercion/shape.ts'

function endpoint(metadata: Record<string, string>): Endpoint {
  const message = (name: string, type: string) => ({
    name,
    type: name,
    values: [{ name: 'limit', type, values: [] }],
  })
  return {
    name: 'Greeter.List',
    request: message('ListRequest', 'int32'),
    response: message('ListResponse', 'string'),
    metadata,
  }
}

t.test('the requestSchema of an endpoint takes precedence over its Value tree', async (t) => {
  const limit = (metadata: Record<string, string>) => {
    const shape = shapeOf(endpoint(metadata))
    return shape.kind === 'object' ? shape.fields.get('limit')?.kind : shape.kind
  }
  t.equal(limit({}), 'integer')
  t.equal(limit({ requestSchema: '{"properties":{"limit":{"type":"boolean"}}}' }), 'boolean')
  t.equal(limit({ requestSchema: 'not JSON' }), 'integer')
})

t.test('the shape of an endpoint is cached', async (t) => {
  const endpointA = endpoint({})
  t.equal(shapeOf(endpointA), shapeOf(endpointA))
  t.not(shapeOf(endpointA), shapeOf(endpoint({})))
})
