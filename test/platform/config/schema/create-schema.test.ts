import fc from 'fast-check'
import t from 'tap'
import { stringify } from 'yaml'
import { SETTINGS } from '../../../../platform/settings/settings.ts'
import { keysOf } from '../../../../platform/settings/sources.ts'
import { findParserErrors, findSchemaErrors } from '../../../fixtures/config-schema.ts'

const SCALARS = [
  ...['', 'none', 'auto', 'any', 'on', 'off', 'true', 'yes', 'text', ' uws ', 'node', 'loopback'],
  ...['5s', '10 m', '250ms', '0', '1', '512', '16kb', '1.5GB', ':8080', '127.0.0.1:1', 'unix:/a/b'],
  ...['mx://a:1', 'https://a.example', '10.0.0.0/8', 'least-conn', 'proxy', 'self-signed'],
  ...[0, 1, 2, 8080, 0.5, 1e9, true, false],
]
const KEYS = (['api', 'server'] as const).flatMap((command) =>
  keysOf(command)
    .filter((key) => SETTINGS[key].notInFile === undefined)
    .map((key) => [command, SETTINGS[key].name] as const),
)

t.test('accepts every value of a setting that the parser accepts', (t) => {
  let accepted = 0
  for (const [command, name] of KEYS)
    for (const value of [...SCALARS, ['a', 'b'], ['10.0.0.0/8'], {}]) {
      const yaml = stringify({ [name]: value })
      if (findParserErrors(yaml, command).length > 0) continue
      accepted++
      const errors = findSchemaErrors(yaml)
      if (errors.length > 0) t.same(errors, [], yaml)
    }
  t.ok(accepted > 500, `${accepted} values`)
  t.end()
})

t.test('accepts the default of every setting, and names with hyphens', (t) => {
  for (const [, name] of KEYS) {
    const setting = Object.values(SETTINGS).find((candidate) => candidate.name === name)!
    if (setting.default === '') continue
    for (const key of [name, name.replaceAll('_', '-')])
      t.same(findSchemaErrors(stringify({ [key]: setting.default })), [], key)
  }
  t.end()
})

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const scalar = fc.oneof(word, fc.nat(9999), fc.boolean())
const listOf = <T>(item: fc.Arbitrary<T>) =>
  fc.oneof(item, fc.array(item, { minLength: 1, maxLength: 3 }))
const map = <T>(value: fc.Arbitrary<T>) => fc.dictionary(word, value, { maxKeys: 3 })
const duration = fc.constantFrom('5s', '250ms', 'none', `\${T:-5s}`)
const condition = fc.oneof(scalar, fc.record({ prefix: word }), fc.constant({ present: true }))
const plugins = fc.array(
  fc.constantFrom<unknown>(
    'request-id',
    './mine.ts',
    { 'body-limit': { limit: '1mb' } },
    { headers: { reply: { set: { 'x-a': `\${A:-b}` } } } },
    { './mine.ts': { any: [1] } },
    { 'redirect-https': { port: `\${P:-8443}` } },
  ),
  { maxLength: 2 },
)
const match = fc.record(
  {
    host: listOf(fc.constantFrom('a.example', '*.b.example')),
    path: fc.constantFrom('/a/**', '/a/{id}'),
    method: listOf(fc.constantFrom('GET', 'POST')),
    headers: map(condition),
    query: map(condition),
    client: listOf(fc.constantFrom('10.0.0.0/8', 'private')),
  },
  { requiredKeys: [] },
)
const action = fc.oneof(
  fc.record({ service: word, strip_prefix: fc.constant('/a') }, { requiredKeys: ['service'] }),
  fc.record({ service: word, rewrite: fc.record({ path: fc.constant('/b'), query: map(scalar) }) }),
  fc.record({ redirect: fc.record({ host: word, status: fc.constantFrom(301, '308') }) }),
  fc.record({ respond: fc.record({ status: fc.integer({ min: 200, max: 599 }), body: scalar }) }),
  fc.record({ respond: fc.record({ headers: map(scalar) }) }),
  fc.constantFrom<object>(
    { files: './dist' },
    { files: { root: './dist', fallback: 'a.html', cache_control: { '/a/**': 'no-store' } } },
    { respond: {}, errors: { 404: './a.html', '5xx': 'service:pages' } },
  ),
)
const route = fc
  .tuple(action, fc.record({ match, plugins }, { requiredKeys: [] }))
  .map(([required, optional]) => ({ ...required, ...optional }))
