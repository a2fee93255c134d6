import t from 'tap'
import { toInterfaces } from '../../../cli/gen/interface.ts'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { makeService } from '../../fixtures/services.ts'

const VALUE = { name: 'Request', type: 'Request', values: [] }

function make(name: string, metadata: Readonly<Record<string, string>> = {}): Endpoint {
  return { name, request: VALUE, response: VALUE, metadata }
}

function interfacesOf(name: string, ...endpoints: readonly Endpoint[]) {
  return toInterfaces([{ ...makeService(name, []), endpoints }])
}

t.test('an endpoint has its own schemas, named by its handler and method', (t) => {
  const requestSchema = JSON.stringify({ type: 'object', properties: { to: { type: 'string' } } })
  const { services, schemas } = interfacesOf(
    'mail',
    make('Mail.Send', { requestSchema, description: 'Sends.', stream: 'true' }),
    make('Box.Open'),
  )
  t.match(services, [
    {
      name: 'mail',
      version: 'latest',
      endpoints: [
        { handler: 'Mail', method: 'Send', description: 'Sends.', isStream: true },
        { handler: 'Box', method: 'Open', description: '', isStream: false },
      ],
    },
  ])
  t.same(Object.keys(schemas), [
    'MailSendRequest',
    'MailSendResponse',
    'MailBoxOpenRequest',
    'MailBoxOpenResponse',
  ])
  t.same(schemas['MailSendRequest'], JSON.parse(requestSchema))
  t.same(schemas['MailSendResponse'], {}, 'nothing is known of it')
  t.end()
})

t.test('what a schema refers to stands beside it, each under a name of its own', (t) => {
  const tree = {
    $defs: { Node: { type: 'object', properties: { next: { $ref: 'Node' } } } },
    $ref: '#/$defs/Node',
  }
  const schema = JSON.stringify(tree)
  const { schemas } = interfacesOf(
    'list',
    make('List.Call', { requestSchema: schema, responseSchema: schema }),
  )
  t.same(schemas['ListCallRequest'], { $ref: '#/components/schemas/ListCallRequestNode' })
  t.same(schemas['ListCallRequestNode'], {
    type: 'object',
    properties: { next: { $ref: '#/components/schemas/ListCallRequestNode' } },
  })
  t.ok(schemas['ListCallResponseNode'], 'those of the response are others')
  t.end()
})

t.test('fields called as keywords are fields, and data is no schema', (t) => {
  const schema = {
    type: 'object',
    properties: { $ref: { type: 'string' }, $id: { const: { $ref: 'kept' } } },
    required: ['$ref'],
  }
  const { schemas } = interfacesOf(
    'odd',
    make('Odd.Call', { requestSchema: JSON.stringify(schema) }),
  )
  t.same(schemas['OddCallRequest'], schema)
  t.end()
})

t.test(
  'an endpoint is where it declares to be, in paths of the kind documents have, or where every call is served',
  (t) => {
    const { services } = interfacesOf(
      'mail',
      make('Mail.Find', { method: 'GET,PUT', path: '/mails/{id},^/m/.*$' }),
      make('Mail.Make', { path: '/mails' }),
      make('Mail.Call', { path: '^/x$' }),
    )
    t.same(
      services[0]!.endpoints.map(({ routes }) => routes),
      [
        [
          { method: 'GET', path: '/mails/{id}', isDeclared: true },
          { method: 'PUT', path: '/mails/{id}', isDeclared: true },
        ],
        [{ method: 'POST', path: '/mails', isDeclared: true }],
        [{ method: 'POST', path: '/mail/call', isDeclared: false }],
      ],
    )
    t.end()
  },
)

t.test('what is no endpoint of its own is left out: topics, and Debug', (t) => {
  const { services } = interfacesOf('mail', make('mails'), make('Debug.Stats'), make('Mail.Call'))
  t.same(
    services[0]!.endpoints.map(({ handler }) => handler),
    ['Mail'],
  )
  t.end()
})

t.test('a schema that is no JSON is made of the fields that are told', (t) => {
  const { schemas } = interfacesOf('mail', make('Mail.Call', { requestSchema: '{' }))
  t.same(schemas['MailCallRequest'], {})
  t.end()
})
