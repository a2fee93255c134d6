import t from 'tap'
import { lintConfiguration } from '../../../platform/config/lint.ts'
import { NO_CONFIG } from '../../../platform/config/types.ts'
import { readEnvironment } from '../../../platform/settings/env.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import type { SettingsInput } from '../../../platform/settings/settings.ts'
import { mergeInputs, mergeSettings } from '../../../platform/settings/sources.ts'
import { setVariables } from '../../fixtures/otlp-collector.ts'

/** Sets the handler unless `args` contain it. */
function find(...args: string[]): readonly string[] {
  const isSet = args.some((arg) => arg.startsWith('--handler='))
  return findWarnings(isSet ? args : ['--handler=meta', ...args])
}

function findWarnings(args: readonly string[]): readonly string[] {
  const inputs = readFlags(args)
  return lintConfiguration({
    settings: mergeSettings(inputs),
    config: NO_CONFIG,
    inputs,
    file: undefined,
  })
}

t.test('warns if traces are exported and the listed plugins lack tracing', async (t) => {
  const inputs = readFlags(['--handler=proxy', '--backend', 'a=h:1', '--namespace= '])
  const list = (...specifiers: string[]): readonly string[] => {
    const plugins = specifiers.map((specifier) => ({ specifier, options: undefined, at: '' }))
    const config = { ...NO_CONFIG, plugins }
    return lintConfiguration({ settings: mergeSettings(inputs), config, inputs, file: undefined })
  }
  t.same(list('cors'), [])
  setVariables(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' })
  t.match(list('cors'), [/requests are not traced .* add tracing to the listed plugins/])
  t.same(list('tracing', 'cors'), [])
  t.same(find('--backend', 'a=h:1'), [])
})

t.test(
  'warns if services are inside the namespace and the listed plugins lack namespace',
  async (t) => {
    const list = (args: readonly string[], ...specifiers: string[]): readonly string[] => {
      const inputs = readFlags(['--handler=proxy', ...args])
      const plugins = specifiers.map((specifier) => ({ specifier, options: undefined, at: '' }))
      const config = { ...NO_CONFIG, plugins }
      return lintConfiguration({ settings: mergeSettings(inputs), config, inputs, file: undefined })
    }
    const inside = ['--backend', 'a=h:1', '--backend', 'b=h:1']
    const events = list(inside, './hello.ts')
    t.match(events, [
      /^service go\.mx\.api\.a is unreachable by path .* add namespace to the listed plugins$/,
    ])
    t.equal(events.length, 1)
    t.same(list(inside, 'namespace', './hello.ts'), [])
    t.same(list([...inside, '--namespace= '], './hello.ts'), [])
    t.same(list([...inside, '--resolver=host'], './hello.ts'), [])
    t.same(list(['--backend', 'x.y=h:1'], './hello.ts'), [], 'the path is the complete name')
  },
)

t.test(
  'warns about settings of the file that a variable overrides, without the value',
  async (t) => {
    const backend = readFlags(['--handler=proxy', '--backend', 'a=h:1'])
    const inFile = (key: 'address', value: string) =>
      new Map([[key, { source: `mx.yaml:1:1: ${key}`, values: [value] }]])
    const lint = (settings: SettingsInput, env: Readonly<Record<string, string>>) => {
      const inputs = mergeInputs(backend, readEnvironment(env), settings)
      const config = { ...NO_CONFIG, settings }
      return lintConfiguration({ settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' })
    }
    const address = inFile('address', ':9000')
    t.same(lint(address, { MX_ADDRESS: ':8080' }), [
      'mx.yaml:1:1: address has no effect: the environment variable MX_ADDRESS overrides it',
    ])
    t.same(lint(address, { MX_ADDRESS: ':9000' }), [])
    t.same(lint(address, { MX_HTTP2: 'off' }), [])
    t.same(lint(address, {}), [])
  },
)

t.test('does not warn about consistent configurations', async (t) => {
  t.same(
    find(
      '--backend',
      'a=h:1',
      '--backend',
      'b=mx://h:1',
      '--backend',
      'v1.a=h:1',
      '--namespace',
      ' ',
    ),
    [],
  )
  t.same(find('--backend', 'a=h:1', '--backend', 'go.mx.api.v1.a=h:1'), [])
  t.same(find('--registry=mx://h:1'), [], 'services may come from a registry')
  t.same(find('--handler=proxy', '--backend', 'a=http://h:1'), [])
})

t.test('warns about backends that may be plain HTTP servers if no handler is set', async (t) => {
  const names: [args: string[], name: string][] = [
    [['--backend', 'a=h:1'], 'go.mx.api.a'],
    [['--backend', 'a=http://h:1'], 'go.mx.api.a'],
    [['--backend', 'a=mx://h:1,https://h:2'], 'go.mx.api.a'],
    [
      ['--backend', 'a=h:1', '--backend', 'b=mx://h:1', '--backend', 'c=h:1'],
      'go.mx.api.a and 1 more',
    ],
  ]
  for (const [args, name] of names)
    t.same(findWarnings(args), [
      `requests to ${name} become calls with POST and JSON, because no handler is set; for plain HTTP backends set --handler=proxy (mx.yaml: "handler: proxy"), for mx services set --handler=meta`,
    ])
  t.same(findWarnings(['--backend', 'a=mx://h:1,grpc://h:2']), [])
  t.same(findWarnings(['--backend', 'a=h:1', '--registry=mx://h:1']), [], 'alongside a platform')
})

t.test('warns if no service is configured', async (t) => {
  t.match(find(), [/^no service is configured: /])
  t.match(find('--registry=memory'), [/^no service is configured: /])
  t.same(find('--handler=event', '--broker=nats://h:1'), [], 'topics need no service')
})

t.test('warns about events without subscribers', async (t) => {
  t.match(find('--handler=event', '--registry=mx://h:1'), [/^events have no subscribers: /])
  t.same(find('--handler=event', '--registry=mx://h:1', '--broker=nats://h:1'), [])
})

t.test('warns about network_nodes without network_token', async (t) => {
  const findServer = (...args: string[]): readonly string[] => {
    const inputs = readFlags(args, 'server')
    const settings = mergeSettings(inputs)
    return lintConfiguration({ settings, config: NO_CONFIG, inputs, file: undefined }, 'server')
  }
  const nodes = '--network_nodes=10.0.0.2:8081'
  t.match(findServer(nodes), [
    /^network_nodes has no effect without network_token; set the same MX_NETWORK_TOKEN /,
  ])
  t.same(findServer(nodes, '--network_token=s3cret-of-a-network'), [])
  t.same(findServer('--proxy_address=:8081'), [])
})

t.test('warns about mx:// services behind a proxy handler', async (t) => {
  for (const handler of ['proxy', 'web']) {
    for (const scheme of ['mx', 'mxs']) {
      t.match(find(`--handler=${handler}`, '--backend', `weird=h:1,${scheme}://h:2`), [
        new RegExp(
          `^service go\\.mx\\.api\\.weird uses mx://, but the handler ${handler} .* http://host:port$`,
        ),
      ])
    }
  }
})

t.test('warns about names that are unreachable by path', async (t) => {
  const outside =
    /^service my-shop\.v2 is outside the namespace go\.mx\.api .* go\.mx\.api\.my-shop\.v2 to route paths to it$/
  for (const handler of ['meta', 'rpc', 'proxy', 'web', 'api'])
    t.match(find(`--handler=${handler}`, '--backend', 'my-shop.v2=h:1'), [outside], handler)
  t.match(
    find('--backend', 'my-shop.v2=h:1', '--backend', 'my-shop.v2=h:2'),
    [outside],
    'one warning',
  )
  const version =
    /^service go\.mx\.api\.v1 is named like a version: .*\/v1\/<a>\/<b>, route to go\.mx\.api\.v1\.<a>$/
  t.match(find('--backend', 'v1=h:1'), [version])
  t.match(find('--backend', 'v1=h:1', '--resolver=subdomain:domain=example.com'), [version])
  t.same(find('--backend', 'v1=h:1', '--resolver=path'), [], 'the resolver path has no versions')
  for (const resolver of ['host', 'subdomain:domain=example.com'])
    t.same(find('--backend', 'www.example.com=h:1', `--resolver=${resolver}`), [], resolver)
})
