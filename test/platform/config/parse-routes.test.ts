import { resolve } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import { listProblems } from '../../fixtures/settings-problems.ts'

function parse(routes: string) {
  return parseConfig(`routes:\n${routes}`, 'mx.yaml').routes
}

const toProblems = (routes: string) => listProblems(() => parse(routes))

t.test('parses match, action and plugins of a route', async (t) => {
  const [shop, old, health, site] = parse(`
  - name: shop-api
    match:
      host: [Shop.Example.com, "*.shop.example.com"]
      path: /api/**
      method: [get, POST]
      headers: { X-Beta: "1", x-any: { present: true } }
      query: { v: { prefix: "2" } }
      client: 10.0.0.0/8
    service: shop
    handler: proxy
    strip_prefix: /api
    plugins: [ request-id, headers: { reply: { set: { a: b } } } ]
  - match: { host: old.example.com }
    redirect: { scheme: https, host: shop.example.com, status: 301 }
  - match: { path: [/healthz, /livez] }
    respond: { status: 204, headers: { cache-control: no-store } }
  - files: { root: ./dist, fallback: app/index.html, cache_control: { /assets/**: max-age=9 } }
    strip_prefix: /app
`)
  t.match(shop, {
    name: 'shop-api',
    at: 'mx.yaml:3:5',
    match: {
      hosts: ['shop.example.com', '*.shop.example.com'],
      paths: [{ segments: ['api', '**'] }],
      methods: ['GET', 'POST'],
      headers: [
        { name: 'x-beta', kind: 'exact', value: '1' },
        { name: 'x-any', kind: 'present', value: '' },
      ],
      query: [{ name: 'v', kind: 'prefix', value: '2' }],
      clients: ['10.0.0.0/8'],
    },
    action: { kind: 'service', service: 'shop', handler: 'proxy', stripPrefix: '/api' },
    plugins: [{ specifier: 'request-id' }, { specifier: 'headers' }],
  })
  t.match(old, {
    name: '2',
    match: { hosts: ['old.example.com'], paths: [{ segments: ['**'] }], methods: [] },
    action: { kind: 'redirect', scheme: 'https', host: 'shop.example.com', status: 301 },
  })
  t.match(health, {
    match: { paths: [{ segments: ['healthz'] }, { segments: ['livez'] }] },
    action: { kind: 'respond', status: 204, body: '', headers: ['cache-control', 'no-store'] },
  })
  t.match(site!.action, {
    ...{ kind: 'files', root: resolve('dist'), index: 'index.html', fallback: 'app/index.html' },
    stripPrefix: '/app',
    cacheControl: [[{ segments: ['assets', '**'] }, 'max-age=9']],
  })
})

t.test('names position, problem and expectation of an invalid route', async (t) => {
  const rows: [string, RegExp][] = [
    ['  - servce: a', /^mx\.yaml:2:5: unknown key "servce" of route 1, did you mean "service"\?$/],
    [
      '  - match: { path: /a }',
      /: route 1 must have one of service, redirect, respond, files, got none$/,
    ],
    ['  - { service: a, respond: {} }', /, got service and respond$/],
    [
      '  - { service: a, match: { paths: /a } }',
      /unknown key "paths" of match of route 1, did you mean "path"/,
    ],
    ['  - { service: a, match: { path: api } }', /path of route 1: it must begin with \//],
    ['  - { service: a, match: { host: "a:80" } }', /host of route 1: host must be/],
    ['  - { service: a, match: { method: FETCH } }', /"FETCH" is not an HTTP method/],
    [
      '  - { service: a, match: { headers: { x: { is: 1 } } } }',
      /unknown key "is" of x of route 1/,
    ],
    [
      '  - { service: a, handler: grpc }',
      /handler of route 1 must be proxy, web, rpc, api or event, got "grpc"/,
    ],
    ['  - { service: a, handler: rpc }', /route 1 needs endpoint: <Handler>\.<Method>/],
    [
      '  - { service: a, endpoint: A.B }',
      /endpoint of route 1 requires handler: rpc, api or event/,
    ],
    [
      '  - { service: a, strip_prefix: api/ }',
      /strip_prefix of route 1 must be a path such as \/api/,
    ],
    [
      '  - { service: a, add_prefix: /a, rewrite: { path: /b } }',
      /must not have both rewrite\.path and add_prefix/,
    ],
    [
      '  - { service: a, strip_prefix: /a, rewrite: { path: "/b{path}" } }',
      /must not have both strip_prefix and \{path\} in rewrite\.path: \{path\} has the prefix/,
    ],
    ['  - redirect: { status: 308 }', /redirect of route 1 must have scheme, host or path/],
    ['  - redirect: { scheme: ftp }', /scheme of route 1 must be http or https, got "ftp"/],
    [
      '  - redirect: { path: /a, status: 200 }',
      /status of route 1 must be 301, 302, 303, 307, 308, got 200/,
    ],
    ['  - respond: { status: 99 }', /status of route 1 must be a whole number from 200 to 599/],
    [
      '  - { name: a, service: a }\n  - { name: a, service: b }',
      /^mx\.yaml:3:5: duplicate route name "a"$/,
    ],
    ['  - { name: "a b", service: a }', /name of route 1 must be letters, digits/],
    ['  - { service: a, plugins: cors }', /plugins must be a list/],
    [
      '  - redirect: { host: a.test, path: "{rest}" }',
      /path of route 1 must begin with \/ or \{path\}, got "\{rest\}"/,
    ],
    [
      '  - { service: a, rewrite: { path: v2 } }',
      /rewrite\.path of route 1 must begin with \/ or \{path\}/,
    ],
    [
      '  - { service: "a b", handler: event }',
      /service and endpoint of route 1 must be names of a topic and an event/,
    ],
    ['  - { respond: {}, add_prefix: /a }', /route 1 has respond, so add_prefix has no effect/],
    ['  - { files: dist, rewrite: {} }', /route 1 has files, so rewrite has no effect: remove it/],
    ['  - files: { index: a.html }', /files of route 1 needs root, a folder such as \.\/dist/],
    ['  - files: { root: a, fallback: ../b }', /fallback of route 1 must be a file below root/],
    ['  - files: { root: a, index: b/c }', /index of route 1 must be a file name/],
    ['  - files: { root: a, fallbck: b }', /unknown key "fallbck" of files of route 1, did you/],
    [
      '  - files: { root: a, cache_control: { assets: b } }',
      /path of cache_control of route 1: it must begin with \//,
    ],
  ]
  for (const [text, problem] of rows) {
    const problems = toProblems(text)
    t.equal(problems.length, 1, problems.join('\n'))
    t.match(problems[0], problem)
  }
  t.strictSame(toProblems('  a: b'), ['mx.yaml:2:3: routes must be a list'])
})
