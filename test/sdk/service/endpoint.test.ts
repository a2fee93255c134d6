import t from 'tap'
import { Type } from 'typebox'
import { createContext } from '../../../sdk/context.ts'
import { checkEndpoints, endpoint, toEndpointName } from '../../../sdk/service/endpoint.ts'

t.test('an endpoint is unary and without an HTTP route by default', async (t) => {
  const { kind, idempotent, readOnly, description, http, request, response } = endpoint({
    handle: () => 1,
  })
  t.strictSame(
    { kind, idempotent, readOnly, description, http, request, response },
    {
      kind: 'unary',
      idempotent: undefined,
      readOnly: false,
      description: '',
      http: undefined,
      request: undefined,
      response: undefined,
    },
  )
  const route = { method: 'GET', path: '/a' }
  const declared = endpoint({
    request: Type.Object({}),
    stream: 'both',
    idempotent: false,
    description: 'Talks.',
    http: route,
    handle: () => [],
  })
  t.match(declared, { kind: 'both', idempotent: false, description: 'Talks.', http: route })
})

t.test('a handler method can use `this`', async (t) => {
  const spec = {
    greeting: 'Hello',
    handle(): string {
      return this.greeting
    },
  }
  t.equal(endpoint(spec).handle({} as never, createContext()), 'Hello')
})

t.test('a contradictory declaration is rejected', async (t) => {
  t.throws(() => endpoint({ handle: 5 as never }), /handle must be a function, got 5/)
  t.throws(
    () => endpoint({ stream: 'sideways', handle: () => {} } as never),
    /stream must be server, client or both, got "sideways"/,
  )
  for (const handle of [function* () {}, async function* () {}]) {
    t.throws(() => endpoint({ handle: handle as never }), /handle is a generator/)
    t.throws(() => endpoint({ stream: 'client', handle: handle as never }), /is a generator/)
    t.doesNotThrow(() => endpoint({ stream: 'server', handle: handle as never }))
  }
})

t.test('an unknown or invalid option is rejected at the declaration', async (t) => {
  const declare = (spec?: unknown) => endpoint(spec as { handle: () => void })
  t.throws(() => declare(), /endpoint: options must be an object, got undefined/)
  t.throws(() => declare({ respnse: 1 }), /unknown option respnse, did you mean response\?/)
  const handle = () => {}
  t.throws(() => declare({ idempotent: 'no', handle }), /idempotent must be true or false/)
  t.throws(() => declare({ readOnly: 1, handle }), /readOnly must be true or false, got 1/)
  t.throws(() => declare({ description: 5, handle }), /description must be a string, got 5/)
})

t.test('a table of endpoints accepts only results of endpoint()', async (t) => {
  const check = (endpoints?: unknown) => checkEndpoints('X', endpoints as never)
  t.doesNotThrow(() => check({ a: endpoint({ handle: () => 1 }) }))
  t.throws(() => check(), /handler "X" must be an object of endpoints, .*, got undefined/)
  t.throws(() => check({ a: () => 1 }), {
    name: 'TypeError',
    message: 'X.A must be created by endpoint({ ... }), got a function',
  })
  for (const wrong of [{ handle: () => 1 }, 'x', null, undefined])
    t.throws(() => check({ a: wrong }), /X\.A must be created by endpoint/)
})

t.test('an invalid route is rejected with the name of its endpoint', async (t) => {
  const check = (http: unknown) => () =>
    checkEndpoints('items', { get: endpoint({ http: http as never, handle: () => 1 }) })
  t.doesNotThrow(check({ method: 'GET', path: '/items/{id}' }))
  t.throws(check('/x'), { message: 'Items.Get: http: options must be an object, got "/x"' })
  t.throws(check({ method: 'GTE', path: '/x' }), {
    name: 'TypeError',
    message: 'Items.Get: http.method must be an HTTP method, got "GTE"',
  })
})

t.test('an endpoint name is the handler and the capitalized method', async (t) => {
  t.equal(toEndpointName('Helloworld', 'call'), 'Helloworld.Call')
  t.equal(toEndpointName('registry', 'listServices'), 'Registry.ListServices')
  for (const [handler, method] of [
    ['', 'call'],
    ['Helloworld', ''],
    ['Hello.World', 'call'],
    ['Helloworld', 'call it'],
    ['Helloworld', '1st'],
    ['Helloworld', '__proto__'],
  ] as const) {
    t.throws(() => toEndpointName(handler, method), /must consist of letters and digits/)
  }
})
