import t from 'tap'
import type { EndpointInterface } from '../../../cli/gen/interface.ts'
import { toOpenApi } from '../../../cli/gen/openapi.ts'

const CALL: EndpointInterface = {
  ...{ handler: 'MailBox', method: 'ListMails', description: 'Lists.', isStream: false },
  ...{ request: 'Request', response: 'Response' },
  routes: [{ method: 'POST', path: '/mail-box/listMails', isDeclared: false }],
}
const declare = (path: string, ...methods: readonly string[]) =>
  methods.map((method) => ({ method, path, isDeclared: true }))

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document.
function getDocument(...endpoints: readonly EndpointInterface[]): any {
  const services = [{ name: 'mail-box', version: 'latest', endpoints }]
  return toOpenApi({ services, schemas: { Request: {}, Response: {} } }, 'http://h:1')
}

t.test('an endpoint has the path where the gateway serves it', (t) => {
  const document = getDocument(CALL, {
    ...{ ...CALL, handler: 'Other' },
    routes: declare('/mail-box/other/listMails', 'POST'),
  })
  t.match(document, {
    openapi: '3.1.0',
    info: { title: 'mail-box', version: 'latest' },
    servers: [{ url: 'http://h:1' }],
  })
  t.same(Object.keys(document.paths), ['/mail-box/listMails', '/mail-box/other/listMails'])
  t.match(document.paths['/mail-box/listMails'].post, {
    operationId: 'mail-box.MailBox.ListMails',
    summary: 'Lists.',
    requestBody: {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Request' } } },
    },
    responses: {
      200: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Response' } } },
      },
      default: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  })
  t.end()
})

t.test('a route has an operation per method, with path parameters', (t) => {
  const routes = declare('/mails/{id}/{part}', 'GET', 'PUT', 'LINK')
  const { paths } = getDocument({ ...CALL, routes })
  t.same(Object.keys(paths), ['/mails/{id}/{part}'])
  const path = paths['/mails/{id}/{part}']
  t.same(Object.keys(path), ['get', 'put'], 'OpenAPI has no other methods')
  t.match(path.get.parameters, [
    { name: 'id', in: 'path', required: true },
    { name: 'part', in: 'path' },
  ])
  t.notOk(path.get.requestBody)
  t.ok(path.put.requestBody)
  t.not(path.get.operationId, path.put.operationId)
  t.end()
})

t.test('only the first of two endpoints with the same route is documented', (t) => {
  const routes = declare('/mails', 'GET')
  const { paths } = getDocument({ ...CALL, routes }, { ...CALL, routes, method: 'Other' })
  t.match(paths['/mails'].get.operationId, 'ListMails')
  t.end()
})

t.test('a stream responds with application/x-ndjson', (t) => {
  const { paths } = getDocument({ ...CALL, isStream: true })
  t.same(Object.keys(paths['/mail-box/listMails'].post.responses[200].content), [
    'application/x-ndjson',
  ])
  t.end()
})
