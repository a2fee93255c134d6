import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { parseConfig, readConfig } from '../../../platform/config/parse-file.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'
import { listProblems } from '../../fixtures/settings-problems.ts'

const toProblems = (text: string) => listProblems(() => parseConfig(text, 'mx.yaml'))

t.test('parses settings, services and plugins', async (t) => {
  const { settings, services, plugins } = parseConfig(
    `
address: :9000
drain-timeout: 3s
namespace: " "
workers: 2
access_log: false
trusted_proxies: [10.0.0.0/8, "::1"]
cors_origins: https://a.test
services:
  greeter: [127.0.0.1:9001, 127.0.0.1:9002;3]
  one: 127.0.0.1:9003
  acme.shop:
    balance: least-conn
    keep_alive: 2s
    timeout: { connect: 1s, response: 5s }
    max_connection_age: none
    nodes:
      - 127.0.0.1:9004
plugins:
  - request-id
  - cors: { origins: [https://b.test] }
  - ./mine.ts:
      level: 5
  - access-log:
`,
    '/etc/mx/mx.yaml',
  )
  t.match(mergeSettings(settings), {
    address: { host: findWildcardHost(), port: 9000 },
    drainTimeoutMs: 3000,
    namespace: '',
    workers: 2,
    accessLog: 'off',
    trustedProxies: ['10.0.0.0/8', '::1'],
    corsOrigins: ['https://a.test'],
  })
  t.match(services, [
    {
      name: 'greeter',
      nodes: ['127.0.0.1:9001', '127.0.0.1:9002;3'],
      balance: undefined,
      at: '/etc/mx/mx.yaml:10:3',
    },
    { name: 'one', nodes: ['127.0.0.1:9003'], keepAliveMs: undefined },
    {
      name: 'acme.shop',
      nodes: ['127.0.0.1:9004'],
      balance: 'least-conn',
      keepAliveMs: 2000,
      timeouts: { connect: 1000, response: 5000 },
      maxConnectionAgeMs: Number.POSITIVE_INFINITY,
    },
  ])
  t.match(plugins, [
    { specifier: 'request-id', options: undefined, at: '/etc/mx/mx.yaml:20:5' },
    { specifier: 'cors', options: { origins: ['https://b.test'] } },
    { specifier: '/etc/mx/mine.ts', options: { level: 5 } },
    { specifier: 'access-log', options: undefined },
  ])
})

t.test('resolves paths relative to the folder of the file', async (t) => {
  const { settings } = parseConfig(
    'enable_tls: true\ntls_cert_file: a.pem\ntls_key_file: [/k/a.key]\naccess_log: access.log',
    '/etc/mx/mx.yaml',
  )
  t.match(mergeSettings(settings), {
    tlsCertFiles: ['/etc/mx/a.pem'],
    tlsKeyFiles: ['/k/a.key'],
    accessLog: '/etc/mx/access.log',
  })
})

t.test('accepts empty services and plugins, rejects a file without any setting', async (t) => {
  const { settings, services, plugins } = parseConfig('services:\n', 'mx.yaml')
  t.same([settings.size, services, plugins], [0, [], undefined])
  t.same(parseConfig('plugins: []', 'mx.yaml').plugins, [], 'an empty list disables all plugins')
  for (const text of ['', '# later\n'])
    t.same(toProblems(text), [
      'mx.yaml:1:1: the file contains no setting; add one or remove the file',
    ])
})

t.test('resolves YAML aliases', async (t) => {
  const { services } = parseConfig('services:\n  a: &nodes [127.0.0.1:1]\n  b: *nodes\n', 'mx.yaml')
  t.same(services[1]?.nodes, ['127.0.0.1:1'])
})

t.test('keeps the source text of scalars', async (t) => {
  t.match(mergeSettings(parseConfig('namespace: 1.10\n', 'mx.yaml').settings), {
    namespace: '1.10',
  })
})

