import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { toPointMessage } from '../../services/gateway/messages.ts'
import { openServer } from '../fixtures/server.ts'

const GUIDE = readFileSync(join(ROOT, 'docs/api.md'), 'utf8')

/** Names in the first cells of the table below a heading. */
function firstCells(header: string): string[] {
  const table = GUIDE.slice(GUIDE.indexOf(header)).split('\n\n')[0]!.split('\n').slice(2)
  return table.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([A-Za-z0-9_]+)`/g)].map(([, name]) => name!.toLowerCase()),
  )
}

t.test('docs/api.md lists every endpoint, and every field of a metrics point', async (t) => {
  const { get } = await openServer(t)
  const { body } = await get('/registry/getService?service=api')
  const endpoints = body.services[0].endpoints.map(({ name }: { name: string }) =>
    name.slice('Api.'.length).toLowerCase(),
  )
  t.strictSame(firstCells('| endpoint | for |').sort(), endpoints.sort())
  const point = toPointMessage({
    ...{ timeMs: 1, seconds: 1, byClass: [], aborted: 0, bytesIn: 0, bytesOut: 0, inFlight: 0 },
    ...{ p50Ms: 1, p99Ms: 1 },
  })
  // The table abbreviates the range from 2xx to 5xx.
  const events = [...firstCells('| point field |'), 'status_3xx', 'status_4xx']
  t.strictSame(events.sort(), Object.keys(point).sort())
})
