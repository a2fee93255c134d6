import t from 'tap'
import { Type } from 'typebox'
import { createContext } from '../../sdk/context.ts'
import { endpoint, toEndpointName } from '../../sdk/endpoint.ts'

t.test(
  'an endpoint is unary, may be repeated and says nothing of HTTP, unless it is declared otherwise',
  async (t) => {
    const { kind, idempotent, description, http, request, response } = endpoint({ handle: () => 1 })
    t.strictSame(
      { kind, idempotent, description, http, request, response },
      {
        kind: 'unary',
        idempotent: true,
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
  },
)

t.test('a handler may be a method that looks at its declaration', async (t) => {
  const spec = {
    greeting: 'Hello',
    handle(): string {
      return this.greeting
    },
  }
  t.equal(endpoint(spec).handle({} as never, createContext()), 'Hello')
})

t.test('a declaration that contradicts itself is refused', async (t) => {
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

t.test('the name is the handler and the capitalised method', async (t) => {
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
    t.throws(() => toEndpointName(handler, method), /must be letters and digits/)
  }
})
