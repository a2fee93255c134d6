import t from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'
import { listProblems } from '../../../fixtures/settings-problems.ts'

function parse(text: string) {
  return parseConfig(text, '/etc/mx/mx.yaml')
}

const toProblems = (text: string) => listProblems(() => parse(text))

t.test('reads listeners; the first with TLS replaces address and TLS settings', (t) => {
  const { listen, settings } = parse(`
listen:
  - { name: web, address: ":8080", https_redirect: true }
  - address: ":8443"
    tls: { cert: [a.crt, /b.crt], key: [a.key, /b.key] }
  - { name: local, address: "unix:/run/mx.sock" }
`)
  t.match(listen, [
    { name: 'web', address: { port: 8080 }, tls: undefined, httpsRedirect: true },
    { name: '2', address: { port: 8443 }, tls: { certFiles: ['/etc/mx/a.crt', '/b.crt'] } },
    { name: 'local', address: { host: 'unix:/run/mx.sock', port: 0 }, httpsRedirect: false },
  ])
  t.match(mergeSettings(settings), {
    ...{ address: { port: 8443 }, enableTls: true, enableAcme: false },
    ...{ tlsCertFiles: ['/etc/mx/a.crt', '/b.crt'], tlsKeyFiles: ['/etc/mx/a.key', '/b.key'] },
  })
  t.match(mergeSettings(parse('listen: [{ address: "unix:/run/mx.sock" }]').settings), {
    ...{ address: { host: 'unix:/run/mx.sock', port: 0 }, enableTls: false },
  })
  t.end()
})

t.test('with ACME, the redirect listener is the address of the challenges', (t) => {
  const { settings } = parse(`
acme_hosts: [example.com]
listen:
  - { address: ":80", https_redirect: true }
  - { address: ":443", tls: { acme: true } }
`)
  t.match(mergeSettings(settings), {
    ...{ address: { port: 443 }, enableAcme: true, enableTls: true, acmeAddress: { port: 80 } },
  })
  t.end()
})

const FAULTS: Readonly<Record<string, RegExp>> = {
  'listen: 8080': /:1:9: listen must be a list of listeners/,
  'listen: []': /listen must be a list/,
  'listen: [{ name: a }]': /listener 1 needs an address/,
  'listen: [{ adress: ":1" }]': /unknown key "adress" of listener 1, did you mean "address"\?/,
  'listen: [{ address: "80" }]': /address of listener 1 must be host:port .*unix:\/path, got "80"/,
  'listen: [{ address: "unix:run" }]': /must be unix: and an absolute path/,
  'listen: [{ address: ":1" }, { address: "127.0.0.1:1" }]':
    /listener 2 must have a different address than listener 1/,
  'listen: [{ name: a, address: ":1" }, { name: a, address: ":2" }]': /duplicate listener name "a"/,
  'listen: [{ address: ":1", https_redirect: true }]': /https_redirect of listener 1 needs another/,
  'listen: [{ address: ":1", https_redirect: maybe }]': /must be true or false, got maybe/,
  'listen: [{ address: ":1", tls: { acme: true }, https_redirect: true }]':
    /has no effect with tls/,
  'listen: [{ address: ":1", tls: {} }]': /tls of listener 1 must have cert and key/,
  'listen: [{ address: ":1", tls: { cert: a } }]': /must have cert and key with the same number/,
  'listen: [{ address: ":1", tls: { cert: a, key: b, acme: true } }]': /must have cert and key/,
  'listen: [{ address: ":1", tls: { acme: true, client_auth: none } }]': /required or optional/,
  'listen: [{ address: ":1" }]\naddress: ":2"': /:2:10: address cannot be combined with listen/,
  'listen: [{ name: web, address: ":1" }]\nroutes: [{ service: a, listeners: [wep] }]':
    /:2:10: route 1 names the unknown listener wep: did you mean web\?/,
  'routes: [{ service: a, listeners: [web] }]': /unknown listener web: add it under "listen"/,
}

t.test('reports faults with their position', (t) => {
  for (const [text, pattern] of Object.entries(FAULTS)) t.match(toProblems(text), [pattern], text)
  t.end()
})
