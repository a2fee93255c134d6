import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import * as limits from '../../domain/mesh/limits.ts'
import { SETTINGS } from '../../platform/settings/settings.ts'
import { ROOT } from '../../scripts/root.ts'
import { openServer } from '../fixtures/network.ts'

const GUIDE = readFileSync(join(ROOT, 'docs/network.md'), 'utf8')
const PROSE = GUIDE.replaceAll(/\s+/g, ' ')

/** Names in the first cells of the table below a heading. */
function firstCells(header: string): string[] {
  const table = GUIDE.slice(GUIDE.indexOf(header)).split('\n\n')[0]!.split('\n').slice(2)
  return table.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!),
  )
}

t.test('docs/network.md lists every endpoint, and the fields of links and routes', async (t) => {
  const a = await openServer(t, 'a')
  const b = await openServer(t, 'b', { nodes: [a.address] })
  const [service] = a.registry.getService('network')
  t.strictSame(
    firstCells('| endpoint | request |'),
    service!.endpoints.map(({ name }) => name.slice('Network.'.length).toLowerCase()),
  )
  await b.sendRequest('Connect', { nodes: [{ address: a.address }] })
  const { links } = await b.status()
  const events = ['address', 'id', 'error', ...firstCells('| link field in `status` |')]
  t.strictSame(events.sort(), Object.keys(links[0]!).sort())
  const { routes } = await b.sendRequest<{ routes: object[] }>('Routes')
  const route = ['service', 'network', ...firstCells('| route field |')]
  t.strictSame(route.sort(), Object.keys(routes[0]!).sort())
})

t.test('docs/network.md names only settings that exist', (t) => {
  const names = Object.values(SETTINGS).map(({ name }) => name)
  for (const name of firstCells('| setting |')) t.ok(names.includes(name), name)
  t.end()
})

t.test('docs/network.md states the limits of the code', (t) => {
  const { MAX_PEERS, MAX_DESTINATIONS, MAX_ADVERTISED_BYTES, MAX_ENTRY_BYTES, MAX_HOPS } = limits
  const count = MAX_DESTINATIONS.toLocaleString('en')
  const [total, entry] = [MAX_ADVERTISED_BYTES / 1024 ** 2, MAX_ENTRY_BYTES / 1024]
  t.match(PROSE, `${MAX_PEERS} links in each direction; ${count} services and servers`)
  t.match(PROSE, `${total} MiB of descriptions in total and ${entry} KiB each`)
  t.match(PROSE, `A path contains at most ${MAX_HOPS} servers`)
  t.end()
})
