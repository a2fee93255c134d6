import t from 'tap'
import type { Exchange } from '../../core/exchange.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { PROBES, type Probe } from '../fixtures/probes.ts'
import { RawClient, statusCodes } from '../fixtures/raw-client.ts'
import type { ListenerSubject } from './listener-subject.ts'

/** Number of concurrent probes. */
const PARALLEL = 12
/** A server that neither responds nor closes for this time waits for more input. */
const IDLE_MS = 250

const MODES: readonly [string, (x: Exchange) => void | Promise<void>][] = [
  ['responds immediately', (x) => x.reply(200, 'served')],
  [
    'reads the body and responds later',
    async (x) => {
      await x.readBody()
      await new Promise((resolve) => setImmediate(resolve))
      x.reply(200, 'served')
    },
  ],
]

/** Contract of listeners for malformed requests. */
export function testListenerProbes({ create, name }: ListenerSubject): void {
  for (const [mode, handle] of MODES) {
    t.test(`handles malformed requests with a handler that ${mode}`, async (t) => {
      const counts = new Map<string, number>()
      const { port, faults } = await openListener(t, create, (x) => {
        counts.set(x.path, (counts.get(x.path) ?? 0) + 1)
        return handle(x)
      })
      const probes = PROBES.filter((probe) => name === 'node' || probe.strictOnly !== true)

      const check = async (probe: Probe, number: number) => {
        // A unique path for the hidden request of each probe, as long as the replaced path, because lengths matter.
        const hiddenPath = `/sm-${String(number).padStart(5, '0')}`
        const raw = probe.raw.replaceAll('/smuggled', hiddenPath)
        const { text, closed } = await new RawClient(port).send(raw).settle(IDLE_MS)
        const served = statusCodes(text).filter((status) => status === 200).length
        const smuggled = counts.get(hiddenPath) ?? 0
        const problems: string[] = []
        if (smuggled > 0) problems.push('the hidden request was served')
        if (served > 1) problems.push(`${served} requests were served`)
        if (probe.expectation === 'refused') {
          const [status] = statusCodes(text)
          if (served > 0) problems.push('it was served')
          if (status !== undefined && (status < 400 || (status >= 500 && status !== 505)))
            problems.push(`status ${status}`)
          if (status !== undefined && !closed) problems.push('the connection was left open')
        }
        t.same(problems, [], probe.name, {
          diagnostic: problems.length > 0,
          raw: raw.slice(0, 300),
          text: text.slice(0, 300),
        })
      }

      const queue = [...probes.entries()]
      const runWorker = async () => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift())
          await check(next[1], next[0])
      }
      await Promise.all(Array.from({ length: PARALLEL }, runWorker))

      const after = await new RawClient(port)
        .send('GET /after HTTP/1.1\r\nHost: a.test\r\n\r\n')
        .replies(1)
      t.match(after, [/^HTTP\/1\.1 200 .*served$/s], 'the listener still serves requests')
      t.same(faults, [])
    })
  }
}
