import t from 'tap'
import { toInterfaces } from '../../../cli/gen/interface.ts'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { makeService } from '../../fixtures/services.ts'

const VALUE = { name: 'Request', type: 'Request', values: [] }

function make(name: string, metadata: Readonly<Record<string, string>> = {}): Endpoint {
  return { name, request: VALUE, response: VALUE, metadata }
}

function listInterfaces(name: string, ...endpoints: readonly Endpoint[]) {
  return toInterfaces([{ ...makeService(name, []), endpoints }])
}

t.test('an endpoint has its own schemas, named after handler and method', (t) => {
  const requestSchema = JSON.stringify({ type: 'object', properties: { to: { type: 'string' } } })
  const { services, schemas } = listInterfaces(
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
  t.same(schemas['MailSendResponse'], {}, 'no schema is known')
  t.end()
})

t.test('referenced definitions become separate schemas with unique names', (t) => {
  const tree = {
    $defs: { Node: { type: 'object', properties: { next: { $ref: 'Node' } } } },
    $ref: '#/$defs/Node',
  }
  const schema = JSON.stringify(tree)
  const { schemas } = listInterfaces(
    'list',
    make('List.Call', { requestSchema: schema, responseSchema: schema }),
  )
  t.same(schemas['ListCallRequest'], { $ref: '#/components/schemas/ListCallRequestNode' })
  t.same(schemas['ListCallRequestNode'], {
    type: 'object',
    properties: { next: { $ref: '#/components/schemas/ListCallRequestNode' } },
  })
  t.ok(schemas['ListCallResponseNode'], 'the response has its own definitions')
  t.end()
})

t.test('properties named like keywords, and constant values, are unchanged', (t) => {
  const schema = {
    type: 'object',
    properties: { $ref: { type: 'string' }, $id: { const: { $ref: 'kept' } } },
    required: ['$ref'],
  }
  const { schemas } = listInterfaces(
    'odd',
    make('Odd.Call', { requestSchema: JSON.stringify(schema) }),
  )
  t.same(schemas['OddCallRequest'], schema)
  t.end()
})

t.test(
  'an endpoint has its declared routes, except regular expressions, or the default route',
  (t) => {
    const { services } = listInterfaces(
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

t.test('topics and Debug endpoints are omitted', (t) => {
  const { services } = listInterfaces('mail', make('mails'), make('Debug.Stats'), make('Mail.Call'))
  t.same(
    services[0]!.endpoints.map(({ handler }) => handler),
    ['Mail'],
  )
  t.end()
})

t.test('an invalid schema is replaced by one from the fields of the registry entry', (t) => {
  const { schemas } = listInterfaces('mail', make('Mail.Call', { requestSchema: '{' }))
  t.same(schemas['MailCallRequest'], {})
  t.end()
})
