// Specification, "Gateway, handler-based mode": Proxy resolver.
import t, { type Test } from 'tap'
import { openApi } from '../fixtures/api.ts'
import { listenHttp } from '../fixtures/listen.ts'

const TABLE: [string, string, string][] = [
  ['/<a>', '/greeter', 'greeter'],
  ['/<a>/<b>', '/greeter/hello', 'greeter'],
  ['/<a>/:<param>', '/greeter/:name', 'greeter'],
]

/** A backend that returns its name and the request. */
async function openBackend(t: Test, name: string): Promise<string> {
  return `${name}=127.0.0.1:${await listenHttp(t, (request, response) => response.end(`${name} ${request.url}`))}`
}

for (const listener of ['uws', 'node']) {
  for (const handler of ['proxy', 'web']) {
    t.test(`${listener}, ${handler}`, async (t) => {
      const names = ['go.mx.api.greeter', 'go.mx.api.users', 'go.mx.api.v1.greeter']
      const backends = await Promise.all(names.map((name) => openBackend(t, name)))
      const api = await openApi(t, {
        MX_ACCESS_LOG: 'off',
        MX_LISTENER: listener,
        MX_HANDLER: handler,
        MX_BACKEND: backends.join(' '),
      })
      const get = async (path: string): Promise<string> =>
        (await fetch(`http://127.0.0.1:${api.port}${path}`)).text()

      for (const [shape, path, service] of TABLE) {
        t.test(`| ${shape} | <ns>.<a> | ${shape} |`, async (t) => {
          t.equal(await get(path), `go.mx.api.${service} ${path}`)
        })
      }

      t.test('path gives service name', async (t) => {
        t.equal(await get('/users/list/all?a=1'), 'go.mx.api.users /users/list/all?a=1')
      })

      t.test(
        'Versioned API paths are supported by putting a version segment v<n> first in the path; it becomes part of the service name (<ns>.v<n>.<a>).',
        async (t) => {
          t.equal(await get('/v1/greeter/hello'), 'go.mx.api.v1.greeter /v1/greeter/hello')
        },
      )
    })
  }
}
