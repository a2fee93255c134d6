import t from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import type { Configuration } from '../../../../platform/config/types.ts'
import { diffConfigurations, summarizeChanges } from '../../../../platform/config/versions/diff.ts'
import type { SettingsInput } from '../../../../platform/settings/settings.ts'
import { mergeInputs, mergeSettings } from '../../../../platform/settings/sources.ts'

function configure(yaml: string, flags: SettingsInput = new Map()): Configuration {
  const config = parseConfig(yaml, 'mx.yaml')
  const inputs = mergeInputs(flags, config.settings)
  return { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
}

function diff(before: string, after: string): readonly string[] {
  return diffConfigurations(configure(before), configure(after)).map(
    ({ kind, name, change, detail }) => `${change} ${kind} ${name} ${detail}`.trim(),
  )
}

const ROUTE = 'match: { path: /a }, respond: { status: 200 }'

t.test('lists routes, services, plugins and settings by name with their changed keys', (t) => {
  t.same(
    diff(
      `services: {a: "h:1", b: "h:1"}\nroutes: [{name: x, ${ROUTE}}, {name: y, ${ROUTE}}]\nlog_level: info\nplugins: [namespace, body-limit: {limit: 3}]`,
      `services: {a: {nodes: ["h:2"], timeout: {response: 3s}}, c: "h:1"}\nroutes: [{name: x, match: {path: /b}, respond: {status: 200}}, {name: z, ${ROUTE}}]\nlog_level: debug\nplugins: [namespace, body-limit: {limit: 4}]`,
    ),
    [
      'changed route x match',
      'added route z',
      'removed route y',
      'changed service go.mx.api.a timeout, nodes',
      'added service go.mx.api.c',
      'removed service go.mx.api.b',
      'changed plugin body-limit limit',
      'changed setting log_level info -> debug',
    ],
  )
  t.end()
})

t.test('comments, line numbers and other spellings are not changes', (t) => {
  const routes = `routes: [{name: x, ${ROUTE}, plugins: [body-limit: {limit: 3}]}]`
  t.same(
    diff(
      `services: {a: "h:1"}\nmax_body: 1kb\n${routes}`,
      `# note\n\nmax_body: 1kb\nservices:\n  a: ["h:1"]\n${routes}`,
    ),
    [],
  )
  t.end()
})

t.test('consumers are compared by name, error pages and policies by key', (t) => {
  const consumer = 'consumers: [{ account: a, plugins: [body-limit: { limit: 3 }] }]'
  t.same(diff('log_level: info', `log_level: info\n${consumer}`), ['added consumer mx/a'])
  t.same(diff(consumer, consumer.replace('3', '4')), ['changed consumer mx/a plugins'])
  t.same(diff('log_level: info', 'log_level: info\nerrors: { 404: ./a.html }'), [
    'changed setting errors',
  ])
  t.same(diff('panic_threshold: 5', 'panic_threshold: 6\noutlier: off'), [
    'changed setting panic_threshold',
    'changed setting outlier',
  ])
  t.end()
})

t.test('the order of plugins is a change', (t) => {
  t.match(diff('plugins: [namespace, cors]', 'plugins: [cors, namespace]'), [
    /^changed order plugins .*cors, namespace/,
  ])
  t.end()
})

t.test('a setting that is set or removed is listed as added or removed', (t) => {
  t.same(diff('log_level: info', 'log_level: info\ndrain_delay: 3s'), [
    'added setting drain_delay 3s',
  ])
  t.same(diff('log_level: info\ndrain_delay: 3s', 'log_level: info'), [
    'removed setting drain_delay 3s',
  ])
  t.end()
})

t.test('passwords in URLs and values of secret settings are redacted', (t) => {
  t.same(diff('broker: memory', 'broker: nats://joe:hunter22@host:4222'), [
    'changed setting broker memory -> nats://********@host:4222',
  ])
  const resolved = configure('broker: nats://host:4222')
  const [reference] = diffConfigurations(configure('broker: memory'), {
    ...resolved,
    config: { ...resolved.config, text: 'broker: a reference' },
  })
  t.match(reference, { name: 'broker', detail: 'memory -> ********' })
  const secret: SettingsInput = new Map([['authSecret', { source: '--', values: ['hunter22'] }]])
  const [change] = diffConfigurations(
    configure('log_level: info'),
    configure('log_level: info', secret),
  )
  t.same(change, { kind: 'setting', name: 'auth_secret', change: 'added', detail: '********' })
  t.end()
})

t.test('a summary is one line of at most 200 characters', (t) => {
  t.equal(summarizeChanges([]), 'no effective change')
  const change = { kind: 'route', name: 'shop', change: 'added', detail: '' } as const
  t.equal(summarizeChanges([change, { ...change, change: 'removed' }]), '+route shop, -route shop')
  t.equal(summarizeChanges(Array.from({ length: 100 }, () => change)).length, 200)
  t.end()
})
