import t from 'tap'
import { compileHosts } from '../../../../core/http/host/served-hosts.ts'

t.test('localhost, IP addresses and listed names are served on any port', async (t) => {
  const isServed = compileHosts(['App.example.com', '*.apps.example.com'])
  for (const host of [
    ...['localhost', 'LOCALHOST:8080', 'a.localhost', '127.0.0.1', '10.1.2.3:80', '[::1]:8080'],
    ...['app.example.com', 'app.example.com.:443', 'a.apps.example.com', 'a.b.apps.example.com'],
  ])
    t.ok(isServed(host), host)
  for (const host of ['', 'example.com', 'apps.example.com', 'localhost.example.com', '1.2.3'])
    t.notOk(isServed(host), host)
})

t.test('the error for a malformed name quotes it', async (t) => {
  t.throws(() => compileHosts(['http://a']), { message: /allow must be names .* got "http:\/\/a"/ })
})
