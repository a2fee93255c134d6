import t from 'tap'
import plugin from '../../../plugins/http/redirect-https.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

t.test('redirects requests without TLS to the same URL with https', async (t) => {
  const https = buildPlugin(plugin, {})
  const { status, headers, forwarded } = await runPlugin(https, {
    host: 'shop.test:8080',
    path: '/a?b=1',
  })
  t.equal(status, 308)
  t.equal(headers.get('location'), 'https://shop.test/a?b=1')
  t.notOk(forwarded)
  const other = await runPlugin(buildPlugin(plugin, { port: 8443 }), { host: 'shop.test' })
  t.equal(other.headers.get('location'), 'https://shop.test:8443/')
})

t.test('a request that a proxy received over TLS is forwarded', async (t) => {
  const https = buildPlugin(plugin, {})
  t.equal((await runPlugin(https, { headers: { 'x-forwarded-proto': 'https' } })).status, 200)
})
