import t from 'tap'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import { findChanges } from '../../../platform/config/report-reload.ts'
import type { Configuration } from '../../../platform/config/types.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'

function configure(yaml: string): Configuration {
  const config = parseConfig(yaml, 'mx.yaml')
  const { settings: inputs } = config
  return { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
}

t.test('names only the changes of a reload', async (t) => {
  const before = configure(
    'services: {a: "h:1", b: "h:1", c: "h:1", d: {nodes: ["h:1"], balance: p2c}}\nmax_body: 1kb',
  )
  const after = configure(
    'services: {a: "h:1", c: ["h:1", "h:2"], d: "h:1", e.f: "h:1"}\nmax_body: 2kb\naccess_log: off\ncors_origins: "*"',
  )
  t.same(findChanges(before, after), {
    servicesAdded: ['e.f'],
    servicesRemoved: ['go.mx.api.b'],
    servicesChanged: ['go.mx.api.c', 'go.mx.api.d'],
    pluginsAdded: ['cors'],
    pluginsRemoved: ['access-log'],
    pluginsChanged: ['body-limit'],
    settings: ['cors_origins', 'max_body', 'access_log'],
  })
  t.same(findChanges(before, before), {})
})
