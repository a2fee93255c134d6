import t from 'tap'
import { listDnsServices, listServices } from '../../../../platform/config/configured-services.ts'
import { lintConfiguration } from '../../../../platform/config/lint.ts'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import type { Configuration } from '../../../../platform/config/types.ts'
import { mergeSettings, SettingsError } from '../../../../platform/settings/sources.ts'

function configure(service: string): Configuration {
  const config = parseConfig(`handler: proxy\nservices:\n  a: ${service}\n`, 'mx.yaml')
  const { settings: inputs } = config
  return { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
}

t.test('reads SRV names and how names are resolved', async (t) => {
  const one = configure('{ nodes: [h:1], dns: { refresh: 5s, servers: [10.0.0.2, "[::1]:53"] } }')
  t.match(listDnsServices(one), [
    { srv: [], dns: { refreshMs: 5000, servers: ['10.0.0.2', '[::1]:53'] } },
  ])
  const srv = configure('["dns+srv://_http._tcp.h", "dns+srv+grpcs://h.internal", "h:1"]')
  t.match(listDnsServices(srv), [
    {
      srv: [
        { name: '_http._tcp.h', protocol: 'http' },
        { name: 'h.internal', protocol: 'grpcs' },
      ],
      dns: { refreshMs: 30_000, servers: [] },
    },
  ])
  t.same(
    listServices(srv)[0]?.nodes.map(({ id }) => id),
    ['h:1'],
  )
  t.match(listDnsServices(configure('h:1')), [{ srv: [], dns: undefined }])
})

t.test('reports invalid settings with their position', async (t) => {
  const rows: [service: string, problem: RegExp][] = [
    ['{ nodes: [h:1], dns: on }', /:3:27: dns of service "a" must be a map/],
    ['{ nodes: [h:1], dns: { refresh: 999ms } }', /:3:38: refresh of dns .* from 1s to 1d/],
    ['{ nodes: [h:1], dns: { refresh: soon } }', /:3:38: refresh of dns .*soon/],
    ['{ nodes: [h:1], dns: { ttl: 1s } }', /:3:29: unknown key "ttl" of dns of service "a"/],
    ['{ nodes: [h:1], dns: { servers: [ns.test] } }', /:3:39: servers of dns .* IP addresses/],
    ['["dns+srv://"]', /:3:7: service "a": SRV nodes must be dns\+srv:\/\/<name>/],
    ['["dns+srv+ftp://h"]', /:3:7: service "a": SRV nodes must be/],
    ['["dns+srv://h:80"]', /:3:7: service "a": SRV nodes must be/],
    ['["dns+srv://h", "dns+srv://h"]', /:3:22: service "a" lists dns\+srv:\/\/h twice/],
  ]
  for (const [service, problem] of rows) {
    try {
      configure(service)
      t.fail(`${service} is rejected`)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      t.equal(error.problems.length, 1, service)
      t.match(error.problems[0], problem, service)
    }
  }
})

t.test('warns about settings without a name', async (t) => {
  t.match(lintConfiguration(configure('{ nodes: [10.0.0.1:1], dns: {} }')), [
    /mx\.yaml:3:3: dns of service go\.mx\.api\.a has no effect: all of its nodes are IP addresses/,
  ])
  t.strictSame(lintConfiguration(configure('{ nodes: [h:1], dns: {} }')), [])
  const tls = '{ nodes: ["dns+srv+https://h"], tls: { server_name: h.test } }'
  t.strictSame(lintConfiguration(configure(tls)), [])
})
