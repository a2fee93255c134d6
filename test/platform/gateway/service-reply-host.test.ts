// Responses of services with `host: backend` or a name, and of routes with `rewrite.host`.
import t from 'tap'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'

for (const listener of ['uws', 'node'])
  t.test(
    `${listener}: URLs and cookies with the host of the node are rewritten to the host of the client`,
    async (t) => {
      const port = await listenHttp(t, ({ url, headers }, response) => {
        const { searchParams } = new URL(url!, 'http://localhost')
        const fill = (text: string) => text.replace('HOST', headers.host!)
        response.writeHead(200, {
          location: fill(searchParams.get('location') ?? '/'),
          'content-location': fill(searchParams.get('location') ?? '/'),
          'set-cookie': [fill(searchParams.get('cookie') ?? 'a=1'), 'z=1'],
        })
        response.end()
      })
      const { send } = await openConfiguredGateway(
        t,
        `
services:
  named: { nodes: ["127.0.0.1:${port}"], host: app.shop.internal }
  own: { nodes: ["127.0.0.1:${port}"], host: backend }
  plain: { nodes: ["127.0.0.1:${port}"] }
routes:
  - { match: { path: /app/** }, service: named, strip_prefix: /app }
  - { match: { path: /route/** }, service: own, rewrite: { host: "app.{header.x-site}.internal" } }
`,
        { listener },
      )
      const sendRequest = async (service: string, query: Record<string, string>) => {
        const { headers } = await send('GET', `/${service}/x?${new URLSearchParams(query)}`, {
          host: 'www.shop.example',
          'x-site': 'shop',
        })
        t.equal(headers['content-location'], headers.location)
        return headers
      }
      const urls: [service: string, sent: string, received: string][] = [
        ['named', 'http://HOST/login?a=1#b', 'http://www.shop.example/login?a=1#b'],
        ['named', 'http://APP.shop.internal', 'http://www.shop.example'],
        ['named', 'http://HOST:80/a', 'http://www.shop.example/a'],
        ['named', 'https://HOST/a', 'https://www.shop.example/a'],
        ['named', 'http://HOST:81/a', 'http://app.shop.internal:81/a'],
        ['named', 'http://app.shop.internal.example/a', 'http://app.shop.internal.example/a'],
        ['named', '/a', '/a'],
        ['app', 'http://HOST/login', 'http://www.shop.example/app/login'],
        ['own', 'http://HOST/a', 'http://www.shop.example/a'],
        ['route', 'http://app.shop.internal/a', 'http://www.shop.example/a'],
        ['plain', 'http://app.shop.internal/a', 'http://app.shop.internal/a'],
      ]
      for (const [service, location, received] of urls)
        t.equal(
          (await sendRequest(service, { location })).location,
          received,
          `${service} ${location}`,
        )

      const cookies: [service: string, sent: string, received: string][] = [
        ['named', 'a=1; Domain=app.shop.internal; Path=/', 'a=1; Path=/'],
        ['named', 'a=1; Path=/; domain=.shop.internal', 'a=1; Path=/'],
        ['named', 'a=1; Domain=shop.example; Secure', 'a=1; Domain=shop.example; Secure'],
        ['named', 'a=1; Domain=other.internal', 'a=1; Domain=other.internal'],
        ['route', 'a=1; Domain=shop.internal', 'a=1'],
        ['plain', 'a=1; Domain=app.shop.internal', 'a=1; Domain=app.shop.internal'],
      ]
      for (const [service, cookie, received] of cookies)
        t.strictSame(
          (await sendRequest(service, { cookie }))['set-cookie'],
          [received, 'z=1'],
          cookie,
        )
    },
  )