const service = fc.oneof(
  fc.constant('127.0.0.1:1'),
  fc.constant(['127.0.0.1:1', '127.0.0.1:2;3']),
  fc.record(
    {
      nodes: fc.constant(['127.0.0.1:1']),
      balance: fc.constantFrom('random', 'least-conn'),
      keep_alive: duration,
      timeout: fc.record({ connect: duration, idle: duration }, { requiredKeys: [] }),
      plugins,
    },
    { requiredKeys: ['nodes'] },
  ),
)
const tls = fc.constantFrom<object>(
  { cert: 'a', key: 'b' },
  { cert: 'self-signed' },
  { acme: true },
)
const listen = fc.constantFrom<object[]>(
  [{ address: ':8080' }],
  [{ name: 'a', address: 'unix:/run/a' }, { address: `\${A:-:1}` }],
)
const config = fc.record(
  {
    workers: fc.constantFrom<unknown>(1, '2', 'auto', `\${W:-3}`),
    forward_token: fc.constantFrom<unknown>(true, 'off', `\${F:-true}`),
    drain_timeout: duration,
    listen: fc.oneof(
      listen,
      tls.map((each) => [
        { name: 'web', address: ':1', https_redirect: true },
        { address: ':2', tls: each },
      ]),
    ),
    services: map(service),
    routes: fc.array(route, { minLength: 1, maxLength: 3 }),
    plugins,
  },
  { requiredKeys: ['routes'] },
)

t.test('accepts every configuration that the parser accepts', (t) => {
  let accepted = 0
  fc.assert(
    fc.property(config, (value) => {
      const yaml = stringify(value)
      if (findParserErrors(yaml).length > 0) return
      accepted++
      const errors = findSchemaErrors(yaml)
      if (errors.length > 0) throw new Error(`${yaml}\n${errors.join('\n')}`)
    }),
    { numRuns: 300 },
  )
  t.ok(accepted > 200, `${accepted} of 300 configurations`)
  t.end()
})

/** Places of a map in a configuration, with the mistakes to insert there. */
const MISTAKES: Readonly<Record<string, (value: unknown) => object>> = {
  'unknown setting': (value) => ({ adress_of: value }),
  'workers of a wrong type': () => ({ workers: { count: 1 } }),
  'workers out of range': () => ({ workers: 1000 }),
  'an unknown word': () => ({ listener: 'apache' }),
  'a duration without a unit': () => ({ drain_timeout: 5 }),
  'a boolean that is a word': () => ({ forward_token: 'perhaps' }),
  'an address without a host': () => ({ address: 8080 }),
  'a map instead of a list': (value) => ({ trusted_proxies: { a: value } }),
  'services as a list': (value) => ({ services: [value] }),
  'a service without nodes and settings': () => ({ services: { a: {} } }),
  'an unknown key of a service': (value) => ({ services: { a: { nodes: 'a:1', nods: value } } }),
  'routes as a map': () => ({ routes: { service: 'a' } }),
  'a route without an action': () => ({ routes: [{ match: {} }] }),
  'a route with two actions': () => ({ routes: [{ service: 'a', respond: {} }] }),
  'an unknown key of a route': (value) => ({ routes: [{ service: 'a', servce: value }] }),
  'an unknown key of match': (value) => ({ routes: [{ service: 'a', match: { hots: value } }] }),
  'an unknown handler': () => ({ routes: [{ service: 'a', handler: 'ftp' }] }),
  'a header that is a list': (value) => ({ routes: [{ respond: { headers: { a: [value] } } }] }),
  'a page of a success': () => ({ errors: { 200: './a.html' } }),
  'an unknown key of files': (value) => ({ routes: [{ files: { root: 'a', roots: value } }] }),
  'plugins as a map': () => ({ plugins: { cors: {} } }),
  'a plugin with two names': () => ({ plugins: [{ a: {}, b: {} }] }),
  'options that are a word': () => ({ plugins: [{ './a.ts': 'b' }] }),
  'a listener without an address': (value) => ({ listen: [{ name: `n${String(value)}` }] }),
  'an unknown key of a listener': (value) => ({ listen: [{ address: ':1', tsl: value }] }),
}

t.test('parser and schema reject the same mistakes', (t) => {
  for (const [name, make] of Object.entries(MISTAKES))
    fc.assert(
      fc.property(scalar, (value) => {
        const yaml = stringify(make(value))
        const parser = findParserErrors(yaml).length
        const schema = findSchemaErrors(yaml).length
        if (parser === 0 || schema === 0)
          throw new Error(`${name}: parser ${parser}, schema ${schema} errors\n${yaml}`)
      }),
      { numRuns: 10 },
    )
  t.pass(`${Object.keys(MISTAKES).length} kinds of mistakes`)
  t.end()
})

t.test('describes settings with unit, default and effect', (t) => {
  const errors = findSchemaErrors('plugins: [{ body-limit: { limt: 1mb } }]')
  t.ok(errors.length > 0, 'options of built-in plugins are checked')
  t.same(findSchemaErrors('plugins: [{ auth: {} }, { forwarded: }]'), [])
  t.end()
})
