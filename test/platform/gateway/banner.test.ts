import t from 'tap'
import { type BannerFacts, formatBanner, printBanner } from '../../../platform/gateway/banner.ts'
import { capConnections } from '../../../platform/process/file-limit.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'

const FACTS: BannerFacts = {
  version: '1.2.3',
  settings: { ...mergeSettings(), enableTls: true, namespace: '' },
  address: { host: '::1', port: 8443 },
  listener: 'uws',
  workers: 2,
  config: undefined,
  services: Array.from({ length: 10 }, (_, i) => `s${i}`),
  plugins: [],
}

t.test('logs at most a hundred services and the number of remaining ones', async (t) => {
  const events: (readonly string[])[] = []
  const log = {
    isLevelEnabled: () => false,
    info: ({ services }: { services: readonly string[] }) => void events.push(services),
  } as unknown as Parameters<typeof printBanner>[1]
  printBanner(FACTS, log)
  const services = Array.from({ length: 5000 }, (_, i) => `s${i}`)
  printBanner({ ...FACTS, services }, log)
  t.same(events, [FACTS.services, [...services.slice(0, 100), 'and 4900 more']])
})

t.test('the banner contains address, services and plugins', async (t) => {
  const banner = formatBanner(FACTS)
  t.equal(
    banner,
    `
  mx 1.2.3 gateway on https://[::1]:8443

  handler    meta
  namespace  none
  registry   static
  services   s0, s1, s2, s3, s4, s5, s6, s7, and 2 more
  plugins    none
  listener   uws
  workers    2

`,
  )
})

t.test('does not abbreviate a single remaining name', async (t) => {
  const services = FACTS.services.slice(0, 9)
  t.match(formatBanner({ ...FACTS, services }), 's6, s7, s8\n')
})

t.test('connections stay below the open-file limit', async (t) => {
  const warned: object[] = []
  const log = { warn: (details: object) => void warned.push(details) } as Parameters<
    typeof capConnections
  >[2]
  t.equal(capConnections('auto', 1064, log), 500, 'auto reserves as many files for backends')
  t.equal(capConnections(800, 1064, log), 800)
  t.same(warned, [])
  t.equal(capConnections(5000, 1064, log), 875)
  t.match(warned, [{ wanted: 5000, used: 875, open_files: 1064 }])
  t.equal(capConnections('auto', 10, log), 1)
})