t.test('reports every problem with file, line, column and reason', async (t) => {
  const cases: [text: string, problem: string | RegExp][] = [
    ['adress: :80', 'mx.yaml:1:1: unknown key "adress", did you mean "address"?'],
    [
      '\nzzzzzzzzzzz: 1',
      /^mx\.yaml:2:1: unknown key "z+": 'mx api --help' lists the settings\. .* or with --config$/,
    ],
    ['workers: 1\nworkers: 2', 'mx.yaml:2:1: duplicate key "workers"'],
    ['drain_timeout: 1s\ndrain-timeout: 2s', 'mx.yaml:2:1: duplicate key "drain_timeout"'],
    [
      'workers:  none',
      'mx.yaml:1:11: workers must be a whole number from 1 to 256, or auto, got "none"',
    ],
    ['workers: [1]', 'mx.yaml:1:10: workers must be one value (number), got a list'],
    [
      'reply_timeout: {a: 1}',
      'mx.yaml:1:16: reply_timeout must be one value (duration), got a map',
    ],
    ['workers:', /^mx\.yaml:1:\d+: workers needs a value/],
    ['trusted_proxies: {a: b}', /^mx\.yaml:1:18: trusted_proxies must be a list .*, got a map$/],
    ['trusted_proxies: [[a]]', /^mx\.yaml:1:19: trusted_proxies must be a list of single values/],
    [
      'plugin: a',
      /^mx\.yaml:1:1: key "plugin" is not allowed in this file: list plugins under "plugins"/,
    ],
    [
      'backend: a',
      /^mx\.yaml:1:1: key "backend" is not allowed in this file: list backends under "services"/,
    ],
    ['- a', /^mx\.yaml:1:1: expected a map of settings/],
    ['a: [1\nb: 2', /^mx\.yaml:2:1: /],
    ['a: *b', /^mx\.yaml:1:/],
    ['services: [a]', /^mx\.yaml:1:11: services must be a map/],
    ['services:\n  a:', /^mx\.yaml:2:3: service "a" needs a list of nodes/],
    ['services:\n  a: {}', /^mx\.yaml:2:3: service "a" needs a list of nodes/],
    ['services:\n  a: {nodes: [], balance: random}', /^mx\.yaml:2:3: service "a" needs a list/],
    ['services:\n  a: []', /^mx\.yaml:2:3: service "a" needs a list of nodes/],
    ['services:\n  a: [h:1, h:2, h:1;3]', 'mx.yaml:2:17: service "a" lists h:1 twice'],
    ['services:\n  a b: [h:1, h:2]', /^mx\.yaml:2:3: backend name must consist of .*"a b"$/],
    ['services:\n  a: [127.0.0.1]', /^mx\.yaml:2:7: service "a": .*127\.0\.0\.1/],
    [
      'services:\n  a: {nodes: [127.0.0.1:1], balans: p2c}',
      'mx.yaml:2:29: unknown key "balans" of service "a", did you mean "balance"?',
    ],
    [
      'services:\n  a: {nodes: [127.0.0.1:1], keep_alive: soon}',
      /^mx\.yaml:2:41: keep_alive .*soon/,
    ],
    ['services:\n  a: {nodes: [127.0.0.1:1], balance: nope}', /^mx\.yaml:2:38: balance .*nope/],
    [
      'services:\n  a: {nodes: [127.0.0.1:1], host: "a b"}',
      'mx.yaml:2:35: host of service "a" must be client, backend or a host such as shop.internal or shop.internal:8080, got "a b"',
    ],
    [
      'services:\n  a: {nodes: [127.0.0.1:1], timeout: {connect: soon}}',
      /^mx\.yaml:2:48: connect of timeout of service "a" must be .*soon/,
    ],
    ['plugins: cors', /^mx\.yaml:1:10: plugins must be a list/],
    ['plugins:\n  - a: 1', /^mx\.yaml:2:8: options of plugin "a" must be a map/],
    ['plugins:\n  - a: {}\n    b: {}', /^mx\.yaml:2:5: a plugin must be a name or a file/],
  ]
  for (const [text, problem] of cases)
    t.match(toProblems(text)[0] ?? 'no problem', problem, JSON.stringify(text))
  t.equal(toProblems('adress: 1\nworkers: x\nservices: 1').length, 3)
  t.equal(toProblems('zzzzzzzz: 1\nyyyyyyyy: 1')[1], 'mx.yaml:2:1: unknown key "yyyyyyyy"')
})

t.test('reports an unreadable file', async (t) => {
  const file = join(t.testdir(), 'missing.yaml')
  await t.rejects(readConfig(file), {
    message: new RegExp(`^cannot read configuration file ${file}: it does not exist$`),
  })
  symlinkSync('nowhere.yaml', file)
  await t.rejects(readConfig(file), {
    message: `cannot read configuration file ${file}: its link target nowhere.yaml does not exist`,
  })
  rmSync(file)
  writeFileSync(file, 'workers: 3')
  t.equal(mergeSettings((await readConfig(file)).settings).workers, 3)
})
