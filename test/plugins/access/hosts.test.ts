import t from 'tap'
import plugin from '../../../plugins/access/hosts.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

const hosts = buildPlugin(plugin, { allow: ['app.test', '*.Shop.test'] })

t.test('allows local and listed hosts with any port', async (t) => {
  for (const host of [
    'localhost',
    'LOCALHOST:8080',
    'localhost.',
    'a.b.localhost:80',
    '127.0.0.1:8080',
    '192.168.0.7',
    '[::1]:8080',
    'app.test',
    'App.Test.:8443',
    'a.shop.test',
    'a.b.shop.test:80',
    'app.test',
  ])
    t.equal((await runPlugin(hosts, { host })).status, 200, host)
})

t.test('responds with 403 to other hosts and names the flag', async (t) => {
  for (const host of [
    'evil.test',
    'localhost.evil.test',
    'evil-localhost',
    'app.test.evil.test',
    'x.app.test',
    'shop.test',
    '127.0.0.1.nip.io',
    '1.2.3',
    '0x7f.1',
  ]) {
    const { status, body, forwarded } = await runPlugin(hosts, { host })
    t.equal(status, 403, host)
    t.strictSame(JSON.parse(body), {
      Id: 'go.mx.api',
      Code: 403,
      Detail: `host ${JSON.stringify(host)} is not allowed; add it to --hosts`,
      Status: 'Forbidden',
    })
    t.notOk(forwarded)
  }
})

t.test('rejects an entry that is not a host name', async (t) => {
  for (const entry of ['*', 'a.test:80', 'http://a.test', 'a..test', '', '*.*.test'])
    t.throws(
      () => buildPlugin(plugin, { allow: [entry] }),
      /allow must be names such as app.example.com/,
      entry,
    )
})
