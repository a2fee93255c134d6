import t from 'tap'
import {
  indexServices,
  listNames,
  listServices,
} from '../../../platform/config/configured-services.ts'
import { keepFixed } from '../../../platform/config/load.ts'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import { NO_CONFIG } from '../../../platform/config/types.ts'
import { createConfiguredRegistry } from '../../../platform/server/registries.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { mergeInputs, mergeSettings } from '../../../platform/settings/sources.ts'

function configure(words: readonly string[], yaml = '') {
  const config = yaml === '' ? NO_CONFIG : parseConfig(yaml, 'mx.yaml')
  const inputs = mergeInputs(readFlags(words), config.settings)
  return { settings: mergeSettings(inputs), config, inputs, file: undefined }
}

t.test(
  'a name without a dot is relative to the namespace, one with a dot is absolute',
  async (t) => {
    const services = listServices(
      configure(['--backend', 'a=h:1', '--backend', 'b.c=h:2'], 'services: {d: "h:3", e.f: "h:4"}'),
    )
    t.same(
      services.map(({ name }) => name),
      ['go.mx.api.a', 'b.c', 'go.mx.api.d', 'e.f'],
    )
    const bare = listServices(configure(['--namespace', ' ', '--backend', 'a=h:1']))
    t.same(
      bare.map(({ name }) => name),
      ['a'],
    )
  },
)

t.test('a service from a flag replaces the same service in the file', async (t) => {
  const services = listServices(configure(['--backend', 'a=h:1'], 'services: {a: ["h:2", "h:3"]}'))
  t.same(
    services.map(({ nodes }) => nodes.map(({ address }) => address)),
    [['h:1']],
  )
})

t.test('repeated flags add nodes to a service', async (t) => {
  const configuration = configure(['--backend', 'a=h:1', '--backend', 'a=h:2'])
  t.same(listNames(configuration), ['go.mx.api.a'], 'merged to one service')
  const { registry } = createConfiguredRegistry('static', listServices(configuration))
  const [service] = await registry.getService('go.mx.api.a')
  t.same(
    service?.nodes.map(({ address }) => address),
    ['h:1', 'h:2'],
  )
})

t.test('indexes services in the file by full name', async (t) => {
  const yaml =
    'services: {a: {nodes: ["h:1"], balance: random}, b.c: {nodes: ["h:1"], balance: p2c}, d: "h:1"}'
  t.same(
    [...indexServices(configure([], yaml))].map(([name, { balance }]) => [name, balance]),
    [
      ['go.mx.api.a', 'random'],
      ['b.c', 'p2c'],
      ['go.mx.api.d', undefined],
    ],
  )
})

for (const kind of ['static', 'memory'] as const) {
  t.test(`the registry ${kind} replaces its configured services`, async (t) => {
    const { registry, replace } = createConfiguredRegistry(
      kind,
      listServices(configure(['--backend', 'a=h:1,h:2', '--backend', 'b=h:1'])),
    )
    t.teardown(() => registry.close?.())
    replace(listServices(configure(['--backend', 'a=h:2', '--backend', 'c=h:3'])))
    const services = await registry.listServices()
    const result = services
      .map(({ name, nodes }) => `${name} ${nodes.map(({ address }) => address)}`)
      .sort()
    t.same(result, ['go.mx.api.a h:2', 'go.mx.api.c h:3'])
  })
}

t.test('retains and reports settings that require a restart', async (t) => {
  const running = configure(['--workers=1', '--drain_timeout=1s'])
  const next = configure(['--workers=2', '--address=:1', '--drain_timeout=2s'])
  const { configuration, restart } = keepFixed(running, next)
  t.same(restart, ['address', 'workers'])
  const { address } = running.settings
  t.match(configuration.settings, { workers: 1, address, drainTimeoutMs: 2000 })
  t.same(keepFixed(running, next, next).restart, [], 'a change is reported once')
  t.same(keepFixed(running, running, next).restart, [], 'a reverted change is not reported')
})
