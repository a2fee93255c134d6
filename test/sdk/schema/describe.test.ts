import t from 'tap'
import { Type } from 'typebox'
import { describeEndpoint } from '../../../sdk/schema/describe.ts'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import { type EndpointDefinition, endpoint } from '../../../sdk/service/endpoint.ts'

function describe(definition: EndpointDefinition) {
  return describeEndpoint(
    'Helloworld.Call',
    definition,
    compileSchema(definition.request, 'request').jsonSchema,
    compileSchema(definition.response, 'response').jsonSchema,
  )
}

t.test('an endpoint has name, request, response and their JSON Schemas in metadata', async (t) => {
  const { name, request, response, metadata } = describe(
    endpoint({
      request: Type.Object({ name: Type.String() }),
      response: Type.Object({ message: Type.String() }),
      description: 'Greets.',
      handle: ({ name }) => ({ message: name }),
    }),
  )
  t.equal(name, 'Helloworld.Call')
  t.strictSame(request, {
    name: 'CallRequest',
    type: 'CallRequest',
    values: [{ name: 'name', type: 'string', values: [] }],
  })
  t.strictSame(response, {
    name: 'CallResponse',
    type: 'CallResponse',
    values: [{ name: 'message', type: 'string', values: [] }],
  })
  t.strictSame(Object.keys(metadata), ['description', 'requestSchema', 'responseSchema'])
  t.equal(metadata['description'], 'Greets.')
  t.match(JSON.parse(metadata['requestSchema']!), { properties: { name: { type: 'string' } } })
  t.match(JSON.parse(metadata['responseSchema']!), { properties: { message: { type: 'string' } } })
})

t.test('metadata `stream` is `true` for a streaming endpoint', async (t) => {
  for (const stream of ['server', 'client', 'both'] as const)
    t.strictSame(describe(endpoint({ stream, handle: () => [] })).metadata, {
      stream: 'true',
      streams: stream,
    })
  t.strictSame(describe(endpoint({ handle: () => 1 })).metadata, {})
})

t.test('metadata `readOnly` is `true` for an endpoint that changes nothing', async (t) => {
  t.strictSame(describe(endpoint({ readOnly: true, handle: () => 1 })).metadata, {
    readOnly: 'true',
  })
})

t.test('metadata contain `idempotent` if it is set', async (t) => {
  for (const idempotent of [true, false])
    t.strictSame(describe(endpoint({ idempotent, handle: () => 1 })).metadata, {
      idempotent: String(idempotent),
    })
})

t.test('metadata contain the HTTP route, with lists joined by commas', async (t) => {
  const one = endpoint({ http: { method: 'get', path: '/greet/{name}' }, handle: () => 1 })
  t.strictSame(describe(one).metadata, {
    endpoint: 'Helloworld.Call',
    handler: 'rpc',
    method: 'GET',
    path: '/greet/{name}',
  })
  const several = endpoint({
    http: {
      method: ['GET', 'POST'],
      path: ['/a', '/b'],
      host: ['a.test', 'b.test'],
      handler: 'api',
    },
    handle: () => 1,
  })
  t.strictSame(describe(several).metadata, {
    endpoint: 'Helloworld.Call',
    handler: 'api',
    method: 'GET,POST',
    path: '/a,/b',
    host: 'a.test,b.test',
  })
})
