// Specification, "Versioning".
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { openApi } from '../fixtures/api.ts'
import { openMxService } from '../fixtures/mx-service.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

for (const MX_LISTENER of ['uws', 'node']) {
  t.test(
    `${MX_LISTENER}: The gateway’s root path returns a JSON object with the platform version string.`,
    async (t) => {
      for (const MX_HANDLER of ['meta', 'api', 'rpc', 'proxy', 'event', 'web']) {
        const { port } = await openApi(t, { MX_ACCESS_LOG: 'off', MX_LISTENER, MX_HANDLER })
        const reply = await fetch(`http://127.0.0.1:${port}/`)
        t.equal(reply.status, 200, MX_HANDLER)
        t.equal(reply.headers.get('content-type'), 'application/json')
        t.equal(reply.headers.get('cache-control'), 'no-store')
        t.strictSame(await reply.json(), { version })
      }
    },
  )

  t.test(
    `${MX_LISTENER}: Versioned API paths are supported by putting a version segment v<n> first in the path; it becomes part of the service name (<ns>.v<n>.<a>). Different versions can run as different services.`,
    async (t) => {
      const backends: string[] = []
      for (const name of ['greeter', 'v1.greeter', 'v2.greeter']) {
        const { backend } = await openMxService(
          t,
          {},
          {
            name: `go.mx.api.${name}`,
            intercept: (call) => {
              call.reply('', JSON.stringify({ i: name, endpoint: call.endpoint }))
              return true
            },
          },
        )
        backends.push(backend)
      }
      const { port } = await openApi(t, {
        MX_ACCESS_LOG: 'off',
        MX_LISTENER,
        MX_BACKEND: backends.join(' '),
      })
      const rows = [
        ['/greeter/hello', 'greeter', 'Greeter.Hello'],
        ['/v1/greeter/hello', 'v1.greeter', 'Greeter.Hello'],
        ['/v2/greeter/hello', 'v2.greeter', 'Greeter.Hello'],
        ['/v2/greeter/say/hello', 'v2.greeter', 'Say.Hello'],
      ] as const
      for (const [path, i, endpoint] of rows)
        t.strictSame(
          await (await fetch(`http://127.0.0.1:${port}${path}`)).json(),
          { i, endpoint },
          path,
        )
      t.equal((await fetch(`http://127.0.0.1:${port}/v3/greeter/hello`)).status, 404)
    },
  )
}
