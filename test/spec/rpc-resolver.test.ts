// Specification, "Gateway, handler-based mode": RPC resolver.
import t, { type Test } from 'tap'
import { openApi } from '../fixtures/api.ts'
import { openMxService } from '../fixtures/mx-service.ts'

/** Path shape, service, method, and requests of that shape with their targets. */
const TABLE: [string, string, string, [string, string, string][]][] = [
  [
    '/<a>/<b>',
    '<ns>.<a>',
    '<A>.<B>',
    [
      ['/a/b', 'a', 'A.B'],
      ['/greeter/hello', 'greeter', 'Greeter.Hello'],
      ['/registry/listServices', 'registry', 'Registry.ListServices'],
      ['/v1/foo', 'v1', 'V1.Foo'],
    ],
  ],
  [
    '/<a>/<b>/<c>',
    '<ns>.<a>',
    '<B>.<C>',
    [
      ['/a/b/c', 'a', 'B.C'],
      ['/greeter/say/hello', 'greeter', 'Say.Hello'],
    ],
  ],
  [
    '/<a>/<b>/<c>/<d>',
    '<ns>.<a>.<b>',
    '<C>.<D>',
    [
      ['/a/b/c/d', 'a.b', 'C.D'],
      ['/shop/greeter/say/hello', 'shop.greeter', 'Say.Hello'],
    ],
  ],
  [
    '/v<n>/<a>/<b>',
    '<ns>.v<n>.<a>',
    '<A>.<B>',
    [
      ['/v1/a/b', 'v1.a', 'A.B'],
      ['/v12/greeter/hello', 'v12.greeter', 'Greeter.Hello'],
    ],
  ],
  [
    '/v<n>/<a>/<b>/<c>',
    '<ns>.v<n>.<a>',
    '<B>.<C>',
    [
      ['/v1/a/b/c', 'v1.a', 'B.C'],
      ['/v12/greeter/say/hello', 'v12.greeter', 'Say.Hello'],
    ],
  ],
]

/** A gateway in front of services with these names, which return how they were called. */
async function open(t: Test, listener: string, names: readonly string[]): Promise<string> {
  const { port } = await openMxService(
    t,
    {},
    {
      intercept: (call) => {
        const { service, endpoint } = call
        call.reply('', JSON.stringify({ service, endpoint }))
        return true
      },
    },
  )
  const backends = [...new Set(names)].map((name) => `${name}=mx://127.0.0.1:${port}`)
  const api = await openApi(t, {
    MX_ACCESS_LOG: 'off',
    MX_LISTENER: listener,
    MX_HANDLER: 'rpc',
    MX_BACKEND: backends.join(' '),
  })
  return `http://127.0.0.1:${api.port}`
}

async function call(url: string): Promise<unknown> {
  return (
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
  ).json()
}

for (const listener of ['uws', 'node']) {
  for (const [shape, service, method, rows] of TABLE) {
    t.test(`${listener}: | ${shape} | ${service} | ${method} |`, async (t) => {
      const origin = await open(
        t,
        listener,
        rows.map(([, name]) => `go.mx.api.${name}`),
      )
      for (const [path, name, endpoint] of rows)
        t.strictSame(await call(origin + path), { service: `go.mx.api.${name}`, endpoint }, path)
    })
  }

  t.test(
    `${listener}: Segment names are lower case in the path; method parts are capitalised.`,
    async (t) => {
      const origin = await open(t, listener, ['go.mx.api.greeter'])
      const rows = [
        ['/greeter/say/hello', 'Say.Hello'],
        ['/greeter/hello', 'Greeter.Hello'],
        ['/greeter/say/helloAll', 'Say.HelloAll'],
        ['/greeter/say/hello-all', 'Say.HelloAll'],
      ] as const
      for (const [path, endpoint] of rows)
        t.strictSame(await call(origin + path), { service: 'go.mx.api.greeter', endpoint }, path)
    },
  )
}
