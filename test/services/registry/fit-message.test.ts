import t from 'tap'
import { createMxRegistry } from '../../../adapters/registry/mx.ts'
import type { RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { toEntry } from '../../../services/registry/entry.ts'
import { createReportOmitted } from '../../../services/registry/fit-message.ts'
import { openPlatformRegistry, type Services } from '../../fixtures/platform-registry.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'
import { makeService } from '../../fixtures/services.ts'

/** Exceeds the length limit of messages. */
const LONG: Service = {
  ...makeService('long', ['127.0.0.1:9001']),
  metadata: { fill: 'x'.repeat(17_000_000) },
}

t.test(
  'a version too long for a message is omitted from lists, lookups and watches, with one warning',
  async (t) => {
    const { log, lines } = createQuietLog('registry')
    const { address, registry, call, watch } = await openPlatformRegistry(t, { log })
    const events = watch()
    await call('ListServices')
    await registry.register?.(LONG)
    for (const name of ['a', 'z']) await registry.register?.(makeService(name, ['127.0.0.1:9001']))
    await registry.register?.({ ...makeService('long', ['127.0.0.1:9001'], 'v2') })

    const listed: string[] = []
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page: Services = await call<Services>('ListServices', { after, limit: 1 })
      listed.push(...page.services.map(({ name, version }) => `${name} ${version}`))
      after = page.next
    }
    t.strictSame(listed, ['a latest', 'long v2', 'registry latest', 'z latest'])
    const { services } = await call<Services>('GetService', { service: 'long' })
    t.strictSame(
      services.map(({ version }) => version),
      ['v2'],
    )
    const reported: string[] = []
    for (let i = 0; i < 3; i++) reported.push((await events.next()).value.service.name)
    t.strictSame(reported, ['a', 'z', 'long'], 'the watch continues')
    await events.return?.()
    const warnings = lines
      .filter((line) => line.includes('version skipped'))
      .map((line) => JSON.parse(line))
    t.match(warnings, [
      { name: 'long', version: 'latest', msg: 'service version skipped: too large for a message' },
    ])
    t.equal(warnings.length, 1, 'one warning')

    const gateway = createMxRegistry({ host: '127.0.0.1', port: Number(address.split(':')[1]) })
    t.teardown(() => gateway.close?.())
    const received: RegistryEvent[] = []
    gateway.watch?.((event) => received.push(event))
    t.equal((await gateway.listServices()).length, 4, 'a gateway reads all other versions')
    await registry.register?.(makeService('new', ['127.0.0.1:9001']))
    await waitUntil(() => received.some(({ service }) => service.name === 'new'))
  },
)

t.test('warns about at most 1000 versions', async (t) => {
  let warnings = 0
  const { log } = createQuietLog()
  const onOmit = createReportOmitted({
    ...log,
    warn() {
      warnings++
    },
  })
  for (let round = 0; round < 2; round++)
    for (let i = 0; i < 1100; i++) onOmit(toEntry(makeService(`s${i}`, ['a:1']), 'mx'), 1)
  t.equal(warnings, 1000)
})
